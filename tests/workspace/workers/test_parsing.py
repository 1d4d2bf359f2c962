"""Texts that are too dear to parse are found out by a process that can be ended, and are then read as plain lines."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from postil.anchor.syntax import languages
from postil.anchor.syntax.languages import ask_about_slow_texts, parse, parse_kept
from postil.anchor.syntax.symbols import symbols
from postil.workspace.workers import parsing
from postil.workspace.workers.parsing import is_cheap

DEAR = "<!--\n" * 60_000
"""In Go seconds for a tenth of this size, where nothing bounds them."""
ORDINARY = "".join(f"class A{number} {{\n  int a() {{ return {number}; }}\n}}\n" for number in range(2000))


@pytest.fixture
def asked() -> Iterator[list[str]]:
    """The texts about which a judge is asked, who refuses all."""
    before, seen = [*languages._judges], list[str]()  # pyright: ignore[reportPrivateUsage]

    def refuse(text: str, _: str) -> bool:
        seen.append(text)
        return False

    ask_about_slow_texts(refuse)
    parse_kept.cache_clear()
    yield seen
    languages._judges[:] = before  # pyright: ignore[reportPrivateUsage]
    parse_kept.cache_clear()


def test_a_dear_text_is_found_out_by_a_worker_that_is_ended() -> None:
    assert not is_cheap(DEAR, "go")


def test_an_ordinary_text_is_cheap_and_its_verdict_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsing, "PATIENCE", 100.0)  # a busy machine starts it late
    assert is_cheap(ORDINARY, "java")

    def fail(_: str) -> None:
        raise AssertionError("it was asked again")

    monkeypatch.setattr(parsing, "start_worker", fail)
    assert is_cheap(ORDINARY, "java")


def test_a_worker_that_cannot_be_started_means_plain_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: str) -> None:
        raise OSError

    monkeypatch.setattr(parsing, "start_worker", fail)
    assert not is_cheap("never seen before", "java")


def test_only_a_slow_text_is_asked_about(asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(languages, "QUICK_PARSE", 60.0)
    monkeypatch.setattr(languages, "LONGEST_PARSE", 60.0)
    assert parse(ORDINARY, "java") is not None
    assert asked == []
    monkeypatch.setattr(languages, "QUICK_PARSE", 1e-6)
    monkeypatch.setattr(languages, "QUICK_BYTE", 0.0)
    parse_kept.cache_clear()
    assert parse(ORDINARY, "java") is None
    assert asked == [ORDINARY]


def test_a_refused_text_has_no_symbols(asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(languages, "QUICK_PARSE", 1e-6)
    monkeypatch.setattr(languages, "QUICK_BYTE", 0.0)
    text = ORDINARY + "// once more\n"
    assert symbols(text, "java") == []
    assert asked == [text]
