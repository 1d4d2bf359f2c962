"""Positions: a GitLab that knows both texts accepts what we compute from a diff, and refuses what is a bit wrong."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest

from postil.core.failure import Failure
from postil.gitlab.diffs.positions import DiffRefs, Place, make_position, write_suggestion
from postil.gitlab.instance.convert import read
from postil.gitlab.instance.records import Record
from postil.gitlab.model import Change
from tests.emulator import shapes
from tests.emulator.changes import changed, judge, line_codes
from tests.emulator.params import Refusal
from tests.emulator.world import sha

REFS = {"base_sha": sha("base"), "start_sha": sha("start"), "head_sha": sha("head")}


def mutate(dice: random.Random, lines: list[str]) -> list[str]:
    """The same file after some edits."""
    found: list[str] = []
    for line in lines:
        chance = dice.random()
        if chance < 0.1:
            continue
        found.append(f"changed {dice.randrange(99)}\n" if chance < 0.25 else line)
        if chance > 0.9:
            found += [f"new {dice.randrange(99)}\n" for _ in range(dice.randrange(1, 4))]
    return found


def changes(dice: random.Random) -> dict[str, Any]:
    """One changed file of any kind."""
    old = [f"line {number if dice.random() < 0.8 else 0}\n" for number in range(dice.randrange(1, 60))]
    kind = dice.choice(["changed", "changed", "renamed", "new", "deleted"])
    if kind == "new":
        return changed("a.py", "a.py", None, "".join(old))
    if kind == "deleted":
        return changed("a.py", "a.py", "".join(old), None)
    return changed("a.py", "b.py" if kind == "renamed" else "a.py", "".join(old), "".join(mutate(dice, old)))


def place_of(path: str, numbers: tuple[int | None, int | None], start: tuple[int | None, int | None] | None) -> Place:
    """The place as a reviewer would name it: one number is enough."""
    old, new = numbers
    if start is None:
        return Place(path, new, old if new is None else None)
    return Place(path, new, old if new is None else None, start[1], start[0] if start[1] is None else None)


def test_500_random_positions_are_accepted() -> None:
    dice = random.Random(15)
    kinds: set[str] = set()
    tried = 0
    while tried < 500:
        row = changes(dice)
        lines = list(line_codes(row))
        if not lines:
            continue
        version = {**REFS, "diffs": [row]}
        change = read(Change, Record(shapes.diff(row)))
        end = dice.randrange(len(lines))
        start = lines[dice.randrange(end + 1)] if dice.random() < 0.4 else None
        place = place_of(row["new_path"], lines[end], start)
        judge([version], make_position(place, change, DiffRefs(**REFS)))
        old, new = lines[end]
        kinds.add("added" if old is None else "removed" if new is None else "unchanged")
        kinds |= {name for name in ("new_file", "deleted_file", "renamed_file") if row[name]}
        if start is not None and (start[0] is None) != (old is None):
            kinds.add("crosses")
        tried += 1
    assert kinds == {"added", "removed", "unchanged", "new_file", "deleted_file", "renamed_file", "crosses"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"new_line": 2},
        {"old_line": None},
        {"new_line": 99, "old_line": 99},
        {"head_sha": sha("another")},
        {"new_path": "elsewhere.py"},
        {"position_type": ""},
    ],
)
def test_the_judge_refuses_what_is_a_little_wrong(wrong: dict[str, Any]) -> None:
    row = changed("a.py", "a.py", "one\ntwo\n", "one\nTWO\n")
    position = make_position(Place("a.py", 1), read(Change, Record(shapes.diff(row))), DiffRefs(**REFS))
    judge([{**REFS, "diffs": [row]}], position)
    with pytest.raises(Refusal):
        judge([{**REFS, "diffs": [row]}], {**position, **wrong})


def test_a_range_with_a_wrong_name_for_a_line_is_refused_by_the_judge() -> None:
    row = changed("a.py", "a.py", "one\ntwo\n", "one\nTWO\n")
    change = read(Change, Record(shapes.diff(row)))
    position: Any = make_position(Place("a.py", 2, start_line=1), change, DiffRefs(**REFS))
    judge([{**REFS, "diffs": [row]}], position)
    position["line_range"]["start"]["line_code"] = "0_1_1"
    with pytest.raises(Refusal):
        judge([{**REFS, "diffs": [row]}], position)


REFUSED: list[tuple[Place, str]] = [
    (Place("a.py", 3, start_line=4), "behind"),
    (Place("a.py", 2, 99), "belong together"),
    (Place("a.py", old_line=3, line=None, start_line=None, start_old_line=4), "behind"),
]


@pytest.mark.parametrize(("place", "said"), REFUSED)
def test_places_that_cannot_be_are_refused_before_gitlab_is_asked(place: Place, said: str) -> None:
    change = Change("a.py", "a.py", "@@ -1,4 +1,4 @@\n one\n-two\n+TWO\n three\n four\n")
    with pytest.raises(Failure, match=said):
        make_position(place, change, DiffRefs(**REFS))


def test_a_line_of_a_deleted_file_is_named_by_its_old_number() -> None:
    gone = Change("a.py", "a.py", "@@ -1,2 +0,0 @@\n-one\n-two\n", deleted_file=True)
    with pytest.raises(Failure, match="old_line"):
        make_position(Place("a.py", 1), gone, DiffRefs(**REFS))
    assert make_position(Place("a.py", old_line=1), gone, DiffRefs(**REFS))["old_line"] == 1


def test_a_file_whose_diff_gitlab_does_not_show_has_no_places() -> None:
    for hidden in (Change("a", "a", "", too_large=True), Change("a", "a", "", collapsed=True)):
        with pytest.raises(Failure, match="too large"):
            make_position(Place("a", 1), hidden, DiffRefs(**REFS))


def test_a_suggestion_replaces_the_lines_that_the_note_stands_on() -> None:
    assert write_suggestion("Shorter:", "x = 1\n", Place("a", 7, start_line=5)) == (
        "Shorter:\n\n```suggestion:-2+0\nx = 1\n```"
    )
    assert write_suggestion("", "", Place("a", 7)) == "```suggestion:-0+0\n```"
    assert write_suggestion("", "```\ncode\n```", Place("a", 7)).startswith("````suggestion:-0+0\n")
    with pytest.raises(Failure, match="new file"):
        write_suggestion("", "x", Place("a", old_line=7))


def test_a_position_is_json() -> None:
    change = Change("a.py", "a.py", "@@ -1 +1 @@\n-one\n+two\n")
    assert msgspec.json.encode(make_position(Place("a.py", 1), change, DiffRefs(**REFS)))
