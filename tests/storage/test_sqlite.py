"""The file of the state database: private, durable, never overwritten, and clear about what is wrong with it."""

import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from postil.core.failure import Failure, StorageFailed
from postil.storage.failures import StateBusy, StateDamaged, StateFull, StateNewer, StateUnwritable
from postil.storage.sqlite import SqliteState


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "postil" / "state.db"


@pytest.fixture
def state(path: Path) -> Iterator[SqliteState]:
    state = SqliteState(str(path))
    yield state
    state.close()


def put(state: SqliteState, key: str = "k", value: bytes = b"v") -> None:
    with state.writing() as changes:
        changes.put("s", key, value)


def get(state: SqliteState, key: str = "k") -> bytes | None:
    with state.reading() as records:
        return records.get("s", key)


def test_nobody_else_can_read_it(state: SqliteState, path: Path) -> None:
    before = os.umask(0)
    try:
        put(state)
    finally:
        os.umask(before)
    assert [stat.S_IMODE(folder.stat().st_mode) for folder in (path.parent, path.parent.parent)] == [0o700] * 2
    assert {entry.name: stat.S_IMODE(entry.stat().st_mode) for entry in path.parent.iterdir()} == {
        "state.db": 0o600,
        "state.db-journal": 0o600,
    }


def test_an_open_folder_is_closed_to_others(state: SqliteState, path: Path) -> None:
    path.parent.mkdir(parents=True, mode=0o755)
    put(state)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("content", [b"", b"garbage" * 1000, b"SQLite format 3\0" + b"\xff" * 4096])
def test_a_damaged_file_is_reported_and_left_as_it_is(state: SqliteState, path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    with pytest.raises(StateDamaged) as caught:
        put(state)
    assert caught.value.exit_status == 7
    assert "mv " in caught.value.advice
    assert path.read_bytes() == content


def test_a_flipped_page_is_damage_too(state: SqliteState, path: Path) -> None:
    for number in range(200):
        put(state, str(number), b"x" * 100)
    state.close()
    content = bytearray(path.read_bytes())
    content[4096 * 4 :] = b"\xff" * (len(content) - 4096 * 4)
    path.write_bytes(content)
    with pytest.raises(StateDamaged), state.reading() as records:
        records.range("s")


def test_a_database_of_another_program_is_not_touched(state: SqliteState, path: Path) -> None:
    path.parent.mkdir(parents=True)
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE theirs (a)")
    other.close()
    before = path.read_bytes()
    with pytest.raises(StateDamaged, match="not a database of Postil"):
        put(state)
    assert path.read_bytes() == before


def test_a_newer_format_is_not_touched(state: SqliteState, path: Path) -> None:
    put(state)
    state.close()
    newer = sqlite3.connect(path)
    assert newer.execute("PRAGMA user_version").fetchone() == (1,)
    newer.execute("PRAGMA user_version = 2")
    newer.close()
    with pytest.raises(StateNewer, match="has format 2"):
        get(state)


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StateUnwritable) as caught:
        put(SqliteState(str(tmp_path / "file" / "postil" / "state.db")))
    assert caught.value.exit_status == 7


def test_a_read_only_database_is_read_and_not_written() -> None:
    folder = Path(tempfile.mkdtemp())  # not pytest's own: its parents are closed to other users
    path = folder / "state.db"
    state = SqliteState(str(path))
    put(state)
    state.close()
    code = (
        "import os, sys\n"
        "from postil.storage.sqlite import SqliteState\n"
        "from postil.core.failure import StorageFailed\n"
        "if os.geteuid() == 0: os.setuid(65534)  # root may write anywhere\n"
        "state = SqliteState(sys.argv[1])\n"
        "with state.reading() as records: print(records.get('s', 'k'))\n"
        "try:\n"
        "    with state.writing() as changes: changes.put('s', 'k', b'new')\n"
        "except StorageFailed as failure: print(failure.name)\n"
    )
    path.chmod(0o444)
    path.with_name("state.db-journal").unlink()
    folder.chmod(0o555)
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, timeout=30)
    folder.chmod(0o700)
    shutil.rmtree(folder)
    assert done.stdout.split("\n")[:2] == ["b'v'", "StateUnwritable"], done.stderr


