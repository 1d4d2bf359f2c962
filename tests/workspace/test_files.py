"""A file is whole or untouched: after a crash, a full disk, a refusal, and with eight writers at once."""

import contextvars
import errno
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from postil.core import call
from postil.workspace import files
from postil.workspace.failures import FileTooLarge, LockBusy, UnsafePath, WriteFailed
from postil.workspace.files import (
    FileLock,
    atomic_write,
    make_folder,
    queue_of,
    read_file,
    remove_file,
    remove_leftovers,
)
from postil.workspace.paths import RelativePath

NOTE = RelativePath("notes/a.comments")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    tmp_path.chmod(0o755)
    (tmp_path / "notes").mkdir()
    return tmp_path


def test_what_was_written_is_read(root: Path) -> None:
    atomic_write(str(root), NOTE, b"one")
    atomic_write(str(root), NOTE, b"two")
    assert read_file(str(root), NOTE) == b"two"
    assert os.listdir(root / "notes") == ["a.comments"]


def test_the_mode_is_kept_and_a_new_file_follows_the_umask(root: Path) -> None:
    before = os.umask(0o027)
    try:
        atomic_write(str(root), NOTE, b"one")
    finally:
        os.umask(before)
    assert stat.S_IMODE((root / NOTE).stat().st_mode) == 0o640
    (root / NOTE).chmod(0o604)
    atomic_write(str(root), NOTE, b"two")
    assert stat.S_IMODE((root / NOTE).stat().st_mode) == 0o604


def test_a_symlink_in_its_place_is_refused_and_left(root: Path) -> None:
    (root / "elsewhere").write_text("precious")
    (root / NOTE).symlink_to(root / "elsewhere")
    with pytest.raises(UnsafePath, match="is a symlink"):
        atomic_write(str(root), NOTE, b"x")
    with pytest.raises(UnsafePath):
        remove_file(str(root), NOTE)
    assert (root / "elsewhere").read_text() == "precious"


def test_a_file_over_the_limit_is_not_read(root: Path) -> None:
    (root / NOTE).write_bytes(b"x" * 11)
    with pytest.raises(FileTooLarge, match="has 11 bytes; at most 10 are read"):
        read_file(str(root), NOTE, limit=10)


def test_removing_is_durable_and_may_be_repeated(root: Path) -> None:
    atomic_write(str(root), NOTE, b"one")
    remove_file(str(root), NOTE)
    remove_file(str(root), NOTE)
    assert not (root / NOTE).exists()


def test_folders_are_made_through_no_symlink(root: Path) -> None:
    make_folder(str(root), "x/y/z")
    assert (root / "x/y/z").is_dir()
    (root / "link").symlink_to(root / "x")
    with pytest.raises(UnsafePath):
        make_folder(str(root), "link/w")


def test_a_full_disk_leaves_the_old_file_and_no_leftover(root: Path) -> None:
    atomic_write(str(root), NOTE, b"old")
    code = (
        "import resource,sys; from postil.workspace.files import atomic_write, WriteFailed\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        f"try: atomic_write({str(root)!r}, {NOTE!r}, b'x' * 5000)\n"
        "except WriteFailed as failure: print(failure.message, failure.exit_status)\n"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)
    assert said.stdout.strip() == "notes/a.comments cannot be written: File too large 7", said.stderr
    assert read_file(str(root), NOTE) == b"old"
    assert os.listdir(root / "notes") == ["a.comments"]


def test_a_read_only_folder_is_said(root: Path) -> None:
    (root / "notes").chmod(0o555)
    code = (
        "import os, sys; from postil.workspace.files import atomic_write, WriteFailed\n"
        "os.chdir(sys.argv[1])\n"
        "if os.geteuid() == 0: os.setuid(65534)  # root may write anywhere\n"
        "try: atomic_write('.', 'notes/a.comments', b'x')\n"
        "except WriteFailed as failure: print(failure.message, failure.exit_status)\n"
    )
    said = subprocess.run([sys.executable, "-c", code, str(root)], capture_output=True, text=True, timeout=30)
    assert said.stdout.strip() == "notes/a.comments cannot be written: Permission denied 7", said.stderr


