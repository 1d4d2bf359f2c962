"""Rows and entities as the contract shows them."""

from __future__ import annotations

import json
from pathlib import Path

from postil.tracker.index.tables import Row
from postil.tracker.operations.answers import Counts, MilestoneCounts, count_parts, make_item
from postil.tracker.operations.plan_answers import Ready, ReadyItem
from tests.tracker.groups import Tracker


def row(kind: str, **data: object) -> Row:
    empty = Row(1, "id", kind, "T", "open", "", "", "A <a@b>", 1, "r", "", 1, "r", "", 2, "", "", "", 0, 4, "")
    return empty._replace(**data)  # pyright: ignore[reportArgumentType]


def test_an_issue_counts_comments_and_a_milestone_its_issues_too():
    assert count_parts("issue", 2, None) == Counts(2)
    assert count_parts("milestone", 0, {"open": 1, "draft": 1, "closed": 1}) == MilestoneCounts(0, 2, 1, 0.3333)
    assert count_parts("milestone", 0, None) == MilestoneCounts(0, 0, 0, 0.0)


def test_an_item_has_more_keys_only_where_there_is_more_to_say():
    import msgspec

    assert set(msgspec.to_builtins(make_item(row("issue"), None))) == {"id", "title", "status", "labels", "stats"}
    more = make_item(row("issue", due="2026-01-01", claim_who="ann", conflicts=1, milestone="m", labels="a\nb"), None)
    assert (more.due, more.claimed_by, more.conflicts, more.milestone, more.labels) == (
        "2026-01-01",
        "ann",
        1,
        "m",
        ("a", "b"),
    )


def test_what_is_ready_is_a_table_and_what_waits_is_counted():
    text = Ready(items=[ReadyItem(id="0" * 36, title="a\x1b", labels=("x", "y"))], blocked=2).for_person()
    assert text.splitlines() == [
        "ID        PRIORITY  TITLE  LABELS  DUE",
        "00000000            a\\x1b  x,y",
        "2 issues blocked by others",
    ]
    assert Ready(items=[], blocked=0).for_person() == "Nothing is ready"


def test_links_are_shown_from_both_ends(repository: Path):
    mine = Tracker(repository)
    one, two = mine.tools.create("One").id, mine.tools.create("Two").id
    mine.tools.link(one, "blocks", two)
    ends = [
        (link.type, link.title)
        for shown in (mine.show("issue", one), mine.show("issue", two))
        for link in shown.links or ()
    ]
    assert ends == [("blocks", "Two"), ("blocked-by", "One")]


def test_a_model_reads_each_time_once_and_the_contract_all_its_names(repository: Path):
    mine = Tracker(repository)
    id_ = mine.tools.create("One").id
    mine.tools.comment(id_, "line\u2028break")
    shown = mine.show("issue", id_)
    comment = json.loads(shown.for_contract())["comments"][0]
    assert comment["ts"] == comment["timestamp"] == comment["created_at"]
    told = json.loads(shown.for_model())
    assert {*told["comments"][0]} == {"id", "author", "body", "ts"}
    assert told["stats"] == {"comment_count": 1}
    assert told["created_at"] == shown.created_at


def test_the_next_issue_is_told_in_words(repository: Path):
    mine = Tracker(repository)
    assert mine.plan.next().for_model() == "Nothing is ready"
    id_ = mine.tools.create("One", priority="high", labels=("bug",), description="Do it\n\n- [x] a\n- [ ] b").id
    looked = mine.plan.next(claim=False).for_model()
    assert f"{id_[:8]} “One” is next; nobody has claimed it" in looked
    told = mine.plan.next().for_model()
    assert f"{id_[:8]} “One” is yours until 20" in told
    assert "priority high; labels bug" in told
    assert "Do it\n\n- [x] a" in told
    assert "1 of 2 criteria done" in told
