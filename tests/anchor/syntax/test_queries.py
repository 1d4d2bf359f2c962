"""A query is asked only of a tree that it gets through, and its cursor has no limit of time."""

from __future__ import annotations

import time
from functools import partial

import pytest
from tree_sitter import Node, Parser, Query, QueryCursor

from postil.anchor.syntax import colors, languages, queries
from postil.anchor.syntax.colors import color_rows
from postil.anchor.syntax.languages import grammar
from postil.anchor.syntax.queries import is_dear, run_query
from postil.anchor.syntax.symbols import symbols

DASHES = "---\n" * 16_000
ORDINARY = "".join(f"def function_{number}(value):\n    return [value, {number}]\n\n\n" for number in range(1000))


def test_a_row_of_very_many_errors_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    root = Parser(grammar("python")).parse((ORDINARY + "---\n" * 100).encode()).root_node
    query, late = Query(grammar("python"), "(function_definition) @a"), time.thread_time() + 60
    assert len((run_query(query, root, lambda cursor: cursor.captures(root), late) or {})["a"]) == 1000
    monkeypatch.setattr(queries, "MOST_STEPS", 50)
    assert run_query(query, root, lambda cursor: cursor.captures(root), late) is None
    found = run_query(query, root, lambda cursor: cursor.captures(root))
    assert found is not None, "a process that can be ended asks every tree"


@pytest.mark.parametrize(
    ("text", "language"),
    [
        (DASHES, "python"),
        ("~\n" * 20_000, "python"),
        (")" * 30_000, "c"),
        ("---\n" * 9000, "yaml"),
        ("[" + "1," * 20_000 + "1]", "json"),
    ],
)
def test_rows_that_a_parser_could_make_nothing_of_are_dear(text: str, language: str) -> None:
    assert is_dear(Parser(grammar(language)).parse(text.encode()).root_node)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("x = 1\n" * 2000, "python"),
        ("a + " * 12_000 + "a\n", "python"),
        ("#define A 1\n" * 2000, "c"),
        ("[" + "1," * 1000 + "1]", "json"),
        ("- a\n" * 2000, "yaml"),
        (ORDINARY + "def (\n", "python"),
    ],
)
def test_long_files_are_not(text: str, language: str) -> None:
    assert not is_dear(Parser(grammar(language)).parse(text.encode()).root_node)


def test_a_text_of_which_the_tree_is_dear_has_neither_symbols_nor_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no worker."""
    monkeypatch.setattr(languages, "_workers", [])
    assert symbols(DASHES, "python") == []
    assert color_rows(DASHES, "python", [10_000]) == {}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_no_cursor_has_a_limit_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that was stopped crashed the interpreter some nodes later, on a busy machine with any file.

    The binding's own setter of another limit sets this one.
    """
    limits: list[int] = []

    def note(root: Node, first: int, last: int, cursor: QueryCursor) -> list[object]:
        limits.append(cursor.timeout_micros)  # pyright: ignore[reportDeprecated]
        return []

    monkeypatch.setattr(colors, "_match_rows", note)
    root = Parser(grammar("python")).parse(b"a = 1\n").root_node
    query = Query(grammar("python"), "(identifier) @a")
    run_query(query, root, lambda cursor: note(root, 0, 0, cursor), time.thread_time() + 60, 10)
    color_rows("a = 1\nb = 2\n", "python", [0])
    assert limits == [0, 0]


def test_a_query_for_which_the_time_does_not_do_is_not_asked() -> None:
    """2,185 documents of YAML took 23 ms at once where 7 were counted on; 16,000 names took 50 to be handed over."""
    documents = Parser(grammar("yaml")).parse(b"---\n$\n?\n<a>\na=\n" * 2185).root_node
    names = Parser(grammar("python")).parse(b"a + " * 8000 + b"a\n").root_node
    for root, language, seconds in ((documents, "yaml", 0.02), (names, "python", 0.01)):
        query = Query(grammar(language), "(_) @a")
        ask = partial(_capture, root)
        assert run_query(query, root, ask, time.thread_time() + seconds, root.descendant_count) is None
        assert run_query(query, root, ask, time.thread_time() + 60, root.descendant_count)


def _capture(root: Node, cursor: QueryCursor) -> int:
    return len(cursor.captures(root)["a"])
