"""Three syntaxes, one tree; a mistake is told with its place."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.tracker.query.parse import parse
from postil.tracker.query.tree import All, QueryFault
from tests.tracker.programs import answered


def test_the_three_syntaxes_of_filters_work_on_the_command_line(repository: Path):
    for title, label in (("One", "a"), ("Two", "b")):
        answered(repository, "create", "issue", title, "--label", label)
    for text in ("labels contains a", "(contains labels a)", "label:a"):
        found = answered(repository, "list", "issue", "--filter", text)["items"]
        assert [item["title"] for item in found] == ["One"], text
    words = answered(repository, "issue", "list", "label:b", "status:open", program="main")["items"]
    assert [item["title"] for item in words] == ["Two"]


@pytest.mark.parametrize(
    ("infix", "prefix"),
    [
        ('status == "open"', "(= status open)"),
        ("status = open and labels contains alpha", "(and (= status open) (contains labels alpha))"),
        ("not status == open or title contains 'x y'", '(or (not (= status open)) (contains title "x y"))'),
        ("labels in [a, b]", "(in labels a b)"),
        ("status in (draft, closed)", "(in status draft closed)"),
        ("labels != docs", "(!= labels docs)"),
        ("has_comments == yes", "(= has_comments true)"),
        ("updated > 1@host1", "(> updated_at 1@host1)"),
        ("(status == open)", "(= status open)"),
        ("not (status == open)", "(not (= status open))"),
        ("(not (status == open) and comments >= 2)", "(and (not (= status open)) (>= comments 2))"),
        (r'title == "a \"b\" \\ \n"', r'(= title "a \"b\" \\ \n")'),
    ],
)
def test_the_infix_and_the_prefix_syntax_make_one_tree(infix: str, prefix: str):
    assert parse(infix).tree == parse(prefix).tree


@pytest.mark.parametrize(
    ("text", "position", "words"),
    [
        ("status == ", 10, "a value must follow"),
        ("", None, ""),
        ("statsu == open", 0, "did you mean `status`?"),
        ("(= statsu open)", 3, "did you mean `status`?"),
        ("(foo status open)", None, ""),
        ("status > open", 0, "operator `GreaterThan` not allowed for field `status`"),
        ("(> status open)", 3, "operator `GreaterThan` not allowed for field `status`"),
        ("(and (= status open))", 1, "requires at least 2 operand(s)"),
        ("(= labels)", 9, "comparison operator `Eq` requires at least one value"),
        ('title == "abc', 9, "unterminated string"),
        ("status == open title == x", 15, "join conditions with and / or"),
        ("(status == open", 15, "missing `)`"),
        ("(= status open", 14, "missing `)`"),
        ("(= status open) x", 16, "unexpected text after"),
        ("created > yesterday", 10, "is not a moment"),
        ("comments > many", 11, "is not a number"),
        ("has_comments == banana", 16, "neither true nor false"),
        ("colour:red", 0, "unknown field `colour`"),
        ("stat == open", 0, "did you mean `status`?"),
        ("assign == ann", 0, "did you mean `assignee`?"),
        ("colour == red", 0, "known: title, author, text, id, kind, status,"),
        ("status open", 7, "an operator must follow `status`"),
        ("lable", 0, "did you mean `label`?"),
        ("status:", None, ""),
    ],
)
def test_a_mistake_is_told_with_its_place_and_what_was_meant(text: str, position: int | None, words: str):
    if not text:
        assert parse(text).tree == All()
        return
    with pytest.raises(QueryFault) as caught:
        parse(text)
    if position is not None:
        assert caught.value.position == position
    assert words in str(caught.value)


@given(st.text(max_size=60))
def test_no_text_does_more_harm_than_a_fault(text: str):
    try:
        parse(text)
        position = None
    except QueryFault as fault:
        position = fault.position
    assert position is None or 0 <= position <= len(text)
