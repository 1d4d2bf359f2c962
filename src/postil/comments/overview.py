"""All comments of the workspace in their places, through the cache: only files that changed are read again."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator

from postil.comments.elsewhere import other_files
from postil.comments.folders import FolderWatch
from postil.comments.index import Index, Seen
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
        lost = self._lost_stamp()
        now = {path: self._stamp(path) for path in self.store.paths()}
        changed = [path for path, stamp in now.items() if known.get(path) not in (stamp, f"{stamp}|{lost}")]
        gone = [path for path in known if path not in now]
        for at in range(0, len(changed) or bool(gone), AT_ONCE):
            call.current().check()
            call.current().progress(at, len(changed), "reading comments")
            some = changed[at : at + AT_ONCE]
            self.index.replace(self._read(some, now, lost), gone)
            gone = []

    def file(self, path: RelativePath) -> list[Placed]:
        """The comments of one file, and those of other files whose code is in it now."""
        self.refresh()
        return self.index.rows("path = ? OR (now_path = ? AND state != 'orphaned')", (path, path))

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
        """What changes when code lost in one file may have turned up in another: git's index and HEAD."""
        seen = [self.ground.stat_of(os.path.join(self.ground.git_dir, name)) for name in ("index", "HEAD", "logs/HEAD")]
        return " ".join(seen)

    def _read(self, paths: list[RelativePath], stamps: dict[RelativePath, str], lost: str) -> list[Seen]:
        """Files read and placed; their old versions are asked of git all at once."""
        sidecars: list[tuple[Sidecar, Now]] = []
        seen: list[Seen] = []
        for path in paths:
            try:
                sidecars.append((self.store.read(path), Now(path, self.reading.source_or_none(path))))
            except Failure as fault:
                seen.append(Seen(path, stamps[path], problem=str(fault.data.get("problem") or fault.message)))
        wanted = {
            anchor.blob
            for sidecar, now in sidecars
            for marker in sidecar.markers
            if (anchor := current_anchor(marker)) and anchor.blob != now.blob
        }
        texts = self.reading.texts.texts(wanted) if wanted else {}
        placed = self._placed(sidecars, texts)
        orphans = [each for one in placed for each in one if each.place.state == "orphaned" and each.marker]
        others = other_files(self.ground, orphans) if orphans else {}
        for (sidecar, now), one in zip(sidecars, placed, strict=True):
            unsettled = any(each.place.state == "orphaned" for each in one)
            if unsettled and (elsewhere := others.get(sidecar.path)):
                one = placed_in(sidecar, now, texts, elsewhere)
            stamp = stamps[RelativePath(sidecar.path)]
            seen.append(Seen(sidecar.path, f"{stamp}|{lost}" if unsettled else stamp, one))
        return seen

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
