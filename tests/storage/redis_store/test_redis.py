"""Redis as the state: what only it promises, beside the contract that test_state.py holds it to."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from types import SimpleNamespace
from typing import Self

import pytest

from postil.storage.failures import StateAway, StateBusy, StateUnable, StateUnclear
from postil.storage.idempotency import IdempotencyKeys
from postil.storage.redis_store import redis as redis_state
from postil.storage.redis_store.redis import RedisState
from tests.storage.redis_server import RedisServer

WRITER = """
import sys
from postil.storage.redis_store.redis import RedisState
state = RedisState(sys.argv[1])
for n in range(int(sys.argv[2])):
    with state.writing() as changes:
        number = changes.next("shared")
        changes.put("numbers", f"{number:06d}", b"x")
    print(number, flush=True)
"""


def test_writers_in_many_processes_never_take_the_same_number(address: str) -> None:
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, address, "50"], stdout=subprocess.PIPE) for _ in range(3)
    ]
    given = [int(line) for writer in writers for line in writer.communicate()[0].split()]
    assert sorted(given) == list(range(1, 151))
    state = RedisState(address)
    with state.reading() as records:
        assert len(records.range("numbers")) == 150
    state.close()


def test_nothing_acknowledged_is_lost_when_redis_is_killed(address: str, server: RedisServer) -> None:
    state = RedisState(address, busy_seconds=3)
    acknowledged: list[int] = []
    for n in range(60):
        if n % 20 == 10:
            server.kill()
            with pytest.raises(StateAway), state.writing() as changes:
                changes.put("s", "lost", b"")
            server.start()
        try:
            with state.writing() as changes:
                changes.put("s", f"{n:03d}", b"kept")
            acknowledged.append(n)
        except (StateAway, StateBusy):
            continue
    with state.reading() as records:
        kept = {int(key) for key, _ in records.range("s")}
    assert kept >= set(acknowledged)
    assert len(acknowledged) >= 57
    state.close()


def test_a_writer_that_was_stopped_for_too_long_changes_nothing(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redis_state, "LEASE_MS", 50)
    slow, quick = RedisState(address), RedisState(address)

    def write_slowly() -> None:
        with slow.writing() as changes:
            changes.put("s", "k", b"slow")
            time.sleep(0.2)  # the stop itself: longer than its lease
            with quick.writing() as other:
                other.put("s", "k", b"quick")

    with pytest.raises(StateBusy):
        write_slowly()
    with quick.reading() as records:
        assert records.get("s", "k") == b"quick"
    slow.close()
    quick.close()


def test_what_another_replica_writes_is_heard_after_the_watch_began(address: str) -> None:
    one, other = RedisState(address), RedisState(address)
    heard = threading.Semaphore(0)
    stop = one.on_change(heard.release)
    assert heard.acquire(timeout=30), "the watch has begun"
    with other.writing() as changes:
        changes.put("s", "k", b"v")
    assert heard.acquire(timeout=30)
    stop()
    one.close()
    other.close()


def test_a_key_used_on_one_replica_answers_on_another(address: str) -> None:
    one, two = RedisState(address), RedisState(address)
    assert IdempotencyKeys(one).begin("scope", "key", "f") is None
    waiting: list[bytes | None] = []
    thread = threading.Thread(target=lambda: waiting.append(IdempotencyKeys(two).begin("scope", "key", "f")))
    thread.start()
    IdempotencyKeys(one).finish("scope", "key", b"answer")
    thread.join(10)
    assert waiting == [b"answer"]
    one.close()
    two.close()


def test_the_doctor_says_which_promise_redis_keeps(address: str) -> None:
    import redis

    state = RedisState(address)
    assert state.promise() == ("nothing acknowledged is lost", [])
    with redis.Redis.from_url(address) as client:  # pyright: ignore[reportUnknownMemberType]
        client.config_set("appendfsync", "everysec")  # pyright: ignore[reportUnknownMemberType]
        client.config_set("maxmemory-policy", "allkeys-lru")  # pyright: ignore[reportUnknownMemberType]
        said, faults = state.promise()
        client.config_set("appendfsync", "always")  # pyright: ignore[reportUnknownMemberType]
        client.config_set("maxmemory-policy", "noeviction")  # pyright: ignore[reportUnknownMemberType]
    assert "last second" in said
    assert len(faults) == 2
    state.close()


def test_a_stall_in_a_commit_is_waited_out_and_answered_truly(
    address: str, server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_state, "LEASE_MS", 60_000)  # a busy machine may make the stall longer than it should be
    monkeypatch.setattr(redis_state, "COMMIT_SECONDS", 60.0)
    state = RedisState(address)
    resumed = threading.Timer(1.5, server.go_on)  # longer than one answer is waited for
    with state.writing() as changes:
        changes.put("s", "k", b"v")
        server.pause()
        resumed.start()
    resumed.join()
    with state.reading() as records:
        assert records.get("s", "k") == b"v"
    state.close()


def test_a_commit_without_an_answer_is_not_called_unmade(
    address: str, server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_state, "COMMIT_SECONDS", 0.0)
    state = RedisState(address)

    def fall_silent() -> None:
        with state.writing() as changes:
            changes.put("s", "k", b"v")
            server.pause()

    try:
        with pytest.raises(StateUnclear, match="not known") as caught:
            fall_silent()
    finally:
        server.go_on()
    assert "Nothing was changed" not in caught.value.text()
    assert caught.value.data == {"status": 504, "outcome": "unknown"}
    state.close()


def test_a_commit_that_redis_refuses_changed_nothing(address: str) -> None:
    import redis

    state = RedisState(address)

    def write_beyond() -> None:
        with state.writing() as changes:
            changes.put("s", "k", b"v" * 100_000)
            client.config_set("maxmemory", "1")  # pyright: ignore[reportUnknownMemberType]

    with redis.Redis.from_url(address) as client:  # pyright: ignore[reportUnknownMemberType]
        try:
            with pytest.raises(StateAway, match="maxmemory"):
                write_beyond()
        finally:
            client.config_set("maxmemory", "0")  # pyright: ignore[reportUnknownMemberType]
    with state.reading() as records:
        assert records.get("s", "k") is None
    state.close()


KILLED = """
import os, signal, sys
from postil.storage.redis_store.redis import RedisState
state = RedisState(sys.argv[1])
with getattr(state, sys.argv[2])() as records:
    print("inside", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("block", ["writing", "reading"])
def test_one_that_was_killed_inside_a_block_holds_up_nobody(address: str, block: str) -> None:
    killed = subprocess.run([sys.executable, "-c", KILLED, address, block], stdout=subprocess.PIPE, check=False)
    assert killed.stdout == b"inside\n"
    state = RedisState(address)
    begun = time.monotonic()
    with state.writing() as changes:
        changes.put("s", "k", b"v")
    assert time.monotonic() - begun < redis_state.LEASE_MS / 1000
    state.close()


def test_readers_without_a_pause_do_not_keep_a_writer_out(address: str) -> None:
    over = threading.Event()

    def read() -> None:
        state = RedisState(address)
        while not over.is_set():
            with state.reading() as records:
                records.range("s")
        state.close()

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    state = RedisState(address, busy_seconds=5)
    try:
        for n in range(10):
            with state.writing() as changes:
                changes.put("s", str(n), b"v")
    finally:
        over.set()
        for reader in readers:
            reader.join(10)
        state.close()


def test_a_look_that_took_longer_than_its_lease_is_not_believed(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    state, other = RedisState(address), RedisState(address)
    monkeypatch.setattr(redis_state, "LEASE_MS", 50)

    def look() -> None:
        with state.reading() as records:
            records.get("s", "k")
            time.sleep(0.1)  # longer than the lease: the time itself is what is tested
            with other.writing() as changes:
                changes.put("s", "k", b"v")

    with pytest.raises(StateBusy, match=r"busy for 0\.05 seconds"):
        look()
    state.close()
    other.close()


def test_a_redis_without_a_log_says_what_it_loses(address: str) -> None:
    state = RedisState(address)
    client = redis_state.connect(address)
    client.config_set("appendonly", "no")
    try:
        promise, faults = state.promise()
    finally:
        client.config_set("appendonly", "yes")
    assert promise == "what was written since its last snapshot is lost when it stops"
    assert faults == ["appendonly is off: set appendonly yes and appendfsync always"]
    state.close()


def test_settings_that_it_does_not_tell_are_asked_of_the_operator(address: str, server: RedisServer) -> None:
    with redis_state.connect(address) as client:
        client.execute_command("ACL", "SETUSER", "guest", "on", ">word", "~*", "&*", "+@all", "-config")
    guest = RedisState(f"unix://guest:word@{server.socket}")
    with pytest.raises(StateUnable, match="config"):
        guest.promise()
    guest.close()
    server.kill()
    state = RedisState(address)
    try:
        with pytest.raises(StateAway):
            state.promise()
    finally:
        server.start()
        state.close()


def test_a_failover_to_a_replica_is_named_in_the_promise(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    state = RedisState(address)
    promise = "nothing acknowledged is lost"
    said: dict[str, int] = {}  # as a managed service may answer

    def info(section: str) -> dict[str, int]:
        return said

    monkeypatch.setattr(vars(state)["_redis"], "info", info)
    assert state.promise() == (promise, [])
    said["connected_slaves"] = 1
    assert state.promise() == (f"{promise}; a failover to a replica loses what that had not received", [])
    state.close()


def test_between_two_tries_to_listen_is_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    state = RedisState("unix:///nonexistent/redis.sock")
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        state.close()

    monkeypatch.setattr(redis_state, "time", SimpleNamespace(sleep=pause))
    state._listen()  # pyright: ignore[reportPrivateUsage]
    assert len(pauses) == 1


class Heard:
    """A subscription with these messages, and then the end."""

    def __init__(self, state: RedisState, *messages: object) -> None:
        self._state, self._left = state, [*messages]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def subscribe(self, channel: str) -> None: ...

    def get_message(self, timeout: float) -> object:
        if not self._left:
            self._state.close()
            return None
        return self._left.pop(0)


def test_only_a_message_is_a_change(monkeypatch: pytest.MonkeyPatch) -> None:
    state, told = RedisState("unix:///nonexistent/redis.sock"), list[int]()
    vars(state)["_listeners"].add(lambda: told.append(1))
    heard = Heard(state, None, {"type": "message"}, None, None)

    def pubsub(**options: object) -> Heard:
        return heard

    monkeypatch.setattr(vars(state)["_redis"], "pubsub", pubsub)
    state._listen()  # pyright: ignore[reportPrivateUsage]
    assert len(told) == 2, "for what happened before, and for the message"
