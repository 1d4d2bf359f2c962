"""Reading comments in their places. Never writes to the work tree: a read leaves no file changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from postil.anchor.model import Source as Version
from postil.comments.anchoring.locate import Now, current_anchor, place_all
from postil.comments.failures import InvalidLine, SourceNotFound, SourceNotParsed
from postil.comments.model import Marker, Place, Placed
from postil.comments.sidecar.document import Sidecar
from postil.comments.source_tree import Ground, Source
from postil.comments.storage.file_versions import OldTexts
from postil.comments.storage.store import SUFFIX, Store
from postil.core.failure import InvalidArguments
from postil.workspace.paths import RelativePath

MOST_KNOWN = 256


class Reading:
    """Comments of the workspace as they stand now."""

    def __init__(self, ground: Ground, store: Store, texts: OldTexts) -> None:
        self.ground, self.store, self.texts = ground, store, texts
        self._known: dict[str, tuple[str, list[Placed]]] = {}

    def file(self, path: RelativePath) -> list[Placed]:
        """The comments of a source file in their places, in the sidecar's order. An unchanged file costs two stats."""
        stamp = f"{self.ground.stat(path + SUFFIX)} {self.ground.stat(path)}"
        known = self._known.get(path)
        if known and known[0] == stamp:
            return list(known[1])
        sidecar = self.store.read(path)
        found = self.placed(sidecar, self.source_or_none(path))
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        self._known[path] = stamp, found
        return list(found)

    def source_with_line(self, path: str, line: int, end: int = 0) -> Source:
        """A source a caller names that has these lines."""
        source = self.ground.source(self.ground.path(path))
        count = len(source.lines)
        for number in (line, end or line):
            if not 1 <= number <= count:
                raise InvalidLine(source.path, number, count)
        if end and end < line:
            raise InvalidArguments("endLine is before line", path="endLine", line=line, endLine=end)
        return source

    def source_or_none(self, path: RelativePath) -> Source | None:
        """The source, or None when it is gone or is no text any more."""
        try:
            return self.ground.source(path)
        except (SourceNotFound, SourceNotParsed):
            return None

    def placed(self, sidecar: Sidecar, source: Source | None) -> list[Placed]:
        """A sidecar's comments in their places."""
        now = Now(sidecar.path, source)
        wanted = {a.blob for each in sidecar.markers if (a := current_anchor(each)) and a.blob != now.blob}
        return placed_in(sidecar, now, self.texts.texts(wanted) if wanted else {})

    def places(self, sidecar: Sidecar, source: Source | None) -> list[tuple[Marker, Place]]:
        """A sidecar's markers in their places."""
        now = Now(sidecar.path, source)
        markers = sidecar.markers
        wanted = {a.blob for each in markers if (a := current_anchor(each)) and a.blob != now.blob}
        return list(zip(markers, place_all(now, markers, self.texts.texts(wanted) if wanted else {}), strict=True))


def placed_in(sidecar: Sidecar, now: Now, texts: Mapping[str, str], elsewhere: Sequence[Version] = ()) -> list[Placed]:
    """A sidecar's comments in their places, with the old versions at hand. Pure."""
    comments, own = sidecar.comments, {marker.id: marker for marker in sidecar.markers}
    markers = [own.get(each.markerId) or _bare_marker(each.line, each.endLine) for each in comments]
    unique = list({id(marker): marker for marker in markers}.values())
    places = place_all(now, unique, texts, elsewhere)
    by_marker = {id(marker): place for marker, place in zip(unique, places, strict=True)}
    return [
        Placed(comment, own.get(comment.markerId), by_marker[id(marker)], sidecar.path)
        for comment, marker in zip(comments, markers, strict=True)
    ]


def _bare_marker(line: int, end: int) -> Marker:
    return Marker("", line, (), end)
