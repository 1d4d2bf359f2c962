"""The bulk fold makes the rows that the fold makes, or leaves them to it."""

from __future__ import annotations

import random

import msgspec

from postil.tracker import events as ev
from postil.tracker.index.bulk_fold import NO_VALUES, BulkFold
from postil.tracker.index.tables import make_row
from postil.tracker.state.fold import fold
from tests.tracker.worlds import ENTITY, Replica, act, meet, pair


def grown_row(events: list[ev.Event]) -> tuple[object, ...] | None:
    """What a build of the index makes of an entity, or None where it leaves it to the fold."""
    bulk = BulkFold()
    bulk.take((event.l, event, "a") for event in events)
    (builder,) = bulk.entities.values()
    if builder.broken:
        return None
    labels = "\n".join(sorted(set(builder.labels)))
    rare = builder.rare or NO_VALUES
    links = [(edge, key) for edge, key in sorted((rare.links or {}).items())]
    return builder.row(7, ENTITY, labels), sorted(rare.assignees), links, rare.deleted


def folded_row(events: list[ev.Event]) -> tuple[object, ...]:
    entity = fold(events)
    assert entity is not None
    links = [((link.type, link.target), link.key) for link in entity.links]
    return make_row(7, entity), list(entity.assignees), links, entity.deleted


def test_a_row_grown_event_by_event_is_the_row_of_the_merge():
    builder = several = 0
    for seed in range(3000):
        dice = random.Random(seed)
        replicas = [Replica("aaa"), Replica("bbb")]
        replicas[0].write(ev.Created, kind="issue", title="T", labels=("x", "x"), milestone="m0", assignees=("ann",))
        for _ in range(dice.randrange(8)):
            one, two = dice.sample(replicas, 2)
            one.fetch(two)
            if dice.random() < 0.9:  # mostly everyone has seen all before writing
                two.fetch(one)
            if one.known():
                act(one, dice)
        replicas[0].fetch(replicas[1])
        events = sorted(replicas[0].known(), key=lambda event: (event.l, event.r))
        found = grown_row(events)
        if found is not None:
            builder += 1
            several += len({event.r for event in events}) > 1
            assert found == folded_row(events), f"seed {seed}"
    assert builder > 1000
    assert several > 300


def test_events_out_of_order_or_twice_are_left_to_the_merge():
    one, two = pair()
    one.write(ev.Set, f="title", value="From one")
    two.write(ev.Set, f="title", value="From two")
    state = meet(one, two)
    assert state.conflicts
    in_order = sorted(one.known(), key=lambda event: (event.l, event.r))
    assert grown_row(in_order) is None  # concurrent
    chain = in_order[:2]
    assert grown_row(chain) is not None
    assert grown_row(chain[::-1]) is None
    assert grown_row([*chain, chain[1]]) is None
    again = msgspec.structs.replace(chain[1], n=chain[1].n + 1, l=chain[1].l + 1)
    assert grown_row([*chain, again]) is None  # the same event at a later place
    born_twice = msgspec.structs.replace(chain[0], n=9, l=9, id="another")
    assert grown_row([*chain, born_twice]) is None
