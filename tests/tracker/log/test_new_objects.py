"""What one command writes into git outlives a collection beside it."""

from __future__ import annotations

from pathlib import Path

from postil.tracker.log.append import move_ref
from postil.tracker.log.new_objects import Author, NewObjects
from postil.workspace.git import run_git
from postil.workspace.repository import find_repository


def test_what_a_collection_deleted_before_it_ended_is_written_again(repository: Path):
    """It had looked at the refs before ours moved, found no use for the tree, and was over when we looked for it."""
    here = find_repository(str(repository))
    new = NewObjects(here)
    author = Author("Ann", "ann@example.org")
    tree = new.write_tree([("100644", "lines", new.write("blob", b"some lines\n"))])
    commit = new.write_commit(tree, None, author, b"postil 0 1 1\n")
    (repository / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    move_ref(here, "refs/postil/log/aaaaaaaaaaaaa", commit, None, author, new)
    assert run_git(str(repository), "rev-list", "--objects", commit).decode().count("\n") == 3
