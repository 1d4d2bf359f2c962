"""The sources that were the dearest to parse do not make the process grow; `make worst-sources` searches for more."""

from __future__ import annotations

import random

import pytest

from postil.anchor.syntax import languages
from tests.attack.worst_sources import KNOWN, LARGEST, list_words, measure, repeat, search


@pytest.mark.parametrize("language", ["python", "java", "csharp", "cpp", "go", "swift"])
def test_a_small_source_does_not_take_much_memory(language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """8 kB took 2 GB."""
    monkeypatch.setattr(languages, "_workers", [])
    languages.grammar(language)
    grown = {some[0]: measure(repeat(some, "\n", 8192), language)[1] for some in KNOWN[:7]}
    assert max(grown.values()) <= LARGEST, grown


@pytest.mark.parametrize("between", ["\n", " ", ""])
def test_a_parser_in_many_states_is_stopped_before_the_text_ends(between: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """4 kB took 30 to 120 MB and 70 to 240 ms, all of it in the last step."""
    monkeypatch.setattr(languages, "_workers", [])
    languages.grammar("java")
    grown = [measure(repeat(["$", "?>"], between, 4096), "java")[1] for _ in range(3)]
    assert max(grown) <= 16, grown


@pytest.mark.parametrize("language", ["typescript", "tsx"])
def test_a_parser_in_several_states_is_stopped_as_well(language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """16 kB took 75 MB and 145 ms, whenever the parser came to the end of the text in time."""
    monkeypatch.setattr(languages, "_workers", [])
    languages.grammar(language)
    grown = [measure(repeat(["private", "?>"], between, 16_384), language)[1] for between in "\n\n\n    "]
    assert max(grown) <= 16, grown


def test_the_search_speaks_the_language_of_each_grammar() -> None:
    assert {"def", "lambda", "<!--"} <= {*list_words("python")}
    assert search("json", 0.0, 4096, random.Random(1)) == []
