"""From bytes to keys."""

from __future__ import annotations

import pytest

from postil.tracker.board.keys import read_keys


@pytest.mark.parametrize(
    ("data", "keys"),
    [
        (b"jk", ["j", "k"]),
        (b"\x1b[A\x1bOB\x1b[C", ["up", "down", "right"]),
        (b"\x1b[1;2D\x1b[1;2C", ["shift-left", "shift-right"]),
        (b"\x1b[5~\x1b[6~\x1b[H\x1b[4~", ["page-up", "page-down", "home", "end"]),
        (b"\x1b", ["escape"]),
        (b"\r\x7f\x03", ["enter", "backspace", "ctrl-c"]),
        ("日ü".encode(), ["日", "ü"]),
        (b"\x1b[200~\x00", []),
    ],
)
def test_a_key_has_a_name(data: bytes, keys: list[str]) -> None:
    assert read_keys(data) == (keys, b"")


def test_a_key_that_came_in_two_pieces_is_one() -> None:
    whole = "日\x1b[1;2D".encode()
    for cut in (1, 2, 5, 6, 7, 8):
        keys, left = read_keys(whole[:cut])
        more, rest = read_keys(left + whole[cut:])
        assert (keys + more, rest) == (["日", "shift-left"], b"")


def test_bytes_that_are_no_text_end_nothing() -> None:
    assert read_keys(b"\xff\xfe\xfd\xfcq")[0][-1] == "q"
