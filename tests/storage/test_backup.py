"""A backup holds all of one moment, is whole or refused, and can be restored into any kind of state."""

from __future__ import annotations

import gzip
import os
import threading
import time
from pathlib import Path

import pytest

from postil.core.ports import Dumpable, State
from postil.storage.backup import BadBackup, StateInUse, check, restore, save
from postil.storage.sqlite import SqliteState
from tests.storage.postgres_server import PostgresServer
from tests.storage.redis_server import RedisServer
from tests.storage.states import open_state, postgres, redis

__all__ = ["postgres", "redis"]  # fixtures

KINDS = ["sqlite", "redis", "postgres"]


def fill(state: State) -> None:
    with state.writing() as changes:
        changes.put("inbox/é", "1", b"\x00\xff message")
        changes.put("keys", "k", b"outcome", time.time() + 1000)
        changes.put("keys", "gone", b"", time.time() - 5)
        changes.next("audit")
        changes.next("audit")


@pytest.mark.parametrize("into", KINDS)
@pytest.mark.parametrize("kind", KINDS)
def test_what_was_saved_from_one_kind_is_restored_into_another(
    kind: str, into: str, redis: RedisServer, postgres: PostgresServer, tmp_path: Path
) -> None:
    path = str(tmp_path / "backup")
    state = open_state(kind, tmp_path / "a", redis, postgres)
    fill(state)
    saved = save(state, path, b"secret", "1.0")
    assert (saved.records, check(path).secret) == (2, b"secret")
    assert os.stat(path).st_mode & 0o777 == 0o600
    state.close()
    other = open_state(into, tmp_path / "b", redis, postgres)
    with other.writing() as changes:
        changes.put("other", "x", b"")
    before = other.version()
    with pytest.raises(StateInUse):
        restore(other, path, force=False)
    restore(other, path, force=True)
    assert other.version() > before
    with other.writing() as changes:
        assert changes.range("inbox/é") == [("1", b"\x00\xff message")]
        assert changes.range("keys") == [("k", b"outcome")]
        assert changes.range("other") == []
        assert changes.next("audit") == 3
    other.close()


def test_a_backup_made_while_others_write_is_of_one_moment(tmp_path: Path) -> None:
    path = str(tmp_path / "state.db")
    over = threading.Event()

    def write() -> None:
        state, number = SqliteState(path), 0
        while not over.is_set():
            number += 1
            with state.writing() as changes:  # both or none
                changes.put("a", f"{number:06d}", b"")
                changes.put("b", f"{number:06d}", b"")
        state.close()

    writer = threading.Thread(target=write)
    writer.start()
    state: Dumpable = SqliteState(path)
    try:
        for round_ in range(5):
            save(state, str(tmp_path / f"{round_}"), b"s", "1")
    finally:
        over.set()
        writer.join(30)
    for round_ in range(5):
        copy = SqliteState(str(tmp_path / f"copy{round_}.db"))
        restore(copy, str(tmp_path / f"{round_}"), force=False)
        with copy.reading() as records:
            assert [key for key, _ in records.range("a")] == [key for key, _ in records.range("b")]
        copy.close()


def test_half_a_backup_a_changed_one_and_another_file_are_refused(tmp_path: Path) -> None:
    state = SqliteState(str(tmp_path / "state.db"))
    fill(state)
    path = tmp_path / "backup"
    save(state, str(path), b"s", "1")
    lines = gzip.decompress(path.read_bytes()).splitlines(keepends=True)
    spoiled = {
        "half": path.read_bytes()[:-20],
        "short": gzip.compress(b"".join(lines[:-1])),
        "less": gzip.compress(b"".join([*lines[:2], *lines[3:]])),
        "changed": gzip.compress(b"".join(lines).replace(b'"inbox', b'"inbux')),
        "later": gzip.compress(b"".join(lines).replace(b'"format":1', b'"format":9')),
        "other": gzip.compress(b'{"a":1}\n'),
        "text": b"no gzip",
        "empty": b"",
    }
    for name, content in spoiled.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(BadBackup):
            restore(state, str(tmp_path / name), force=True)
    with state.reading() as records:
        assert records.count("inbox/é") == 1
    with pytest.raises(BadBackup, match="cannot be written"):
        save(state, str(tmp_path / "no" / "such" / "folder"), b"s", "1")
    state.close()


def test_what_expired_since_is_not_restored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = SqliteState(str(tmp_path / "state.db"))
    fill(state)
    save(state, str(tmp_path / "backup"), b"s", "1")
    right = time.time
    monkeypatch.setattr(time, "time", lambda: right() + 2000)
    restore(state, str(tmp_path / "backup"), force=True)
    with state.reading() as records:
        assert (records.count("keys"), records.count("inbox/é")) == (0, 1)
    state.close()
