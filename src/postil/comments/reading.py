"""Reading comments in their places. Never writes to the work tree: a read leaves no file changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from postil.anchor.model import Source as Version
from postil.comments.failures import SourceNotFound, SourceNotParsed
from postil.comments.ground import Ground, Source
from postil.comments.model import Damage, Marker, Placed
from postil.comments.oldtexts import OldTexts
from postil.comments.places import Now, current_anchor, place_all
from postil.comments.sidecar import Sidecar
from postil.comments.store import Store
from postil.core.failure import Failure
from postil.workspace.paths import RelativePath


class Reading:
    """Comments of the workspace as they stand now."""

    def __init__(self, ground: Ground, store: Store, texts: OldTexts) -> None:
        self.ground, self.store, self.texts = ground, store, texts

    def file(self, path: RelativePath) -> list[Placed]:
        """The comments of one source file in their places, in the sidecar's order."""
        sidecar = self.store.read(path)
        return self.placed(sidecar, self.source_or_none(path))

    def everything(self, damaged: list[Damage] | None = None) -> Iterator[tuple[RelativePath, list[Placed]]]:
        """The comments of every file. A sidecar that cannot be read is named in `damaged` and passed over."""
        for path in self.store.paths():
            try:
                yield path, self.file(path)
            except Failure as fault:
                if damaged is not None:
                    damaged.append(Damage(path, str(fault.data.get("problem") or fault.message)))

    def source_or_none(self, path: RelativePath) -> Source | None:
        """The source, or None when it is gone or is no text any more."""
        try:
            return self.ground.source(path)
        except (SourceNotFound, SourceNotParsed):
            return None

    def placed(self, sidecar: Sidecar, source: Source | None, elsewhere: Sequence[Version] = ()) -> list[Placed]:
        """A sidecar's comments in their places."""
        comments, own = sidecar.comments, {marker.id: marker for marker in sidecar.markers}
        markers = [own.get(each.markerId) or _bare_marker(each.line, each.endLine) for each in comments]
        now = Now(sidecar.path, source)
        wanted = {a.blob for marker in markers if (a := current_anchor(marker)) and a.blob != now.blob}
        unique = list({id(marker): marker for marker in markers}.values())
        places = place_all(now, unique, self.texts.texts(wanted) if wanted else {}, elsewhere)
        by_marker = {id(marker): place for marker, place in zip(unique, places, strict=True)}
        return [
            Placed(comment, own.get(comment.markerId), by_marker[id(marker)], sidecar.path)
            for comment, marker in zip(comments, markers, strict=True)
        ]


def _bare_marker(line: int, end: int) -> Marker:
    return Marker("", line, (), end)
