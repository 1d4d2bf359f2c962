"""No pattern and no glob takes more than linear time."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from postil.core.failure import InvalidArguments
from tests.comments.workspaces import Comments, workspace, write

SOURCE = "".join(f"value_{n} = {n}\n" for n in range(1, 11))


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    made = workspace(tmp_path / "work", **{"a.py": SOURCE})
    write(tmp_path, "work-evil/secret.py", "password = 1\n")
    return made


@pytest.mark.parametrize("pattern", ["(a+)+$", "(x+x+)+y", "(.*)*b", "(?:a|a?)+$", "(a|aa)+$", "^(([a-z])+.)+[A-Z]$"])
def test_a_hostile_pattern_takes_no_time(comments: Comments, pattern: str) -> None:
    import time

    comments.add("a.py", 1, "a" * 9_000 + "!", "NOTE")
    comments.add("a.py", 2, "x" * 9_000, "NOTE")
    comments.search("warm up")
    began = time.perf_counter()
    comments.search(pattern)
    assert time.perf_counter() - began < 2


@pytest.mark.parametrize("glob", ["*" * 60 + "x", "**/" * 30 + "x", "[", "[!", "a[z-a]"])
def test_a_hostile_glob_takes_no_time(comments: Comments, glob: str) -> None:
    comments.add("a.py", 1, "x", "NOTE")
    with suppress(InvalidArguments):
        assert comments.search("x", file=glob).totalResults == 0
