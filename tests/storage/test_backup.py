"""A backup holds all of one moment, is whole or refused, and can be restored into any kind of state."""

from __future__ import annotations

import gzip
import hashlib
import os
import threading
import time
from pathlib import Path

import msgspec
import pytest

from postil.core import limits
from postil.core.call import Caller
from postil.core.ports import Dumpable, State
from postil.storage.audit.audit_log import AuditLog
from postil.storage.backup import BadBackup, FileInUse, StateInUse, check, finish, restore, save
from postil.storage.failures import StateDamaged
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


def test_a_file_that_is_no_backup_is_not_replaced_and_the_secret_is_for_the_owner_alone(tmp_path: Path) -> None:
    state = SqliteState(str(tmp_path / "state.db"))
    fill(state)
    path = tmp_path / "notes"
    for other in (b"the only copy", gzip.compress(b'{"my": "archive"}\n'), gzip.compress(b"text")):
        path.write_bytes(other)
        with pytest.raises(FileInUse, match="left as it is"):
            save(state, str(path), b"s", "1")
        assert path.read_bytes() == other
    for kept in (b"", None):  # made by mktemp, then an older backup
        if kept is not None:
            path.write_bytes(kept)
        path.chmod(0o644)
        save(state, str(path), b"s", "1")
        assert (check(str(path)).records, path.stat().st_mode & 0o777) == (2, 0o600)
    folder = tmp_path / "folder"
    folder.mkdir(0o755)
    with pytest.raises((FileInUse, BadBackup)):  # an empty folder has no size on some file systems
        save(state, str(folder), b"s", "1")
    assert folder.stat().st_mode & 0o777 == 0o755
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


def _line(value: object) -> bytes:
    return msgspec.json.encode(value) + b"\n"


def _whole(*lines: bytes, made: object = 1.0, **header: object) -> bytes:
    """Returns a backup whose sum is right, whatever its lines hold."""
    first = {"postil": "backup", "format": 1, "made": made, "version": "1", "secret": "c2VjcmV0"} | header
    content = _line(first) + b"".join(lines)
    end = {"end": len(lines), "sha256": hashlib.sha256(content).hexdigest()}
    return gzip.compress(content + _line(end), 1)


