"""PostgreSQL as the state: what only it promises, beside the contract that test_state.py holds it to."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest

from postil.storage import outage
from postil.storage.failures import StateAway, StateBusy, StateDamaged, StateUnclear
from postil.storage.idempotency import IdempotencyKeys
from postil.storage.postgresql import postgres as postgres_state
from postil.storage.postgresql.postgres import PostgresState
from tests.storage.postgres_server import PostgresServer
from tests.storage.states import postgres

__all__ = ["postgres"]  # a fixture


@pytest.fixture(autouse=True)
def no_outage(postgres: PostgresServer) -> None:
    """A stall of one test is not that of the next."""
    outage._outages.pop(postgres.address, None)  # pyright: ignore[reportPrivateUsage]


@pytest.fixture
def state(postgres: PostgresServer) -> Iterator[PostgresState]:
    postgres.clear()
    made = PostgresState(postgres.address)
    yield made
    made.close()


def put(state: PostgresState, key: str, value: bytes = b"v") -> None:
    with state.writing() as changes:
        changes.put("s", key, value)


def kept(state: PostgresState) -> set[str]:
    with state.reading() as records:
        return {key for key, _ in records.range("s")}


WRITER = """
import sys
from postil.storage.postgresql.postgres import PostgresState
state = PostgresState(sys.argv[1])
for n in range(int(sys.argv[2])):
    with state.writing() as changes:
        number = changes.next("shared")
        changes.put("numbers", f"{number:06d}", b"x")
    print(number, flush=True)
