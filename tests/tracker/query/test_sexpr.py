"""S-expressions, as the contract's program took them."""

from __future__ import annotations

import pytest

from postil.tracker.query.sexpr import looks_like_sexpr, parse_sexpr
from postil.tracker.query.tree import All, Any, Compare, Not, QueryFault

OPEN = Compare("status", "=", ("open",))


@pytest.mark.parametrize("text", ["(= status open)", " ( not (= status open))", "(and (= a b))", "(in status a b)"])
def test_what_begins_with_an_operator_is_written_the_prefix_way(text: str):
    assert looks_like_sexpr(text)


@pytest.mark.parametrize("text", ["(status = open)", "not (status == open)", "(not status == open)", "word", "(("])
def test_what_begins_otherwise_is_not(text: str):
    assert not looks_like_sexpr(text)


def test_expressions_nest_and_strings_have_escapes():
    tree = parse_sexpr(r'(or (and (== status "open") (not (= title "a\"b\n"))) (= status open))')
    assert tree == Any((All((OPEN, Not(Compare("title", "=", ('a"b\n',))))), OPEN))


@pytest.mark.parametrize(
    ("text", "position", "words"),
    [
        ("(= status open) x", 16, "after the expression"),
        ("(and (= status open))", 1, "at least 2"),
        ("(not)", 1, "exactly 1"),
        ("(= status", 9, "missing `)`"),
        ("(foo status open)", 1, "unknown operator"),
        ("(= status (open))", 10, "unexpected list"),
        ('(= title "open)', 9, "unterminated"),
        ("(=)", 1, "requires a field"),
        ("()", 0, "empty"),
    ],
)
def test_a_fault_is_told_where_it_is(text: str, position: int, words: str):
    with pytest.raises(QueryFault, match=words.replace("(", r"\(").replace(")", r"\)")) as fault:
        parse_sexpr(text)
    assert fault.value.position == position


def test_nesting_without_end_is_refused():
    with pytest.raises(QueryFault, match="nested too deeply"):
        parse_sexpr("(not " * 100)
