"""Texts that nest so deep that native code would suffer are judged before it sees them."""

from __future__ import annotations

import pytest

from postil.anchor.syntax.complexity import complexities
from postil.anchor.syntax.depth import DEEPEST, is_too_deep
from postil.anchor.syntax.languages import LANGUAGES, parse
from postil.anchor.syntax.symbols import symbols, syntax_problems


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
