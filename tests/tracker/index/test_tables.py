"""The row of an entity, and what the index notes about itself."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from postil.core import limits
from postil.tracker import events as ev
from postil.tracker.index.tables import (
    COLUMNS,
    INDEXES,
    INSERT_ENT,
    TABLES,
    Row,
    create_tables,
    join_words,
    make_row,
    read_meta,
    write_meta,
)
from postil.tracker.state.fold import fold
from tests.tracker.hostile import event, write_log
from tests.tracker.stores import cache_of, fresh, titles

ENTITY = ev.new_entity_id()


def folded(**data: object):
    event = {"ent": ENTITY, "id": "e", "r": "r", "n": 1, "l": 5, "kind": "issue", "title": "T", **data}
    entity = fold([ev.Created(**event)])  # pyright: ignore[reportArgumentType]
    assert entity is not None
    return entity


def empty() -> sqlite3.Connection:
    db = sqlite3.connect(":memory:")
    create_tables(db, TABLES)
    create_tables(db, INDEXES)
    return db


def test_a_row_written_and_read_again_is_the_same():
    db = empty()
    row = make_row(7, folded(labels=("b", "a"), due="2026-01-01"))
    db.execute(INSERT_ENT, row)
    (found,) = db.execute(f"SELECT {COLUMNS} FROM ent").fetchall()
    assert found == row
    assert Row(*found).label_names() == ("a", "b")


def test_words_are_compared_without_case():
    assert join_words(folded(title="STRASSE", description="Über")) == "strasse\nüber"


def test_a_note_about_the_index_is_replaced_and_a_missing_one_is_none():
    db = empty()
    write_meta(db, "generation", 1)
    write_meta(db, "generation", 2)
    assert (read_meta(db, "generation"), read_meta(db, "words")) == (2, None)


def test_an_index_of_a_version_that_believed_more_is_built_anew(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else two clones of one version saw other issues, by which version had built their index."""
    issue = "11111111-1111-4111-8111-111111111111"
    labels = [f"{number:0200}" for number in range(limits.LOG_NAMES // 200)]
    believed = event("22222222-2222-4222-8222-222222222222", 1, "created", 1, kind="issue", title="Small")
    write_log(repository, believed, event(issue, 2, "created", 2, kind="issue", title="Large", labels=labels))
    monkeypatch.setattr(limits, "LOG_NAMES", limits.LOG_EVENT)
    assert sorted(titles(fresh(repository))) == ["Large", "Small"]
    monkeypatch.undo()
    with sqlite3.connect(cache_of(repository)) as db:
        db.execute("PRAGMA user_version = 7")
    assert titles(fresh(repository)) == ["Small"]
