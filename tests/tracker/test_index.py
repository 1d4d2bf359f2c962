"""The index: built from logs of several writers, kept beside git, read while others change it."""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from postil.tracker import events as ev
from postil.tracker.index.db_files import find_current
from postil.tracker.log.format import SEAL
from postil.tracker.log.verify import hash_state, verify_logs
from postil.tracker.store import Store
from postil.workspace.repository import find_repository
from tests.tracker.conftest import git

FETCH = "+refs/postil/log/*:refs/postil/remote/{}/*"


def fresh(repository: Path) -> Store:
    return Store(find_repository(str(repository)))


def titles(store: Store) -> list[str]:
    store.refresh()
    return [row[0] for row in store.index.db.execute("SELECT title FROM ent ORDER BY title")]


def cache_of(repository: Path) -> str:
    path = find_current(str(repository / ".git/postil"))
    assert path is not None
    return path


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


@pytest.fixture
def pair(repository: Path, tmp_path: Path) -> tuple[Path, Path]:
    """Two clones that fetch from one another."""
    other = tmp_path / "other"
    git(tmp_path, "clone", "--quiet", str(repository), str(other))
    return repository, other


def fetch(into: Path, out_of: Path, name: str) -> None:
    git(into, "fetch", "--quiet", str(out_of), FETCH.format(name))


def make_many(where: Path, count: int, dice: random.Random, ids: list[str]) -> None:
    """Events about old and new issues, as one command."""
    store = fresh(where)
    with store.transaction() as tx:
        for _ in range(count):
            if not ids or dice.random() < 0.2:
                ids.append(ev.new_entity_id())
                tx.write(ev.Created, ids[-1], kind="issue", title=f"T{len(ids)}", labels=("a", "b"))
                continue
            id_ = dice.choice(ids)
            match dice.randrange(6):
                case 0:
                    tx.write(ev.Set, id_, f="status", value=dice.choice(("open", "closed")))
                case 1:
                    tx.write(ev.Labelled, id_, add=(dice.choice("cd"),), rm=(dice.choice("abc"),))
                case 2:
                    tx.write(ev.Set, id_, f="title", value=f"T{dice.randrange(99)}")
                case 3:
                    tx.write(ev.Linked, id_, add=(("related", dice.choice(ids)),))
                case 4:
                    tx.write(ev.Claimed, id_, who=dice.choice(("ann", "bob")), until="2027-01-01T00:00:00.000Z")
                case _:
                    tx.write(ev.Commented, id_, c=ev.new_event_id(), body="hello")
    store.index.close()


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


def test_clones_that_have_the_same_logs_have_one_state_hash(pair: tuple[Path, Path]):
    one, two = pair
    dice = random.Random(3)
    ids: list[str] = []
    for _ in range(3):
        make_many(one, 60, dice, ids)
        fetch(two, one, "one")
        make_many(two, 60, dice, ids)
        fetch(one, two, "two")
    hashes: set[str] = set()
    for where in pair:
        store = fresh(where)
        store.refresh()
        hashes.add(hash_state(store.index))
    assert len(hashes) == 1
