"""The contract of the state, held by every implementation."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from postil.core.ports import State
from postil.storage.memory import MemoryState
from postil.storage.sqlite import SqliteState
from tests.storage.states import postgres, redis, state

__all__ = ["postgres", "redis", "state"]  # fixtures


def put(state: State, space: str, key: str, value: bytes, expires: float | None = None) -> None:
    with state.writing() as changes:
        changes.put(space, key, value, expires)


def test_what_was_put_is_got_and_what_was_deleted_is_gone(state: State) -> None:
    put(state, "a", "k", b"one")
    put(state, "a", "k", b"two")
    with state.reading() as records:
        assert records.get("a", "k") == b"two"
        assert records.get("b", "k") is None
    with state.writing() as changes:
        changes.delete("a", "k")
        changes.delete("a", "never there")
        assert changes.get("a", "k") is None


def test_a_range_is_in_order_of_keys_and_of_one_space(state: State) -> None:
    with state.writing() as changes:
        for key in ("b", "é", "a", "c", "B", "日"):
            changes.put("s", key, key.encode())
        changes.put("t", "a", b"other")
    with state.reading() as records:
        assert [key for key, _ in records.range("s")] == ["B", "a", "b", "c", "é", "日"]
        assert records.range("s", after="a", limit=2) == [("b", b"b"), ("c", b"c")]
        assert records.range("nothing") == []


def test_a_write_that_raises_changes_nothing(state: State) -> None:
    put(state, "s", "k", b"before")

    def fail() -> None:
        with state.writing() as changes:
            changes.put("s", "k", b"after")
            changes.put("s", "new", b"x")
            changes.next("counter")
            assert changes.get("s", "k") == b"after"
            raise LookupError

    with pytest.raises(LookupError):
        fail()
    with state.writing() as changes:
        assert changes.range("s") == [("k", b"before")]
        assert changes.next("counter") == 1


def test_a_counter_never_repeats(state: State) -> None:
    given: list[int] = []

    def take() -> None:
        for _ in range(20):
            with state.writing() as changes:
                given.append(changes.next("c"))

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(given) == list(range(1, 81))


def test_what_expired_is_not_seen(state: State) -> None:
    put(state, "s", "old", b"x", time.time() - 1)
    put(state, "s", "young", b"y", time.time() + 100)
    with state.reading() as records:
        assert records.get("s", "old") is None
        assert records.range("s") == [("young", b"y")]
        assert records.count("s") == 1
        assert records.count("nothing") == 0


def test_the_version_grows_with_every_write(state: State) -> None:
    seen = [state.version()]
    for number in range(3):
        put(state, "s", str(number), b"")
        seen.append(state.version())
    assert seen == sorted(set(seen))


def test_waiting_ends_with_a_write_or_with_time(state: State) -> None:
    seen = state.version()
    assert not state.wait(seen, 0.05)
    threading.Timer(0.1, lambda: put(state, "s", "k", b"")).start()
    started = time.monotonic()
    assert state.wait(seen, 10)
    assert time.monotonic() - started < 1.1
    assert state.wait(seen, 0)


def test_listeners_are_called_until_they_stop(state: State) -> None:
    called = threading.Event()
    stop = state.on_change(called.set)
    put(state, "s", "k", b"")
    assert called.wait(10)
    stop()
    stop()


def test_a_listener_may_read_the_state(state: State) -> None:
    seen: list[bytes | None] = []
    done = threading.Event()

    def look() -> None:
        with state.reading() as records:
            seen.append(records.get("s", "k"))
        if b"x" in seen:
            done.set()

    stop = state.on_change(look)
    put(state, "s", "k", b"x")
    assert done.wait(10)
    stop()


KEYS = st.sampled_from(["a", "b", "ab", "é", "日本", "A/1", "A/2"])


class Compared(RuleBasedStateMachine):
    """Whatever is done, SQLite and memory answer the same."""

    folder: Callable[[], Path]

    def __init__(self) -> None:
        super().__init__()
        import tempfile

        self.place = tempfile.TemporaryDirectory()
        self.left: State = SqliteState(f"{self.place.name}/state.db")
        self.right: State = MemoryState()

    @rule(key=KEYS, value=st.binary(max_size=5), fails=st.booleans())
    def put_one(self, key: str, value: bytes, fails: bool) -> None:
        for each in (self.left, self.right):
            try:
                with each.writing() as changes:
                    changes.put("s", key, value)
                    changes.next("n")
                    if fails:
                        raise LookupError
            except LookupError:
                pass

    @rule(key=KEYS)
    def delete_one(self, key: str) -> None:
        for each in (self.left, self.right):
            with each.writing() as changes:
                changes.delete("s", key)

    @rule(after=KEYS | st.just(""), limit=st.none() | st.integers(0, 4))
    def compare_range(self, after: str, limit: int | None) -> None:
        with self.left.reading() as left, self.right.reading() as right:
            assert left.range("s", after, limit) == right.range("s", after, limit)

    @invariant()
    def versions_agree(self) -> None:
        assert self.left.version() == self.right.version()

    def teardown(self) -> None:
        self.left.close()
        self.place.cleanup()


Compared.TestCase.settings = settings(max_examples=15, stateful_step_count=20, deadline=None)
TestBothAgree = Compared.TestCase
