"""Sealed segments and the commits after them."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO

import pytest

from postil.core import limits
from postil.tracker import events as ev
from postil.tracker.log import format as log_format
from postil.tracker.log.format import SEAL, open_objects
from postil.tracker.log.salvage import walk
from postil.tracker.store import Store
from tests.tracker.hostile import EVIL, event, make_shelves, write_log, write_object, write_tip
from tests.tracker.programs import git, run
from tests.tracker.stores import create, fresh, own_ref


def test_logs_are_sealed_and_read_from_segments(store: Store, repository: Path):
    id_ = create(store)
    for chunk in range(6):
        with store.transaction() as tx:
            for i in range(50):
                tx.write(ev.Commented, id_, c=f"c{chunk}-{i}", body="hi")
    tip = git(repository, "rev-parse", own_ref(repository)).strip()
    with open_objects(str(repository)) as reader:
        commit = reader.commit(tip)
        segments = reader.segments(commit.tree)
    assert commit.end == 301
    assert [(s.position, s.count) for s in segments] == [(0, 301)] or segments[0].end >= SEAL
    store.index.forget()
    again = fresh(repository)
    again.refresh()
    entity = again.entity(id_)
    assert entity is not None
    assert len(entity.comments) == 300


ISSUE = "11111111-0000-4000-8000-000000000001"


def read_anew(repository: Path) -> Store:
    store = fresh(repository)
    store.index.forget()
    store.refresh()
    return store


def test_a_commit_that_names_a_ref_as_its_parent_leads_round_in_no_circle(repository: Path):
    write_tip(repository, write_object(repository, "tree", b""), 1, f"parent refs/postil/log/{EVIL}\n")
    assert read_anew(repository).index.query("SELECT * FROM ent") == []
    assert run(repository, "verify").returncode == 7


@pytest.mark.parametrize("tree", [b"no tree", b"40000 seg\0short"])
def test_a_tree_that_is_none_is_refused_and_named(repository: Path, tree: bytes):
    write_tip(repository, write_object(repository, "tree", tree), 1)
    assert "it is no tree" in read_anew(repository).index.damage("refused")[0]


@pytest.mark.parametrize("name", ["\u00b2-1", "9" * 30 + "-1", "0-1-1", "x"])
def test_a_segment_with_a_name_that_no_version_writes_is_not_read_and_verify_misses_its_events(
    repository: Path, name: str
):
    blob = write_object(repository, "blob", b"x\n")
    shelf = write_object(repository, "tree", b"100644 %s\0%s" % (name.encode(), bytes.fromhex(blob)))
    write_tip(repository, make_shelves(repository, shelf), 1)
    assert read_anew(repository).index.query("SELECT * FROM ent") == []
    assert "in no commit and in no segment" in run(repository, "verify").stdout


def test_what_is_refused_is_looked_at_once_and_read_when_the_log_moves(repository: Path):
    write_tip(repository, write_object(repository, "tree", b"no tree"), 1)
    store = read_anew(repository)
    assert store.refresh() is False
    assert store.index.query("SELECT oid FROM ref WHERE oid = ''") == []
    write_log(repository, event(ISSUE, 1, "created", 1, kind="issue", title="Mended"))
    store.refresh()
    assert store.index.query("SELECT title FROM ent") == [("Mended",)]
    assert store.index.damage() == []


def test_many_missing_segments_cost_no_process_each(repository: Path, monkeypatch: pytest.MonkeyPatch):
    entries = b"".join(b"160000 %09d-1\0%s" % (n, n.to_bytes(20, "big")) for n in range(1, 200))
    write_tip(repository, make_shelves(repository, write_object(repository, "tree", entries)), 200)
    begun: list[str] = []
    honest = log_format.git_dialogue

    def count(root: str, *words: str) -> AbstractContextManager[tuple[IO[bytes], IO[bytes]]]:
        begun.append(words[0])
        return honest(root, *words)

    monkeypatch.setattr(log_format, "git_dialogue", count)
    assert read_anew(repository).index.damage("damage")
    assert len(begun) < 10


def test_commits_that_unpack_to_giants_are_not_held(repository: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(limits, "LOG_TAIL", 20_000)
    parent = ""
    for n in range(1, 20):
        parent = write_log(repository, event(ISSUE, n, "comment", n, c=f"c{n}", body="a" * 3000), parent=parent)
    assert len(walk(str(repository), [parent])) < 8
    assert read_anew(repository).index.damage("refused")
