"""The index says what the logs say, whoever changes it meanwhile."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from postil.tracker import events as ev
from postil.tracker.events import LOG_ENTITY
from postil.tracker.index.bulk_fold import BulkFold
from postil.tracker.log.format import SEAL
from postil.tracker.log.verify import verify_logs
from postil.tracker.store import Store
from tests.tracker.hostile import event, write_log, write_sealed
from tests.tracker.programs import git
from tests.tracker.stores import cache_of, create, fetch, fresh, make_many, titles

ISSUE = "11111111-0000-4000-8000-000000000001"


def test_a_deleted_cache_is_rebuilt_to_the_same_rows(store: Store, repository: Path):
    for i in range(5):
        create(store, f"T{i}")
    before = store.index.db.execute("SELECT * FROM ent ORDER BY id").fetchall()
    store.index.close()
    shutil.rmtree(repository / ".git/postil")
    again = fresh(repository)
    again.refresh()
    rows = again.index.db.execute("SELECT * FROM ent ORDER BY id").fetchall()
    assert [row[1:] for row in rows] == [row[1:] for row in before]


def test_the_cache_of_a_repository_that_a_group_shares_is_for_the_group(store: Store, repository: Path):
    store.index.close()
    shutil.rmtree(repository / ".git/postil", ignore_errors=True)
    git(repository, "config", "core.sharedRepository", "group")
    again = fresh(repository)
    create(again, "one")
    again.refresh()
    rights = {file.name: file.stat().st_mode & 0o060 for file in (repository / ".git/postil").glob("cache-*")}
    assert rights
    assert set(rights.values()) == {0o060}


def test_a_damaged_cache_is_rebuilt(store: Store, repository: Path):
    create(store, "Kept")
    store.index.close()
    for file in (repository / ".git/postil").glob("cache-*.db*"):
        file.write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    assert titles(fresh(repository)) == ["Kept"]


@contextmanager
def changing_the_index(repository: Path) -> Generator[None]:
    """Another process in the middle of changing the index."""
    code = (
        "import sqlite3, sys; db = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "db.execute('BEGIN IMMEDIATE'); db.execute('DELETE FROM ent'); print('holding', flush=True); sys.stdin.read()"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", code, cache_of(repository)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert other.stdout is not None
    assert other.stdout.readline() == "holding\n"
    try:
        yield
    finally:
        other.communicate(timeout=30)


def tables(store: Store) -> list[object]:
    """Everything lists can ask, by id."""
    db = store.index.db
    kin = "SELECT id, {} FROM {} JOIN log USING (n) ORDER BY 1, 2, 3"
    return [
        [row[1:] for row in db.execute("SELECT * FROM ent ORDER BY id")],
        db.execute(kin.format("name, ''", "label")).fetchall(),
        db.execute(kin.format("type, target, l, r, s", "link")).fetchall(),
        db.execute("SELECT * FROM writer ORDER BY 1").fetchall(),
    ]


def test_an_index_built_from_sealed_logs_of_two_writers_says_what_the_merge_says(pair: tuple[Path, Path]):
    one, two = pair
    dice = random.Random(5)
    ids: list[str] = []
    for number in range(8):
        make_many(one, 100, dice, ids)
        if number != 4:  # once both write without having seen the other
            fetch(two, one, "one")
        make_many(two, 90, dice, ids)
        if number != 5:
            fetch(one, two, "two")
    fetch(one, two, "two")
    builder = fresh(one)
    builder.refresh()
    builder.index.forget()
    built = fresh(one)
    built.refresh()
    told = verify_logs(built, fix=False)
    assert told.problems == []
    assert told.entities > 100
    assert built.index.db.execute("SELECT count(*) FROM ent WHERE conflicts > 0").fetchone()[0] > 0
    assert built.index.db.execute("SELECT count(*) FROM segment").fetchone()[0] > 2 * 8 * 90 // SEAL - 2
    # Taken in piece by piece or built at once: the same tables.
    before = tables(built)
    make_many(one, 50, dice, ids)
    after = fresh(one)
    after.refresh()
    merged = tables(after)
    assert merged != before
    after.index.forget()
    again = fresh(one)
    again.refresh()
    assert tables(again) == merged


def test_a_reader_answers_at_once_and_truly_while_another_process_changes_the_index(pair: tuple[Path, Path]):
    one, two = pair
    make_many(one, 20, random.Random(1), [])
    reader = fresh(one)
    before = titles(reader)
    with fresh(two).transaction() as tx:
        tx.write(ev.Created, ev.new_entity_id(), kind="issue", title="From the other")
    with changing_the_index(one):
        began = time.monotonic()
        assert titles(reader) == before
        fetch(one, two, "two")
        # Neither the half-made change nor an old answer: what the refs hold.
        assert titles(reader) == sorted([*before, "From the other"])
        assert titles(fresh(one)) == sorted([*before, "From the other"])
        assert time.monotonic() - began < 3
    assert titles(reader) == sorted([*before, "From the other"])


def test_a_writer_reads_its_own_issue_though_the_index_is_taken(store: Store, repository: Path):
    make_many(repository, 5, random.Random(1), [])
    store.refresh()
    with changing_the_index(repository):
        for title in ("Mine", "Mine too"):
            with store.transaction() as tx:
                tx.write(ev.Created, ev.new_entity_id(), kind="issue", title=title)
            assert title in titles(store)
        assert "Mine too" in titles(fresh(repository))
    with fresh(repository).transaction() as tx:
        tx.write(ev.Created, ev.new_entity_id(), kind="issue", title="Mine again")
    assert {"Mine", "Mine too", "Mine again"} <= {*titles(fresh(repository))}
    assert verify_logs(store, fix=False).problems == []


def test_what_was_missed_while_the_index_was_taken_is_not_skipped_by_the_next_write(repository: Path):
    make_many(repository, 5, random.Random(1), [])
    with changing_the_index(repository), fresh(repository).transaction() as tx:
        tx.write(ev.Created, ev.new_entity_id(), kind="issue", title="Missed")
    taken = ExitStack()
    taken.enter_context(changing_the_index(repository))
    with fresh(repository).transaction() as tx:  # its look at the logs comes from a copy
        tx.write(ev.Created, ev.new_entity_id(), kind="issue", title="Next")
        taken.close()  # and the index is free again when its events are to be put there
    assert {"Missed", "Next"} <= {*titles(fresh(repository))}


def test_a_search_for_words_does_not_wait_either(store: Store, repository: Path):
    make_many(repository, 20, random.Random(1), [])
    store.refresh()
    with changing_the_index(repository):
        store.index.need_words()
        found = store.index.db.execute("SELECT count(*) FROM words WHERE instr(text, 'hello')").fetchone()
        assert found[0] > 0


def test_a_second_look_at_an_entity_reads_nothing_from_git(repository: Path, monkeypatch: pytest.MonkeyPatch):
    store = fresh(repository)
    with store.transaction() as tx:
        ids = [ev.new_entity_id() for _ in range(600)]
        for id_ in ids:
            tx.write(ev.Created, id_, kind="issue", title="T")
    store.index.forget()
    store.refresh()
    first = store.entity(ids[0])

    def refuse(*_: object) -> None:
        raise AssertionError("git was asked")

    monkeypatch.setattr("postil.tracker.index.entity_lines.open_objects", refuse)
    other = fresh(repository)
    other.refresh()
    with pytest.raises(AssertionError):
        other.entity(ids[1])
    assert other.entity(ids[0]) == first


NO_ID = "$(touch stolen) `touch stolen`".ljust(35, "#") + '"'
BORN = event(ISSUE, 1, "created", 1, kind="issue", title="T")
HOSTILE: dict[str, list[dict[str, Any]]] = {
    "labels": [BORN, *(event(ISSUE, n, "labels", n, add=[f"l{n}"]) for n in range(2, 400))],
    "people": [BORN, *(event(ISSUE, n, "assign", n, add=[f"l{n}"]) for n in range(2, 400))],
    "links": [BORN, *(event(ISSUE, n, "link", n, add=[["blocks", f"l{n}"]]) for n in range(2, 400))],
    "born with many": [event(ISSUE, 1, "created", 1, kind="issue", title="T", labels=[str(n) for n in range(99)])],
    "long id": [{**BORN, "id": "q" * 20_000}, *(event(ISSUE, n, "set", n, f="title", value="x") for n in (2, 3))],
    "labels of lines": [{**BORN, "labels": ["a\nb", "", "c"]}, event(ISSUE, 2, "labels", 2, rm=["a\nb"])],
    "no id": [{**BORN, "ent": NO_ID}, event(NO_ID, 2, "comment", 2, c="c")],
    "a giant number": [BORN, event(LOG_ENTITY, 2, "absorbed", 2, log="x", upto=10**30)],
}
"""Histories that cost a row built event by event much, or that the tables could hold in two ways."""


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_histories_make_one_row_from_segments_or_one_after_the_other(repository: Path, name: str):
    events = HOSTILE[name]
    lines = [json.dumps(one, separators=(",", ":")).encode() + b"\n" for one in events]
    write_sealed(repository, b"".join(lines))
    cold = fresh(repository)
    cold.refresh()
    parent = write_log(repository, events[0])
    warm = fresh(repository)
    warm.index.forget()
    warm.refresh()
    write_log(repository, *events[1:], parent=parent)
    warm.refresh()
    for table in ("ent", "label", "assignee", "link"):
        assert sorted(cold.index.query(f"SELECT * FROM {table}")) == sorted(warm.index.query(f"SELECT * FROM {table}"))
    entity = cold.entity(events[0]["ent"])
    assert (entity is None) == (name == "no id")
    assert entity == warm.entity(events[0]["ent"])


def test_a_row_that_is_changed_very_often_is_left_to_the_fold():
    bulk = BulkFold()
    events = [ev.Created(ent=ISSUE, id="a1", r="r", n=1, l=1, kind="issue", title="T")]
    events += [ev.Labelled(ent=ISSUE, id=f"b{n}", r="r", n=n, l=n, add=(f"l{n}",)) for n in range(2, 200)]
    bulk.take((one.l, one, "") for one in events)
    assert bulk.entities[ISSUE].broken
    assert len(bulk.entities[ISSUE].labels) < 100
