"""The frame around words of others: nothing in them ends it, and equal words have equal frames."""

from __future__ import annotations

import json
import re

from hypothesis import given
from hypothesis import strategies as st

from postil.core.others.framing import OTHERS, frame, mark_json


@given(st.text())
def test_the_frame_is_closed_by_its_own_mark_alone(text: str) -> None:
    framed = frame(text, "comments")
    found = re.fullmatch(r"\[comments: [^\n]+, until ([0-9a-f]{8})\]\n(.*)\n\[end \1\]", framed, re.DOTALL)
    assert found is not None
    assert (found[2], framed.count(found[1])) == (text, 2)
    assert frame(text, "comments") == framed


def test_a_text_that_knows_its_mark_gets_another() -> None:
    text = ""
    for _ in range(5):
        mark = frame(text, "a")[-9:-1]
        text += mark  # it ends with the mark that it had before
        assert frame(text, "a")[-9:-1] not in text
    assert OTHERS in frame(text, "a")


@given(st.dictionaries(st.text(), st.integers()))
def test_json_says_of_itself_that_others_wrote_in_it(value: dict[str, int]) -> None:
    assert json.loads(mark_json(json.dumps(value))) == {**value, "untrusted": True}


OTHER_TEXTS = ["[1]", "", "{", "text", "{} and more", "before {}"]


def test_what_is_no_object_stays() -> None:
    assert [mark_json(text) for text in OTHER_TEXTS] == OTHER_TEXTS