def test_a_refused_rename_is_reported_and_cleaned_up(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    atomic_write(str(root), NOTE, b"old")

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    monkeypatch.setattr(os, "rename", refuse)
    with pytest.raises(WriteFailed, match="cross-device"):
        atomic_write(str(root), NOTE, b"new")
    assert read_file(str(root), NOTE) == b"old"
    assert os.listdir(root / "notes") == ["a.comments"]


WRITER = """
import sys
from postil.workspace.files import atomic_write
root, number = sys.argv[1], 0
while True:
    number += 1
    atomic_write(root, "notes/a.comments", (b"%08d" % number) * 2000)
    print(number, flush=True)
"""


def test_a_killed_writer_loses_nothing_it_acknowledged(root: Path) -> None:
    for kill in range(20):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(root)], stdout=subprocess.PIPE)
        assert writer.stdout is not None
        acknowledged = 0
        for _ in range(3 + kill % 5):
            acknowledged = int(writer.stdout.readline())
        writer.send_signal(signal.SIGKILL)
        rest = writer.stdout.read().split()
        writer.wait()
        writer.stdout.close()
        if rest:
            acknowledged = int(rest[-1])
        content = read_file(str(root), NOTE)
        assert content == content[:8] * 2000
        assert int(content[:8]) in (acknowledged, acknowledged + 1)
    old = time.time() - 60
    for name in os.listdir(root / "notes"):
        os.utime(root / "notes" / name, (old, old))
    remove_leftovers(str(root), "notes")
    assert os.listdir(root / "notes") == ["a.comments"]


def test_a_leftover_of_a_living_writer_is_left_alone(root: Path) -> None:
    import fcntl

    path = root / "notes" / ".postil-1-abc.tmp"
    with path.open("w") as file:
        os.utime(path, (1, 1))
        fcntl.flock(file, fcntl.LOCK_EX)
        assert remove_leftovers(str(root), "notes") == []
    assert remove_leftovers(str(root), "notes") == [path.name]


