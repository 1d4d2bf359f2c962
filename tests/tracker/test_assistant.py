"""The assistants' tools beyond the contract."""

from __future__ import annotations

import datetime
import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from postil.tracker.failures import AmbiguousId, ClaimLost, DependencyCycle, InvalidParams, NoSuchEntity
from postil.tracker.operations.answers import MilestoneCounts
from postil.tracker.state.graph import cut_cycles, find_path
from tests.tracker.groups import Tracker

CATALOGUE = Path(__file__).resolve().parents[2] / "src/postil/catalogue/tracker.json"


class Clock:
    def __init__(self) -> None:
        self.at = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)

    def __call__(self) -> datetime.datetime:
        return self.at


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def tracker(repository: Path, clock: Clock) -> Tracker:
    return Tracker(repository, now=clock)


def test_what_was_created_is_listed_and_shown(tracker: Tracker):
    mile = tracker.tools.create("1.0", "milestone", due="2026-02-01")
    made = tracker.tools.create(
        "Crash", labels=("bug",), milestone="1.0", description="It crashes.", assignees=("ann",)
    )
    shown = tracker.show("issue", made.id[:8])
    assert (shown.title, shown.description, shown.labels, shown.milestone) == (
        "Crash",
        "It crashes.",
        ("bug",),
        mile.id,
    )
    (item,) = tracker.list("issue").items
    assert item.id == made.id
    assert made.for_model() == f"Issue {made.id[:8]} “Crash” [open]: created"


def test_a_closed_issue_leaves_the_list_and_counts_in_its_milestone(tracker: Tracker):
    mile = tracker.tools.create("1.0", "milestone")
    ids = [tracker.tools.create(f"I{i}", milestone=mile.id).id for i in range(3)]
    tracker.tools.close(ids[0], comment="done")
    assert {item.id for item in tracker.list("issue").items} == set(ids[1:])
    assert len(tracker.list("issue", includeClosed=True).items) == 3
    stats = tracker.list("milestone").items[0].stats
    assert isinstance(stats, MilestoneCounts)
    assert (stats.open_issues, stats.closed_issues) == (2, 1)
    tracker.tools.close(ids[0], reopen=True)
    assert len(tracker.list("issue").items) == 3


def test_an_update_writes_only_what_differs(tracker: Tracker):
    made = tracker.tools.create("Old")
    assert tracker.tools.update(made.id, title="New", due="2026-05-01").changed == ["title", "due"]
    assert tracker.tools.update(made.id, title="New").changed == []
    assert tracker.tools.update(made.id, due="none").changed == ["due"]


def test_labels_are_attached_and_detached(tracker: Tracker):
    made = tracker.tools.create("L", labels=("a",))
    assert tracker.tools.label(made.id, add=("b", " B ", ""), remove=("a", "zzz")).changed == ["+b", "-a"]
    assert tracker.show("issue", made.id).labels == ("b",)


REFUSED: list[tuple[Callable[[Tracker, str], object], str]] = [
    (lambda t, i: t.tools.create("   "), "title is empty"),
    (lambda t, i: t.tools.create("x" * 2000), "at most 1000"),
    (lambda t, i: t.tools.create("x", due="tomorrow"), "not a day"),
    (lambda t, i: t.tools.create("x", due="2026-13-45"), "not a day"),
    (lambda t, i: t.tools.create("x", milestone="ffff"), "not found"),
    (lambda t, i: t.tools.comment(i, "  "), "empty"),
    (lambda t, i: t.tools.link(i, "blocks", i), "itself"),
    (lambda t, i: t.tools.update(i, milestone=i), "not found"),
]


@pytest.mark.parametrize(("attempt", "words"), REFUSED)
def test_what_is_not_valid_is_refused_and_writes_nothing(
    tracker: Tracker, attempt: Callable[[Tracker, str], object], words: str
):
    made = tracker.tools.create("Good")
    before = tracker.issues.store.index.clock()
    with pytest.raises(InvalidParams, match=words):
        attempt(tracker, made.id)
    tracker.issues.refresh()
    assert tracker.issues.store.index.clock() == before


