"""A change rewrites what changed and nothing else."""

from __future__ import annotations

import difflib
import json
from typing import Any

import pytest

from postil.anchor.fingerprint import line_hash
from postil.comments.clock import new_id, now
from postil.comments.sidecar.document import LineTexts, Sidecar
from tests.comments.sidecars import (
    DAMAGED_BY_REFERENCE,
    DOCUMENTED,
    EXTENSION,
    FIRST,
    PLAYGROUND,
    REFERENCE,
    SOURCE,
    as_javascript,
    extension_accepts,
)

LINES = list[str](SOURCE.splitlines())


def read(value: object) -> Sidecar:
    return Sidecar("simple.js", as_javascript(value))


@pytest.mark.parametrize(
    "value",
    [EXTENSION, REFERENCE, PLAYGROUND, DOCUMENTED, FIRST, DAMAGED_BY_REFERENCE],
    ids=["A", "B", "C", "D", "1.0", "A+B"],
)
def test_what_is_written_the_extension_takes(value: dict[str, Any]) -> None:
    sidecar = read(value)
    first = sidecar.comments[0]
    sidecar.change(first.id, {"text": "changed"})
    sidecar.finish(lambda line: LineTexts.at(LINES, line), now(), new_id)
    assert extension_accepts(sidecar.text())
    written = json.loads(sidecar.text())
    assert len(written["comments"]) == len(value["comments"])
    for key in value:
        assert key in written  # superset: nothing that was there is gone
    for before, after in zip(value["comments"], written["comments"], strict=True):
        assert {**before, "text": "", "id": ""}.items() <= {**after, "text": "", "id": ""}.items()
    again = Sidecar("simple.js", sidecar.text())
    if value not in (FIRST, DOCUMENTED):  # the extension takes these as they are, without markers
        assert all(each.markerId for each in again.comments)
    assert [each.line for each in again.markers] == sorted(each.line for each in again.markers)


def test_a_file_the_reference_server_damaged_is_repaired() -> None:
    assert not extension_accepts(as_javascript(DAMAGED_BY_REFERENCE))
    sidecar = read(DAMAGED_BY_REFERENCE)
    sidecar.finish(lambda line: LineTexts.at(LINES, line), now(), new_id)
    assert extension_accepts(sidecar.text())
    assert {each.id for each in sidecar.comments} == {
        "714694ea-d554-4e62-9b8f-2f2e5a3a1c11",
        "c_1730000000000",
    }


def test_twins_of_one_millisecond_get_an_id_each_and_keep_their_lines() -> None:
    twin: dict[str, Any] = {**REFERENCE["comments"][0], "text": "second"}
    marker: dict[str, Any] = {**REFERENCE["ghostMarkers"][0], "id": "gm_2", "line": 2}
    both = {
        **REFERENCE,
        "comments": [*REFERENCE["comments"], twin],
        "ghostMarkers": [*REFERENCE["ghostMarkers"], marker],
    }
    sidecar = read(both)
    sidecar.finish(lambda line: LineTexts.at(LINES, line), now(), new_id)
    first, second = sidecar.comments
    assert first.id == "c_1730000000000" != second.id
    places = {each.id: each.line for each in sidecar.markers}
    assert (places[first.markerId], places[second.markerId]) == (7, 2)


def test_three_of_one_id_under_one_marker_all_stay_under_it() -> None:
    marker = {**EXTENSION["ghostMarkers"][0], "commentIds": [EXTENSION["comments"][0]["id"]]}
    same = [{**EXTENSION["comments"][0], "text": text} for text in ("one", "two", "three")]
    sidecar = read({**EXTENSION, "comments": same, "ghostMarkers": [marker]})
    sidecar.finish(lambda line: LineTexts.at(LINES, line), now(), new_id)
    ids = [each.id for each in sidecar.comments]
    assert len({*ids}) == 3
    assert [*sidecar.markers[0].commentIds] == ids


def test_an_edit_changes_two_lines_of_the_file() -> None:
    before = as_javascript(EXTENSION)
    sidecar = Sidecar("simple.js", before)
    sidecar.change("714694ea-d554-4e62-9b8f-2f2e5a3a1c11", {"text": "new", "updated": "2026-01-01T00:00:00.000Z"})
    changed = [
        line
        for line in difflib.unified_diff(before.decode().splitlines(), sidecar.text().decode().splitlines(), n=0)
        if line[0] in "+-" and not line.startswith(("+++", "---"))
    ]
    assert len(changed) == 4
    assert b'"kept": [\n' in sidecar.text()
    assert json.loads(sidecar.text())["futureKey"] == EXTENSION["futureKey"]


def test_odd_formatting_of_others_is_kept() -> None:
    text = b'{"version":"2.1.0",\n\t"file" : "simple.js", "n": 1.50e3,\n"comments" : [ ]  }\n'
    sidecar = Sidecar("simple.js", text)
    sidecar.add(
        {"id": "c_1", "line": 1, "text": "x", "author": "a", "created": "t", "updated": "t"},
        {"id": "gm_1", "line": 1, "commentIds": ["c_1"], **LineTexts.at(LINES, 1)._asdict(), "lastVerified": "t"},
    )
    written = sidecar.text()
    assert b'"n": 1.50e3' in written
    assert b'{"version":"2.1.0",\n\t"file" : "simple.js"' in written
    assert extension_accepts(written)


def test_comments_are_kept_in_the_order_of_their_lines() -> None:
    sidecar = Sidecar("simple.js", None)
    for number, line in enumerate([5, 1, 3, 3, 9]):
        raw: dict[str, object] = {"id": f"c_{number}", "line": line, "text": "x"}
        raw |= {"author": "a", "created": "t", "updated": "t"}
        marker: dict[str, object] = {"id": f"gm_{line}", "line": line, "commentIds": [f"c_{number}"]}
        sidecar.add(raw, {**marker, **LineTexts.at(LINES, line)._asdict(), "lastVerified": "t"})
    assert [each.line for each in sidecar.comments] == [1, 3, 3, 5, 9]
    assert [(each.line, len(each.commentIds)) for each in sidecar.markers] == [(1, 1), (3, 2), (5, 1), (9, 1)]
    for number in range(5):
        sidecar.remove(f"c_{number}")
    assert json.loads(sidecar.text()) == {
        "file": "simple.js",
        "version": "2.1.0",
        "ghostMarkers": [],
        "comments": [],
    }


def test_line_hashes_are_the_extensions() -> None:
    assert line_hash("  function add(a, b) {  ") == "d55a9883b881a4b3"
    assert line_hash("   ") == "1db9f36777e9ef0b"


@pytest.mark.parametrize(
    "values",
    [
        {"text": "other words"},
        {"status": "resolved", "resolvedBy": "ann", "resolvedAt": "2026-01-01T00:00:00.000Z"},
        {"replies": [{"id": "r_1", "text": "yes", "author": "bob\\nby", "created": "2026-01-01T00:00:00.000Z"}]},
        {"line": 1, "ghostMarkerId": "nowhere"},
        {"tag": None},
        {"author": None},
        {"id": "another"},
    ],
)
def test_what_is_read_after_a_change_is_what_the_text_says(values: dict[str, Any]) -> None:
    sidecar = read(EXTENSION)
    before = list(sidecar.comments)
    held = sidecar.comments
    for number, comment in enumerate(before):
        sidecar.change(comment.id, {"text": f"{number}"} if number else values, ("params",))
    assert list(held) == before
    again = Sidecar("simple.js", sidecar.text())
    assert list(sidecar.comments) == list(again.comments)
    assert list(sidecar.markers) == list(again.markers)
    assert sidecar.complete == again.complete
