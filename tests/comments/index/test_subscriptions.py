"""Subscribers hear what changed for them, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.comments.operations.test_resources import subscribed
from tests.comments.workspaces import Comments, commit, root_of, workspace, write

CODE = "".join(f"def function_{n}(value):\n    return value + {n}\n\n\n" for n in range(8))


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    return workspace(tmp_path, **{"a.py": CODE, "b.py": "import os\n"})


def test_a_subscriber_hears_that_lost_code_turned_up(comments: Comments) -> None:
    root = root_of(comments)
    comments.add("a.py", 30, "the last function", "NOTE")
    commit(root, "commented")
    piece = CODE[CODE.index("def function_7") :]
    write(root, "a.py", CODE.replace(piece, ""))
    bell, stop = subscribed(comments, "comment://workspace/later.py.comments")
    write(root, "later.py", "import sys\n\n\n" + piece)
    assert bell.waits_for(1)
    stop()
