"""State is a pure function of the set of events."""

from __future__ import annotations

import os
import random

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from postil.tracker import events as ev
from postil.tracker.events import decode, decode_lines, encode, encode_lines, entity_of
from postil.tracker.index.bulk_fold import BulkFold
from postil.tracker.index.tables import make_row
from postil.tracker.state.fold import fold
from postil.tracker.state.text_merge import merge_texts
from tests.tracker.worlds import ENTITY, Replica

SCHEDULES = int(os.environ.get("POSTIL_SCHEDULES", "10000"))
"""More behind the flag: the first test runs so many, hypothesis a twentieth of it, and shrinks what fails."""


def pair() -> tuple[Replica, Replica]:
    one, two = Replica("aaa"), Replica("bbb")
    one.write(ev.Created, kind="issue", title="First", description="a\n\nb\n\nc", labels=("x",))
    two.fetch(one)
    return one, two


def meet(one: Replica, two: Replica):
    one.fetch(two)
    two.fetch(one)
    assert one.state() == two.state()
    state = one.state()
    assert state is not None
    return state


def test_the_loser_of_two_concurrent_titles_is_shown_until_someone_decides():
    one, two = pair()
    one.write(ev.Set, f="title", value="From one")
    two.write(ev.Set, f="title", value="From two")
    state = meet(one, two)
    assert state.title == "From two"
    assert [(c.field, c.value) for c in state.conflicts] == [("title", "From one")]
    one.write(ev.Set, f="title", value="Decided")
    settled = meet(one, two)
    assert (settled.title, settled.conflicts) == ("Decided", ())


def test_a_write_that_knew_the_other_is_no_conflict():
    one, two = pair()
    one.write(ev.Set, f="title", value="Early")
    two.fetch(one)
    two.write(ev.Set, f="title", value="Late")
    assert meet(one, two).conflicts == ()


def test_the_same_value_written_twice_is_no_conflict():
    one, two = pair()
    one.write(ev.Set, f="status", value="closed")
    two.write(ev.Set, f="status", value="closed")
    state = meet(one, two)
    assert (state.status, state.conflicts) == ("closed", ())


def test_a_label_attached_while_another_removes_it_stays():
    one, two = pair()
    one.write(ev.Labelled, rm=("x",))
    two.write(ev.Labelled, add=("x", "y"))
    assert meet(one, two).labels == ("x", "y")


def test_a_label_removed_by_one_who_saw_it_is_gone():
    one, two = pair()
    two.write(ev.Labelled, rm=("x",))
    assert meet(one, two).labels == ()


def test_descriptions_changed_in_different_paragraphs_both_survive():
    one, two = pair()
    one.write(ev.Described, text="A\n\nb\n\nc")
    two.write(ev.Described, text="a\n\nb\n\nC")
    state = meet(one, two)
    assert (state.description, state.conflicts) == ("A\n\nb\n\nC", ())


def test_descriptions_changed_in_the_same_line_keep_the_last_and_show_the_other():
    one, two = pair()
    one.write(ev.Described, text="one\n\nb\n\nc")
    two.write(ev.Described, text="two\n\nb\n\nc")
    state = meet(one, two)
    assert state.description == "two\n\nb\n\nc"
    assert [c.value for c in state.conflicts] == ["one\n\nb\n\nc"]


def test_a_deleted_comment_stays_deleted_though_edited_elsewhere():
    one, two = pair()
    one.write(ev.Commented, c="c1", body="hello")
    two.fetch(one)
    one.write(ev.CommentDeleted, c="c1")
    two.write(ev.CommentEdited, c="c1", body="hello!")
    assert meet(one, two).comments == ()


def test_the_first_of_two_concurrent_claims_holds_and_the_other_is_told():
    one, two = pair()
    one.write(ev.Claimed, who="ann", until="2026-01-02T00:00:00.000Z")
    two.write(ev.Claimed, who="bob", until="2026-01-02T00:00:00.000Z")
    state = meet(one, two)
    assert state.claim is not None
    assert state.claim.who == "ann"
    assert [lost.who for lost in state.lost_claims] == ["bob"]


def test_an_expired_claim_can_be_taken_over():
    one, _ = pair()
    one.write(ev.Claimed, who="ann", until="2026-01-01T00:00:01.000Z")
    one.write(ev.Claimed, who="bob", until="2026-01-02T00:00:00.000Z")
    state = one.state()
    assert state is not None
    assert state.claim is not None
    assert state.claim.who == "bob"


def test_an_event_of_an_unknown_kind_is_kept_and_has_no_effect():
    one, _ = pair()
    line = b'{"t":"teleport","ent":"%s","id":"zz1","r":"zzz","n":1,"l":9,"where":"moon"}' % ENTITY.encode()
    event = decode(line)
    assert isinstance(event, ev.Unknown)
    assert ev.kind_of(event) == "teleport"
    before, after = one.state(), fold([*one.known(), event])
    assert before is not None
    assert after is not None
    assert (after.title, after.updated.counter) == (before.title, 9)


def test_events_without_a_creation_make_nothing():
    one = Replica("aaa")
    one.write(ev.Set, f="title", value="ghost")
    assert one.state() is None


def test_copies_of_an_event_count_once_and_are_known_by_any_of_their_places():
    one, two = pair()
    one.write(ev.Set, f="title", value="Second")
    original = one.known()
    moved = [msgspec.structs.replace(event, r="ccc", n=event.n + 7) for event in original]
    assert fold([*original, *moved]) == fold(original)
    assert two.state() is not None


def test_a_clock_beyond_belief_is_not_an_event():
    line = b'{"t":"set","ent":"%s","id":"zz1","r":"zzz","n":1,"l":99999999999999999,"f":"title"}' % ENTITY.encode()
    assert decode(line) is None


