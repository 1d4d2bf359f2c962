"""Changing one item of any document changes that item alone."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from postil.comments.sidecar.json_edit import Document, new_document
from tests.comments.sidecars import (
    as_javascript,
)

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
