"""Which language a file is in, and what is not worth parsing."""

import pytest

from postil.anchor.model import Source, Span
from postil.anchor.relocate import relocate_all
from postil.anchor.syntax.languages import LANGUAGES, LONGEST_LINE, MOST_BYTES, grammar, language_of, parse
from postil.anchor.syntax.symbols import symbols, syntax_problems


def test_files_are_known_by_their_names() -> None:
    assert [language_of(path) for path in ("a/b.TSX", "x.py", "Gemfile", "notes.txt", "Makefile", "")] == [
        "tsx",
        "python",
        "ruby",
        None,
        None,
        None,
    ]


def test_what_takes_too_long_to_parse_is_anchored_by_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postil.anchor.syntax.languages.LONGEST_PARSE", 0.001)
    slow = "values = [\n" + "".join(f"    {number},\n" for number in range(60_000)) + "]\nlast = 1\n"
    parse.cache_clear()
    assert parse(slow, "python") is None
    assert symbols(slow, "python") == []
    assert syntax_problems(slow, "python") == []
    (found,) = relocate_all(Source(slow, "a.py"), Source("import os\n" + slow, "a.py"), [Span(60_003)])
    assert (found.state, found.span) == ("moved", Span(60_004, 60_004))
    monkeypatch.undo()
    parse.cache_clear()
    assert parse(slow, "python") is not None


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_a_grammar_that_loads_once(language: str) -> None:
    assert grammar(language) is grammar(language)


def test_what_is_generated_is_not_parsed() -> None:
    assert parse("x" * (LONGEST_LINE + 1), "python") is None
    assert parse("x" * LONGEST_LINE, "python") is not None
    assert parse("x = 1\n" * (MOST_BYTES // 6 + 1), "python") is None
    assert parse("x", "klingon") is None
    assert parse("x", None) is None
