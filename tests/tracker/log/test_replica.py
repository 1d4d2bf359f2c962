"""A clone and its identity as a writer."""

from __future__ import annotations

import shutil
from pathlib import Path

from postil.tracker.log.replica import read_replica
from postil.tracker.store import Store
from tests.tracker.programs import git
from tests.tracker.stores import create, fresh, titles


def test_a_copied_clone_gets_an_identity_of_its_own(store: Store, repository: Path, tmp_path: Path):
    create(store, "Mine")
    copy = tmp_path / "copy"
    shutil.copytree(repository, copy)
    theirs = fresh(copy)
    create(theirs, "From the copy")
    one, two = read_replica(store.repository), read_replica(theirs.repository)
    assert one is not None
    assert two is not None
    assert one.id != two.id
    git(repository, "fetch", "--quiet", str(copy), "+refs/postil/log/*:refs/postil/remote/copy/*")
    assert titles(store) == ["From the copy", "Mine"]
