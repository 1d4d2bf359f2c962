"""What a worker tells of a file: whole, however many comments it has, or not at all."""

from __future__ import annotations

from io import BytesIO

import pytest

from postil.comments.index.notes import Note
from postil.comments.index.worker_answers import Read, StoredNotes, read_answer, write_answer


def make_notes(count: int, size: int) -> list[Note]:
    about = ("2026", None, "ann", False, "exact", "open", "a.py", False)
    return [Note(f"c_{number}", *about, "text", bytes(size)) for number in range(count)]


@pytest.mark.parametrize(("count", "size"), [(0, 0), (1, 10), (3, 10), (3, 300_000), (40, 100_000)])
def test_what_is_told_is_heard(count: int, size: int) -> None:
    told, pipe = Read("a.py", "content", make_notes(count, size)), BytesIO()
    write_answer(pipe, told)
    write_answer(pipe, Read("b.py", notes=None))
    pipe.seek(0)
    heard, other, end = read_answer(pipe), read_answer(pipe), read_answer(pipe)
    assert heard is not None
    assert (heard.path, list(heard.notes or ()), len(heard.notes or ())) == ("a.py", told.notes, count)
    assert other is not None
    assert (other.path, other.notes) == ("b.py", None)
    assert end is None


def test_many_comments_are_heard_again_and_again_from_a_file() -> None:
    notes, pipe = make_notes(5, 200_000), BytesIO()
    write_answer(pipe, Read("a.py", notes=notes))
    pipe.seek(0)
    heard = read_answer(pipe)
    assert heard is not None
    assert isinstance(heard.notes, StoredNotes)
    assert list(heard.notes) == list(heard.notes) == notes
    assert notes[3] in heard.notes


@pytest.mark.parametrize("left", [0, 4, 8, 50, 400_000, 1_000_000])
def test_an_answer_that_is_cut_off_is_none(left: int) -> None:
    pipe = BytesIO()
    write_answer(pipe, Read("a.py", notes=make_notes(8, 200_000)))
    assert read_answer(BytesIO(pipe.getvalue()[:left])) is None


def test_an_answer_with_a_text_that_is_none_is_no_answer() -> None:
    pipe = BytesIO()
    write_answer(pipe, Read("a.py", "content", make_notes(1, 10)))
    for text in (b"a.py", b"c_0"):
        assert read_answer(BytesIO(pipe.getvalue().replace(text, b"\xff" * len(text)))) is None
