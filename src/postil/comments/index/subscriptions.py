"""Notifying subscribers that comments changed: by this process, another one, an editor, or git.

One thread watches the folders of the workspace. What it sees is a cue: the cache is refreshed, and only subscribers
whose comments really differ from before are notified.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct

from postil.comments.index.cache import make_digest
from postil.comments.index.change_gate import folders_below, watch_new_folders
from postil.comments.storage.store import SUFFIX
from postil.core.failure import Failure

if TYPE_CHECKING:
    from postil.comments.index.overview import Overview
    from postil.workspace.watch import Watch

QUIET = 0.05
"""Seconds to wait for the rest of a burst, such as a checkout."""


class _Subscriber(Struct):
    condition: str
    values: tuple[str, ...]
    changed: Callable[[], None]
    digest: bytes


class Subscriptions:
    """The watch over one workspace, alive as long as somebody listens."""

    def __init__(self, overview: Overview) -> None:
        self._overview = overview
        self._root = overview.tree.root
        self._lock = threading.Lock()
        self._subscribers: list[_Subscriber] = []
        self._stop: Callable[[], None] | None = None

    def subscribe(self, condition: str, values: tuple[str, ...], changed: Callable[[], None]) -> Callable[[], None]:
        """Call `changed` whenever the comments of a condition differ from before. Returns a function that stops it."""
        with self._lock:
            if self._stop is None:
                self._stop = self._start()
            subscriber = _Subscriber(condition, values, changed, b"")
            self._overview.refresh()
            subscriber.digest = make_digest(self._overview.index, condition, values)
            self._subscribers.append(subscriber)

        def stop() -> None:
            self._leave(subscriber)

        return stop

    def _leave(self, subscriber: _Subscriber) -> None:
        with self._lock:
            if subscriber not in self._subscribers:
                return
            self._subscribers.remove(subscriber)
            last, self._stop = (self._stop, None) if not self._subscribers else (None, self._stop)
        if last is not None:
            last()

    def _start(self) -> Callable[[], None]:
        from postil.workspace.watch import Watch  # brings in inotify, which only a subscriber needs

        watch = Watch(folders_below(self._root))
        ended = threading.Event()

        def look() -> None:
            while not ended.is_set():
                names = watch.wait(0.5)
                if ended.is_set():
                    break
                if names and self._matters(names, watch):
                    while watch.wait(QUIET):
                        pass
                    self._notify()
            watch.close()

        thread = threading.Thread(target=look, name="postil-comments-watch", daemon=True)
        thread.start()

        def stop() -> None:
            ended.set()
            if thread is not threading.current_thread():
                thread.join(timeout=5)

        return stop

    def _matters(self, names: frozenset[str], watch: Watch) -> bool:
        """Whether a sidecar changed, or a source that has one; new folders are watched from now on."""
        if watch_new_folders(watch, names):  # they may have come with sidecars in them
            return True
        matters = any(name == "*" or name.endswith(SUFFIX) or os.path.exists(name + SUFFIX) for name in names)
        return matters or self._overview.has_lost_code()  # code that is lost may turn up in any file

    def _notify(self) -> None:
        try:
            self._overview.refresh()
        except (Failure, OSError):
            return  # in the middle of somebody's change: the next cue comes with its end
        with self._lock:
            subscribers = list(self._subscribers)
        for subscriber in subscribers:
            digest = make_digest(self._overview.index, subscriber.condition, subscriber.values)
            if digest != subscriber.digest:
                subscriber.digest = digest
                subscriber.changed()
