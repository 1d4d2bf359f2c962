"""Events in real git: appended, sealed, read back, rebuilt."""

from __future__ import annotations

from pathlib import Path

import pytest

from postil.core import limits
from postil.tracker import events as ev
from postil.tracker.failures import InvalidParams
from postil.tracker.store import Store
from tests.tracker.programs import git
from tests.tracker.stores import create, fresh, titles


def test_an_issue_written_by_one_process_is_read_by_the_next(store: Store, repository: Path):
    id_ = create(store, "Hello", labels=("a",))
    again = fresh(repository)
    assert titles(again) == ["Hello"]
    entity = again.entity(id_)
    assert entity is not None
    assert (entity.title, entity.labels, entity.author) == ("Hello", ("a",), "Tester <tester@example.org>")


def test_the_work_tree_and_the_branches_are_untouched(store: Store, repository: Path):
    create(store)
    assert git(repository, "status", "--porcelain") == ""
    assert git(repository, "for-each-ref", "refs/heads", "refs/tags") == ""


def test_a_plain_fetch_is_already_the_merge(store: Store, repository: Path, tmp_path: Path):
    id_ = create(store, "Mine")
    other = tmp_path / "other"
    git(tmp_path, "clone", "--quiet", str(repository), str(other))
    git(other, "fetch", "--quiet", "origin", "+refs/postil/log/*:refs/postil/remote/origin/*")
    theirs = fresh(other)
    assert titles(theirs) == ["Mine"]
    with theirs.transaction() as tx:
        tx.write(ev.Set, id_, f="title", value="Theirs")
    git(repository, "fetch", "--quiet", str(other), "+refs/postil/log/*:refs/postil/remote/other/*")
    assert titles(store) == ["Theirs"]
    entity = store.entity(id_)
    assert entity is not None
    assert entity.conflicts == ()


def test_what_nobody_would_believe_is_not_written(store: Store):
    id_ = create(store, "Mine")
    with pytest.raises(InvalidParams, match="names more than 256 kB"), store.transaction() as tx:
        tx.write(ev.Labelled, id_, add=tuple(f"{number:0200}" for number in range(limits.LOG_NAMES // 200)))
    entity = store.entity(id_)
    assert entity is not None
    assert entity.labels == ()


def test_a_text_that_is_longer_as_it_is_stored_than_anybody_would_believe_is_not_written(store: Store):
    id_ = create(store, "Mine")
    with pytest.raises(InvalidParams, match="more than 4 MB as it is stored"), store.transaction() as tx:
        tx.write(ev.Described, id_, text="\x01" * 800_000)
