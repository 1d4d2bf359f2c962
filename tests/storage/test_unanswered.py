"""A commit without an answer is asked for until somebody knows."""

from __future__ import annotations

import pytest

from postil.storage import unanswered
from postil.storage.failures import StateAway, StateBusy, StateUnclear
from postil.storage.unanswered import ask_until_known


class Clock:
    """A clock that goes on while somebody sleeps."""

    now = 100.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(unanswered, "time", clock)
    return clock


def test_it_is_asked_again_after_a_pause_until_it_is_answered(clock: Clock) -> None:
    answers: list[StateAway | int] = [StateAway("gone"), StateAway("still"), 7]

    def ask() -> int:
        answer = answers.pop(0)
        if isinstance(answer, StateAway):
            raise answer
        return answer

    assert ask_until_known(ask, 10) == 7
    assert clock.now == pytest.approx(100 + 2 * unanswered.PAUSE)


def test_a_failure_that_is_an_answer_is_raised_and_silence_is_unknown_in_the_end() -> None:
    def refuse() -> int:
        raise StateBusy("there", 1)

    with pytest.raises(StateBusy):
        ask_until_known(refuse, 10, lambda failure: isinstance(failure, StateBusy))
    with pytest.raises(StateUnclear, match="kept the state database") as unclear:
        ask_until_known(refuse, 10)
    assert unclear.value.data["outcome"] == "unknown"
