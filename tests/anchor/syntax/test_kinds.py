"""The kinds of rows are read with a clock in view that costs little, and with a dear one where that is not enough."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import count

import pytest

from postil.anchor.syntax import kinds, languages
from postil.anchor.syntax.kinds import RowNodes, kind_at
from postil.anchor.syntax.languages import parse_kept

CODE = "def function(value):\n    é = 1\n    return [value, 7]\n" * 30


@pytest.fixture(autouse=True)
def _in_time(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A busy machine is no odd text."""
    monkeypatch.setattr(languages, "_workers", [])
    monkeypatch.setattr(languages, "QUICK_START", 60.0)
    monkeypatch.setattr(languages, "QUICK_PARSE", 60.0)
    monkeypatch.setattr(languages, "QUICK", 60.0)
    parse_kept.cache_clear()
    yield
    parse_kept.cache_clear()


def read(text: str) -> list[str]:
    nodes = RowNodes(text, "python")
    return [nodes.kind(row, line) for row, line in enumerate(text.splitlines())]


def test_of_ordinary_rows_no_clock_of_the_cpu_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """For each row it was read three times, which took as long as finding the node."""
    nodes = RowNodes(CODE, "python")
    monkeypatch.setattr(kinds, "SHORT", 60.0)
    looks: list[float] = []
    monkeypatch.setattr(languages.time, "thread_time", lambda: looks.append(0.0) or 0.0)
    found = [nodes.kind(row, line) for row, line in enumerate(CODE.splitlines())]
    assert found == ["function_definition", "block", "return_statement"] * 30
    assert looks == []


def test_a_text_with_a_row_that_takes_long_is_read_by_the_clock_of_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes, ticks, cpu = RowNodes(CODE, "python"), count(), count()
    monkeypatch.setattr(kinds.time, "monotonic", lambda: next(ticks) / 1000)  # 1 ms from look to look
    assert nodes.kind(0, CODE.splitlines()[0]) == "function_definition"
    monkeypatch.setattr(languages.time, "thread_time", lambda: float(next(cpu)))
    assert nodes.kind(1, CODE.splitlines()[1]) == "block"
    assert next(cpu) == 2, "from when it was asked to when it was found"


def test_what_rows_take_is_taken_off_whatever_clock_was_read(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = RowNodes(CODE, "python")
    parsed = languages.parse(CODE, "python")
    assert parsed is not None
    ticks = count()
    monkeypatch.setattr(kinds.time, "monotonic", lambda: next(ticks) / 10_000)  # 0.1 ms from look to look
    left = parsed.left
    for row, line in enumerate(CODE.splitlines()[:10]):
        nodes.kind(row, line)
    assert parsed.left == pytest.approx(left - 10 * 0.0001)


def test_many_nodes_that_begin_together_are_climbed_with_the_clock_in_view() -> None:
    text = "a" + ".b" * 60 + "\n"
    parsed = languages.parse(text, "python")
    assert parsed is not None
    assert kind_at(parsed.tree, 0, text, -1.0) is None
    assert kind_at(parsed.tree, 0, text, time.thread_time() + 60) == "expression_statement"
    assert read(text) == ["expression_statement"]
