"""What replicas rely on, held by both states that they share: Redis and PostgreSQL."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
import redis as redis_library

from postil.core import call
from postil.core.failure import Failure
from postil.inbox.model import Message, Place
from postil.inbox.store import MessageStore
from postil.storage import outage
from postil.storage.failures import StateAway
from postil.storage.outage import FIRST, LONGEST, find_outage, watch_outages
from postil.storage.postgresql.postgres import PostgresState
from postil.storage.redis_store.redis import RedisState
from tests.storage.postgres_server import PostgresServer
from tests.storage.redis_server import RedisServer
from tests.storage.states import postgres, redis

__all__ = ["postgres", "redis"]  # fixtures
Server = RedisServer | PostgresServer
Shared = RedisState | PostgresState


@pytest.fixture(params=["redis", "postgres"])
def server(request: pytest.FixtureRequest) -> Server:
    made: Server = request.getfixturevalue(request.param)
    made.clear()
    outage._outages.pop(made.address, None)  # pyright: ignore[reportPrivateUsage]
    return made


@pytest.fixture
def state(server: Server) -> Iterator[Shared]:
    made = open_state(server)
    yield made
    made.close()


def open_state(server: Server) -> Shared:
    return (RedisState if isinstance(server, RedisServer) else PostgresState)(server.address)


def stored(server: Server) -> set[str]:
    """Returns the keys that the server keeps in one space, whether they have expired or not."""
    if isinstance(server, PostgresServer):
        return {key for (key,) in server.execute("SELECT key FROM postil_records WHERE space = 's'")}
    with redis_library.Redis.from_url(server.address) as client:  # pyright: ignore[reportUnknownMemberType]
        found: list[bytes] = client.hkeys("postil:values:s")  # type: ignore[assignment]
        return {key.decode() for key in found}


def read(state: Shared, space: str, key: str = "k") -> bytes | None:
    with state.reading() as records:
        return records.get(space, key)


def test_what_expired_is_cleared_away_by_a_later_write(server: Server, state: Shared) -> None:
    with state.writing() as changes:
        changes.put("s", "young", b"", time.time() + 1000)
        changes.put("s", "old", b"", time.time() - 5)
        changes.put("s", "lasting", b"")
    with state.writing() as changes:
        changes.put("s", "another", b"", time.time() + 1000)
    assert stored(server) == {"young", "lasting", "another"}


def test_what_this_process_has_written_to_is_not_shown_from_memory(server: Server, state: Shared) -> None:
    spaces = ("put", "deleted", "raised", "untouched")
    with state.writing() as changes:
        for space in spaces:
            changes.put(space, "k", b"old")
    assert [read(state, space) for space in spaces] == [b"old"] * 4
    with state.writing() as changes:
        changes.put("put", "k", b"new")
        changes.delete("deleted", "k")

    def fail() -> None:
        with state.writing() as changes:
            changes.put("raised", "k", b"new")
            raise LookupError

    with pytest.raises(LookupError):
        fail()
    server.kill()
    try:
        assert read(state, "untouched") == b"old"
        for space in spaces[:3]:
            with pytest.raises(StateAway):
                read(state, space)
    finally:
        server.start()


class Told(call.Call):
    """A call that keeps what is said beside its answer."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[tuple[str, str]] = []

    def tell(self, name: str, value: str) -> None:
        self.heard.append((name, value))


def test_what_was_read_is_shown_with_its_age_while_it_is_away(server: Server, state: Shared) -> None:
    with state.writing() as changes:
        changes.put("s", "k", b"v")
    told = Told()
    call.enter(told)
    with state.reading() as records:
        assert records.range("s") == [("k", b"v")]
    assert told.heard == []
    server.kill()
    try:
        with state.reading() as records:
            assert records.range("s") == [("k", b"v")]
        with pytest.raises(StateAway), state.reading() as records:
            records.get("s", "never asked")
    finally:
        server.start()
    ((name, age),) = told.heard
    assert (name, age.isdigit()) == ("X-Postil-Stale", True)


def test_what_was_counted_is_known_while_it_is_away(server: Server, state: Shared) -> None:
    with state.writing() as changes:
        changes.put("s", "k", b"v")
        changes.put("t", "k", b"v")
    with state.reading() as records:
        assert [records.count(space) for space in "stu"] == [1, 1, 0]
    with state.writing() as changes:
        changes.put("t", "l", b"v")
    server.kill()
    try:
        with state.reading() as records:
            assert [records.count("s"), records.count("u")] == [1, 0]
        with pytest.raises(StateAway), state.reading() as records:
            records.count("t")
    finally:
        server.start()


