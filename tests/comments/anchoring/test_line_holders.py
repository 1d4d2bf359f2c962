"""Which changed files hold a line, read once for all that is lost."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from postil.comments.anchoring import line_holders
from postil.comments.anchoring.line_holders import LineHolders
from postil.comments.index import catch_up
from postil.comments.source_tree import Source, SourceTree
from postil.workspace.paths import RelativePath
from tests.comments.workspaces import commit, workspace, write


def test_a_changed_file_is_read_as_often_however_many_files_lost_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catch_up, "MOST_LOST", 1)
    files = {f"f{number}.py": "".join(f"value_{number}_{n} = {n}\n" for n in range(9)) for number in range(8)}
    comments = workspace(tmp_path, **files)
    for name in files:
        comments.add(name, 5, "about the fifth", "NOTE")
    commit(tmp_path, "commented")
    for number, (name, text) in enumerate(files.items()):
        write(tmp_path, name, text.replace(f"value_{number}_4 = 4\n", ""))
    read = Counter[str]()
    find = SourceTree.source

    def count(tree: SourceTree, path: RelativePath) -> Source:
        read[path] += 1
        return find(tree, path)

    monkeypatch.setattr(SourceTree, "source", count)
    assert comments.reviewing.list_orphans().total == 8
    assert max(read.values()) <= 5, read  # eight times more, where each looks by itself


def test_a_line_is_found_in_the_files_that_changed_since_a_commit(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"old.py": "shared_line = 1\n", "a.py": "one_of_these = 1\n"})
    write(tmp_path, "b.py", "shared_line = 1\nanother_line = 2\n")
    write(tmp_path, "a.py", "  another_line = 2\n")
    known = LineHolders(comments.tree)
    known.read_changed(["HEAD"])
    assert known.find("HEAD", "shared_line = 1") == ["b.py"]
    assert sorted(known.find("HEAD", "another_line = 2")) == ["a.py", "b.py"]
    assert known.find("HEAD", "nobody has it") == []
    assert known.select_held("b.py", ["shared_line = 1", "one_of_these = 1"]) == {"shared_line = 1"}


def test_a_line_that_very_many_files_hold_tells_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_holders, "COMMON", 3)
    comments = workspace(tmp_path)
    for number in range(4):
        write(tmp_path, f"f{number}.py", "import logging\n" + "import argparse\n" * (number < 3))
    known = LineHolders(comments.tree)
    known.read_changed(["HEAD"])
    assert known.find("HEAD", "import logging") == []
    assert len(known.find("HEAD", "import argparse")) == 3
