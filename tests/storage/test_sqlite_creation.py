"""The file of the state database is made once, whole and durable, whoever else makes it at the same time."""

import fcntl
import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest

from postil.storage import sqlite as sqlite_state
from postil.storage.sqlite import SqliteState
from tests.storage.test_sqlite import get, path, put, state

__all__ = ["path", "state"]  # fixtures


@pytest.mark.parametrize("name", ["a?mode=memory", "a#b", "a%41", "a b", "é", "a&b=c"])
def test_the_file_stands_where_it_was_named(tmp_path: Path, name: str) -> None:
    path = tmp_path / name / "state.db"
    state = SqliteState(str(path))
    put(state)
    state.close()
    assert path.is_file()
    assert [entry.name for entry in tmp_path.iterdir()] == [name]
    assert get(SqliteState(str(path))) == b"v"


def test_where_there_are_no_hard_links_it_is_made_all_the_same(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: str) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    state = SqliteState(str(path))
    put(state)
    state.close()
    monkeypatch.undo()
    assert get(SqliteState(str(path))) == b"v"
    assert {entry.name for entry in path.parent.iterdir()} == {"state.db", "state.db-journal"}


@pytest.mark.parametrize("linking", [True, False])
def test_of_two_that_make_it_at_once_the_first_is_kept(
    state: SqliteState, path: Path, monkeypatch: pytest.MonkeyPatch, linking: bool
) -> None:
    first, link = SqliteState(str(path)), os.link

    def come_second(unfinished: str, name: str) -> None:
        monkeypatch.setattr(os, "link", link)
        put(first, "first")
        if not linking:
            raise PermissionError(1, "Operation not permitted")
        link(unfinished, name)

    monkeypatch.setattr(sqlite_state, "_locking", nullcontext)
    monkeypatch.setattr(os, "link", come_second)
    put(state, "second")
    assert get(state, "first") == get(first, "second") == b"v"
    first.close()


def test_a_log_of_an_earlier_file_is_set_aside(state: SqliteState, path: Path) -> None:
    path.parent.mkdir(parents=True)
    for name in ("state.db-wal", "state.db-journal"):
        path.with_name(name).write_bytes(b"of another file" if name.endswith("wal") else b"")
    put(state)
    (old,) = path.parent.glob("*.old")
    assert (old.name.startswith("state.db-wal."), old.read_bytes()) == (True, b"of another file")


KILLED_WRITER = """
import os, sqlite3, sys
writer = sqlite3.connect(sys.argv[1], isolation_level=None)
writer.executescript("PRAGMA journal_mode = TRUNCATE; PRAGMA synchronous = FULL; PRAGMA cache_size = 1; BEGIN;")
for number in range(300):
    writer.execute("INSERT INTO records VALUES ('x', ?, ?, NULL)", (str(number), b"y" * 3000))
os.kill(os.getpid(), 9)
"""


def test_what_a_killed_writer_of_a_file_that_was_moved_away_left_does_not_damage_the_new_one(
    state: SqliteState, path: Path
) -> None:
    put(state, "first")
    state.close()
    subprocess.run([sys.executable, "-c", KILLED_WRITER, str(path)], timeout=60)
    journal = path.with_name("state.db-journal")
    left = journal.read_bytes()
    assert left, "it was killed in the middle"
    path.rename(f"{path}.damaged")  # as the advice says
    for number in range(20):
        put(state, str(number))
    assert state.damage() == []
    assert get(state, "first") is None
    (old,) = path.parent.glob("state.db-journal.*.old")
    assert old.read_bytes() == left, "nothing is thrown away"


def test_a_new_file_is_synced_before_it_has_its_name(
    state: SqliteState, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[tuple[str, bool]] = []

    def sync(one: str) -> None:
        synced.append((os.path.basename(one)[:8], path.exists()))

    monkeypatch.setattr(sqlite_state, "sync", sync)
    put(state)
    assert (".postil-", False) in synced
    assert ("postil", True) in synced, "the folder, so that the name is durable too"


def test_many_processes_may_make_it_at_the_same_time(path: Path) -> None:
    code = (
        "import sys; from postil.storage.sqlite import SqliteState\n"
        "state = SqliteState(sys.argv[1])\n"
        "for n in range(20):\n"
        "  with state.writing() as changes: changes.put('s', '%s-%d' % (sys.argv[2], n), b'')\n"
    )
    writers = [subprocess.Popen([sys.executable, "-c", code, str(path), str(number)]) for number in range(6)]
    assert [writer.wait(timeout=100) for writer in writers] == [0] * 6
    state = SqliteState(str(path))
    with state.reading() as records:
        assert len(records.range("s")) == 120
    state.close()


def test_one_at_a_time_gives_a_new_file_its_name(
    state: SqliteState, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What lies beside it is then of an earlier file: nobody has begun to write into the new one."""
    publish, refused = sqlite_state._publish, list[bool]()  # pyright: ignore[reportPrivateUsage]

    def look(unfinished: str, name: str) -> None:
        with open_folder(path.parent) as folder:
            try:
                fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                refused.append(True)
        publish(unfinished, name)

    monkeypatch.setattr(sqlite_state, "_publish", look)
    put(state)
    assert refused == [True]
    with open_folder(path.parent) as folder:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)  # and nobody holds it afterwards


@contextmanager
def open_folder(folder: Path) -> Generator[int]:
    file = os.open(folder, os.O_RDONLY)
    try:
        yield file
    finally:
        os.close(file)
