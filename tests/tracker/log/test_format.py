"""Sealed segments and the commits after them."""

from __future__ import annotations

from pathlib import Path

from postil.tracker import events as ev
from postil.tracker.log.format import SEAL, open_objects
from postil.tracker.store import Store
from tests.tracker.programs import git
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
