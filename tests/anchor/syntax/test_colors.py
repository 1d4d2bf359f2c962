"""The colours of code."""

from __future__ import annotations

import pytest

from postil.anchor.syntax.colors import MOST_CHARACTERS, color_rows
from postil.anchor.syntax.languages import LANGUAGES, is_installed

pytestmark = pytest.mark.usefixtures("unhurried")

CODE = {
    "python": ("x = 'é' # note", "c"),
    "javascript": ("const x = 1 // note", "c"),
    "typescript": ("const x: number = 1", "k"),
    "go": ('package main\nvar x = "s"', "k"),
    "rust": ("fn main() {}", "k"),
    "java": ("class A {}", "k"),
    "c": ("int main() { return 1; }", "k"),
    "cpp": ("class A { int x; };", "k"),
    "json": ('{"a": 1}', "n"),
}


@pytest.mark.parametrize("language", [name for name in CODE if is_installed(name)])
def test_languages_have_colours(language: str) -> None:
    text, letter = CODE[language]
    found = color_rows(text, language, range(text.count("\n") + 1))
    assert letter in {kind for colors in found.values() for _, _, kind in colors}


def test_every_installed_language_is_read_without_a_fault() -> None:
    for language in LANGUAGES:
        color_rows("a = 1\n", language, [0])


def test_columns_count_characters_not_bytes() -> None:
    colors = color_rows("x = 'éé' # ü", "python", [0])[0]
    assert (4, 8, "s") in colors
    assert (9, 12, "c") in colors


def test_only_the_rows_asked_for_are_coloured() -> None:
    text = "x = 1\n" * 100
    assert set(color_rows(text, "python", [3, 50])) <= set(range(3, 60))
    assert color_rows(text, "python", []) == {}


def test_a_string_over_several_rows_is_coloured_in_each() -> None:
    found = color_rows('x = """a\nb\nc"""\n', "python", [1])
    assert found[1] == ((0, 1, "s"),)


def test_what_has_no_grammar_or_is_too_long_is_plain() -> None:
    assert color_rows("text", None, [0]) == {}
    assert color_rows("x = 1\n" * (MOST_CHARACTERS // 6 + 1), "python", [0]) == {}