def test_a_full_disk_is_said_and_nothing_is_damaged(state: SqliteState, path: Path) -> None:
    put(state, "before")
    state.close()
    code = (
        "import resource, sys\n"
        "from postil.storage.sqlite import SqliteState\n"
        "from postil.core.failure import StorageFailed\n"
        "state = SqliteState(sys.argv[1])\n"
        "state.version()\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (40000, 40000))\n"
        "try:\n"
        "    with state.writing() as changes: changes.put('s', 'big', b'x' * 100000)\n"
        "except StorageFailed as failure: print(failure.exit_status, failure.name)\n"
        "with state.writing() as changes: changes.put('s', 'small', b'y')\n"
        "print('small')\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, timeout=30)
    assert done.stdout.split("\n")[0].startswith("7 "), done.stderr
    assert done.stdout.split("\n")[1] == "small"
    assert get(state, "before") == b"v"
    assert get(state, "big") is None
    assert state.damage() == []


def test_sqlite_says_full_and_we_say_what_to_do(state: SqliteState) -> None:
    put(state)
    assert state._connection is not None  # pyright: ignore[reportPrivateUsage]
    state._connection.execute("PRAGMA max_page_count = 6")  # pyright: ignore[reportPrivateUsage]
    with pytest.raises(StateFull) as caught:
        put(state, "big", b"x" * 100_000)
    assert "intact" in caught.value.advice


@pytest.mark.parametrize(
    ("number", "failure"), [(28, StateFull), (122, StateFull), (13, StateUnwritable), (30, StateUnwritable)]
)
def test_a_database_that_cannot_be_made_says_why(
    path: Path, number: int, failure: type[Failure], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: str) -> None:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr("postil.storage.sqlite.sync", refuse)
        with pytest.raises(failure):
            put(SqliteState(str(path)))
    assert [*path.parent.glob(f"{path.name}?*")] == [], "nothing unfinished is left"
    put(SqliteState(str(path)))


def test_a_fault_of_our_own_is_not_called_damage(state: SqliteState) -> None:
    with pytest.raises(sqlite3.ProgrammingError), state.reading() as records:
        records.get("s", object())  # type: ignore[arg-type]


def test_a_database_kept_busy_is_waited_for_and_said_when_it_takes_too_long(path: Path) -> None:
    state = SqliteState(str(path), busy_seconds=0.1)
    put(state)
    holder = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    holder.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StateBusy):
        put(state)
    state.close()
    waiting = SqliteState(str(path))
    freed = threading.Timer(0.2, lambda: holder.execute("ROLLBACK"))
    freed.start()
    put(waiting)
    freed.join()
    holder.close()
    waiting.close()


def test_a_file_moved_away_is_not_written_on(state: SqliteState, path: Path) -> None:
    put(state, "old")
    path.rename(path.with_suffix(".damaged"))
    put(state, "new")
    assert get(state, "old") is None
    fresh = SqliteState(str(path))
    assert get(fresh, "new") == b"v"
    fresh.close()


WRITER = """
import sys
from postil.storage import sqlite as sqlite_state
from postil.storage.sqlite import SqliteState
state = SqliteState(sys.argv[1])
for number in range(int(sys.argv[2]), 10**6):
    with state.writing() as changes: changes.put("s", "%08d" % number, b"x" * 50)
    print(number, flush=True)
"""


def test_a_killed_writer_loses_nothing_it_acknowledged(state: SqliteState, path: Path) -> None:
    acknowledged: set[int] = set()
    for kill in range(12):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), str(kill * 1000)], stdout=subprocess.PIPE, text=True
        )
        assert writer.stdout is not None
        seen = [writer.stdout.readline() for _ in range(2 + kill % 4)]
        writer.send_signal(signal.SIGKILL)
        seen += writer.stdout.read().split("\n")
        writer.wait()
        writer.stdout.close()
        acknowledged |= {int(line) for line in seen if line.strip()}
    with state.reading() as records:
        kept = {int(key) for key, _ in records.range("s")}
    assert acknowledged <= kept
    assert len(kept - acknowledged) <= 12  # at most the one in flight of each
    assert state.damage() == []
    assert {entry.name for entry in path.parent.iterdir()} <= {"state.db", "state.db-journal"}


def test_another_process_wakes_a_waiting_one_within_a_second(state: SqliteState, path: Path) -> None:
    put(state)
    seen = state.version()
    code = (
        "import sys, time; from postil.storage.sqlite import SqliteState\n"
        "with SqliteState(sys.argv[1]).writing() as changes: changes.put('s', 'x', b'')\n"
        "print(time.time())\n"
    )
    writer = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True)
    assert state.wait(seen, 30)
    woken = time.time()
    assert writer.stdout is not None
    written = float(writer.stdout.read())
    writer.wait()
    writer.stdout.close()
    assert woken - written < 1


