"""Refs of other programs, of which some cannot be read."""

from __future__ import annotations

import json
from pathlib import Path

from tests.tracker.foreign import EVENTS, blob, commit, tree, write_entity
from tests.tracker.programs import git, run


def test_a_ref_that_cannot_be_read_is_named_and_hides_no_other(repository: Path):
    write_entity(repository, EVENTS)
    empty = commit(repository, tree(repository, {}), "nothing")
    broken = commit(repository, tree(repository, {"pack": ("blob", blob(repository, b"x"))}), "odd")
    git(repository, "update-ref", f"refs/git-mile/entities/{'0' * 36}", empty)
    git(repository, "update-ref", f"refs/git-mile/entities/{'1' * 36}", broken)
    done = run(repository, "import", "--source", "git-mile", "--json")
    assert (done.returncode, json.loads(done.stdout)["created"]) == (7, 1)
    (line,) = json.loads(done.stdout)["unread"]
    assert line.startswith(f"refs/git-mile/entities/{'1' * 36}: ")
    assert "where a tree belongs" in line


def test_a_clone_without_these_refs_is_told_how_to_fetch_them(repository: Path):
    for source, refs in (("git-bug", "refs/bugs/*"), ("git-mile", "refs/git-mile/*")):
        done = run(repository, "import", "--source", source)
        assert done.returncode == 5
        assert f"git fetch origin '{refs}:{refs}'" in done.stderr
