"""Sidecars of every dialect are read, and a change rewrites what changed and nothing else."""

from __future__ import annotations

import difflib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.anchor.fingerprint import line_hash
from postil.comments.clock import new_id, now
from postil.comments.sidecar.dialects import Unreadable, extension_accepts
from postil.comments.sidecar.document import LineTexts, Sidecar
from postil.comments.sidecar.format import detect_tag
from postil.comments.sidecar.json_edit import Document, new_document
from postil.comments.storage.store import is_sidecar
from tests.comments.sidecars import (
    DAMAGED_BY_REFERENCE,
    DOCUMENTED,
    EXTENSION,
    FIRST,
    PLAYGROUND,
    REFERENCE,
    SOURCE,
    as_javascript,
)

LINES = list[str](SOURCE.splitlines())


def read(value: object) -> Sidecar:
    return Sidecar("simple.js", as_javascript(value))


@pytest.mark.parametrize(
    ("value", "comment", "line", "author", "created"),
    [
        (EXTENSION, "714694ea-d554-4e62-9b8f-2f2e5a3a1c11", 2, "greg", "2025-10-19T09:29:55.625Z"),
        (REFERENCE, "c_1730000000000", 7, "claude", "2025-10-20T10:00:00.000Z"),
        (PLAYGROUND, "comment-1", 3, "demo", "2025-10-18T08:00:00.000Z"),
        (DOCUMENTED, "d-1", 7, "docs", "2025-10-17T08:00:00.000Z"),
        (FIRST, "1", 8, "greg", "2025-10-16T08:00:00.000Z"),
    ],
    ids=["extension", "reference", "playground", "documents", "1.0"],
)
def test_every_dialect_is_read(value: object, comment: str, line: int, author: str, created: str) -> None:
    sidecar = read(value)
    (found,) = sidecar.comments
    assert (found.id, found.line, found.author, found.created) == (comment, line, author, created)


@pytest.mark.parametrize("version", ["1.0", "2.0", "2.0.5", "2.0.6", "2.0.7", "2.0.8", "2.1.0", "2.1.9"])
def test_every_version_of_the_extension_is_read_and_written(version: str) -> None:
    assert read({**EXTENSION, "version": version}).writable


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


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "empty"),
        (b"  \n", "empty"),
        (b'{"file": "a", "version": "2.1.0", "comments": [{"id"', "not JSON"),
        (b"<<<<<<< HEAD\n{}\n=======\n{}\n>>>>>>> other\n", "conflict"),
        (b'{"file":"a","version":"2.1.0","comments":[\n<<<<<<< HEAD\n=======\n>>>>>>> b\n]}', "conflict"),
        (b'{"file":"a","version":"2.1.0","comments":[{"id":1,"text":"x"}]}', "wrong type"),
        (b'{"file":"a","version":"2.1.0","comments":[{"id":"1","text":"x","line":"7"}]}', "wrong type"),
        (b'{"file":"a","version":"2.1.0","comments":{}}', "wrong type"),
        (b'{"file":"a","version":"2.1.0","ghostMarkers":[{"id":"g","line":null}]}', "wrong type"),
        (b"[]", "wrong type"),
        (b"{}", "neither"),
        (b"\xff\xfe{}", "not JSON"),
        (b"[" * 100_000, "wrong type|JSON|deep"),
        (b'{"comments":' + b"[" * 100_000, "wrong type|JSON|deep"),
    ],
)
def test_a_damaged_file_is_named_and_not_understood(data: bytes, said: str) -> None:
    with pytest.raises(Unreadable, match=said):
        Sidecar("a", data)


def test_an_unknown_version_may_be_read_and_not_written() -> None:
    sidecar = read({**EXTENSION, "version": "3.0.0"})
    assert len(sidecar.comments) == 1
    assert not sidecar.writable


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("a.ts.comments", True),
        ("simple-test.js.backup-2025-10-19T09-51-00-011Z.comments", False),
        ("x.js.comments.comments", False),
        (".comments", False),
        ("a.ts", False),
        ("backup-notes.md.comments", True),
    ],
)
def test_backups_of_the_extension_are_no_sidecars(name: str, is_one: bool) -> None:
    assert is_sidecar(name) is is_one


def test_line_hashes_are_the_extensions() -> None:
    assert line_hash("  function add(a, b) {  ") == "d55a9883b881a4b3"
    assert line_hash("   ") == "1db9f36777e9ef0b"


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("TODO: x", "TODO"),
        ("todo x", "TODO"),
        ("FIXME:x", "FIXME"),
        ("? why", "QUESTION"),
        ("WARN: x", "WARNING"),
        ("⭐ good", "STAR"),
        ("TODOS are many", None),
        ("plain", None),
    ],
)
def test_tags_are_detected_as_the_extension_does(text: str, tag: str | None) -> None:
    assert detect_tag(text) == tag


def test_ids_are_distinct_and_of_the_contracts_shape() -> None:
    made = {new_id("c_") for _ in range(2000)}
    assert len(made) > 1990  # six random digits a millisecond
    assert all(len(each) == 21 and each[2:].isdigit() for each in made)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
ITEMS = st.lists(st.dictionaries(st.text(max_size=6), JSON, max_size=4), max_size=5)


@given(
    before=st.dictionaries(st.text(max_size=6).filter(lambda key: key != "items"), JSON, max_size=4),
    items=ITEMS,
    new=st.dictionaries(st.text(max_size=6), JSON, max_size=3),
    data=st.data(),
)
def test_changing_one_item_of_any_document_changes_that_item_alone(
    before: dict[str, Any], items: list[dict[str, Any]], new: dict[str, Any], data: st.DataObject
) -> None:
    whole: dict[str, object] = {**before, "items": items}
    text = data.draw(st.sampled_from([as_javascript(whole), json.dumps(whole).encode(), new_document(whole)]))
    document = Document(text)
    listed = document.items("items")
    at = data.draw(st.integers(0, len(items)))
    action = data.draw(st.sampled_from(["insert", "replace", "remove"] if at < len(items) else ["insert"]))
    expected = list(items)
    if action == "insert":
        listed.insert(at, new)
        expected.insert(at, new)
    elif action == "replace":
        listed.replace(at, new)
        expected[at] = new
    else:
        listed.remove(at)
        del expected[at]
    assert json.loads(document.text()) == {**whole, "items": expected}