"""


def test_writers_in_many_processes_never_take_the_same_number(state: PostgresState, postgres: PostgresServer) -> None:
    command = [sys.executable, "-c", WRITER, postgres.address, "40"]
    writers = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(3)]  # they also race to make the tables
    given = [int(line) for writer in writers for line in writer.communicate()[0].split()]
    assert sorted(given) == list(range(1, 121))
    with state.reading() as records:
        assert records.count("numbers") == 120


def test_nothing_acknowledged_is_lost_when_it_is_killed_or_restarted(
    state: PostgresState, postgres: PostgresServer
) -> None:
    acknowledged: set[str] = set()
    for n in range(40):
        if n % 10 == 5:
            (postgres.kill if n % 20 == 5 else postgres.stop)()
            with pytest.raises(StateAway, match="cannot be reached"):
                put(state, "while it is away")
            postgres.start()
        put(state, f"{n:03d}")
        acknowledged.add(f"{n:03d}")
    assert kept(state) == acknowledged


def test_a_stall_in_a_commit_is_waited_out_and_answered_truly(state: PostgresState, postgres: PostgresServer) -> None:
    resumed = threading.Timer(1.5, postgres.go_on)
    with state.writing() as changes:
        changes.put("s", "k", b"v")
        postgres.pause()
        resumed.start()
    resumed.join()
    assert kept(state) == {"k"}


def test_the_fate_of_a_commit_without_an_answer_is_found_out(postgres: PostgresServer) -> None:
    postgres.clear()
    state = PostgresState(postgres.address, answer_seconds=2.0)  # it gives up before the server goes on
    put(state, "before")
    resumed = threading.Timer(3.5, postgres.go_on)
    with state.writing() as changes:
        changes.put("s", "k", b"v")
        postgres.pause()
        resumed.start()
    resumed.join()
    assert kept(state) == {"before", "k"}
    state.close()


def test_a_commit_that_is_not_decided_yet_is_waited_for(state: PostgresState, postgres: PostgresServer) -> None:
    put(state, "before")
    away = StateAway("silent")
    with psycopg.connect(postgres.address) as doubtful:
        doubtful.execute("UPDATE postil_counters SET value = value + 1 WHERE name = 'version'")
        doubtful.execute("INSERT INTO postil_commits (name) VALUES ('in doubt')")
        decided = threading.Timer(0.3, doubtful.commit)
        decided.start()
        state._find_out("in doubt", away)  # pyright: ignore[reportPrivateUsage]
        decided.join()
    with pytest.raises(StateAway) as caught:
        state._find_out("never made", away)  # pyright: ignore[reportPrivateUsage]
    assert caught.value is away


def test_a_commit_whose_fate_nobody_tells_is_not_called_unmade(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    postgres.clear()
    monkeypatch.setattr(postgres_state, "COMMIT_SECONDS", 0.0)
    state = PostgresState(postgres.address, answer_seconds=2.0)
    put(state, "before")

    def fall_silent() -> None:
        with state.writing() as changes:
            changes.put("s", "k", b"v")
            postgres.pause()

    try:
        with pytest.raises(StateUnclear, match="not known"):
            fall_silent()
    finally:
        postgres.go_on()
    state.close()


def test_a_connection_lost_inside_a_block_changes_nothing(state: PostgresState, postgres: PostgresServer) -> None:
    put(state, "before")

    def lose() -> None:
        with state.writing() as changes:
            changes.put("s", "k", b"v")
            postgres.kill()
            postgres.start()

    with pytest.raises(StateAway, match="cannot be reached"):
        lose()
    assert kept(state) == {"before"}


def test_a_connection_is_given_back_by_every_block_and_by_one_that_raises(state: PostgresState) -> None:
    """The health check raises in every block it begins: each would cost a new connection."""

    def server_process() -> int:
        with state._connections.using() as connection:  # pyright: ignore[reportPrivateUsage]
            return connection.execute("SELECT pg_backend_pid()").fetchone()[0]

    def fail() -> None:
        with state.writing() as changes:
            changes.put("s", "k", b"v")
            raise LookupError

    before = server_process()
    with pytest.raises(LookupError):
        fail()
    assert server_process() == before
    assert kept(state) == set()
    put(state, "k")
    state.dump()
    state.leases().acquire("w", "one", "")
    assert server_process() == before, "whatever it was used for"


def test_without_the_row_that_counts_writes_nothing_is_read_as_a_version(
    state: PostgresState, postgres: PostgresServer
) -> None:
    put(state, "before")
    postgres.execute("DELETE FROM postil_counters WHERE name = 'version'")
    with pytest.raises(StateDamaged, match="the row version of postil_counters is gone"):
        state.version()
    with pytest.raises(StateDamaged, match="the row version of postil_counters is gone"):
        put(state, "after")
    assert kept(state) == {"before"}


def test_a_restart_between_two_calls_is_not_noticed(state: PostgresState, postgres: PostgresServer) -> None:
    put(state, "one")
    postgres.stop()
    postgres.start()
    put(state, "two")
    postgres.stop()
    postgres.start()
    assert kept(state) == {"one", "two"}


KILLED = """
import os, signal, sys
from postil.storage.postgresql.postgres import PostgresState
state = PostgresState(sys.argv[1])
with state.writing() as changes:
    changes.put("s", "half", b"")
    print("inside", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_one_that_was_killed_inside_a_block_holds_up_nobody(state: PostgresState, postgres: PostgresServer) -> None:
    killed = subprocess.run([sys.executable, "-c", KILLED, postgres.address], stdout=subprocess.PIPE, check=False)
    assert killed.stdout == b"inside\n"
    put(state, "k")
    assert kept(state) == {"k"}


def test_a_replica_that_hangs_inside_a_block_is_undone_by_the_server(
    state: PostgresState, postgres: PostgresServer
) -> None:
    with state._connections.using() as connection:  # pyright: ignore[reportPrivateUsage]
        connection.execute("SET idle_in_transaction_session_timeout = 1000")
    other = PostgresState(postgres.address)

    def hang() -> None:
        with state.writing() as changes:
            changes.put("s", "late", b"v")
            put(other, "k")  # waits until the server has ended the other's transaction

    with pytest.raises((StateAway, StateBusy)):
        hang()
    assert kept(other) == {"k"}
    other.close()


def test_waiting_for_a_turn_ends(state: PostgresState, postgres: PostgresServer) -> None:
    other = PostgresState(postgres.address, busy_seconds=0.2)

    def wait_in_vain() -> None:
        with state.writing():
            put(other, "k")

    with pytest.raises(StateBusy, match=r"busy for 0\.2 seconds"):
        wait_in_vain()
    other.close()


def test_a_key_used_on_one_replica_answers_on_another(state: PostgresState, postgres: PostgresServer) -> None:
    two = PostgresState(postgres.address)
    assert IdempotencyKeys(state).begin("scope", "key", "f") is None
    waiting: list[bytes | None] = []
    thread = threading.Thread(target=lambda: waiting.append(IdempotencyKeys(two).begin("scope", "key", "f")))
    thread.start()
    IdempotencyKeys(state).finish("scope", "key", b"answer")
    thread.join(30)
    assert waiting == [b"answer"]
    two.close()


def test_changes_are_heard_again_after_a_restart(state: PostgresState, postgres: PostgresServer) -> None:
    other, heard = PostgresState(postgres.address), threading.Event()
    stop = other.on_change(heard.set)
    assert heard.wait(30)
    postgres.stop()
    postgres.start()
    end = time.monotonic() + 60
    while True:
        heard.clear()
        put(state, "k")
        if heard.wait(1):
            break
        assert time.monotonic() < end
    stop()
    other.close()


def test_between_two_tries_to_listen_is_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    state = PostgresState("postgresql:///x?host=/nowhere/at/all")
    tries, pauses = list[int](), list[float]()

    def refuse() -> None:
        tries.append(1)
        raise StateAway("refused")

    monkeypatch.setattr(vars(state)["_connections"], "connect", refuse)
    monkeypatch.setattr(state, "_closed", SimpleNamespace(is_set=lambda: len(tries) == 3, wait=pauses.append))
    state._listen()  # pyright: ignore[reportPrivateUsage]
    assert len(pauses) == 3


def test_one_connection_listens_until_it_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    state = PostgresState("postgresql:///x?host=/nowhere/at/all")
    connected, told, rounds = list[int](), list[int](), [[], ["changed"], ["changed"], []]
    vars(state)["_listeners"].add(lambda: told.append(1))

    def notifies(**_: object) -> list[str]:
        heard = rounds.pop(0)
        if not rounds:
            state.close()
        return heard

    def connect() -> object:
        connected.append(1)
        if len(connected) > 1:
            state.close()
        return SimpleNamespace(execute=id, notifies=notifies, close=lambda: None)

    monkeypatch.setattr(vars(state)["_connections"], "connect", connect)
    state._listen()  # pyright: ignore[reportPrivateUsage]
    assert (len(connected), len(told)) == (1, 3), "for what happened before, and for each of two"


def test_the_names_of_old_commits_are_forgotten_and_not_with_every_write(
    state: PostgresState, postgres: PostgresServer
) -> None:
    def commits() -> list[str]:
        return [
            name for (name,) in postgres.execute("SELECT name FROM postil_commits WHERE name LIKE '0 %' ORDER BY name")
        ]

    def add(name: str, age: str) -> None:
        postgres.execute(f"INSERT INTO postil_commits VALUES ('{name}', now() - interval '{age}')")

    state.version()  # makes the tables
    add("0 old", "61 minutes")
    add("0 young", "59 minutes")
    put(state, "first")
    assert commits() == ["0 young"], "one whose answer was lost may still be asked for"
    add("0 old", "61 minutes")
    put(state, "second")
    assert commits() == ["0 old", "0 young"]


def test_times_are_those_of_the_server(state: PostgresState, monkeypatch: pytest.MonkeyPatch) -> None:
    put(state, "before")
    with state.writing() as changes:
        changes.put("s", "day", b"", time.time() + 86400)
    right = time.time
    monkeypatch.setattr(time, "time", lambda: right() + 100 * 86400)  # this replica's clock is 100 days ahead
    assert kept(state) == {"before", "day"}
    with state.writing() as changes:
        changes.put("s", "another", b"", time.time() + 60)
    monkeypatch.undo()
    assert kept(state) == {"before", "day", "another"}


def test_the_promise_is_told(state: PostgresState, postgres: PostgresServer) -> None:
    promise, faults = state.promise()
    assert promise.startswith("version ")
    assert promise.endswith("nothing acknowledged is lost")
    assert faults == []
    postgres.execute("ALTER SYSTEM SET synchronous_commit = off")
    postgres.execute("SELECT pg_reload_conf()")
    try:
        end = time.monotonic() + 30
        while not (found := state.promise())[1]:  # once it has heard of the new settings
            assert time.monotonic() < end
        assert found[0] == "acknowledged writes may be lost"
        assert found[1][0].startswith("synchronous_commit is off")
    finally:
        postgres.execute("ALTER SYSTEM RESET synchronous_commit")
        postgres.execute("SELECT pg_reload_conf()")


class Settings:
    """A connection that answers questions for settings, and how many standbys there are."""

    def __init__(self, standbys: int, **said: str) -> None:
        usual = {"server_version": "17.2 (Debian)", "fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"}
        self._said, self._standbys = {**usual, "synchronous_standby_names": "", **said}, standbys

    def execute(self, statement: str) -> Any:
        name = statement.removeprefix("SHOW ")
        return SimpleNamespace(fetchone=lambda: (self._said.get(name, self._standbys),))


@pytest.mark.parametrize(
    ("settings", "promised", "faults"),
    [
        (Settings(0), "version 17.2, nothing acknowledged is lost", 0),
        (Settings(0, synchronous_standby_names="one"), "version 17.2, nothing acknowledged is lost", 0),
        (Settings(1, synchronous_standby_names="one"), "version 17.2, nothing acknowledged is lost", 0),
        (Settings(1), "it may miss the last writes)", 0),
        (Settings(0, fsync="off"), "acknowledged writes may be lost", 1),
        (Settings(0, full_page_writes="off", synchronous_commit="off"), "acknowledged writes may be lost", 2),
        (Settings(0, synchronous_commit="local"), "version 17.2, nothing acknowledged is lost", 0),
        (Settings(1, synchronous_commit="local", synchronous_standby_names="x"), "acknowledged writes may be lost", 1),
    ],
)
def test_the_promise_is_what_the_settings_make_of_it(
    settings: Settings, promised: str, faults: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = PostgresState("postgresql:///x?host=/nowhere/at/all")
    monkeypatch.setattr(vars(state)["_connections"], "using", lambda: nullcontext(settings))
    promise, found = state.promise()
    assert promise.endswith(promised)
    assert len(found) == faults
