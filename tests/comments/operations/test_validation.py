"""Arguments that their types allow and that cannot be."""

from __future__ import annotations

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


@pytest.mark.parametrize("author", ["a\nb", "\x1b[31mann", "x" * 101])
def test_an_author_is_a_name_on_one_line(comments: Comments, author: str) -> None:
    with pytest.raises(InvalidArguments):
        comments.add("a.py", 1, "x", "NOTE", author)