def test_an_id_that_nothing_or_too_much_begins_with_is_refused(tracker: Tracker):
    for i in range(40):
        tracker.tools.create(f"I{i}")
    with pytest.raises(NoSuchEntity):
        tracker.show("issue", "ffffffff-0000")
    digits = [item.id[0] for item in tracker.list("issue").items]
    double = next(digit for digit in digits if digits.count(digit) > 1)
    with pytest.raises(AmbiguousId, match="entities begin with"):
        tracker.show("issue", double)


def test_a_link_that_closes_a_circle_is_refused_with_its_path(tracker: Tracker):
    a, b, c = (tracker.tools.create(name).id for name in "abc")
    tracker.tools.link(a, "blocks", b)
    tracker.tools.link(b, "blocks", c)
    with pytest.raises(DependencyCycle, match=f"{c[:8]} → {a[:8]} → {b[:8]} → {c[:8]}"):
        tracker.tools.link(c, "blocks", a)
    shown = tracker.show("issue", b)
    assert isinstance(shown.links, list)
    assert {(link.type, link.id) for link in shown.links} == {("blocks", c), ("blocked-by", a)}
    tracker.tools.link(a, "blocks", b, remove=True)
    assert tracker.tools.link(c, "blocks", a).changed == ["linked blocks"]


def test_what_is_blocked_or_claimed_is_not_ready(tracker: Tracker):
    a, b, c = (tracker.tools.create(name).id for name in "abc")
    tracker.tools.link(a, "blocks", b)
    tracker.tools.claim(c, who="ann")
    assert [item.id for item in tracker.tools.ready().items] == [a]
    tracker.tools.close(a)
    assert [item.id for item in tracker.tools.ready().items] == [b]


def test_only_one_can_claim_and_a_claim_ends(tracker: Tracker, clock: Clock):
    made = tracker.tools.create("Work")
    tracker.tools.claim(made.id, who="ann", minutes=60)
    with pytest.raises(ClaimLost, match="claimed by ann"):
        tracker.tools.claim(made.id, who="bob")
    with pytest.raises(ClaimLost):
        tracker.tools.claim(made.id, who="bob", release=True)
    clock.at += datetime.timedelta(minutes=61)
    assert tracker.tools.claim(made.id, who="bob").who == "bob"
    assert tracker.tools.claim(made.id, who="bob", release=True).who == ""
    assert tracker.tools.claim(made.id, who="ann").who == "ann"


def test_all_tools_of_the_tracker_fit_into_six_kilobytes():
    operations = [
        entry
        for entry in json.loads(CATALOGUE.read_text())["operations"]
        if entry.get("tool", True) and entry.get("toolset") != "extra"  # those are offered only where settings say so
    ]
    listed = [
        {
            "name": entry["name"],
            "title": entry.get("title", ""),
            "description": entry["description"],
            "inputSchema": entry["input_schema"],
            "annotations": {"destructiveHint": False, "openWorldHint": False},
        }
        for entry in operations
    ]
    assert len(listed) >= 10
    assert len(json.dumps(listed, separators=(",", ":"))) <= 6000


def reachable(edges: list[tuple[str, str]], start: str) -> set[str]:
    seen: set[str] = set()
    stack = [start]
    while stack:
        for one, two in edges:
            if one == stack[-1] and two not in seen:
                seen.add(two)
                stack.append(two)
                break
        else:
            stack.pop()
    return seen


def test_cutting_leaves_no_circle_and_drops_no_edge_without_need():
    dice = random.Random(5)
    for _ in range(300):
        nodes = "abcdef"
        edges = list(dict.fromkeys((dice.choice(nodes), dice.choice(nodes)) for _ in range(dice.randrange(12))))
        kept, circles = cut_cycles(edges)
        assert all(node not in reachable(kept, node) for node in nodes)
        assert len(kept) + len(circles) == len(edges)
        for edge in set(edges) - set(kept):
            assert edge[0] == edge[1] or find_path(kept, edge[1], edge[0]) is not None