def test_the_entity_of_a_line_is_found_without_decoding_and_never_inside_a_text():
    one, _ = pair()
    event = one.write(ev.Commented, c="c1", body='"ent":"ffffffff-0000-4000-8000-000000000001"')
    line = encode(event)  # pyright: ignore[reportArgumentType]
    assert entity_of(line) == ENTITY
    shuffled = b'{"a":{"ent":"ffffffff-0000-4000-8000-000000000001"},"t":"x","ent":"%s","id":"i","r":"r","n":1,"l":1}'
    assert entity_of(shuffled % ENTITY.encode()) is None
    assert entity_of(b"not an event") is None


def test_lines_that_are_no_events_are_left_out():
    one, _ = pair()
    good = encode_lines(one.known())  # pyright: ignore[reportArgumentType]
    assert decode_lines(b"garbage\n" + good + b"\xff\xfe\n") == one.known()


ACTIONS = (
    "title",
    "status",
    "label",
    "unlabel",
    "describe",
    "comment",
    "edit",
    "drop",
    "claim",
    "release",
    "milestone",
    "link",
)


def act(replica: Replica, dice: random.Random) -> None:
    match dice.choice(ACTIONS):
        case "title":
            replica.write(ev.Set, f="title", value=f"T{dice.randrange(5)}")
        case "status":
            replica.write(ev.Set, f="status", value=dice.choice(["open", "closed", "draft"]))
        case "milestone":
            replica.write(ev.Set, f="milestone", value=dice.choice([None, "m1", "m2"]))
        case "label":
            replica.write(ev.Labelled, add=(dice.choice("xyz"),))
        case "unlabel":
            replica.write(ev.Labelled, rm=(dice.choice("xyz"),))
        case "describe":
            lines = ["a", "", "b", "", "c"]
            lines[dice.choice((0, 2, 4))] = f"L{dice.randrange(4)}"
            replica.write(ev.Described, text="\n".join(lines))
        case "comment":
            replica.write(ev.Commented, c=f"c{dice.randrange(4)}", body="hi")
        case "edit":
            replica.write(ev.CommentEdited, c=f"c{dice.randrange(4)}", body=f"edit {dice.randrange(3)}")
        case "drop":
            replica.write(ev.CommentDeleted, c=f"c{dice.randrange(4)}")
        case "claim":
            replica.write(ev.Claimed, who=dice.choice(["ann", "bob"]), until="2026-01-01T00:00:30.000Z")
        case "release":
            replica.write(ev.Released, who=dice.choice(["ann", "bob", ""]))
        case _:
            replica.write(ev.Linked, add=(("blocks", dice.choice("pq")),), rm=(("blocks", dice.choice("pq")),))


def team() -> list[Replica]:
    """Three replicas that know of one issue."""
    replicas = [Replica(name) for name in ("aaa", "bbb", "ccc")]
    replicas[0].write(ev.Created, kind="issue", title="T", description="a\n\nb\n\nc")
    for other in replicas[1:]:
        other.fetch(replicas[0])
    return replicas


def agree(replicas: list[Replica], dice: random.Random) -> None:
    """After everyone fetched from everyone, and in whatever order events come, or twice: one state."""
    for _ in range(2):
        for one in replicas:
            for two in replicas:
                one.fetch(two)
    states = {msgspec.json.encode(replica.state()) for replica in replicas}
    shuffled = replicas[0].known()
    dice.shuffle(shuffled)
    states.add(msgspec.json.encode(fold(shuffled)))
    states.add(msgspec.json.encode(fold([*shuffled, *shuffled[:3]])))
    assert len(states) == 1


def test_ten_thousand_random_schedules_of_three_replicas_end_in_one_state():
    for seed in range(SCHEDULES):
        dice = random.Random(seed)
        replicas = team()
        for _ in range(dice.randrange(1, 12)):
            one, two = dice.sample(replicas, 2)
            if dice.random() < 0.3:
                one.fetch(two, dice.choice((0.5, 1.0)))
            else:
                act(one, dice)
        agree(replicas, dice)


steps = st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 9), st.randoms(use_true_random=False))


@settings(max_examples=max(300, SCHEDULES // 20), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(steps, max_size=14))
def test_any_schedule_ends_in_one_state(schedule: list[tuple[int, int, int, random.Random]]):
    replicas = team()
    for one, two, choice, dice in schedule:
        if choice < 3:
            replicas[one].fetch(replicas[two], (0.5, 0.75, 1.0)[choice])
        else:
            act(replicas[one], dice)
    agree(replicas, random.Random(0))


def grown_row(events: list[ev.Event]) -> tuple[object, ...] | None:
    """What a build of the index makes of an entity, or None where it leaves it to the fold."""
    bulk = BulkFold()
    bulk.take((event, "a") for event in events)
    (builder,) = bulk.entities.values()
    if builder.broken:
        return None
    labels = "\n".join(sorted(set(builder.labels)))
    links = [(edge, key) for edge, key in sorted((builder.links or {}).items())]
    return builder.row(7, ENTITY, labels), sorted(builder.assignees), links, builder.deleted


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


lines = st.lists(st.sampled_from(["a", "b", "c", "", "d"]), max_size=6).map("\n".join)


@given(lines, lines, lines)
def test_a_three_way_merge_does_not_depend_on_the_side(base: str, ours: str, theirs: str):
    assert merge_texts(base, ours, theirs) == merge_texts(base, theirs, ours)


@given(lines, lines)
def test_a_change_on_one_side_only_is_taken(base: str, changed: str):
    assert merge_texts(base, changed, base) == changed
    assert merge_texts(base, base, changed) == changed
    assert merge_texts(base, changed, changed) == changed
