"""A query over a tree ends, and what was not all found is not used."""

from __future__ import annotations

import pytest
from tree_sitter import Query, QueryCursor

from postil.anchor.syntax import queries
from postil.anchor.syntax.colors import color_rows
from postil.anchor.syntax.languages import grammar, parse
from postil.anchor.syntax.queries import run_query
from postil.anchor.syntax.symbols import symbols

DASHES = "---\n" * 4096 + "def a(): pass\n"


def test_a_query_that_takes_too_long_finds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = parse("def a(): pass\n" * 100, "python")
    assert tree is not None
    query, root = Query(grammar("python"), "(function_definition) @a"), tree.root_node
    assert len((run_query(query, root, lambda cursor: cursor.captures(root)) or {})["a"]) == 100
    monkeypatch.setattr(queries, "LONGEST_QUERY", 0.0)
    monkeypatch.setattr(queries, "QUERY_BYTE", 0.0)
    assert run_query(query, root, lambda cursor: cursor.captures(root)) is None


def test_a_query_is_tried_again_while_others_have_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = parse("a = 1\n", "python")
    assert tree is not None
    passed, spent = iter([0.0, 9.0, 9.0, 9.01]), iter([0.0, 0.01, 0.01])
    monkeypatch.setattr(queries.time, "monotonic", lambda: next(passed))
    monkeypatch.setattr(queries.time, "thread_time", lambda: next(spent))
    tries: list[QueryCursor] = []
    query = Query(grammar("python"), "(identifier) @a")
    assert run_query(query, tree.root_node, lambda cursor: tries.append(cursor) or "found") == "found"
    assert len(tries) == 2


def test_a_text_whose_query_is_given_up_has_neither_symbols_nor_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "LONGEST_QUERY", 0.0)
    monkeypatch.setattr(queries, "QUERY_BYTE", 0.0)
    assert symbols(DASHES, "python") == []
    assert color_rows(DASHES, "python", [4096]) == {}