def test_the_journal_is_synced_before_the_answer(path: Path, tmp_path: Path, needs: Callable[[str], str]) -> None:
    strace = needs("strace")
    code = (
        "import os, sys; from postil.storage.sqlite import SqliteState\n"
        "state = SqliteState(sys.argv[1])\n"
        "state.version(); os.write(1, b'START')\n"
        "with state.writing() as changes: changes.put('s', 'k', b'v')\n"
        "os.write(1, b'DONE')\n"
    )
    log = tmp_path / "trace"
    subprocess.run(
        [strace, "-f", "-y", "-e", "trace=write,pwrite64,fsync,fdatasync,ftruncate", "-o", str(log),
         sys.executable, "-c", code, str(path)],
        check=True, timeout=60, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    lines = log.read_text().split("START", 1)[1].split("DONE", 1)[0].splitlines()
    synced = [line for line in lines if "sync(" in line]
    assert any("state.db-journal" in line for line in synced)
    assert any("state.db>" in line for line in synced)
    last_truncate = max(number for number, line in enumerate(lines) if "ftruncate" in line)
    assert any("sync(" in line and "journal" in line for line in lines[last_truncate:])


def test_the_doctor_asks_and_a_whole_database_answers(state: SqliteState) -> None:
    put(state)
    assert state.damage() == []
    assert issubclass(StateDamaged, StorageFailed)


def test_whoever_waits_first_removes_what_killed_processes_left(state: SqliteState, path: Path) -> None:
    put(state)
    orphan, young, other = (path.parent / name for name in (".postil-1-a.tmp", ".postil-2-b.tmp", "state.db.backup"))
    for file in (orphan, young, other):
        file.write_bytes(b"")
    os.utime(orphan, (1, 1))
    os.utime(other, (1, 1))
    assert not state.wait(state.version(), 0)
    assert [file.exists() for file in (orphan, young, other)] == [False, True, True]


def test_what_expired_is_deleted_when_something_that_expires_is_put(state: SqliteState, path: Path) -> None:
    with state.writing() as changes:
        changes.put("s", "old", b"", time.time() - 1)
        changes.put("s", "young", b"", time.time() + 100)
    with state.writing() as changes:
        changes.put("s", "new", b"", time.time() + 100)
    with sqlite3.connect(path) as raw:
        assert raw.execute("SELECT key FROM records ORDER BY key").fetchall() == [("new",), ("young",)]
    raw.close()


def test_a_change_of_the_journal_wakes_and_one_of_another_file_does_not(state: SqliteState, path: Path) -> None:
    called: list[int] = []
    state.on_change(lambda: called.append(1))
    state._notice(frozenset({str(path.parent / "secret")}))  # pyright: ignore[reportPrivateUsage]
    assert called == []
    state._notice(frozenset({f"{path}-journal"}))  # pyright: ignore[reportPrivateUsage]
    assert called
    called.clear()
    state._notice(frozenset({"*"}))  # pyright: ignore[reportPrivateUsage]
    assert called, "too much changed to be named"


def test_a_folder_for_other_things_too_is_left_as_it_is(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    state = SqliteState(str(shared / "state.db"))
    put(state)
    stop = state.on_change(lambda: None)
    stop()
    state.close()
    assert stat.S_IMODE(shared.stat().st_mode) == 0o1777
    assert stat.S_IMODE((shared / "state.db").stat().st_mode) == 0o600


@pytest.mark.parametrize("value", ["'text'", "1.5", "x'00'"])
def test_a_counter_that_is_no_number_is_damage(state: SqliteState, path: Path, value: str) -> None:
    with state.writing() as changes:
        changes.put("s", "k", b"v", time.time() + 100)  # notes the clock
    state.close()
    other = sqlite3.connect(path)
    other.execute(f"UPDATE counters SET value = {value}")
    other.commit()
    other.close()
    with pytest.raises(StateDamaged):
        put(state)


def test_a_write_too_large_for_the_memory_waits_for_readers_too(path: Path) -> None:
    """What does not fit into SQLite's cache is written in the middle of the block, and needs the whole file for it."""
    state, reader = SqliteState(str(path)), SqliteState(str(path))
    put(state)
    reading = reader.reading()
    reading.__enter__()
    ended = threading.Timer(0.3, lambda: reading.__exit__(None, None, None))
    ended.start()
    with state.writing() as changes:
        for number in range(40):
            changes.put("s", str(number), b"x" * 100_000)
    ended.join()
    assert len(get(reader, "39") or b"") == 100_000
    state.close()
    reader.close()


def test_a_dump_holds_no_clock_and_a_load_only_raises_the_version(state: SqliteState, tmp_path: Path) -> None:
    with state.writing() as changes:
        changes.put("s", "k", b"v", time.time() + 100)
        changes.next("n")
    counters, records = state.dump()
    assert sorted(counters) == [("n", 1), ("version", 1)]
    other = SqliteState(str(tmp_path / "other.db"))
    for number in range(5):
        put(other, str(number))
    other.load([("version", 3), ("n", 1)], records)
    assert other.version() == 7
    other.load([("version", 20)], [])
    assert other.version() == 21
    other.close()


def test_who_closed_it_is_not_told_of_changes_any_more(path: Path) -> None:
    state, other, heard = SqliteState(str(path)), SqliteState(str(path)), threading.Event()
    put(state)
    before = {*threading.enumerate()}
    state.on_change(heard.set)
    watching = {*threading.enumerate()} - before
    put(other)
    assert heard.wait(30)
    state.close()
    for thread in watching:
        thread.join(30)
        assert not thread.is_alive()
    put(state, "again")  # it opens by itself
    assert get(other, "again") == b"v"
    state.close()
    other.close()
