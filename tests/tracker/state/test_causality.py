"""Order by what a writer had seen: clocks decide ties, lies decide nothing."""

from __future__ import annotations

import random

import msgspec

from postil.tracker import events as ev
from postil.tracker.events import Event
from postil.tracker.state.causality import Causality, prove
from postil.tracker.state.fold import fold
from tests.tracker.worlds import Replica, act, meet, pair

LATEST = (1 << 48) - 1


def retimed(replica: Replica, clock: int) -> None:
    """The last event of a replica gets another clock."""
    log = replica.logs[replica.name]
    log[-1] = msgspec.structs.replace(log[-1], l=clock)


def state_of(replica: Replica):
    state = replica.state()
    assert state is not None
    return state


def test_a_label_removed_after_a_poisoned_clock_stays_removed():
    one, two = pair()
    two.write(ev.Labelled, add=("evil",))
    retimed(two, LATEST)
    one.fetch(two)
    one.write(ev.Labelled, rm=("evil",))
    retimed(one, 7)  # as a writer stamps it that does not follow the clock
    assert state_of(one).labels == ("x",)
    assert meet(one, two).labels == ("x",)


def test_whoever_answers_a_poisoned_title_has_the_last_word():
    one, two = pair()
    two.write(ev.Set, f="title", value="Poison")
    retimed(two, LATEST)
    one.fetch(two)
    one.write(ev.Set, f="title", value="Mended")
    retimed(one, 7)
    state = meet(one, two)
    assert (state.title, state.conflicts) == ("Mended", ())


def test_comments_after_a_poisoned_clock_keep_their_order():
    one, two = pair()
    two.write(ev.Commented, c="poison", body="first")
    retimed(two, LATEST)
    one.fetch(two)
    for name in ("b", "c", "a"):
        one.write(ev.Commented, c=name, body=name)
        retimed(one, 7 + ord(name))
    assert [comment.id for comment in meet(one, two).comments] == ["poison", "b", "c", "a"]


def claiming(replica: Replica, clock: int, **dep: int) -> None:
    log = replica.logs[replica.name]
    log[-1] = msgspec.structs.replace(log[-1], l=clock, dep=dep)


def answer(replica: Replica, clock: int, struct: type[ev.Envelope], **data: object) -> None:
    """An event as the store writes it: with the proof of what it had seen."""
    replica.write(struct, **data)
    log = replica.logs[replica.name]
    known = [other[-1] for name, other in replica.logs.items() if name != replica.name]
    log[-1] = msgspec.structs.replace(log[-1], l=clock, proof=prove((one.r, one.n, one.id) for one in known))


def test_an_event_that_claims_to_know_the_future_does_not_undo_it():
    for claim in (2, 9, LATEST):  # the very event that is written next, or more than there will ever be
        one, two = pair()
        two.write(ev.Labelled, add=("evil",))
        claiming(two, LATEST, aaa=claim)
        one.fetch(two)
        answer(one, 7, ev.Labelled, rm=("evil",))
        assert meet(one, two).labels == ("x",), claim


def test_writing_an_event_with_anothers_id_replaces_nothing():
    one, two = pair()
    said = one.write(ev.Commented, c="c1", body="what I said")
    two.fetch(one)
    two.write(ev.Commented, c="c1", body="what I never said")
    log = two.logs["bbb"]
    log[-1] = msgspec.structs.replace(log[-1], id=said.id, l=1, dep=None)
    bodies = [comment.body for comment in meet(one, two).comments]
    assert sorted(bodies) == ["what I never said", "what I said"]


def test_an_issue_stays_one_though_somebody_creates_it_again_as_a_milestone():
    one, two = pair()
    two.write(ev.Commented, c="c", body="hello")
    evil = Replica("a")  # before all others in the order
    evil.write(ev.Created, kind="milestone", title="Taken over")
    for honest in (one, two):
        honest.fetch(evil)
        honest.write(ev.Commented, c=honest.name, body="hello")
    state = meet(one, two)
    assert (state.kind, state.title, state.author) == ("issue", "First", "aaa <aaa@example.org>")


def by_clock(events: list[Event]) -> list[Event]:
    return sorted(events, key=lambda event: (event.l, event.r, event.n, event.id))


def test_events_of_honest_writers_come_in_the_order_of_their_clocks():
    for seed in range(300):
        dice = random.Random(seed)
        replicas = [Replica(name) for name in ("aaa", "bbb", "ccc")]
        replicas[0].write(ev.Created, kind="issue", title="T")
        for _ in range(12):
            one, two = dice.sample(replicas, 2)
            one.fetch(two, dice.choice((0.5, 1.0)))
            if one.known():
                act(one, dice)
        for other in replicas[1:]:
            replicas[0].fetch(other)
        events = replicas[0].known()
        dice.shuffle(events)
        assert Causality(events).order == by_clock(events)


def test_lies_of_any_kind_end_in_one_state_for_everyone():
    for seed in range(400):
        dice = random.Random(seed)
        one, two, evil = Replica("aaa"), Replica("bbb"), Replica("eee")
        one.write(ev.Created, kind="issue", title="T", description="a\n\nb")
        for _ in range(10):
            who, other = dice.sample((one, two, evil), 2)
            who.fetch(other)
            if who.known():
                act(who, dice)
            if who is evil and evil.logs.get("eee"):
                last = evil.logs["eee"][-1]
                lie = dice.choice(
                    (
                        {"l": dice.choice((1, LATEST))},
                        {"dep": {"aaa": dice.randrange(9), "bbb": LATEST}},
                        {"n": dice.randrange(1, 5)},
                        {"id": dice.choice(evil.known()).id},
                    )
                )
                evil.logs["eee"][-1] = msgspec.structs.replace(last, **lie)
        events = [*one.known(), *evil.known(), *two.known()]
        states: set[bytes] = set()
        for _ in range(3):
            dice.shuffle(events)
            states.add(msgspec.json.encode(fold(events)))
        assert len(states) == 1, seed


def test_a_proof_depends_on_the_ids_that_were_seen():
    assert prove([("aaa", 1, "x"), ("bbb", 2, "y")]) == prove([("bbb", 2, "y"), ("aaa", 1, "x")])
    assert prove([("aaa", 1, "x")]) != prove([("aaa", 1, "z")])