RECORD = _line(["r", "space", "key", "dmFsdWU=", None])
HOSTILE = {
    "made": _whole(RECORD, made=1e300),
    "made a text": _whole(RECORD, made="x"),
    "format": _whole(RECORD, format="x"),
    "format a list": _whole(RECORD, format=[1]),
    "secret": _whole(RECORD, secret=5),
    "secret not base64": _whole(RECORD, secret="%%%"),
    "no secret": _whole(RECORD, secret=""),
    "kind": _whole(_line(["z", "a", "b", "Yw==", None])),
    "short counter": _whole(_line(["c"])),
    "short record": _whole(_line(["r", "a"])),
    "lives": _whole(_line(["r", "a", "b", "Yw==", "x"])),
    "lives for ever": _whole(_line(["r", "a", "b", "Yw==", 1e300])),
    "value": _whole(_line(["r", "a", "b", 5, None])),
    "counter": _whole(_line(["c", "a", 1 << 63])),
    "counter of no number": _whole(_line(["c", 5, "x"])),
    "names": _whole(_line(["r", 1, [2], "Yw==", None])),
    "no JSON": _whole(b"[nothing\n"),
    "no UTF-8": _whole(b'["c","\xff",1]\n'),
    "deep": _whole(b"[" * 100_000 + b"\n"),
    "deep header": gzip.compress(b'{"postil":' + b"[" * 100_000 + b"\n"),
    "giant names of counters": _whole(*(_line(["c", "x" * (3 << 20) + str(number), 1]) for number in range(4))),
    "giant name of a space": _whole(_line(["r", "x" * (64 << 10), "key", "Yw==", None])),
    "giant name of a record": _whole(_line(["r", "space", "x" * (64 << 10), "Yw==", None])),
    "one long line": gzip.compress(b'{"postil":"backup' + b" " * (40 << 20), 1),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_backup_is_refused_before_anything_changes(tmp_path: Path, name: str) -> None:
    state = SqliteState(str(tmp_path / "state.db"))
    fill(state)
    (tmp_path / "hostile").write_bytes(HOSTILE[name])
    with pytest.raises(BadBackup):
        restore(state, str(tmp_path / "hostile"), force=True)
    with state.reading() as records:
        assert records.count("inbox/é") == 1
    state.close()


def test_a_backup_of_the_next_format_is_left_to_a_later_version(tmp_path: Path) -> None:
    (tmp_path / "later").write_bytes(_whole(RECORD, format=2))
    with pytest.raises(BadBackup, match="made by a later version"):
        check(str(tmp_path / "later"))


def test_a_line_more_or_less_than_its_end_says_is_refused(tmp_path: Path) -> None:
    first, *lines, end = gzip.decompress(_whole(RECORD, _line(["c", "a", 7]))).splitlines(keepends=True)
    for number in (1, 2, 3):
        said = _line(msgspec.json.decode(end) | {"end": number})
        (tmp_path / "some").write_bytes(gzip.compress(b"".join([first, *lines, said])))
        if number == 2:
            assert check(str(tmp_path / "some"))[:2] == (1, 1)
        else:
            with pytest.raises(BadBackup, match="not whole"):
                check(str(tmp_path / "some"))


def test_a_record_that_ends_with_the_restore_is_not_restored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it still lives is counted from the backup; a clock that went back makes nothing live longer."""
    rows = [
        _line(["r", "s", name, "dmFsdWU=", lives]) for name, lives in (("now", 10.0), ("soon", 110.0), ("ever", None))
    ]
    (tmp_path / "backup").write_bytes(_whole(*rows, made=1000.0))
    state = SqliteState(str(tmp_path / "state.db"))
    for moment, lives in ((1010.0, {"soon": 100.0, "ever": None}), (900.0, {"now": 10.0, "soon": 110.0, "ever": None})):
        with monkeypatch.context() as at:
            at.setattr(time, "time", lambda moment=moment: moment)
            restore(state, str(tmp_path / "backup"), force=True)
        with state.reading() as records:
            assert {key for key, _ in records.range("s")} == {*lives}
        dumped = {key: left for space, key, _, left in state.dump()[1] if space == "s"}
        for key, left in lives.items():
            found = dumped[key]
            assert found is left is None or (found is not None and left is not None and left - 5 < found <= left)
    state.close()


def test_a_whole_backup_made_by_hand_is_taken(tmp_path: Path) -> None:
    (tmp_path / "whole").write_bytes(_whole(RECORD, _line(["c", "a", 7])))
    state = SqliteState(str(tmp_path / "state.db"))
    assert restore(state, str(tmp_path / "whole"), force=True)[:2] == (1, 1)
    state.close()


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(BadBackup, match="not a regular file"):
        check(str(tmp_path / "fifo"))


@pytest.mark.parametrize(("line", "whole"), [(80, 10**9), (10**9, 200)])
def test_a_state_that_no_backup_could_hold_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: int, whole: int
) -> None:
    monkeypatch.setattr(limits, "BACKUP_LINE", line)
    monkeypatch.setattr(limits, "BACKUP", whole)
    state = SqliteState(str(tmp_path / "state.db"))
    fill(state)
    with pytest.raises(BadBackup, match="larger than a backup may be"):
        save(state, str(tmp_path / "backup"), b"secret", "1.0")
    state.close()
    assert not (tmp_path / "backup").exists()


def test_what_is_written_can_be_restored_and_what_is_larger_is_neither_written_nor_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "backup")
    state = SqliteState(str(tmp_path / "state.db"))
    with state.writing() as changes:
        changes.put("space", "key", b"a value")

    def save_with(name: str, bound: int) -> bool:
        """Returns whether it was written; what was written is read too."""
        Path(path).unlink(missing_ok=True)
        with monkeypatch.context() as bounded:
            bounded.setattr(limits, name, bound)
            try:
                save(state, path, b"secret", "1.0")
            except BadBackup:
                return False
            return check(path).records == 1

    monkeypatch.setattr(time, "time", lambda: 1_800_000_000.25)  # each is as long as the one before
    assert save_with("BACKUP", 10**9)
    whole = gzip.decompress(Path(path).read_bytes())
    longest = max(len(line) for line in whole.splitlines(keepends=True))
    assert [save_with("BACKUP", len(whole) + more) for more in (-1, 0)] == [False, True]
    assert [save_with("BACKUP_LINE", longest + more) for more in (-1, 0)] == [False, True]
    for name, bound in (("BACKUP", len(whole) - 1), ("BACKUP_LINE", longest - 1)):
        with monkeypatch.context() as bounded:
            bounded.setattr(limits, name, bound)
            with pytest.raises(BadBackup, match="larger than Postil writes any"):
                check(path)
    state.close()


def test_a_restore_is_repeated_until_it_is_finished_or_something_was_written(tmp_path: Path) -> None:
    source = SqliteState(str(tmp_path / "source.db"))
    fill(source)
    path, other = str(tmp_path / "backup"), str(tmp_path / "other")
    save(source, path, b"secret", "1.0")
    with source.writing() as changes:
        changes.put("inbox/é", "2", b"another")
    save(source, other, b"secret", "1.0")
    source.close()
    state = SqliteState(str(tmp_path / "state.db"))
    for _ in range(2):  # the first time it was interrupted
        restore(state, path, force=False)
    with pytest.raises(StateInUse):
        restore(state, other, force=False)
    with state.writing() as changes:
        changes.put("keys", "new", b"", time.time() + 1000)  # what expires is nobody's only copy
    restore(state, path, force=False)
    with state.writing() as changes:
        changes.next("messages")
    with pytest.raises(StateInUse):  # a number was given out
        restore(state, path, force=False)
    restore(state, path, force=True)
    with state.writing() as changes:
        changes.put("inbox/é", "3", b"mine")
    with pytest.raises(StateInUse, match="not empty"):
        restore(state, path, force=False)
    restore(state, path, force=True)
    finish(state)
    with pytest.raises(StateInUse):
        restore(state, path, force=False)
    state.close()


def test_a_state_that_cannot_be_read_is_replaced_only_where_that_is_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = SqliteState(str(tmp_path / "state.db"))
    fill(state)
    save(state, str(tmp_path / "backup"), b"secret", "1.0")

    def fail() -> None:
        raise StateDamaged("state.db", "torn")

    monkeypatch.setattr(state, "dump", fail)
    with pytest.raises(StateDamaged):
        restore(state, str(tmp_path / "backup"), force=False)
    assert restore(state, str(tmp_path / "backup"), force=True).records == 2
    state.close()


def test_a_backup_that_cannot_be_written_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = SqliteState(str(tmp_path / "state.db"))
    fill(state)

    def fail(file: int) -> None:
        raise OSError(28, "No space left on device")

    path = tmp_path / "backup"
    with monkeypatch.context() as full:
        full.setattr(os, "fsync", fail)
        with pytest.raises(BadBackup, match="No space left"):
            save(state, str(path), b"secret", "1.0")
    state.close()
    assert not path.exists()


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_that_were_given_out_since_are_not_given_out_again(
    kind: str, redis: RedisServer, postgres: PostgresServer, tmp_path: Path
) -> None:
    path = str(tmp_path / "backup")
    state = open_state(kind, tmp_path / "a", redis, postgres)
    log = AuditLog(lambda: state)
    with state.writing() as changes:
        assert changes.next("messages") == 1
    log.open(Caller("ada"), "op", {})
    save(state, path, b"secret", "1.0")
    with state.writing() as changes:
        assert changes.next("messages") == 2  # somebody knows this number
    log.open(Caller("ada"), "op", {})
    restore(state, path, force=True)
    with state.writing() as changes:
        assert changes.next("messages") == 3
    log.open(Caller("ada"), "op", {})
    assert log.verify().broken == []
    state.close()
