"""The laws of the fold: whoever has the same events sees the same state, and nothing concurrent is lost."""

from __future__ import annotations

import os
import random

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from postil.tracker import events as ev
from postil.tracker.events import decode
from postil.tracker.state.fold import fold
from tests.tracker.worlds import ENTITY, Replica, act, meet, pair

SCHEDULES = int(os.environ.get("POSTIL_SCHEDULES", "10000"))
"""More behind the flag: the first test runs so many, hypothesis a twentieth of it, and shrinks what fails."""


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


@settings(max_examples=max(300, SCHEDULES // 20))
@given(st.lists(steps, max_size=14))
def test_any_schedule_ends_in_one_state(schedule: list[tuple[int, int, int, random.Random]]):
    replicas = team()
    for one, two, choice, dice in schedule:
        if choice < 3:
            replicas[one].fetch(replicas[two], (0.5, 0.75, 1.0)[choice])
        else:
            act(replicas[one], dice)
    agree(replicas, random.Random(0))