def test_sync_comes_before_rename_and_before_the_answer(root: Path, needs: Callable[[str], str]) -> None:
    strace = needs("strace")
    code = f"from postil.workspace.files import atomic_write as w; w({str(root)!r}, {NOTE!r}, b'x'); print('done')"
    log = root / "trace"
    subprocess.run(
        [strace, "-f", "-e", "trace=write,fsync,rename,renameat,renameat2", "-o", str(log), sys.executable, "-c", code],
        check=True, timeout=60, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    calls = [line.split(None, 1)[1].split("(")[0] for line in log.read_text().splitlines() if "(" in line]
    order = [call for call in calls if call != "write"]
    assert order[-3:] in (["fsync", "renameat", "fsync"], ["fsync", "renameat2", "fsync"], ["fsync", "rename", "fsync"])
    assert calls.index("fsync") > calls.index("write")
    assert calls[-1] == "write"  # "done" is printed last


COUNTER = """
import sys
from postil.workspace.files import FileLock, atomic_write, read_file
root = sys.argv[1]
for _ in range(50):
    with FileLock(root + "/postil/notes.lock", timeout=60):
        atomic_write(root, "notes/a.comments", b"%d" % (int(read_file(root, "notes/a.comments")) + 1))
"""


def test_eight_writers_under_the_lock_lose_no_update(root: Path) -> None:
    atomic_write(str(root), NOTE, b"0")
    writers = [subprocess.Popen([sys.executable, "-c", COUNTER, str(root)]) for _ in range(8)]
    assert [writer.wait(timeout=100) for writer in writers] == [0] * 8
    assert read_file(str(root), NOTE) == b"400"


DELETED = """
import shutil, sys
from postil.workspace.files import FileLock, atomic_write, read_file
root = sys.argv[1]
for n in range(40):
    with FileLock(root + "/postil/notes.lock", timeout=60, folder=root):
        before = int(read_file(root, "notes/a.comments"))
        if n % 5 == 0:
            shutil.rmtree(root + "/postil", ignore_errors=True)  # as somebody who thinks that it is only a cache
        atomic_write(root, "notes/a.comments", b"%d" % (before + 1))
"""


def test_a_lock_file_deleted_under_its_holder_lets_nobody_in(root: Path) -> None:
    atomic_write(str(root), NOTE, b"0")
    writers = [subprocess.Popen([sys.executable, "-c", DELETED, str(root)]) for _ in range(4)]
    assert [writer.wait(timeout=100) for writer in writers] == [0] * 4
    assert read_file(str(root), NOTE) == b"160"


def test_a_lock_that_stays_taken_is_said(root: Path) -> None:
    path = str(root / "postil" / "a.lock")
    with FileLock(path):
        with pytest.raises(LockBusy, match=r"held a\.lock for 0\.05 seconds"), FileLock(path, timeout=0.05):
            pass
    with FileLock(path, timeout=0.05):
        pass


def take_as(principal: str, path: str, order: list[str]) -> None:
    call.enter(call.Call(call.Caller(principal)))
    with FileLock(path, timeout=60):
        order.append(principal)


def test_a_lock_goes_round_among_principals(root: Path) -> None:
    """In order of arrival, one caller with twenty calls stood before everybody else."""
    path, order = str(root / "a.lock"), list[str]()
    asked = ["mallory"] * 20 + ["ada", "ben", "ada"]
    with FileLock(path):
        threads: list[threading.Thread] = []
        for number, principal in enumerate(asked, 1):
            threads.append(threading.Thread(target=take_as, args=(principal, path, order)))
            threads[-1].start()
            while queue_of(path).waiting < number:
                time.sleep(0.001)
    for thread in threads:
        thread.join(60)
    assert order[:5] == ["mallory", "ada", "ben", "mallory", "ada"]
    assert sorted(order) == sorted(asked)


def test_who_comes_while_another_has_a_lock_goes_before_that_ones_next_call(root: Path) -> None:
    """In turns alone, a caller with many calls had the lock twice before a newcomer had it once."""
    path, order = str(root / "a.lock"), list[str]()
    threads: list[threading.Thread] = []

    def begin(principal: str, waiting: int) -> None:
        threads.append(threading.Thread(target=take_as, args=(principal, path, order)))
        threads[-1].start()
        while queue_of(path).waiting < waiting:
            time.sleep(0.001)

    def hold() -> None:
        call.enter(call.Call(call.Caller("mallory")))
        with FileLock(path):
            for number in range(1, 4):
                begin("mallory", number)
            begin("ada", 4)
            begin("ben", 5)

    contextvars.copy_context().run(hold)
    for thread in threads:
        thread.join(60)
    assert order == ["ada", "ben", "mallory", "mallory", "mallory"]


def test_only_a_process_that_waits_makes_threads_pause(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LONGEST_RUN", -1.0)
    monkeypatch.setattr(files, "LONGEST_UNSEEN", 1000.0)
    path, paused = str(root / "a.lock"), list[float]()
    with FileLock(path, pause=paused.append):
        pass
    assert not paused
    code = "import sys; from postil.workspace.files import FileLock\nwith FileLock(sys.argv[1], timeout=60): pass"
    with FileLock(path, pause=paused.append):
        other = subprocess.Popen([sys.executable, "-c", code, path])
        file = os.open(path, os.O_RDWR)
        until = time.monotonic() + 60
        while not files._is_awaited(file) and time.monotonic() < until:  # pyright: ignore[reportPrivateUsage]
            time.sleep(0.001)
        other.send_signal(signal.SIGSTOP)  # it waits, and takes no turn while the next one looks
    with FileLock(path, pause=paused.append):
        other.send_signal(signal.SIGCONT)
    os.close(file)
    assert other.wait(60) == 0
    assert paused == [2 * files.LONGEST_PAUSE]


def test_who_gives_up_waiting_for_a_lock_leaves_its_turn_to_the_next(root: Path) -> None:
    path, order = str(root / "a.lock"), list[str]()
    with FileLock(path):
        with pytest.raises(LockBusy), FileLock(path, timeout=0.02):
            pass
        with FileLock(path, timeout=60, needless=lambda: True) as needless:
            assert not needless.held
        waiting = threading.Thread(target=take_as, args=("ada", path, order))
        waiting.start()
        while not queue_of(path).waiting:
            time.sleep(0.001)
        assert queue_of(path).waiting == 1
    waiting.join(60)
    assert order == ["ada"]
    assert FileLock(path, timeout=0).__enter__().held


def test_threads_that_hand_a_lock_on_leave_other_processes_a_chance(root: Path) -> None:
    path = str(root / "a.lock")
    code = "import sys; from postil.workspace.files import FileLock\nwith FileLock(sys.argv[1], timeout=60): pass"
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            with FileLock(path, timeout=60):
                time.sleep(0.003)

    writers = [threading.Thread(target=write) for _ in range(4)]
    for writer in writers:
        writer.start()
    try:
        subprocess.run([sys.executable, "-c", code, path], check=True, timeout=100)
    finally:
        stop.set()
        for writer in writers:
            writer.join(60)


def test_a_lock_is_free_again_when_its_holder_is_killed(root: Path) -> None:
    path = str(root / "a.lock")
    code = (
        "import sys, time; from postil.workspace.files import FileLock\n"
        "with FileLock(sys.argv[1]): print(1, flush=True); time.sleep(60)"
    )
    holder = subprocess.Popen([sys.executable, "-c", code, path], stdout=subprocess.PIPE)
    assert holder.stdout is not None
    holder.stdout.readline()
    threading.Timer(0.1, holder.kill).start()
    with FileLock(path, timeout=20):
        pass
    holder.wait()
    holder.stdout.close()


def test_no_descriptor_is_left_open(root: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(50):
        atomic_write(str(root), NOTE, b"x")
        read_file(str(root), NOTE)
        with pytest.raises(UnsafePath):
            read_file(str(root), RelativePath("../x"))
    # Fewer is no leak: connections of earlier tests may be collected meanwhile.
    assert len(os.listdir("/proc/self/fd")) <= before
