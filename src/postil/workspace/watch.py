"""Noticing that another process changed a file: by inotify where the kernel has it, else by polling.

A watch says *that* something in the watched folders changed and which names, never what changed: whoever waits looks
again. Names may be reported that did not change in the end; a change is never missed. It has a file descriptor that
becomes readable, so an event loop can wait on it as well as a thread.
"""

from __future__ import annotations

import os
import select
import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from postil.workspace.inotify import Subscription

POLL_EVERY = 0.25
MOST_FOLDERS = 8192
EVERYTHING = "*"
"""Reported instead of names when the kernel's queue overflowed."""
CALM = 100
"""A look is followed by a pause a hundred times as long: at most one per cent of a processor."""


class Watch:
    """Watches folders (each with its direct entries). Use as a context manager, or close() it.

    A folder that does not exist yet is watched from when it appears, if the one above it is watched too; it is then
    itself reported as changed.
    """

    def __init__(self, folders: Iterable[str]) -> None:
        self.folders = list(dict.fromkeys(folders))
        self._source: Subscription | _Polling = _source(self.folders)

    @property
    def immediate(self) -> bool:
        """Whether a change is known as soon as it is made; one found by polling is known a little later."""
        return not isinstance(self._source, _Polling)

    def fileno(self) -> int:
        """Readable when something changed."""
        return self._source.fileno()

    def wait(self, timeout: float | None) -> frozenset[str]:
        """Paths that changed since the last call; waits for the first one, at most `timeout` seconds."""
        poll = select.poll()
        poll.register(self.fileno(), select.POLLIN)
        if not poll.poll(None if timeout is None else max(0, timeout * 1000)):
            return frozenset()
        return self.changed()

    def changed(self) -> frozenset[str]:
        """Paths that changed since the last call, without waiting."""
        return self._source.changed()

    def add(self, folder: str) -> None:
        """Watch one more folder."""
        if folder not in self.folders and len(self.folders) < MOST_FOLDERS:
            self.folders.append(folder)
            self._source.add(folder)

    def close(self) -> None:
        """Stop watching."""
        self._source.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def call_on_change(folders: Iterable[str], changed: Callable[[frozenset[str]], None]) -> Callable[[], None]:
    """Call `changed` from a thread of its own whenever something changes, until the returned function is called."""
    watch = Watch(folders)
    reader, writer = os.pipe()

    def look() -> None:
        poll = select.poll()
        poll.register(watch.fileno(), select.POLLIN)
        poll.register(reader, select.POLLIN)
        while True:
            if any(ready == reader for ready, _ in poll.poll()):
                break
            names = watch.changed()
            if names:
                changed(names)
        watch.close()
        os.close(reader)

    thread = threading.Thread(target=look, name="postil-watch", daemon=True)
    thread.start()
    stopped = threading.Lock()

    def stop() -> None:
        if stopped.acquire(blocking=False):
            os.close(writer)
            if thread is not threading.current_thread():
                thread.join(timeout=5)

    return stop


def _source(folders: list[str]) -> Subscription | _Polling:
    if sys.platform == "linux":
        from postil.workspace.inotify import subscribe  # ctypes takes 5 ms, which `inbox send` must not pay

        with suppress(OSError):  # no descriptors or no instances left: looking still works
            return subscribe(folders)
    return _Polling(folders)


class _Polling:
    """Looks at every entry of the folders and writes into a pipe when one differs."""

    def __init__(self, folders: list[str]) -> None:
        self._folders = list(folders)
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._reader, False)
        os.set_blocking(self._writer, False)
        self._seen = _look(self._folders)
        self._changed: set[str] = set()
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="postil-watch", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        pause = POLL_EVERY
        while not self._ended.wait(pause):
            begun = time.thread_time()
            with self._lock:
                now = _look(self._folders)
                differing = {path for path in now.keys() | self._seen.keys() if now.get(path) != self._seen.get(path)}
                self._seen = now
                self._changed |= differing
            pause = max(POLL_EVERY, CALM * (time.thread_time() - begun))
            if differing:
                with suppress(BlockingIOError):
                    os.write(self._writer, b"!")

    def add(self, folder: str) -> None:
        with self._lock:
            self._folders.append(folder)
            self._seen |= _look([folder])

    def fileno(self) -> int:
        return self._reader

    def changed(self) -> frozenset[str]:
        with suppress(BlockingIOError):
            os.read(self._reader, 4096)
        with self._lock:
            names = frozenset(self._changed)
            self._changed.clear()
        return names

    def close(self) -> None:
        if not self._ended.is_set():
            self._ended.set()
            self._thread.join(timeout=5)
            os.close(self._reader)
            os.close(self._writer)


def _look(folders: Iterable[str]) -> dict[str, tuple[int, int, int]]:
    seen: dict[str, tuple[int, int, int]] = {}
    for folder in folders:
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                with suppress(OSError):
                    status = entry.stat(follow_symlinks=False)
                    seen[entry.path] = (status.st_mtime_ns, status.st_size, status.st_ino)
    return seen
