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


def test_the_search_speaks_the_language_of_each_grammar() -> None:
    assert {"def", "lambda", "<!--"} <= {*list_words("python")}
    assert search("json", 0.0, 4096, random.Random(1)) == []
