"""The files of the index: one a build, and a pointer to the last."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

import pytest

from postil.tracker import events as ev
from postil.tracker.index.db_files import open_database
from postil.tracker.store import Store
from tests.tracker.stores import cache_of, fresh, make_many, titles


def test_a_new_build_does_not_disturb_those_who_read_the_old_one(store: Store, repository: Path):
    make_many(repository, 20, random.Random(1), [])
    before = titles(store)
    old = cache_of(repository)
    reading = sqlite3.connect(old)
    reading.execute("SELECT count(*) FROM ent").fetchone()
    fresh(repository).index.forget()
    again = fresh(repository)
    assert titles(again) == before
    assert cache_of(repository) != old
    assert [row[0] for row in reading.execute("SELECT title FROM ent ORDER BY title")] == before
    reading.close()
    with again.transaction() as tx:
        tx.write(ev.Created, ev.new_entity_id(), kind="issue", title="Later")
    assert titles(store) == sorted([*before, "Later"])


@pytest.mark.parametrize("content", [b"", b"../../../etc/passwd\n", b"cache-00000000.db\n", b"\xff\xfe", b"cache.db"])
def test_a_file_that_names_no_index_leads_to_a_new_one(store: Store, repository: Path, content: bytes):
    make_many(repository, 5, random.Random(1), [])
    before = titles(store)
    store.index.close()
    (repository / ".git/postil/cache").write_bytes(content)
    assert titles(fresh(repository)) == before


@pytest.mark.parametrize(
    "planted",
    [
        "CREATE VIEW ent AS WITH RECURSIVE c AS (SELECT * FROM kept UNION ALL SELECT * FROM c) SELECT * FROM c",
        "CREATE TRIGGER more AFTER UPDATE ON kept BEGIN DELETE FROM ref; END",
    ],
)
def test_an_index_with_views_or_triggers_is_none_of_ours(store: Store, repository: Path, planted: str):
    """An archive may bring it: a view without an end held every command for ever."""
    make_many(repository, 5, random.Random(1), [])
    before = titles(store)
    store.index.close()
    brought = cache_of(repository)
    db = sqlite3.connect(brought)
    db.execute("ALTER TABLE ent RENAME TO kept")
    db.execute(planted)
    db.commit()
    db.close()
    assert open_database(str(brought)) is None
    assert titles(fresh(repository)) == before


@pytest.mark.parametrize(
    "planted",
    [
        "ALTER TABLE ent ADD COLUMN more AS (hex(zeroblob(100000000)))",
        "ALTER TABLE ent ADD COLUMN more CHECK (hex(zeroblob(100000000)) <> '')",
        "CREATE INDEX more ON ent(hex(zeroblob(100000000)))",
        "CREATE TABLE more(a)",
        "DROP INDEX link_target",
    ],
)
def test_an_index_that_is_made_otherwise_than_ours_is_built_anew(store: Store, repository: Path, planted: str):
    """A column that is computed takes time and memory for every row that is read."""
    make_many(repository, 5, random.Random(1), [])
    before = titles(store)
    store.index.close()
    brought = cache_of(repository)
    open_again = open_database(str(brought))
    assert open_again is not None, "it is ours"
    open_again.close()
    db = sqlite3.connect(brought)
    db.execute("DELETE FROM ent")
    db.execute(planted)
    db.commit()
    db.close()
    assert open_database(str(brought)) is None
    assert titles(fresh(repository)) == before
