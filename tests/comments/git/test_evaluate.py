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
