"""Very many events that lie about what they knew are not held, and come in the order in which few of them come."""

from __future__ import annotations

import random

import msgspec
import pytest

from postil.tracker import events as ev
from postil.tracker.state import large_history
from postil.tracker.state.causality import Causality
from postil.tracker.state.large_history import LargeHistory
from tests.tracker.worlds import Replica, act


def lying_lines(dice: random.Random) -> list[ev.Event]:
    """The events of a few writers of whom most lie about what they knew, so that there are circles of several."""
    replicas = [Replica(f"r{at}") for at in range(dice.randrange(2, 5))]
    replicas[0].write(ev.Created, kind="issue", title="First")
    for one in replicas[1:]:
        one.fetch(replicas[0])
    for _ in range(dice.randrange(4, 24)):
        one = dice.choice(replicas)
        one.fetch(dice.choice(replicas))
        act(one, dice)
        if dice.random() < 0.5:
            other, number = dice.choice(replicas).name, dice.randrange(1, 12)
            told = {"dep": {other: number}, "proof": dice.choice(("", "00000000"))}
            lie = dice.choice((told, told, {"l": dice.randrange(1, 40)}, {"n": dice.randrange(1, 6)}))
            log = one.logs[one.name]
            log[-1] = msgspec.structs.replace(log[-1], **lie)
    for one in replicas[1:]:
        replicas[0].fetch(one)
    return replicas[0].known()


def test_events_that_lie_are_not_held_and_come_once_in_the_same_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_history, "_TOGETHER", 3)
    monkeypatch.setattr(large_history, "_NEAR", 400)
    untangled = 0
    for seed in range(800):
        events = lying_lines(random.Random(seed))
        held = [event.id for event in Causality(events).order]
        assert sorted(held) == sorted(event.id for event in events), f"seed {seed}"
        stored = b"\n".join(msgspec.json.encode(event) for event in events)
        assert [event.id for event in LargeHistory(stored).stream()] == held, f"seed {seed}"
        in_order = sorted(events, key=lambda event: (event.l, event.r, event.n))
        untangled += held != [event.id for event in in_order]
    assert untangled > 300
