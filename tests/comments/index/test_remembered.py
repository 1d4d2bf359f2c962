"""What the cache answered is remembered until somebody writes to it."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from postil.comments.index.cache import Index
from postil.comments.index.pages import count_comments, count_files, read_first
from postil.comments.index.remembered import MOST_BYTES, MOST_QUESTIONS, MOST_ROWS, Remembered
from postil.workspace.paths import RelativePath
from tests.comments.workspaces import Comments, workspace


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    made = workspace(tmp_path, **{"a.py": "one = 1\ntwo = 2\n"})
    made.add("a.py", 1, "one", "NOTE")
    made.overview.refresh()
    return made


@contextmanager
def asked(index: Index) -> Generator[list[str]]:
    """The sentences that SQLite is given."""
    given: list[str] = []
    with index.using() as db:
        db.set_trace_callback(given.append)
    yield given
    with index.using() as db:
        db.set_trace_callback(None)


def test_comments_that_are_read_again_are_read_from_the_cache_once(comments: Comments) -> None:
    index = comments.overview.index
    with asked(index) as given:
        for _ in range(3):
            assert [each.comment.text for each in index.rows("path = ?", ("a.py",))] == ["one"]
            assert index.paths() == ["a.py"]
            assert index.problems() == {}
    assert sum("FROM note JOIN body" in each for each in given) == 1
    assert sum("FROM file" in each for each in given) == 2


def test_a_change_by_another_process_is_seen_at_once(comments: Comments, tmp_path: Path) -> None:
    index = comments.overview.index
    assert len(index.rows("path = ?", ("a.py",))) == 1
    other = Comments(str(tmp_path))
    other.add("a.py", 2, "two", "NOTE")
    other.overview.refresh()
    assert [each.comment.text for each in index.rows("path = ?", ("a.py",))] == ["one", "two"]


def test_who_asks_again_costs_one_look_at_the_cache(comments: Comments) -> None:
    index = comments.overview.index
    with patch.object(comments.overview, "refresh"):  # files as new as these are read again to be sure
        index.rows("path = ?", ("a.py",))
        comments.reviewing.list_orphans()
        with asked(index) as given:
            index.rows("path = ?", ("a.py",))
            comments.reviewing.list_orphans()
    assert given == ["PRAGMA data_version"] * 2


def test_what_is_written_between_the_look_and_the_answer_is_seen(comments: Comments, tmp_path: Path) -> None:
    index, other = comments.overview.index, Comments(str(tmp_path))
    assert index.counts()["open"] == 1
    look = index.remembered.find

    def look_and_be_overtaken(*given: Any, **named: Any) -> Any:
        known = look(*given, **named)
        other.add("a.py", 2, "two", "NOTE")
        other.overview.refresh()
        return known

    with patch.object(index.remembered, "find", look_and_be_overtaken):
        assert [each.comment.text for each in index.rows("path = ?", ("a.py",))] == ["one", "two"]
    assert index.counts()["open"] == 2


def test_a_list_that_is_answered_belongs_to_the_caller(comments: Comments) -> None:
    index = comments.overview.index
    index.rows("1").clear()
    index.paths().clear()
    assert [len(index.rows("1")), len(index.paths())] == [1, 1]


def test_what_is_read_together_is_of_one_moment(comments: Comments) -> None:
    index = comments.overview.index

    def read() -> list[int]:
        first = count_comments(index, "1")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            write_beside(index)
        return [first, len(index.rows("1"))]

    with asked(index) as given:
        assert index.read(read) == [1, 1]
    assert sum(each.startswith("BEGIN") for each in given) == 1
    write_beside(index)


def test_what_was_made_of_several_answers_is_made_again_after_a_change(comments: Comments) -> None:
    index, made = comments.overview.index, list[int]()

    def read() -> int:
        made.append(len(index.rows("1")))
        return made[-1]

    assert [index.read(read, "how many") for _ in range(3)] == [1, 1, 1]
    assert made == [1]
    comments.add("a.py", 2, "two", "NOTE")
    comments.overview.refresh()
    assert index.read(read, "how many") == 2


def test_what_was_made_of_a_long_answer_is_made_each_time(comments: Comments, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postil.comments.index.remembered.MOST_ROWS", 0)
    index, made = comments.overview.index, list[int]()
    for _ in range(2):
        index.read(lambda: made.append(len(index.rows("1"))), "how many")
    assert made == [1, 1]


def write_beside(index: Index) -> None:
    """Change a cache as another process does, without waiting for those who read."""
    with index.using() as db:
        (_, _, path) = db.execute("PRAGMA database_list").fetchone()
    other = sqlite3.connect(path, timeout=0)
    try:
        with other:
            other.execute("UPDATE file SET problem = ''")
    finally:
        other.close()


def test_the_first_of_many_long_comments_are_not_remembered(
    comments: Comments, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A list of 200 comments of 60 kB was: 14 MB."""
    comments.store.change(RelativePath("a.py"), lambda held: held.change(held.comments[0].id, {"text": "a" * 60_000}))
    comments.overview.refresh()
    monkeypatch.setattr("postil.comments.index.remembered.MOST_BYTES", 200_000)
    index, made = comments.overview.index, list[int]()
    for limit in (0, 1):
        for _ in range(2):
            index.read(lambda limit=limit: made.append(len(read_first(index, "1", (), str, limit))), "first", limit)
    assert made == [0, 1, 1]


def test_what_was_seen_of_a_change_that_is_taken_back_is_not_remembered(comments: Comments) -> None:
    index = comments.overview.index
    with index.using() as db:
        db.execute("DELETE FROM file")
        assert index.paths() == []
        db.rollback()
    assert index.paths() == ["a.py"]


def test_damage_that_is_found_while_much_is_read_is_mended(comments: Comments) -> None:
    index = comments.overview.index
    with index.using() as db, db:
        db.execute("UPDATE body SET body = ?", (b"\xc1 no comment",))
    assert index.read(lambda: [each.comment.text for each in index.rows("1")]) == ["one"]


def test_what_is_remembered_has_a_bound(comments: Comments) -> None:
    index = comments.overview.index
    for number in range(3 * MOST_QUESTIONS):
        assert count_comments(index, "author = ?", (f"nobody {number}",)) == 0
    assert len(index.remembered) <= MOST_QUESTIONS
    assert count_files(index, "1") == [("a.py", 1)]


@pytest.mark.parametrize(("rows", "size"), [(MOST_ROWS + 1, 1), (1, MOST_BYTES)])
def test_a_long_answer_is_not_remembered(rows: int, size: int) -> None:
    remembered, db = Remembered(), sqlite3.connect(":memory:")
    assert remembered.find(db, ("q",)) is None
    remembered.keep(("q",), ["x"] * rows, size)
    assert remembered.find(db, ("q",)) is None
    db.close()


def test_answers_together_are_no_more_than_may_be_held() -> None:
    remembered, db = Remembered(), sqlite3.connect(":memory:")
    remembered.find(db, ("q", 0))
    for number in range(20):
        remembered.keep(("q", number), ["x"], MOST_BYTES // 5)
        assert len(remembered) <= 5
    assert remembered.find(db, ("q", 19)) == ["x"]
    db.close()
