"""Finding an entity by what people type, and the writes that are refused."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from postil.tracker.failures import AmbiguousId, DependencyCycle, InvalidParams, NoSuchEntity
from postil.tracker.index.db_files import find_current
from tests.tracker.groups import Tracker
from tests.tracker.programs import answered, run


def test_a_milestone_answers_to_its_title_but_never_in_place_of_an_id(repository: Path):
    issue = answered(repository, "create", "issue", "T")["id"]
    mile = answered(repository, "create", "milestone", "Spring 1.0")["id"]
    assert answered(repository, "show", "Spring 1.0")["id"] == mile
    answered(repository, "create", "milestone", issue[:8])
    assert answered(repository, "show", issue[:8])["id"] == issue
    answered(repository, "create", "milestone", "Spring 1.0")
    twice = run(repository, "show", "Spring 1.0")
    assert (twice.returncode, "Several milestones" in twice.stderr, mile in twice.stderr) == (2, True, True)


@pytest.mark.parametrize(
    "id_", ["*", "?" * 36, "[0-9a-f]*", "../../HEAD", "%", "_", "-", "'; DROP TABLE ent; --", "\0", ""]
)
def test_an_id_made_of_patterns_or_paths_names_nothing(repository: Path, id_: str):
    mine = Tracker(repository)
    mine.tools.create("One")
    mine.tools.create("Two")
    for attempt in (
        lambda: mine.tools.close(id_),
        lambda: mine.show("issue", id_),
        lambda: mine.plan.claim(id_),
    ):
        with pytest.raises(InvalidParams):
            attempt()
    assert len(mine.list("issue").items) == 2


def test_damage_that_only_a_question_finds_rebuilds_the_cache(repository: Path):
    mine = Tracker(repository)
    mine.tools.create("Kept")
    mine.issues.store.index.close()
    path = find_current(str(repository / ".git/postil"))
    assert path is not None
    with sqlite3.connect(path) as db:
        db.execute("DROP TABLE ent")
    db.close()
    assert [item["title"] for item in answered(repository, "list", "issue")["items"]] == ["Kept"]


def test_an_update_writes_only_what_differs(tracker: Tracker):
    made = tracker.tools.create("Old")
    assert tracker.tools.update(made.id, title="New", due="2026-05-01").changed == ["title", "due"]
    assert tracker.tools.update(made.id, title="New").changed == []
    assert tracker.tools.update(made.id, due="none").changed == ["due"]


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


def test_a_number_of_another_host_never_names_what_happens_to_begin_so(tracker: Tracker):
    ids = [tracker.tools.create(f"Number {n}").id for n in range(40)]
    begun = next(id_ for id_ in ids if id_[0].isdigit())
    with pytest.raises(InvalidParams, match="is not an id") as caught:
        tracker.issues.find_id(f"#{begun[0]}")
    assert f"shop#{begun[0]}" in caught.value.advice
    assert tracker.issues.find_id(f"#{begun[:8]}") == begun
    titled = tracker.tools.create("#4", entity="milestone").id
    assert tracker.issues.find_id("#4") == titled


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
