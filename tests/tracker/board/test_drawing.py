"""How the board looks in terminals of every size."""

from __future__ import annotations

import re

import pytest

from postil.tracker.board.drawing import View, draw_board, draw_text, wrap
from postil.tracker.board.lanes import Card, Lane
from postil.tracker.text import measure

WIDE = "日本語のタイトル" * 10


def card(number: int) -> Card:
    return Card(f"id{number}", f"short{number}", f"{number} {WIDE}", "high · @ann")


LANES = [Lane(name, name, tuple(card(at) for at in range(count)), count) for name, count in (("a", 0), ("b", 30))] + [
    Lane("many", "many", tuple(card(at) for at in range(200)), 100_000)
] * 3


@pytest.mark.parametrize("width", [1, 15, 16, 20, 39, 40, 80, 200])
@pytest.mark.parametrize("height", [1, 5, 6, 9, 24])
def test_no_line_is_wider_than_the_terminal_and_there_are_as_many_as_it_has(width: int, height: int) -> None:
    for lane, at in ((0, 0), (1, 29), (4, 199)):
        lines = draw_board(View(LANES, lane, at, "head " * 9, "foot " * 50), width, height)
        assert len(lines) == height
        for line in lines:
            places = re.split(r"\x1b\[(\d+)G", re.sub(r"\x1b\[\d+m", "", line))
            for start, text in zip(["1", *places[1::2]], places[::2], strict=True):
                assert int(start) - 1 + measure(text) <= width


def test_the_chosen_card_is_always_on_the_screen() -> None:
    for at in (0, 7, 29):
        (marked,) = [line for line in draw_board(View(LANES, 1, at), 80, 12) if "▶" in line]
        assert f"▶ {at} " in marked
    assert "… " in "".join(draw_board(View(LANES, 2, 0), 80, 12))


def test_without_colours_only_the_chosen_card_is_marked() -> None:
    plain = "".join(draw_board(View(LANES, 1, 0, colors=False), 80, 12))
    assert "\x1b[2m" not in plain
    assert "\x1b[7m▶" in plain


def test_long_text_is_wrapped_at_spaces_and_scrolls() -> None:
    assert wrap("some words here", 10) == ["some words", "here"] or wrap("some words here", 10)[0].startswith("some")
    assert all(measure(line) <= 7 for line in wrap(f"{WIDE} {'x' * 50}\t{WIDE}", 7))
    assert draw_text("1\n2\n3\n4", 2, 10, 3, "foot") == ["3", "4", "foot"]
