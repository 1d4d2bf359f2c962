"""All comments of the workspace in their places, through the cache: only files that changed are read again."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Iterator
from functools import cached_property

from postil.comments.elsewhere import changed_since, other_files
from postil.comments.folders import FolderWatch
from postil.comments.index import IN_FILE, Index, Seen
from postil.comments.model import Damage, Placed
from postil.comments.placer import ENOUGH, Job, place_many
from postil.comments.places import Now, current_anchor
from postil.comments.reading import Reading, placed_in
from postil.comments.sidecar import Sidecar
from postil.comments.store import SUFFIX
from postil.core import call
from postil.core.failure import Failure
from postil.workspace.paths import RelativePath

AT_ONCE = 200
LOOKS_BEFORE_WATCHING = 3


class Overview:
    """The workspace's comments as they stand now."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.ground, self.store = reading.ground, reading.store
        self.index = Index(self.ground)
        self._lock = threading.RLock()
        self._looks = 0
        self._watch: FolderWatch | None = None

    def refresh(self) -> None:
        """Read again what changed since the cache saw it.

        A process that asks again and again watches the folders, and looks at the files only when something happened.
        """
        with self._lock:
            if self._watch is None or self._watch.something_happened():
                self._look()
                self._looks += 1
                if self._looks == LOOKS_BEFORE_WATCHING:
                    self._watch = FolderWatch.over(self.ground)
                    self._look()  # what happened before the watch began

    def _look(self) -> None:
        known = self.index.stamps()
        lost = _Later(self._lost_stamp)
        now = {path: self._stamp(path) for path in self.store.paths()}
        changed = [path for path, stamp in now.items() if not _same(known.get(path, ""), stamp, lost)]
        gone = [path for path in known if path not in now]
        for at in range(0, len(changed) or bool(gone), AT_ONCE):
            call.current().check()
            call.current().progress(at, len(changed), "reading comments")
            some = changed[at : at + AT_ONCE]
            self.index.replace(self._read(some, now, known, lost), gone)
            gone = []

    def file(self, path: RelativePath) -> list[Placed]:
        """The comments of one file, and those of other files whose code is in it now; SidecarDamaged as it may be."""
        self.refresh()
        if self.index.problem(path) is None:  # not among the files that are walked, such as those of node_modules
            return self.reading.file(path) + self.index.rows(IN_FILE, (path, path))
        if self.index.problem(path):
            self.store.read(path)  # says in the contract's words what is wrong with it
        return self.index.rows(IN_FILE, (path, path))

    def unsettled(self) -> bool:
        """Whether a comment's code is in another file, or might turn up there."""
        return any("|" in stamp for stamp in self.index.stamps().values())

    def everything(self) -> Iterator[Placed]:
        """Every comment, by file, in the sidecars' order."""
        self.refresh()
        return self.index.stream()

    def where(self, condition: str, *values: object) -> list[Placed]:
        """The comments for which a condition on the cache's columns holds."""
        self.refresh()
        return self.index.rows(condition, values)

    def damaged(self) -> list[Damage]:
        """The sidecars that cannot be read."""
        self.refresh()
        return [Damage(path, problem) for path, problem in self.index.problems().items()]

    def _stamp(self, path: str) -> str:
        return f"{self.ground.stat(path + SUFFIX)} {self.ground.stat(path)}"

    def _lost_stamp(self) -> str:
        """What changes when code lost in one file may have turned up in another, or has left it again."""
        seen = [self.ground.stat_of(os.path.join(self.ground.git_dir, name)) for name in ("index", "HEAD", "logs/HEAD")]
        if self.ground.git:
            seen += [f"{path} {self.ground.stat(path)}" for path in changed_since(self.ground, "HEAD")]
        return hashlib.sha256("\n".join(seen).encode("utf-8", "surrogateescape")).hexdigest()[:24]

    def _read(
        self, paths: list[RelativePath], stamps: dict[RelativePath, str], known: dict[str, str], lost: _Later
    ) -> list[Seen]:
        """Files read and placed; their old versions are asked of git all at once."""
        sidecars: list[tuple[Sidecar, Now]] = []
        seen: list[Seen] = []
        found: dict[str, list[Placed]] = {}
        for path in paths:
            if known.get(path, "").partition("|")[0] == stamps[path] and (kept := self._kept(path)):
                found[path] = kept
            else:
                try:
                    sidecars.append(self._opened(path))
                except Failure as fault:
                    problem = str(fault.data.get("problem") or fault.message)
                    seen.append(Seen(path, stamps[path], problem=problem))
        texts = self._old_texts(sidecars)
        for (sidecar, _), one in zip(sidecars, self._placed(sidecars, texts), strict=True):
            found[sidecar.path] = one
        lacking = {path: [each for each in one if each.place.state == "orphaned"] for path, one in found.items()}
        orphans = [each for one in lacking.values() for each in one if each.marker]
        others = other_files(self.ground, orphans) if orphans else {}
        opened = {sidecar.path: (sidecar, now) for sidecar, now in sidecars}
        for path, one in found.items():
            if lacking[path] and (elsewhere := others.get(path)):
                again = [opened.get(path) or self._opened(RelativePath(path))]
                one = placed_in(*again[0], self._old_texts(again), elsewhere)
            stamp = stamps[RelativePath(path)]
            seen.append(Seen(path, f"{stamp}|{lost.value}" if lacking[path] else stamp, one))
        return seen

    def _kept(self, path: RelativePath) -> list[Placed]:
        """The comments of a file that is what it was, unless one of them was found in another file."""
        placed = self.index.rows("path = ?", (path,))
        return [] if any(each.place.path != path for each in placed) else placed

    def _opened(self, path: RelativePath) -> tuple[Sidecar, Now]:
        return self.store.read(path), Now(path, self.reading.source_or_none(path))

    def _old_texts(self, sidecars: list[tuple[Sidecar, Now]]) -> dict[str, str]:
        wanted = {
            anchor.blob
            for sidecar, now in sidecars
            for marker in sidecar.markers
            if (anchor := current_anchor(marker)) and anchor.blob != now.blob
        }
        return self.reading.texts.texts(wanted) if wanted else {}

    def _placed(self, sidecars: list[tuple[Sidecar, Now]], texts: dict[str, str]) -> list[list[Placed]]:
        """The comments of files in their places; where the engine has much to do, by several processes."""
        needing = [
            number
            for number, (sidecar, _) in enumerate(sidecars)
            if any((anchor := current_anchor(each)) and anchor.blob in texts for each in sidecar.markers)
        ]
        if len(needing) < ENOUGH:
            return [placed_in(sidecar, now, texts) for sidecar, now in sidecars]
        jobs = [self._job(*sidecars[number], texts) for number in needing]
        done = dict(zip(needing, place_many(jobs), strict=True))
        return [
            done[number] if number in done else placed_in(sidecar, now, texts)
            for number, (sidecar, now) in enumerate(sidecars)
        ]

    def _job(self, sidecar: Sidecar, now: Now, texts: dict[str, str]) -> Job:
        blobs = {anchor.blob for each in sidecar.markers if (anchor := current_anchor(each))}
        old = {blob: texts[blob] for blob in blobs if blob in texts}
        return Job(sidecar.path, sidecar.text(), now.text if now.source else None, now.blob, old)


class _Later:
    """A stamp that is made when it is first needed: most workspaces have lost nothing."""

    def __init__(self, make: Callable[[], str]) -> None:
        self._make = make

    @cached_property
    def value(self) -> str:
        return self._make()


def _same(seen: str, stamp: str, lost: _Later) -> bool:
    """Whether a file is still what the cache saw."""
    files, looked_elsewhere, then = seen.partition("|")
    return files == stamp and (not looked_elsewhere or then == lost.value)
