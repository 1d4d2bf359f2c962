"""Noticing that the work tree changed."""

from __future__ import annotations

import threading
from pathlib import Path

from postil.workspace.changes.tree_watch import list_folders, watch_tree
from postil.workspace.repository import find_repository
from tests.workspace.repositories import git, new_repository


def test_files_of_every_folder_the_index_and_head_are_noticed(tmp_path: Path) -> None:
    repo = new_repository(tmp_path, a__txt="x\n")
    (repo / "deep" / "er").mkdir(parents=True)
    (repo / "deep" / "er" / "b.txt").write_text("x\n")
    (repo / ".gitignore").write_text("out/\n")
    (repo / "out").mkdir()
    (repo / "out" / "c.txt").write_text("x\n")
    where = find_repository(str(repo))
    assert {Path(folder).name for folder in list_folders(where)} == {repo.name, "deep", "er"}
    noticed = threading.Event()
    stop = watch_tree(where, noticed.set)
    try:
        for act in (
            lambda: (repo / "deep" / "er" / "b.txt").write_text("y\n"),
            lambda: git(repo, "add", "-A"),
            lambda: git(repo, "commit", "-qm", "second"),
            (repo / "fresh").mkdir,
        ):
            noticed.clear()
            act()
            assert noticed.wait(60)
    finally:
        stop()
