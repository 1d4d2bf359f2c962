"""Files that are whole or untouched: read with a bound, replaced atomically and durably, locked across processes.

`atomic_write` is the only way Postil replaces a file. When it returns, the new content survives a power cut; when it
raises, the old content is as it was; when the process dies inside it, at most a temporary file is left, which
`remove_leftovers` takes away.
"""

from __future__ import annotations

import fcntl
import os
import stat
import time
from _thread import LockType, allocate_lock
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Self, TypeAlias
from weakref import WeakValueDictionary

from postil.core import call, limits
from postil.workspace.clones.sharing import choose_mode, make_own_folder, share
from postil.workspace.failures import FileTooLarge, FileUnreadable, LockBusy, UnsafePath, WriteFailed
from postil.workspace.paths import RelativePath, open_folder, open_inside

LARGEST_FILE = limits.FILE
BEGUN, UNFINISHED = ".postil-", ".tmp"
"""What the name of a file that is being written begins and ends with."""
LONGEST_PAUSE = 0.005
"""Seconds between two looks at a lock that another process has."""
LONGEST_RUN = 0.05
"""Seconds that threads of one process hand a lock to each other before a process that waits gets a chance."""
LONGEST_UNSEEN = 3.0
"""The same where no process is seen to wait: some file systems do not show it."""
_REMEMBERED = 64
Content: TypeAlias = bytes | Sequence[bytes | memoryview]
"""What a file is to hold; large ones may be given in pieces, so that nobody has to make one of them."""
_AT_ONCE = 1 << 20
_Check: TypeAlias = Callable[[], object] | None
Gate = LockType
"""What one thread waits at: held until its turn comes."""


def read_file(root: str, inside: RelativePath, limit: int = LARGEST_FILE) -> bytes:
    """The whole content of a regular file below the root, at most `limit` bytes."""
    file = open_inside(root, inside)
    try:
        size = os.fstat(file).st_size
        if size > limit:
            raise FileTooLarge(inside, size, limit)
        if size > limits.LARGE:
            call.hold(size)
        chunks: list[bytes] = []
        left = limit + 1
        # All of it at once, as a rule: the pieces and the whole would be held twice.
        while left > 0 and (chunk := os.read(file, min(left, max(size + 1, 1 << 16)))):
            chunks.append(chunk)
            left -= len(chunk)
    except OSError as error:
        raise FileUnreadable(inside, error.strerror or str(error)) from error
    finally:
        os.close(file)
    if left <= 0:  # it grew while we read
        raise FileTooLarge(inside, limit + 1, limit)
    return b"".join(chunks)


def holds_exactly(root: str, inside: RelativePath, content: Content) -> bool:
    """Whether a regular file below the root holds this to the byte; of a large one no copy is made."""
    file = open_inside(root, inside)
    try:
        for piece in _gather([content] if isinstance(content, bytes) else content):
            left = piece
            while left:
                chunk = os.read(file, min(len(left), _AT_ONCE))
                if not chunk or chunk != bytes(left[: len(chunk)]):
                    return False
                left = left[len(chunk) :]
        return not os.read(file, 1)
    except OSError as error:
        raise FileUnreadable(inside, error.strerror or str(error)) from error
    finally:
        os.close(file)


def atomic_write(
    root: str,
    inside: RelativePath,
    content: Content,
    check: _Check = None,
    *,
    mode: int | None = None,
    lock: str = "",
) -> None:
    """Replace (or create) the file below the root, durably. Keeps its mode unless one is given; refuses a symlink.

    `check` is called last before the file is replaced: when it raises, the file stays what it is. `lock` is the name
    that others keep free while they replace the file, as git does: it is written under that name, or not at all.
    """
    folder, _, name = inside.rpartition("/")
    if mode is None and "/postil/" in (path := f"{root}/{inside}"):
        mode = choose_mode(path)
    parent = open_folder(root, folder)
    try:
        _replace(parent, name, inside, content, check, mode, lock)
    finally:
        os.close(parent)


def _replace(parent: int, name: str, inside: str, content: Content, check: _Check, mode: int | None, lock: str) -> None:
    old = _seen(parent, name, inside)
    temporary = lock or f"{BEGUN}{os.getpid():x}-{os.urandom(6).hex()}{UNFINISHED}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        file = os.open(temporary, flags, 0o666 if mode is None else mode, dir_fd=parent)
    except OSError as error:
        raise WriteFailed(inside, error.strerror or str(error)) from error
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # tells remove_leftovers that its writer lives
            if old is not None:
                _keep_owner_and_mode(file, old)
            if mode is not None:
                os.fchmod(file, mode)
            _write_all(file, content)
            os.fsync(file)
            if check is not None:
                check()
            os.rename(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=parent)
            raise
        finally:
            os.close(file)
        os.fsync(parent)
    except OSError as error:
        raise WriteFailed(inside, error.strerror or str(error)) from error


def _seen(parent: int, name: str, inside: str) -> os.stat_result | None:
    try:
        old = os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise WriteFailed(inside, error.strerror or str(error)) from error
    if not stat.S_ISREG(old.st_mode):
        raise UnsafePath(inside, "is a symlink" if stat.S_ISLNK(old.st_mode) else "is not a regular file")
    return old


