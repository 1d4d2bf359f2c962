"""Addresses with variables: what matches a template, and what its variables are."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.core.resource import LONGEST_URI, ResourceMark, join_page, match, resource, split_page


@pytest.mark.parametrize(
    ("template", "uri", "found"),
    [
        ("x://notes/{name}", "x://notes/a", {"name": "a"}),
        ("x://notes/{name}", "x://notes/a/b", None),
        ("x://notes/{name}", "x://notes/", None),
        ("x://notes/{+name}", "x://notes/a/b", {"name": "a/b"}),
        ("x://{filePath}.comments", "x://src/a.py.comments", {"filePath": "src/a.py"}),
        ("x://a.b/{name}", "x://aXb/c", None),
        ("x://{one}/{two}", "x://1/2", {"one": "1", "two": "2"}),
        ("x://notes/{name}", "x://notes/a%20b%2Fc", {"name": "a b/c"}),
        ("x://notes/{name}", "y://x://notes/a", None),
        ("x://plain", "x://plain", {}),
        ("x://{+name}", "x://a\nb", {"name": "a\nb"}),
    ],
)
def test_a_variable_stays_within_its_segment_unless_it_says_otherwise(
    template: str, uri: str, found: dict[str, str] | None
) -> None:
    assert match(template, uri) == found


def test_an_address_is_looked_at_up_to_its_limit() -> None:
    start = "x://notes/"
    assert match(start + "{name}", start + "a" * (LONGEST_URI - len(start))) is not None
    assert match(start + "{name}", start + "a" * (LONGEST_URI - len(start) + 1)) is None


@given(st.text(max_size=50))
def test_no_address_breaks_it(uri: str) -> None:
    found = match("x://notes/{name}", uri)
    assert found is None or uri.startswith("x://notes/")


@given(st.text(st.characters(codec="utf-8", exclude_characters="/"), min_size=1, max_size=50))
def test_what_is_quoted_into_an_address_is_found_in_it(text: str) -> None:
    assert match("a://{x}/end", f"a://{quote(text, safe='')}/end") == {"x": text}


def test_a_page_is_split_off_an_address_and_joined_to_it() -> None:
    assert split_page("a://b/c") == ("a://b/c", "")
    assert split_page(join_page("a://b/c", "x y/ü?")) == ("a://b/c", "x y/ü?")
    assert split_page("a://b?after=1" + "x" * 9000)[1] == ""


def test_values_that_complete_a_variable_are_kept_with_it() -> None:
    class Notes:
        """Two resources."""

        @resource("x://{name}", name="note", complete={"name": ("a", "b")})
        def note(self, name: str) -> str:
            """A note"""
            return name

        @resource("x://all", name="all")
        def every(self) -> str:
            """All notes"""
            return ""

    marks: list[ResourceMark] = [Notes.note.__postil__, Notes.every.__postil__]  # type: ignore[attr-defined]
    assert [mark.complete for mark in marks] == [{"name": ("a", "b")}, {}]
