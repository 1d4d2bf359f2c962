"""The row of an entity, and what the index notes about itself."""

from __future__ import annotations

import sqlite3

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
