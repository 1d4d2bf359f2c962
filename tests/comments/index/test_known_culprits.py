"""The commit that took code out is looked for once."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from postil.comments.git import culprits
from postil.comments.git.culprits import Culprits, Suspicion
from postil.comments.git.culprits import find_culprits as find_really
from postil.comments.index import known_culprits
from postil.comments.source_tree import SourceTree
from postil.comments.storage.file_versions import FileVersions
from tests.comments.workspaces import FUNCTIONS, Comments, commit, damage_table, workspace, write


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many comments git was asked about, each time."""
    counts: list[int] = []

    def find(tree: SourceTree, versions: FileVersions, some: Sequence[Suspicion]) -> Culprits:
        counts.append(len(some))
        return find_really(tree, versions, some)

    monkeypatch.setattr(culprits, "find_culprits", find)
    return counts


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    comments = workspace(tmp_path, **{"a.py": FUNCTIONS})
    for number in range(3):
        comments.add("a.py", 4 * number + 1, f"about {number}", "NOTE", endLine=4 * number + 2)
    commit(tmp_path, "commented")
    write(tmp_path, "a.py", "import os\n")
    commit(tmp_path, "took all out")
    return comments


def list_commits(comments: Comments) -> list[str]:
    return [each.commit.subject if each.commit else "" for each in comments.reviewing.list_orphans().comments]


def test_a_commit_that_took_code_out_is_looked_for_once(comments: Comments, tmp_path: Path, asked: list[int]) -> None:
    assert list_commits(comments) == ["took all out"] * 3
    assert list_commits(Comments(str(tmp_path))) == ["took all out"] * 3
    assert [each for each in asked if each] == [3]


def test_after_a_commit_it_is_looked_for_again(comments: Comments, tmp_path: Path, asked: list[int]) -> None:
    list_commits(comments)
    write(tmp_path, "b.py", "import sys\n")
    commit(tmp_path, "something else")
    assert list_commits(comments) == ["took all out"] * 3
    assert [each for each in asked if each] == [3, 3]


def test_what_was_not_read_to_its_end_is_asked_again(
    comments: Comments, asked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(culprits, "PATIENCE", 0.0)

    def find_none(*given: Sequence[object]) -> list[None]:
        return [None] * len(given[-1])

    monkeypatch.setattr(culprits, "_judge", find_none)
    assert list_commits(comments) == [""] * 3
    monkeypatch.undo()
    assert list_commits(comments) == ["took all out"] * 3


def test_who_looks_does_not_wait_for_who_writes_to_the_cache(
    comments: Comments, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert comments.listed().comments
    (cache,) = (tmp_path / ".git" / "postil").glob("comments-*.db")
    with closing(sqlite3.connect(cache, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        assert list_commits(comments) == ["took all out"] * 3
        assert time.monotonic() - began < 30, "it waited a minute"
        other.execute("ROLLBACK")
    assert comments.overview.index.select("SELECT count(*) FROM culprit") == [(0,)]
    assert comments.overview.index.select("PRAGMA busy_timeout") == [(60_000,)]
    assert list_commits(comments) == ["took all out"] * 3
    assert comments.overview.index.select("SELECT count(*) FROM culprit") == [(3,)]


@pytest.mark.parametrize("damage", ["c1", "81a26964a1ff"])
def test_a_damaged_answer_is_asked_again(comments: Comments, damage: str) -> None:
    assert list_commits(comments) == ["took all out"] * 3
    with comments.overview.index.using() as db, db:
        db.execute(f"UPDATE culprit SET answer = x'{damage}'")
    assert list_commits(comments) == ["took all out"] * 3


def test_a_cache_that_cannot_take_an_answer_hides_none(comments: Comments, tmp_path: Path) -> None:
    assert comments.listed().comments
    comments.overview.index.start_again(in_memory=True)
    damage_table(tmp_path, "sqlite_sequence")
    assert list_commits(Comments(str(tmp_path))) == ["took all out"] * 3


def test_no_more_answers_are_kept_than_so_many(
    comments: Comments, asked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known_culprits, "MOST_KEPT", 2)
    list_commits(comments)
    assert comments.overview.index.select("SELECT count(*) FROM culprit") == [(2,)]
    assert list_commits(comments) == ["took all out"] * 3
    assert asked == [3, 1]