@pytest.mark.parametrize("others", [(), ("draft",), ("closed",), ("draft", "closed")])
def test_the_messages_are_listed_while_it_is_away(server: Server, state: Shared, others: tuple[str, ...]) -> None:
    store = MessageStore(state, "repository")
    store.add(lambda number: Message(number, Place("a.py"), "please look", "2026-01-01T00:00:00Z"))
    store.look(*others)
    counts = store.counts()
    server.kill()
    try:
        assert [message.comment for message in store.look(*others).messages] == ["please look"]
        assert store.counts() == counts
    finally:
        server.start()


def test_what_was_loaded_is_not_shown_from_memory(server: Server, state: Shared) -> None:
    with state.writing() as changes:
        changes.put("s", "k", b"old")
    assert read(state, "s") == b"old"
    state.load([("n", 4)], [("s", "k", b"loaded", None)])
    server.kill()
    try:
        with pytest.raises(StateAway):
            read(state, "s")
    finally:
        server.start()
    assert read(state, "s") == b"loaded"


def test_what_a_block_asks_in_vain_is_a_failure_and_not_an_older_answer(server: Server, state: Shared) -> None:
    """What it read before is of another moment than what it would be told now."""
    with state.writing() as changes:
        changes.put("s", "k", b"v")
    assert read(state, "s") == b"v"

    def look() -> None:
        with state.reading() as records:
            server.kill()
            records.get("s", "k")

    try:
        with pytest.raises(Failure):
            look()
    finally:
        server.start()


def test_while_an_outage_lasts_nobody_waits_for_the_server(server: Server, state: Shared) -> None:
    find_outage(server.address).note(TimeoutError("silent"))
    with pytest.raises(StateAway, match="it did not answer in time"):
        state.version()
    outage._outages.pop(server.address)  # pyright: ignore[reportPrivateUsage]
    after = open_state(server)
    assert after.version() == 0
    after.close()


def test_an_answer_ends_the_outage(server: Server, state: Shared, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(outage, "time", SimpleNamespace(monotonic=lambda: now[0]))
    heard: list[str] = []
    stop = watch_outages(heard.append)
    away = find_outage(server.address)
    for _ in range(3):
        away.note(TimeoutError("silent"))
    now[0] += LONGEST
    state.version()
    stop()
    assert [sentence.partition(" answers ")[1:] for sentence in heard[1:]] == [
        (" answers ", f"again, after {LONGEST:.0f} s")
    ]
    away.note(TimeoutError("silent"))
    now[0] += FIRST
    assert not away.lasts, "the next one is short again"


def test_a_dump_holds_all_that_lives_and_how_long(state: Shared) -> None:
    with state.writing() as changes:
        for number in range(3):
            changes.put("s", str(number), b"%d" % number)
        changes.put("t", "k", b"v", time.time() + 1000)
        changes.put("t", "old", b"v", time.time() - 5)
        changes.next("n")
    counters, records = state.dump()
    assert ("n", 1) in counters
    rows = sorted(records)
    assert [row[:3] for row in rows] == [("s", "0", b"0"), ("s", "1", b"1"), ("s", "2", b"2"), ("t", "k", b"v")]
    assert [row[3] is None for row in rows] == [True, True, True, False]
    lives = rows[3][3]
    assert lives is not None
    assert 900 < lives <= 1000


def test_a_load_replaces_all_and_the_version_only_grows(state: Shared) -> None:
    with state.writing() as changes:
        changes.put("s", "gone", b"v")
        changes.next("n")
    before = state.version()
    state.load([("n", 7)], [("s", "k", b"v", None), ("s", "short", b"v", 1000.0), ("s", "over", b"v", -1.0)])
    assert state.version() > before
    with state.writing() as changes:
        assert changes.range("s") == [("k", b"v"), ("short", b"v")]
        assert changes.next("n") == 8


def test_a_state_that_is_closed_listens_no_more(state: Shared) -> None:
    before = {*threading.enumerate()}
    heard = threading.Event()
    state.on_change(heard.set)
    assert heard.wait(30), "it has begun to listen"
    (listening,) = {*threading.enumerate()} - before
    state.close()
    listening.join(30)
    assert not listening.is_alive()


@pytest.mark.parametrize("waits", [True, False])
def test_who_wants_to_know_of_changes_listens_with_one_thread(state: Shared, waits: bool) -> None:
    before = threading.active_count()
    for _ in range(3):
        if waits:
            state.wait(0, 0)
        else:
            state.on_change(lambda: None)
    assert threading.active_count() == before + 1
