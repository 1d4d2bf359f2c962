"""Rows and entities as the contract shows them."""

from __future__ import annotations

import json
from pathlib import Path

from msgspec import UNSET

from postil.tracker.index.tables import Row
from postil.tracker.operations.answers import Counts, MilestoneCounts, count_parts, make_item, trim
from postil.tracker.operations.plan_answers import Ready, ReadyItem
from postil.tracker.store import Store
from postil.workspace.repository import find_repository
from tests.tracker.groups import Tracker
from tests.tracker.hostile import event, write_log


def row(kind: str, **data: object) -> Row:
    empty = Row(1, "id", kind, "T", "open", "", "", "A <a@b>", 1, "r", "", 1, "r", "", 2, "", "", "", 0, 4, "")
    return empty._replace(**data)


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


def test_an_answer_is_made_of_what_it_has_room_for(repository: Path):
    """All changes of labels of a flood were made, and long comments held whole, of which an answer shows little."""
    mine = Tracker(repository)
    id_ = "11111111-0000-4000-8000-000000000001"
    many = [f"l{number}" for number in range(5000)]
    write_log(
        repository,
        event(id_, 1, "created", 1, kind="issue", title="T", description="- [ ] a\n" * 150),
        *(event(id_, number, "labels", number, add=many) for number in range(2, 40)),
        *(event(id_, number, "comment", number, c=f"c{number}", body="b" * 50_000) for number in range(40, 45)),
    )
    store = Store(find_repository(str(repository)))
    store.refresh()
    entity = store.entity(id_)
    assert entity is not None
    trimmed = trim(entity)
    assert len(trimmed.label_events) == 1000
    assert max(len(one.body) for one in trimmed.comments) < 5000
    shown = mine.show("issue", id_)
    assert shown.label_events is not UNSET
    assert len(shown.label_events) == 20
    assert shown.criteria is not UNSET
    assert len(shown.criteria) == 100
    assert shown.comments[0].body.startswith("bbb")
    body, _, left = shown.comments[0].body.partition("… (")
    assert len(body) + int(left.split()[0]) == 50_000
    assert any("label_events: 189980 more" in one for one in shown.shortened or ())
    assert any("criteria: 50 more" in one for one in shown.shortened or ())
