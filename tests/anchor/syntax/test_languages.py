"""Which language a file is in, and what is not worth parsing."""

import sys

import pytest

from postil.anchor.model import Source, Span
from postil.anchor.relocate import relocate_all
from postil.anchor.syntax import languages
from postil.anchor.syntax.complexity import complexities
from postil.anchor.syntax.languages import (
    DEEPEST,
    LANGUAGES,
    LONGEST_LINE,
    MOST_BYTES,
    grammar,
    is_installed,
    is_too_deep,
    language_of,
    parse,
)
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


# Depth


def stairs(line: str, count: int) -> str:
    return "".join(" " * step + line + "\n" for step in range(count))


@pytest.mark.parametrize(
    "text",
    ["- " * 300 + "a", stairs("-", 300), stairs("a:", 300), "- ? " * 200 + "a", "[" * 300, "-   " * 5000 + "a"],
)
def test_yaml_that_would_end_the_process_is_not_parsed(text: str) -> None:
    assert parse(text, "yaml") is None  # with its grammar, the process died of it


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("text", ["[\n" * 20_000, "{\n" * 20_000, "(\n" * 20_000, stairs("if a:", 400)])
def test_a_deep_text_has_no_tree_in_any_language(language: str, text: str) -> None:
    assert parse(text, language) is None
    assert symbols(text, language) == []


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("ruby", "def a\n" * 20_000),
        ("bash", "if a; then\n" * 20_000),
        ("html", "<div id=a>\n" * 5_000),
        ("css", "@media a {\n" * 100 + "}" * 100),
        ("python", "x = 1" + " \\\n + 1" * 10_000),
    ],
)
def test_what_nests_without_brackets_is_read_to_a_depth(language: str, text: str) -> None:
    symbols(text, language)
    complexities(text, language)
    syntax_problems(text, language)


def test_ordinary_code_is_not_deep() -> None:
    aligned = "call(" + ",\n".join(" " * 240 + "argument" for _ in range(50)) + ")\n"
    assert not is_too_deep(aligned, "python")
    assert not is_too_deep(stairs("if a:", DEEPEST), "python")
    assert not is_too_deep("# " + "-" * 400 + "\na: 1\n", "yaml")
    assert not is_too_deep("x = {'a': [1, 2]}\n" * 10_000, "python")
    found = symbols("@media print {\n  p { color: red }\n}\n", "css")
    assert found[0].name == "@media print"


def test_without_its_grammar_a_language_is_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plain install has the grammars of eight languages."""
    monkeypatch.setitem(sys.modules, "tree_sitter_ruby", None)
    is_installed.cache_clear()
    parse.cache_clear()
    assert not is_installed("ruby")
    assert parse("def a\nend\n", "ruby") is None
    assert symbols("def a\nend\n", "ruby") == []
    monkeypatch.undo()
    is_installed.cache_clear()
    parse.cache_clear()
    assert parse("def a\nend\n", "ruby") is not None


def test_of_a_large_text_that_is_dear_only_pieces_are_parsed_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole, 600 kB, took 40 s and 20 GB before the parser looked at its clock."""
    sizes: list[int] = []
    whole = languages._try_parse  # pyright: ignore[reportPrivateUsage]

    def try_parse(data: bytes, language: str, seconds: float) -> object:
        sizes.append(len(data))
        return whole(data, language, seconds if b"template" in data else 60.0)  # a busy machine is no odd text

    def refuse(text: str, language: str) -> bool:
        return False

    monkeypatch.setattr(languages, "_try_parse", try_parse)
    monkeypatch.setattr(languages, "_judges", [refuse])
    assert languages.parse("int a;\n" * 20_000 + "template<\n" * 60_000, "java") is None
    assert max(sizes) == languages.PIECE
    assert len(sizes) > 1, "the beginning was ordinary"
