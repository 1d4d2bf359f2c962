"""Reading comments in their places, and bringing the markers of a sidecar up to date while it is being changed.

A read never writes to the work tree.
"""

from __future__ import annotations

from collections.abc import Sequence

from postil.anchor.syntax.languages import ask_about_slow_texts, language_of
from postil.anchor.syntax.symbols import Symbol, symbols
from postil.comments.anchoring.locate import PresentSource, current_anchor, locate_all, locate_comments
from postil.comments.anchoring.marker import renew_marker
from postil.comments.clock import now
from postil.comments.model import Located, OtherFile
from postil.comments.sidecar.document import Sidecar, place_comment
from postil.comments.source_tree import Source, SourceTree
from postil.comments.storage.file_versions import FileVersions
from postil.comments.storage.store import SUFFIX, Store
from postil.workspace.paths import RelativePath

MOST_KNOWN = 256


class CommentReader:
    """Reads the comments of a workspace where they are now."""

    def __init__(self, tree: SourceTree, store: Store, versions: FileVersions) -> None:
        self.tree, self.store, self.versions = tree, store, versions
        ask_about_slow_texts(_is_cheap)
        self._known: dict[str, tuple[str, list[Located]]] = {}

    def file(self, path: RelativePath) -> list[Located]:
        """Returns a file's comments in their places, in the sidecar's order. An unchanged file costs two stats."""
        stamp = f"{self.tree.stat(path + SUFFIX)} {self.tree.stat(path)}"
        known = self._known.get(path)
        if known and known[0] == stamp:
            return list(known[1])
        found = self.locate(self.store.read(path), self.tree.source_or_none(path))
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        self._known[path] = stamp, found
        return list(found)

    def locate(self, sidecar: Sidecar, source: Source | None, elsewhere: Sequence[OtherFile] = ()) -> list[Located]:
        """Returns a sidecar's comments in their places. `elsewhere` are other files their code may have gone to."""
        present = PresentSource(sidecar.path, source, cautious=self.tree.cautious)
        return locate_comments(sidecar, present, self.old_texts([(sidecar, present)]), elsewhere)

    def old_texts(self, sidecars: Sequence[tuple[Sidecar, PresentSource]]) -> dict[str, str]:
        """Returns the versions that the markers of some files were made on, as far as they can be had."""
        wanted = {
            anchor.blob
            for sidecar, present in sidecars
            for marker in sidecar.markers
            if (anchor := current_anchor(marker)) and anchor.blob != present.blob
        }
        return self.versions.read(wanted) if wanted else {}

    def update_markers(self, sidecar: Sidecar, source: Source | None) -> None:
        """Renew the markers whose place is sure; those that are uncertain or lost stay as they are."""
        if source is None or sidecar.is_made_on(source.blob):
            return
        named: list[Symbol] | None = None
        present, markers = PresentSource(sidecar.path, source, cautious=self.tree.cautious), sidecar.markers
        places = locate_all(present, markers, self.old_texts([(sidecar, present)]))
        for marker, place in zip(markers, places, strict=True):
            if place.state in ("moved", "modified") and place.path == sidecar.path:
                named = named if named is not None else symbols(source.text, language_of(source.path))
                sidecar.change_marker(marker.id, renew_marker(marker, place, source, named, now()))
                for comment in marker.commentIds:
                    place_comment(sidecar, comment, place.line, place.endLine if marker.endLine else 0)
        if named is not None:
            self.versions.keep(source)


def _is_cheap(text: str, language: str) -> bool:
    from postil.workspace.workers.parsing import is_cheap  # ordinary texts never need it

    return is_cheap(text, language)
