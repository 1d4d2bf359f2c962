"""Changing one item of any document changes that item alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.comments.sidecar.json_edit import Document, decode_object, new_document
from postil.comments.sidecar.merge import merge_sidecars
from tests.comments.sidecars import (
    as_javascript,
)
from tests.comments.workspaces import workspace

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


@pytest.mark.parametrize("number", [b"9" * 5_000, b"1e999"])
def test_a_number_that_no_decoder_takes_is_kept_through_every_edit(tmp_path: Path, number: bytes) -> None:
    comments = workspace(tmp_path, **{"a.py": "one = 1\n", "b.py": "one = 1\n"})
    name = comments.add("a.py", 1, "one", "NOTE").commentId
    kept = tmp_path / "a.py.comments"
    before = kept.read_bytes()
    kept.write_bytes(before.replace(b'"text"', b'"theirs": ' + number + b', "text"', 1))
    comments.reply(name, "a reply")
    comments.resolve(name)
    (shown,) = comments.listed("a.py", status="resolved").comments
    assert (shown.text, shown.status) == ("one", "resolved")
    assert number in merge_sidecars("a.py", before, before, kept.read_bytes())
    comments.move("a.py", "b.py", name, 1)
    assert b'"theirs": ' + number in (tmp_path / "b.py.comments").read_bytes()


@pytest.mark.parametrize("number", ["9" * 5_000, "1e999"])
def test_a_reply_with_a_number_that_no_decoder_takes_stays_beside_another_one(tmp_path: Path, number: str) -> None:
    comments = workspace(tmp_path, **{"a.py": "one = 1\n"})
    name = comments.add("a.py", 1, "one", "NOTE").commentId
    comments.reply(name, "first")
    kept = tmp_path / "a.py.comments"
    text = kept.read_text().replace('"text": "first"', f'"theirs": {number}, "text": "first"')
    kept.write_text(text)
    comments.reply(name, "second")
    comments.edit("a.py", name, "two")
    (shown,) = comments.listed("a.py").comments
    assert (shown.text, [each.text for each in shown.replies]) == ("two", ["first", "second"])
    assert f'"theirs": {number}' in kept.read_text()
    merged = merge_sidecars("a.py", text.encode(), kept.read_bytes(), text.encode())
    assert [merged.count(said) for said in (b'"first"', b'"second"', number.encode())] == [1, 1, 1]


def test_what_no_decoder_takes_is_kept_however_deep_it_is() -> None:
    deep = b"[" * 20 + b"9" * 5_000 + b"]" * 20
    held = decode_object(b'{"replies": [{"id": "r", "deep": ' + deep + b"}]}")
    assert b"".join(new_document(held).split()) == b'{"replies":[{"id":"r","deep":' + deep + b"}]}"
