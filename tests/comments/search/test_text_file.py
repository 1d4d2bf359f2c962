"""The texts of all comments in one file: shared by processes, and made anew when it is lost."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from unittest.mock import patch

import pytest

from postil.comments.search import text_file as corpus_module
from postil.comments.search.patterns import GAP, PIECE, Pattern
from postil.comments.search.text_file import Marked, TextFile
from tests.comments.search.test_patterns import add, database


def test_the_next_process_searches_the_file_and_reads_no_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus_module, "MOST_LOOSE", 3)
    db = database(f"text {number}" for number in range(10))
    TextFile(str(tmp_path / "c")).catch_up(db)
    read: list[str] = []
    db.set_trace_callback(read.append)
    corpus = TextFile(str(tmp_path / "c"))
    assert corpus.search(db, Pattern("text 7")).numbers() == [8]
    assert len(corpus._file) == 10  # pyright: ignore[reportPrivateUsage]
    assert not any("count(*)" in sentence or "BEGIN" in sentence for sentence in read)


def test_texts_that_came_and_went_are_seen_by_every_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus_module, "MOST_LOOSE", 3)
    db = database(f"text {number}" for number in range(10))
    one, other = TextFile(str(tmp_path / "c")), TextFile(str(tmp_path / "c"))
    every = Pattern("text")
    assert len(one.search(db, every)) == len(other.search(db, every)) == 10
    add(db, ["text a", "none"])
    with db:
        db.execute("DELETE FROM note WHERE seq IN (1, 2)")
    assert one.search(db, every).numbers() == other.search(db, every).numbers() == [*range(3, 12)]
    add(db, [f"text {number}" for number in range(20)])  # the file grows: only one of them writes it
    for corpus in (one, other, TextFile(str(tmp_path / "c"))):
        assert len(corpus.search(db, every)) == 29
    with db:
        db.execute("DELETE FROM note WHERE seq < 25")  # most is gone: the file is made anew
    for corpus in (one, other, TextFile(str(tmp_path / "c"))):
        assert corpus.search(db, every).numbers() == [*range(25, 33)]
    assert len(list(tmp_path.glob("c.*"))) == 2


@pytest.mark.parametrize("harm", ["unlink", "truncate", "garble"])
def test_a_lost_or_damaged_file_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, harm: str) -> None:
    monkeypatch.setattr(corpus_module, "MOST_LOOSE", 3)
    db = database(f"text {number}" for number in range(10))
    TextFile(str(tmp_path / "c")).catch_up(db)
    for file in tmp_path.glob("c.*"):
        if harm == "unlink":
            file.unlink()
        elif harm == "truncate":
            file.write_bytes(file.read_bytes()[:-1])
        else:
            file.write_bytes(bytes(len(file.read_bytes())))
    assert len(TextFile(str(tmp_path / "c")).search(db, Pattern("text"))) == 10


def test_a_folder_that_cannot_be_written_costs_time_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus_module, "MOST_LOOSE", 3)
    db = database(f"text {number}" for number in range(10))
    corpus = TextFile(str(tmp_path / "missing" / "c"))
    assert len(corpus.search(db, Pattern("text"))) == 10
    add(db, ["more text"])
    assert len(corpus.search(db, Pattern("text"))) == 11


def test_numbers_are_kept_once_and_in_order_however_they_come() -> None:
    marked = Marked([7, 3, 7, 5000, 0])
    assert (len(marked), marked.numbers()) == (4, [0, 3, 7, 5000])
    assert [number in marked for number in (0, 3, 4, 5000, 5001, 9_999_999)] == [True, True, False, True, False, False]
    assert (len(Marked([])), Marked([]).numbers(), 0 in Marked([])) == (0, [], False)


@pytest.mark.parametrize("few", [0, 1000])
def test_many_that_match_are_told_by_number_as_few_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    monkeypatch.setattr(corpus_module, "FEW", few)
    db = database(f"{'even' if number % 2 == 0 else 'odd'} {number}" for number in range(200))
    corpus = TextFile(str(tmp_path / "c"))
    assert corpus.search(db, Pattern("even")).numbers() == list(range(1, 200, 2))
    assert corpus.search(db, Pattern("^odd 1[0-9]$")).numbers() == [12, 14, 16, 18, 20]


def test_texts_that_were_edited_many_times_are_not_searched_with_all_that_they_were(tmp_path: Path) -> None:
    db = database(["text 0"])
    corpus = TextFile(str(tmp_path / "c"))
    for number in range(1, 50):
        with db:
            db.execute("DELETE FROM note")
        add(db, [f"text {number}"])
        with patch.object(Pattern, "ends", autospec=True, side_effect=Pattern.ends) as search:
            assert corpus.search(db, Pattern(f"text {number}")).numbers() == [number + 1]
        assert [len(call.args[1]) for call in search.call_args_list] == [len(f"\ntext {number}") + len(GAP)]
    assert corpus.search(db, Pattern("text")).numbers() == [50]


@pytest.mark.parametrize("pattern", ["text", "t[e]xt"])
def test_very_many_that_match_are_never_held_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pattern: str
) -> None:
    monkeypatch.setattr(corpus_module, "MOST_LOOSE", 3)
    db = database(f"a text of number {number}" for number in range(60_000))
    corpus = TextFile(str(tmp_path / "c"))
    hits = corpus.search(db, Pattern(pattern))
    tracemalloc.start()
    try:
        marked = Marked(hits)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(marked) == len(hits) == 60_000
    assert peak < 4 * PIECE + 100_000  # a list of as many numbers is 2.4 MB
