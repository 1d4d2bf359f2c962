"""Comments a page at a time, and how many there are."""

from __future__ import annotations

from pathlib import Path

from postil.comments.index.pages import count_comments
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
