"""What is compared with what."""

from __future__ import annotations

from pathlib import Path

import pytest

from postil.workspace.changes.compared import NoSuchVersion, find_empty_tree, read_compared
from postil.workspace.repository import find_repository
from tests.workspace.repositories import git, new_repository


def branched(folder: Path) -> Path:
    """`main` and `topic`, which parted after the first commit."""
    repo = new_repository(folder, a__txt="one\n")
    git(repo, "branch", "-M", "main")
    git(repo, "checkout", "-qb", "topic")
    (repo / "b.txt").write_text("b\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "second: on topic")
    git(repo, "checkout", "-q", "main")
    (repo / "c.txt").write_text("c\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "third")
    git(repo, "checkout", "-q", "topic")
    return repo


def test_a_branch_is_compared_with_where_it_left(tmp_path: Path) -> None:
    repo = branched(tmp_path)
    where = find_repository(str(repo))
    base, tip = git(repo, "merge-base", "main", "topic"), git(repo, "rev-parse", "topic")
    for word in ("branch", "branch:topic", "main...topic"):
        found = read_compared(where, word)
        assert (found.old, found.new) == (base, tip)
        assert found.version == f"{base}..{tip}"
    assert read_compared(where, "main..topic").old == git(repo, "rev-parse", "main")


def test_a_commit_is_compared_with_its_parent_and_the_first_with_nothing(tmp_path: Path) -> None:
    repo = branched(tmp_path)
    where = find_repository(str(repo))
    assert read_compared(where, "topic").says.endswith("second: on topic")
    assert read_compared(where, "topic~1").old == find_empty_tree(where)


def test_the_work_tree_and_the_index_have_words_of_their_own(tmp_path: Path) -> None:
    where = find_repository(str(branched(tmp_path)))
    assert read_compared(where, "").version == ""
    assert read_compared(where, "unstaged").version == "unstaged"
    assert read_compared(where, "staged").version == "staged"


@pytest.mark.parametrize("word", ["nowhere", "--output=x", "main..nowhere", "x" * 600, "a\nb", "branch:nowhere"])
def test_what_is_not_there_is_refused(tmp_path: Path, word: str) -> None:
    where = find_repository(str(new_repository(tmp_path)))
    with pytest.raises(NoSuchVersion) as raised:
        read_compared(where, word)
    assert "A..B" in raised.value.advice


def test_a_repository_without_a_commit_is_compared_with_nothing(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    where = find_repository(str(tmp_path))
    assert read_compared(where, "").old == find_empty_tree(where)
