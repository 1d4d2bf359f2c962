"""Lines are read where they are: in the index or in git."""

from __future__ import annotations

from pathlib import Path

from postil.tracker import events as ev
from postil.tracker.log.format import SEAL
from postil.tracker.log.verify import verify_logs
from postil.tracker.store import Store
from tests.tracker.stores import titles


def test_what_git_holds_is_not_copied_until_it_changes(store: Store):
    id_ = ev.new_entity_id()
    with store.transaction() as tx:
        tx.write(ev.Created, id_, kind="issue", title="Sealed")
        for i in range(2 * SEAL):
            tx.write(ev.Commented, id_, c=f"c{i}", body=f"comment {i}")
    store.index.forget()
    store.refresh()
    held = "SELECT lines FROM log WHERE id = ?"
    assert store.index.db.execute(held, (id_,)).fetchone() == (None,)
    entity = store.entity(id_)
    assert entity is not None
    assert len(entity.comments) == 2 * SEAL
    with store.transaction() as tx:
        tx.write(ev.Set, id_, f="title", value="Changed")
    assert store.index.db.execute(held, (id_,)).fetchone()[0].count(b"\n") == 2 * SEAL + 1
    changed = store.entity(id_)
    assert changed is not None
    assert (changed.title, len(changed.comments)) == ("Changed", 2 * SEAL)


def test_a_segment_lost_after_the_index_was_built_is_read_from_the_commits_and_named(store: Store, repository: Path):
    lost = ev.new_entity_id()
    with store.transaction() as tx:
        tx.write(ev.Created, lost, kind="issue", title="Lost")
    for start in (0, SEAL):
        with store.transaction() as tx:
            for i in range(SEAL):
                tx.write(ev.Commented, lost, c=f"c{start + i}", body="x")
    store.index.forget()
    store.refresh()
    for (oid,) in store.index.db.execute("SELECT oid FROM segment ORDER BY mark DESC LIMIT 1").fetchall():
        (repository / ".git/objects" / oid[:2] / oid[2:]).unlink()
    entity = store.entity(lost)
    assert entity is not None
    assert len(entity.comments) == 2 * SEAL
    assert titles(store) == ["Lost"]
    assert any("object is missing" in line for line in verify_logs(store, fix=False).problems)
