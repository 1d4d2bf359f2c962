"""The engine is measured on a repository's own history."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.comments.shop import CODE
from tests.comments.workspaces import Comments, commit, root_of, workspace, write


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    return workspace(tmp_path, **{"shop.py": CODE})


def test_the_engine_can_be_measured_on_this_history(comments: Comments) -> None:
    root = root_of(comments)
    write(root, "shop.py", "# top\n" + CODE.replace("count=1", "count=2"))
    commit(root, "two changes")
    measured = comments.history.bench()
    assert measured.lines > 10
    assert measured.right == measured.lines


@pytest.mark.parametrize(("old", "new"), [("\r\n", "\n"), ("\n", "\r\n")])
def test_lines_that_only_got_other_ends_are_lines_to_follow(tmp_path: Path, old: str, new: str) -> None:
    comments = workspace(tmp_path, **{"shop.py": CODE.replace("\n", old)})
    later = "# top\n" + CODE.replace("count=1", "count=2").replace("    def total", "        def total")
    write(tmp_path, "shop.py", later.replace("\n", new))
    commit(tmp_path, "other ends of lines")
    measured = comments.history.bench()
    # The lines of now: one is new, one edited, one on another column, and blank ones are not asked for alone.
    assert measured.lines == len(CODE.splitlines()) - 2
    assert measured.right == measured.lines


def test_it_is_said_when_files_were_changed_and_no_line_of_them_is_left(comments: Comments) -> None:
    root = root_of(comments)
    write(root, "shop.py", "".join(f"other_{n} = {n}\n" for n in range(9)))
    commit(root, "all anew")
    measured = comments.history.bench()
    assert (measured.changed, measured.lines) == (1, 0)
    assert measured.for_model() == (
        "The last commit changed 1 file, and no line of it is as it was: there is nothing to measure. "
        "Look further back, or less far."
    )
    write(root, "new.py", "one = 1\n")
    commit(root, "a new file")
    assert comments.history.bench(commits=1).for_model() == (
        "The last commit changed no file that there was before: there is nothing to measure."
    )
