"""Others' words command no terminal."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.core.others.visible import Style, harmless, paint, styled


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J", "\\x1b[2J"),
        ("\x00\x08\x0b\x1f", "\\x00\\x08\\x0b\\x1f"),
        ("\x7f\x9f", "\\x7f\\x9f"),
        ("a\tb\nc", "a\tb\nc"),
        ("\u202a\u202e\u2066\u2069", "\\u202a\\u202e\\u2066\\u2069"),
        (" ~\xa0\u202f\u3000", " ~\xa0\u202f\u3000"),
        ("\xad\u061c\u200b\u2028\u2029\u2060\ufeff", "\\xad\\u061c\\u200b\\u2028\\u2029\\u2060\\ufeff"),
        ("a\U000e0041\U000e0100", "a\\U000e0041\\U000e0100"),
        ("a\u200db\ufe0f", "a\\u200db\\ufe0f"),
        ("👩‍💻 ❤️ می‌خواهم", "👩‍💻 ❤️ می‌خواهم"),
        ("a\ue000\ufdd0\ud800\u2800", "a\\ue000\\ufdd0\\ud800\\u2800"),
        ("e" + "\u0301" * 12, "e" + "\u0301" * 10 + "\\u0301\\u0301"),
        ("\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",) * 2,
    ],
)
def test_what_moves_the_cursor_or_turns_text_around_is_made_visible(text: str, shown: str) -> None:
    assert harmless(text) == shown


@given(st.text())
def test_no_control_character_is_left_and_nothing_else_is_changed(text: str) -> None:
    shown = harmless(text)
    assert not [c for c in shown if unicodedata.category(c) == "Cc" and c not in "\t\n"]
    assert shown.replace("\\", "").count("a") >= text.count("a")
    assert harmless(shown) == shown


@pytest.mark.parametrize(
    ("style", "code"), [("red", 31), ("green", 32), ("yellow", 33), ("blue", 34), ("dim", 2), ("heavy", 1)]
)
def test_a_style_is_its_colour_on_a_terminal_and_nothing_elsewhere(style: Style, code: int) -> None:
    assert paint(styled("a", style), colors=True) == f"\x1b[{code}ma\x1b[0m"
    assert paint(styled("a", style), colors=False) == "a"


def test_what_has_no_style_stays_as_it_is() -> None:
    """Others may write the characters that begin and end a style."""
    for text in ("plain", "\ufdd1", "", "\ufdd0r red \ufdd1"):
        for words in (text, styled(text, "dim")):
            assert text in paint(words, colors=True)
            assert paint(words, colors=False) == text
    seen = paint(harmless(styled("\ufdd0r mine \ufdd1", "dim")), colors=True)
    assert seen == "\x1b[2m\\ufdd0r mine \\ufdd1\x1b[0m"
