"""Very many events of one entity are not held, and make the same of it."""

from __future__ import annotations

import random

import msgspec
import pytest

from postil.tracker import events as ev
from postil.tracker.model import Entity
from postil.tracker.state import fold as folding
from postil.tracker.state import large_history
from postil.tracker.state.fold import fold, fold_lines
from postil.tracker.state.large_history import LargeHistory, Tangled
from tests.tracker.state.reference_fold import fold_simply
from tests.tracker.worlds import ENTITY, Replica, act, pair


def random_lines(dice: random.Random) -> list[bytes]:
    """The lines of an issue of a few writers, some of whom lie, in any order and some of them twice."""
    replicas = [Replica(f"r{at * 7 % 5}") for at in range(dice.randrange(1, 6))]
    replicas[0].write(ev.Created, kind="issue", title="First", description="a\n\nb\n\nc", labels=("x", "x"))
    for one in replicas[1:]:
        if dice.random() < 0.9:
            one.fetch(replicas[0])
        else:
            one.write(ev.Created, kind="issue", title="Again", description="z", assignees=("p",))
    for _ in range(dice.randrange(30)):
        one = dice.choice(replicas)
        if dice.random() < 0.4:
            one.fetch(dice.choice(replicas), dice.choice((1, 0.5)))
        match dice.randrange(20):
            case 0:
                one.write(ev.Assigned, add=(dice.choice("pq"),), rm=(dice.choice("pq"),))
            case 1:
                one.write(ev.Labelled, add=tuple(dice.choices("xyz", k=3)), rm=tuple(dice.choices("xyz", k=2)))
            case 2:
                one.write(ev.Commented, c=f"c{dice.randrange(3)}", body=f"b{dice.randrange(3)}")
            case 3:
                field = dice.choice(("deleted", "own", "description"))
                one.write(ev.Set, f=field, value=dice.choice((None, "true", "x")))
            case _:
                act(one, dice)
        if dice.random() < 0.03:
            lie = dice.choice(({"l": 1 << 47}, {"l": 1}, {"dep": {"r0": 10**30, "r1": -4}}, {"dep": {"r2": 3}}))
            log = one.logs[one.name]
            log[-1] = msgspec.structs.replace(log[-1], **lie)
    for one in replicas[1:]:
        replicas[0].fetch(one)
    found = [msgspec.json.encode(event) for event in replicas[0].known()]
    dice.shuffle(found)
    found += dice.choices(found, k=2) if dice.random() < 0.3 else []
    for strange in (b"", b"junk", b" ", b'{"t":"new","ent":"%s","id":"w","r":"zz","n":3,"l":4}' % ENTITY.encode()):
        if dice.random() < 0.1:
            found.insert(dice.randrange(len(found)), strange)
    return found


def written(entity: Entity | None) -> bytes:
    return msgspec.json.encode(entity, enc_hook=list)


def test_both_folds_make_what_the_simple_one_makes(monkeypatch: pytest.MonkeyPatch) -> None:
    large = 0
    for seed in range(1200):
        dice = random.Random(seed)
        lines = b"\n".join(random_lines(dice)) + dice.choice((b"", b"\n"))
        events = ev.decode_lines(lines)
        expected = written(fold_simply(events))
        assert written(fold(events)) == expected, f"seed {seed}"
        monkeypatch.setattr(large_history, "_CHUNK", dice.choice((80, 700, 1 << 20)))
        monkeypatch.setattr(large_history, "_TOGETHER", dice.choice((1, 3, 4096)))
        monkeypatch.setattr(folding, "LARGE", 1)
        assert written(fold_lines(lines)) == expected, f"seed {seed}"
        try:
            LargeHistory(lines)
        except Tangled:
            continue
        large += 1
    assert large > 500


def test_sequences_are_made_when_somebody_looks() -> None:
    one, _ = pair()
    for at in range(9):
        one.write(ev.Commented, c=f"c{at}", body=f"body {at}")
    lines = b"\n".join(msgspec.json.encode(event) for event in one.known())
    entity = folding._fold(LargeHistory(lines))  # pyright: ignore[reportPrivateUsage]
    held = fold(one.known())
    assert entity is not None
    assert held is not None
    assert entity == held
    assert not isinstance(entity.comments, tuple)
    assert entity.comments[-1].body == "body 8"
    assert [comment.id for comment in entity.comments[2:4]] == ["c2", "c3"]
    assert entity.comments[20:] == ()
    with pytest.raises(IndexError):
        entity.comments[9]
    assert entity.comments != held.comments[:-1]


def test_names_of_writers_who_wrote_nothing_are_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """An event may name ten thousand; somebody can write many such events."""
    monkeypatch.setattr(large_history, "_MOST_NAMED", 50)
    one, other = pair()
    one.write(ev.Labelled, add=("x",))
    other.write(ev.Labelled, add=("x",))
    known = {**{f"nobody{number}": 1 for number in range(100)}, one.known()[-1].r: 9}
    forged = ev.Labelled(ent=ENTITY, id="f", r="forger", n=1, l=9, rm=("x",), dep=known)
    events = [*one.known(), *other.known(), forged]
    lines = b"\n".join(dict.fromkeys(ev.encode(event) for event in events if not isinstance(event, ev.Unknown)))
    held = LargeHistory(lines)
    assert held._writers == len({event.r for event in events})  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(folding, "LARGE", 0)
    assert written(fold_lines(lines)) == written(fold(ev.decode_lines(lines)))
