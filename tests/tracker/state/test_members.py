"""Members that many add and remove: what a removal had not seen stays."""

from __future__ import annotations

import pytest

from postil.tracker import events as ev
from postil.tracker.state import members
from postil.tracker.state.causality import Causality
from postil.tracker.state.members import MOST, Members
from tests.tracker.worlds import Replica, pair


def members_of(replica: Replica) -> Members[str, str]:
    seen = Causality(replica.known())
    found: Members[str, str] = Members(seen)
    for ref, event in enumerate(seen.stream()):
        if isinstance(event, ev.Created):
            found.update(ref, event.labels)
        elif isinstance(event, ev.Labelled):
            found.update(ref, event.add, event.rm)
    return found


def test_a_removal_leaves_the_additions_that_it_had_not_seen():
    one, two = pair()
    one.write(ev.Labelled, add=("x",))
    two.write(ev.Labelled, rm=("x",))
    two.fetch(one)
    found = members_of(two)
    assert [*found] == ["x"]
    assert Causality(two.known()).read(found.first("x")).id == one.logs["aaa"][-1].id


def test_adding_again_after_a_removal_counts():
    one, _ = pair()
    one.write(ev.Labelled, rm=("x",))
    assert [*members_of(one)] == []
    one.write(ev.Labelled, add=("x", "y"))
    assert [*members_of(one)] == ["x", "y"]


def test_a_set_has_so_many_members_and_takes_another_when_one_is_gone():
    one, _ = pair()
    one.write(ev.Labelled, add=tuple(f"l{number:05}" for number in range(MOST + 1)))
    one.write(ev.Labelled, add=("late", "l00000"))
    assert len({*members_of(one)}) == MOST
    assert "late" not in members_of(one)
    one.write(ev.Labelled, rm=("l00000",), add=("later",))
    assert len([*members_of(one)]) == MOST
    assert "later" in members_of(one)


def test_a_set_is_kept_in_by_so_many_additions(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(members, "MOST_ADDITIONS", 3)
    one, other = pair()
    for _ in range(5):
        one.write(ev.Labelled, add=("x", "x"))
    other.fetch(one)
    one.write(ev.Labelled, add=("late",))
    assert [*members_of(one)] == ["x"]
    other.write(ev.Labelled, rm=("x",), add=("y", "z"))
    one.fetch(other)
    assert [*members_of(one)] == ["y", "z"]


def test_a_removal_asks_once_what_its_writer_had_seen():
    """It was asked for each member: thousands of writers for each of thousands of labels."""
    one, _ = pair()
    names = tuple(f"l{number}" for number in range(20))
    one.write(ev.Labelled, add=names)
    one.write(ev.Labelled, rm=names)
    seen = Causality(one.known())
    asked: list[int] = []
    knowledge = seen.knowledge
    seen.knowledge = lambda ref: asked.append(ref) or knowledge(ref)
    found: Members[str, str] = Members(seen)
    found.update(0, names)
    found.update(1, (), names)
    assert [*found] == []
    assert asked == [1]
