"""How large an answer may be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.core.content import Block, Document, Embedded, Image, Link, Text
from postil.core.size import LARGEST, bound, cut

REST = "Ask for less with limit."


def size(blocks: list[Block]) -> int:
    return sum(len(each.text.encode()) for each in blocks if isinstance(each, Text))


def test_what_fits_is_left_alone() -> None:
    blocks = [Text("a" * LARGEST)]
    assert bound(blocks, REST) is blocks
    assert cut("ä" * (LARGEST // 2)) == ("ä" * (LARGEST // 2), 0)


def test_a_long_text_loses_whole_lines_of_its_middle() -> None:
    lines = [f"line {number} of the answer" for number in range(5000)]
    shown, note = bound([Text("\n".join(lines))], REST)
    assert isinstance(shown, Text)
    assert isinstance(note, Text)
    head, tail = shown.text.split("\n[...]\n")
    assert head.split("\n") == lines[: len(head.split("\n"))]
    assert tail.split("\n") == lines[-len(tail.split("\n")) :]
    assert size([shown, note]) <= LARGEST


def test_the_end_is_kept_because_it_closes_the_words_of_others() -> None:
    text = "[text by others until 1f2e]\n" + "evil\n" * 20_000 + "[end 1f2e]"
    shown, note = bound([Text(text)], REST)
    assert isinstance(shown, Text)
    assert shown.text.endswith("[end 1f2e]")
    assert isinstance(note, Text)
    assert REST in note.text


def test_how_much_is_missing_is_said() -> None:
    text = "\n".join("x" * 99 for _ in range(1000))
    shown, note = bound([Text(text)], REST)
    assert isinstance(shown, Text)
    assert isinstance(note, Text)
    kept = len(shown.text) - len("\n[...]\n")
    assert f"{len(text) - kept:,} of {len(text):,} bytes" in note.text


def test_one_endless_line_is_cut_between_signs() -> None:
    shown, _ = bound([Text("€" * 100_000)], REST)
    assert isinstance(shown, Text)
    assert set(shown.text) == {"€", "\n", "[", ".", "]"}


def test_an_embedded_document_is_cut_and_a_picture_is_left_out() -> None:
    document = Document("comment://all", "text/plain", text="row\n" * 20_000)
    picture = Image("A" * 100_000, "image/png")
    first, note = bound([Embedded(document), picture], REST)
    assert isinstance(first, Embedded)
    assert first.resource.text is not None
    assert first.resource.text.startswith("row\n")
    assert len(first.resource.text) < LARGEST
    assert isinstance(note, Text)


def test_links_beyond_the_bound_are_left_out() -> None:
    links: list[Block] = [Link(f"a://{number}", "n" * 100) for number in range(1000)]
    *kept, note = bound(links, REST)
    assert 0 < len(kept) < 300
    assert isinstance(note, Text)


@given(st.text(), st.integers(20, 60))
def test_a_cut_text_is_never_larger_than_asked(text: str, largest: int) -> None:
    shown, missing = cut(text, largest)
    assert len(shown.encode("utf-8", "surrogatepass")) <= largest
    assert (missing == 0) == (shown == text)


@pytest.mark.parametrize("room", [0, 1, 5])
def test_no_room_at_all_is_no_bug(room: int) -> None:
    assert bound([Text("words " * 100)], REST, room)
