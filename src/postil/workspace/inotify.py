"""The kernel's inotify, one instance for the whole process: a user has only 128 of them, and many windows.

Those who watch subscribe to folders. Whoever looks first takes all events from the kernel and gives each to those whom
it concerns; a thread does so when nobody looks. A subscription has a pipe of its own, readable when something
changed.
"""

from __future__ import annotations

import ctypes
import os
import select
import sys
import threading
import time
from collections.abc import Iterable
from contextlib import suppress

from postil.workspace.watch import EVERYTHING

# linux/inotify.h
_IN_MODIFY, _IN_CLOSE_WRITE = 0x2, 0x8
_IN_MOVED_FROM, _IN_MOVED_TO, _IN_CREATE, _IN_DELETE = 0x40, 0x80, 0x100, 0x200
_IN_Q_OVERFLOW, _IN_IGNORED, _IN_ONLYDIR = 0x4000, 0x8000, 0x1000000
_INTERESTING = _IN_MODIFY | _IN_CLOSE_WRITE | _IN_MOVED_FROM | _IN_MOVED_TO | _IN_CREATE | _IN_DELETE
_HEADER = 16
A_MOMENT = 0.005


class Subscription:
    """Some folders, and what changed in them since it was last asked."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self.folders: set[str] = set()
        self.missing: set[str] = set()
        self.seen: set[str] = set()
        self.is_waited_for = False
        self._reader, self._writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def fileno(self) -> int:
        """Returns the pipe's end to wait at. Who never asks for it is not woken, and costs nothing until it looks."""
        self._instance.attend(self)
        return self._reader

    def add(self, folder: str) -> None:
        self._instance.add(self, folder)

    def changed(self) -> frozenset[str]:
        """Returns the paths that changed since the last call."""
        return self._instance.take(self)

    def wake(self) -> None:
        """Make the pipe readable."""
        with suppress(OSError):  # full, which is readable enough
            os.write(self._writer, b"!")

    def calm(self) -> None:
        """Make the pipe unreadable."""
        with suppress(OSError):
            os.read(self._reader, 4096)

    def close(self) -> None:
        if self._reader >= 0:
            self._instance.remove(self)
            os.close(self._reader)
            os.close(self._writer)
            self._reader = self._writer = -1


class Instance:
    """The one instance of a process."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self._lock = threading.RLock()
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._file: int = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._file < 0:
            raise OSError(ctypes.get_errno(), "inotify_init1")
        self._names: dict[int, set[str]] = {}
        """By the kernel's number, the names under which a folder is watched: a link is another name of it."""
        self._numbers: dict[str, int] = {}
        self._subscribers: dict[str, set[Subscription]] = {}
        self._all: set[Subscription] = set()
        self._thread: threading.Thread | None = None

    def subscribe(self, folders: Iterable[str]) -> Subscription:
        """Returns a subscription to these folders. Raises OSError where the kernel has no room for them."""
        one = Subscription(self)
        with self._lock:
            self._all.add(one)
            try:
                for folder in folders:
                    self.add(one, folder)
            except OSError:
                one.close()
                raise
        return one

    def attend(self, one: Subscription) -> None:
        """Wake a subscription from now on. The kernel is listened to from the first that is."""
        with self._lock:
            if one.is_waited_for:
                return
            one.is_waited_for = True
            if one.seen:
                one.wake()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="postil-inotify", daemon=True)
                self._thread.start()

    def add(self, one: Subscription, folder: str) -> None:
        """Watch one more folder for a subscription; one that is missing, from when it appears."""
        with self._lock:
            number = self._numbers.get(folder)
            if number is None:
                path = os.fsencode(folder)
                number = self._libc.inotify_add_watch(self._file, path, _INTERESTING | _IN_ONLYDIR)
                if number < 0:
                    if ctypes.get_errno() in (2, 20):  # missing, or not a folder: it may become one
                        one.missing.add(folder)
                        return
                    raise OSError(ctypes.get_errno(), "inotify_add_watch")
                self._names.setdefault(number, set()).add(folder)
                self._numbers[folder] = number
            one.folders.add(folder)
            self._subscribers.setdefault(folder, set()).add(one)

    def remove(self, one: Subscription) -> None:
        """End a subscription; folders that nobody watches any more are let go."""
        with self._lock:
            self._all.discard(one)
            for folder in one.folders:
                others = self._subscribers.get(folder, set())
                others.discard(one)
                number = self._numbers.get(folder)
                if not others and number is not None:
                    self._subscribers.pop(folder, None)
                    del self._numbers[folder]
                    self._names[number].discard(folder)
                    if not self._names[number]:
                        del self._names[number]
                        self._libc.inotify_rm_watch(self._file, number)

    def take(self, one: Subscription) -> frozenset[str]:
        """Returns what changed for a subscription, up to now."""
        with self._lock:
            self._read()
            if not one.seen:  # nor was it woken
                return frozenset()
            if one.is_waited_for:
                one.calm()
            seen, one.seen = one.seen, set()
            missing, one.missing = one.missing, set()
            for folder in sorted(missing):
                with suppress(OSError):
                    self.add(one, folder)
            return frozenset(seen | (missing - one.missing))

    def _run(self) -> None:
        poll = select.poll()
        poll.register(self._file, select.POLLIN)
        while True:
            poll.poll()
            time.sleep(A_MOMENT)  # one write is several events: without it each would wake this thread
            with self._lock:
                self._read()

    def _read(self) -> None:
        """Take all events from the kernel, and give each to those whom it concerns."""
        while True:
            try:
                events = os.read(self._file, 65536)
            except OSError:  # none left
                return
            at = 0
            while at < len(events):
                number = int.from_bytes(events[at : at + 4], sys.byteorder, signed=True)
                kind = int.from_bytes(events[at + 4 : at + 8], sys.byteorder)
                length = int.from_bytes(events[at + 12 : at + 16], sys.byteorder)
                name = os.fsdecode(events[at + _HEADER : at + _HEADER + length].rstrip(b"\0"))
                at += _HEADER + length
                if kind & _IN_Q_OVERFLOW:
                    for one in self._all:
                        self._tell(one, EVERYTHING)
                elif kind & _IN_IGNORED:
                    self._forget(number)
                elif name:
                    for folder in self._names.get(number, ()):
                        for one in self._subscribers.get(folder, ()):
                            self._tell(one, os.path.join(folder, name))

    def _forget(self, number: int) -> None:
        """A folder is gone itself: it is watched again when it appears."""
        for folder in self._names.pop(number, set()):
            del self._numbers[folder]
            for one in self._subscribers.pop(folder, set()):
                one.folders.discard(folder)
                one.missing.add(folder)
                self._tell(one, folder)

    def _tell(self, one: Subscription, path: str) -> None:
        if one.is_waited_for and not one.seen:
            one.wake()
        one.seen.add(path)


_instance: Instance | None = None
_starting = threading.Lock()


def subscribe(folders: Iterable[str]) -> Subscription:
    """Returns a subscription at this process's instance, which the first one makes. Raises OSError."""
    global _instance  # noqa: PLW0603 - one a process is the point
    with _starting:
        if _instance is None or _instance.process != os.getpid():  # a child's is its own
            _instance = Instance()
        instance = _instance
    return instance.subscribe(folders)