def _keep_owner_and_mode(file: int, old: os.stat_result) -> None:
    new = os.fstat(file)
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        with suppress(PermissionError):  # another user's file in a shared folder: ours from now on, as an editor does
            os.fchown(file, old.st_uid, old.st_gid)
    os.fchmod(file, stat.S_IMODE(old.st_mode))


def _write_all(file: int, content: Content) -> None:
    for piece in (memoryview(content),) if isinstance(content, bytes) else _gather(content):
        left = piece
        while left:
            left = left[os.write(file, left) :]


def _gather(content: Sequence[bytes | memoryview]) -> Iterator[memoryview]:
    """Yields a content in pieces of which few are small."""
    few: list[bytes | memoryview] = []
    size = 0
    for piece in content:
        if size + len(piece) > _AT_ONCE:
            yield memoryview(b"".join(few))
            few, size = [], 0
        if len(piece) > _AT_ONCE:
            yield memoryview(piece)
        else:
            few.append(piece)
            size += len(piece)
    yield memoryview(b"".join(few))


def remove_file(root: str, inside: RelativePath) -> None:
    """Delete a regular file below the root, durably. One that is already gone is no fault."""
    folder, _, name = inside.rpartition("/")
    parent = open_folder(root, folder)
    try:
        if _seen(parent, name, inside) is None:
            return
        try:
            os.unlink(name, dir_fd=parent)
            os.fsync(parent)
        except OSError as error:
            raise WriteFailed(inside, error.strerror or str(error)) from error
    finally:
        os.close(parent)


def make_folder(root: str, inside: str, mode: int = 0o777) -> None:
    """Make a folder below the root, with those above it, durably; follows no symlink."""
    made = ""
    for part in inside.split("/"):
        parent = open_folder(root, made)
        try:
            os.mkdir(part, mode, dir_fd=parent)
            share(os.path.join(root, made, part))
            os.fsync(parent)
        except FileExistsError:
            pass
        except OSError as error:
            raise WriteFailed(inside, error.strerror or str(error)) from error
        finally:
            os.close(parent)
        made = f"{made}/{part}" if made else part


LEFTOVER_AGE = 10.0


def find_leftovers(root: str, folder: str = "") -> list[str]:
    """Returns the temporary files of dead writers in one folder. A living writer holds a lock on its own."""
    parent = open_folder(root, folder)
    try:
        names = [name for name in os.listdir(parent) if name.startswith(BEGUN) and name.endswith(UNFINISHED)]
        return sorted(name for name in names if _is_orphan(parent, name))
    finally:
        os.close(parent)


def remove_leftovers(root: str, folder: str = "") -> list[str]:
    """Delete the temporary files of dead writers in one folder. Returns their names."""
    removed = find_leftovers(root, folder)
    parent = open_folder(root, folder)
    try:
        for name in removed:
            with suppress(OSError):
                os.unlink(name, dir_fd=parent)
    finally:
        os.close(parent)
    return removed


def _is_orphan(parent: int, name: str) -> bool:
    try:
        file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=parent)
    except OSError:
        return False
    try:
        # The age covers the instant between a writer's create and its lock.
        if time.time() - os.fstat(file).st_mtime < LEFTOVER_AGE:
            return False
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(file)
    return True


class LockQueue:
    """Who goes next among the threads of this process that want one lock: the principal who had it longest ago.

    In order of arrival, one caller with many calls would stand before everybody else; in turns alone, its next call
    before somebody who comes while it has the lock.
    """

    def __init__(self) -> None:
        self._lock = allocate_lock()
        self._taken = False
        self.since = 0.0
        """Since when threads of this process hand it on, or other processes had their chance."""
        self._turns = 0
        self._had: dict[str, int] = {}
        """The last turn of those who had it last while others waited."""
        self._queues: dict[str, deque[Gate]] = {}

    @property
    def waiting(self) -> int:
        """How many threads wait for it."""
        return sum(map(len, tuple(self._queues.values())))

    def take_free(self) -> bool:
        """Take the turn if nobody has it."""
        with self._lock:
            if self._taken:
                return False
            self._taken, self.since = True, time.monotonic()
            return True

    def take(self, principal: str, until: float, needless: Callable[[], bool]) -> bool:
        """Wait for the turn. Returns False when it became needless, or the time is over."""
        gate = allocate_lock()
        gate.acquire()
        with self._lock:
            if not self._taken:
                self._taken, self.since = True, time.monotonic()
                return True
            self._queues.setdefault(principal, deque()).append(gate)
        try:
            while not gate.acquire(timeout=max(0.0, min(LONGEST_PAUSE, until - time.monotonic()))):
                if needless() or time.monotonic() >= until:
                    return self._give_up(principal, gate)
        except BaseException:  # a signal
            if self._give_up(principal, gate):
                self.end()
            raise
        return True

    def _give_up(self, principal: str, gate: Gate) -> bool:
        with self._lock:
            queue = self._queues.get(principal)
            if queue is None or gate not in queue:
                return True  # the turn came just now
            queue.remove(gate)
            if not queue:
                del self._queues[principal]
            return False

    def end(self) -> None:
        """Give the turn to the next principal. Called by who has it."""
        with self._lock:
            if not self._queues:
                self._taken = False
                return
            self._turns += 1
            mine, had = call.current().caller.principal, self._had
            had.pop(mine, None)
            had[mine] = self._turns
            if len(had) > _REMEMBERED:
                del had[next(iter(had))]
            principal = min(self._queues, key=lambda each: had.get(each, 0))
            queue = self._queues[principal]
            gate = queue.popleft()
            if not queue:
                del self._queues[principal]
        gate.release()


