"""A state that the client carries: read back by the one it belongs to, unforgeable, and only for a while."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.wire.protocol import request_state
from postil.wire.protocol.failures import ProtocolFailure
from postil.wire.protocol.request_state import LIFETIME, bind, seal, unseal

SECRET = b"s" * 32
ANSWERS = st.dictionaries(st.text(max_size=8), st.dictionaries(st.text(max_size=8), st.integers(0, 9)), max_size=4)


@given(ANSWERS)
def test_what_was_sealed_is_read_back(answers: dict[str, Any]) -> None:
    assert unseal(seal(answers, "mine", SECRET), "mine", SECRET) == answers


@given(st.integers(0, 200), st.integers(1, 255))
def test_a_state_with_one_changed_character_is_refused(at: int, by: int) -> None:
    state = seal({"name": {"value": 1}}, "mine", SECRET)
    at %= len(state)
    changed = state[:at] + chr((ord(state[at]) + by) % 256) + state[at + 1 :]
    with pytest.raises(ProtocolFailure):
        unseal(changed, "mine", SECRET)


def test_a_state_of_another_or_sealed_by_another_secret_is_refused() -> None:
    state = seal({}, "mine", SECRET)
    for bound_to, secret in (("yours", SECRET), ("mine", b"t" * 32)):
        with pytest.raises(ProtocolFailure):
            unseal(state, bound_to, secret)


def test_a_state_lives_an_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(request_state.time, "time", lambda: now)
    state = seal({}, "mine", SECRET)
    now += LIFETIME
    assert unseal(state, "mine", SECRET) == {}
    now += 1
    with pytest.raises(ProtocolFailure):
        unseal(state, "mine", SECRET)


def test_a_state_belongs_to_one_caller_asking_exactly_this() -> None:
    ask = ("local", "tools/call", "greet", {"a": 1, "b": 2})
    assert bind(*ask) == bind("local", "tools/call", "greet", {"b": 2, "a": 1})
    others = [("other", *ask[1:]), (ask[0], "prompts/get", *ask[2:]), (*ask[:2], "x", ask[3]), (*ask[:3], {"a": 1})]
    assert bind(*ask) not in [bind(*other) for other in others]


def test_a_state_of_just_the_longest_is_read_back(monkeypatch: pytest.MonkeyPatch) -> None:
    state = seal({"name": {"value": 1}}, "mine", SECRET)
    monkeypatch.setattr(request_state, "LONGEST", len(state))
    assert unseal(state, "mine", SECRET) == {"name": {"value": 1}}
    monkeypatch.setattr(request_state, "LONGEST", len(state) - 1)
    with pytest.raises(ProtocolFailure):
        unseal(state, "mine", SECRET)
