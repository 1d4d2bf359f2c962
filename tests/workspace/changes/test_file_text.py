"""A file as it is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from postil.core.failure import NotFound
from postil.workspace.changes.file_text import read_lines
from postil.workspace.paths import RelativePath
from postil.workspace.repository import find_repository
from tests.workspace.repositories import new_repository


def test_lines_come_with_their_numbers_and_colours(tmp_path: Path) -> None:
    repo = new_repository(tmp_path, a__py="def f():\r\n    return 'x'\r\n\r\n\r\nlast = 1\r\n")
    repository = find_repository(str(repo))
    lines, total = read_lines(repository, RelativePath("a.py"), 2, 3)
    assert ([line.number for line in lines], total) == ([2, 3, 4], 5)
    assert lines[0].text == "    return 'x'"
    assert (4, 10, "k") in lines[0].colors
    assert read_lines(repository, RelativePath("a.py"), 9, 3) == ([], 5)


def test_what_is_no_text_is_not_shown(tmp_path: Path) -> None:
    repo = new_repository(tmp_path, a__txt="x")
    (repo / "a.bin").write_bytes(b"\x00\x01")
    with pytest.raises(NotFound, match="no text"):
        read_lines(find_repository(str(repo)), RelativePath("a.bin"), 1, 3)