_queues: WeakValueDictionary[str, LockQueue] = WeakValueDictionary()
_queues_lock = allocate_lock()


def queue_of(path: str) -> LockQueue:
    """Returns who waits for a lock in this process."""
    with _queues_lock:
        return _queues.setdefault(path, LockQueue())


class FileLock:
    """A lock between processes and threads; the kernel releases it when its holder dies, however it dies.

    with FileLock(repository.postil_folder() + "/comments.lock"):
        …

    Not re-entrant: the same thread taking it twice waits for itself until the timeout. `needless` is asked while
    another has it: once it says yes, waiting ends without the lock, and `held` is False. `pause` waits for so many
    seconds between two looks; it may end sooner.

    A lock file can be deleted under its holder, and whoever comes next locks another file of that name. `folder` is
    locked as well: one that nobody deletes without deleting what is guarded.
    """

    def __init__(
        self,
        path: str,
        timeout: float = 10.0,
        needless: Callable[[], bool] = lambda: False,
        folder: str = "",
        pause: Callable[[float], object] = time.sleep,
    ) -> None:
        self.path = path
        self.timeout = timeout
        self._needless, self._pause = needless, pause
        self._folder = folder
        self._files: list[int] = []
        self._queue: LockQueue | None = None

    @property
    def held(self) -> bool:
        """Whether we have it."""
        return bool(self._files)

    def __enter__(self) -> Self:
        queue, until = queue_of(self.path), time.monotonic() + self.timeout
        if not queue.take_free():
            present = call.current()
            with present.waiting():
                taken = queue.take(present.caller.principal, until, self._needless)
            if not taken:
                if time.monotonic() >= until:
                    raise LockBusy(os.path.basename(self.path), self.timeout)
                return self
        try:
            self._lock_files(queue, until)
        finally:
            if self._files:
                self._queue = queue
            else:
                queue.end()
        return self

    def _lock_files(self, queue: LockQueue, until: float) -> None:
        """Lock against other processes."""
        file = self._open()
        files, taken = [file], False
        try:
            lasts = time.monotonic() - queue.since
            if lasts > LONGEST_RUN and (lasts > LONGEST_UNSEEN or _is_awaited(file)):
                self._pause(2 * LONGEST_PAUSE)  # other processes look again within half of it: theirs is a turn, too
                queue.since = time.monotonic()
            taken = self._take(file, until)
            if taken and self._folder:
                taken = False
                files.append(os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
                taken = self._take(files[1], until)
        except OSError as error:  # the folder cannot be opened
            raise WriteFailed(self.path, error.strerror or str(error)) from error
        finally:
            if not taken:
                for each in files:
                    os.close(each)
        self._files = files if taken else []

    def _open(self) -> int:
        for tries in range(50, 0, -1):
            try:
                with suppress(FileNotFoundError):
                    return os.open(self.path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
                make_own_folder(os.path.dirname(self.path))
                file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
                share(self.path)
                return file
            except OSError as error:
                # The folder may be deleted between the two.
                if tries == 1 or not isinstance(error, FileNotFoundError):
                    raise WriteFailed(self.path, error.strerror or str(error)) from error
        raise AssertionError

    def _take(self, file: int, until: float) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            with call.current().waiting():
                return self._wait(file, until)
        except OSError as error:
            raise WriteFailed(self.path, error.strerror or str(error)) from error

    def _wait(self, file: int, until: float) -> bool:
        pause, shown = 0.001, False
        while True:
            shown = shown or _show_waiting(file)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            except BlockingIOError:
                if self._needless():
                    return False
                if time.monotonic() >= until:
                    raise LockBusy(os.path.basename(self.path), self.timeout) from None
            except OSError as error:
                raise WriteFailed(self.path, error.strerror or str(error)) from error
            self._pause(pause)
            pause = min(pause * 1.5, LONGEST_PAUSE)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for file in self._files:
            os.close(file)
        self._files = []
        queue, self._queue = self._queue, None
        if queue is not None:
            queue.end()


# A process that waits for a lock shows it by another lock on the same file, of the kind that `flock` does not touch.


def _show_waiting(file: int) -> bool:
    """Let other processes see that this one waits, until the file is closed. Returns whether they do."""
    try:
        fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB, 1)
    except OSError:  # somebody looks just now; or the file system has but one kind, or none
        return False
    return True


def _is_awaited(file: int) -> bool:
    """Returns whether another process shows that it waits."""
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1)
        fcntl.lockf(file, fcntl.LOCK_UN, 1)
    except OSError:
        return True
    return False
