"""The state in memory: what it promises beside the contract that test_state.py holds it to."""

import time

import pytest

from postil.storage.memory import MemoryState


def test_two_states_share_nothing() -> None:
    one, two = MemoryState(), MemoryState()
    with one.writing() as changes:
        changes.put("s", "k", b"v")
        changes.next("c")
    with two.writing() as changes:
        assert changes.get("s", "k") is None
        assert changes.next("c") == 1


def test_a_failed_write_wakes_nobody_and_is_no_version() -> None:
    state, called = MemoryState(), list[int]()
    state.on_change(lambda: called.append(1))
    try:
        with state.writing():
            raise LookupError
    except LookupError:
        pass
    assert (state.version(), called) == (0, [])


def test_a_record_is_gone_exactly_when_it_expires(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: 1000.0)
    state = MemoryState()
    with state.writing() as changes:
        changes.put("s", "now", b"", 1000.0)
        changes.put("s", "soon", b"", 1000.001)
    with state.reading() as records:
        assert records.range("s") == [("soon", b"")]
        assert records.get("s", "now") is None


def test_closing_it_keeps_what_it_holds() -> None:
    state = MemoryState()
    with state.writing() as changes:
        changes.put("s", "k", b"v")
    state.close()
    with state.reading() as records:
        assert records.get("s", "k") == b"v"
