"""Comments a page at a time, and how many there are."""

from __future__ import annotations

from pathlib import Path

from postil.comments.index import pages
from postil.comments.index.pages import MOST_QUESTIONS, count_comments, count_files
from tests.comments.workspaces import Comments, workspace


def test_what_was_counted_is_counted_again_only_after_a_change_of_whatever_process(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"a.py": "one = 1\ntwo = 2\n"})
    comments.add("a.py", 1, "one", "NOTE")
    comments.overview.refresh()
    index = comments.overview.index
    asked: list[str] = []
    with index.using() as db:
        db.set_trace_callback(asked.append)
    assert [count_comments(index, "tag = ?", ("NOTE",)) for _ in range(3)] == [1, 1, 1]
    assert sum("count(*)" in each for each in asked) == 1
    other = Comments(str(tmp_path))
    other.add("a.py", 2, "two", "NOTE")
    other.overview.refresh()
    assert count_comments(index, "tag = ?", ("NOTE",)) == 2


def test_what_is_remembered_of_numbers_has_a_bound(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"a.py": "x = 1\n"})
    comments.add("a.py", 1, "one")
    comments.overview.refresh()
    index = comments.overview.index
    for number in range(3 * MOST_QUESTIONS):
        assert count_comments(index, "author = ?", (f"nobody {number}",)) == 0
    (_, asked) = pages._counted[index]  # pyright: ignore[reportPrivateUsage]
    assert len(asked) <= MOST_QUESTIONS
    assert count_files(index, "1") == [("a.py", 1)]
