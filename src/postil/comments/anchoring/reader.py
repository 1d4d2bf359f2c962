"""Reading comments in their places, and bringing the markers of a sidecar up to date while it is being changed.

A read never writes to the work tree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from postil.anchor.syntax.languages import language_of, parses_everything_here
from postil.anchor.syntax.symbols import Symbol, symbols
from postil.comments.anchoring.deleted_between import Between
from postil.comments.anchoring.locate import PresentSource, current_anchor, locate_all, locate_comments
from postil.comments.anchoring.marker import count_anew, is_counted_by_editors, renew_marker, stands_whole
from postil.comments.anchoring.swapped_files import Content
from postil.comments.clock import now
from postil.comments.git.recent_versions import RecentVersions
from postil.comments.model import Comment, Located, Marker, OtherFile, Place
from postil.comments.sidecar.document import Sidecar, place_comment
from postil.comments.source_tree import Source, SourceTree
from postil.comments.storage.file_versions import FileVersions
from postil.comments.storage.store import SUFFIX, Store
from postil.core import limits
from postil.workspace.paths import RelativePath

MOST_KNOWN = 256
MOST_VERSIONS = 8 * limits.MIB
"""Bytes of old versions that the server holds at once."""
MOST_PAST, LARGEST_PAST = 60, 2 * limits.MIB
"""Versions between the one that a comment knew and that of now that are looked at, and about how many bytes of them; of
more, some that are as far apart as can be."""


PLACED = ("exact", "moved", "modified")


class CommentReader:
    """Reads the comments of a workspace where they are now."""

    def __init__(self, tree: SourceTree, store: Store, versions: FileVersions) -> None:
        self.tree, self.store, self.versions = tree, store, versions
        self._known: dict[str, tuple[str, list[Located]]] = {}

    def file(self, path: RelativePath) -> list[Located]:
        """Returns a file's comments in their places, in the sidecar's order. An unchanged file costs two stats."""
        stamp = f"{self.tree.stat(path + SUFFIX)} {self.tree.stat(path)}"
        known = self._known.get(path)
        if known and known[0] == stamp:
            return list(known[1])
        found = self._locate_file(path)
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        self._known[path] = stamp, found
        return list(found)

    def _locate_file(self, path: RelativePath) -> list[Located]:
        def apart() -> list[Located]:
            from postil.comments.index.refresh_worker import locate_apart  # only for large files

            return locate_apart(self, path)

        if self.tree.size(path + SUFFIX) > limits.COMMENTS_HERE:
            return apart()
        sidecar = self.store.read(path)  # says in the contract's words what is wrong with it
        if self.tree.size(path) > limits.HERE:
            return apart()
        return self.locate(sidecar, self.tree.source_or_none(path), apart=apart)

    def locate(
        self,
        sidecar: Sidecar,
        source: Source | None,
        elsewhere: Sequence[OtherFile] = (),
        apart: Callable[[], list[Located]] | None = None,
        recent: RecentVersions | None = None,
    ) -> list[Located]:
        """Returns a sidecar's comments in their places. `elsewhere` are other files their code may have gone to.

        `apart` is asked where old versions are too large to be compared here; without it the lines that the markers
        keep are looked for. `recent` are the last commits, where many files are asked about.
        """
        present, large = self.open(sidecar.path, source, recent), set[str]()
        texts = self.old_texts([(sidecar, present)], large)
        if large and apart is not None:
            return apart()
        return locate_comments(sidecar, present, texts, elsewhere)

    def open(self, path: str, source: Source | None, recent: RecentVersions | None = None) -> PresentSource:
        """Returns a source as it is now, which knows how to ask git for its past."""
        if source is None or not self.tree.git:
            return PresentSource(path, source, cautious=self.tree.cautious)
        history, blob, size = recent or RecentVersions(self.tree), source.blob, len(source.text)

        def list_between(old: str) -> Sequence[Between]:
            return read_past(self.versions, history.list_between(path, old, blob), size)

        return PresentSource(path, source, cautious=self.tree.cautious, list_between=list_between)

    def place(self, sidecar: Sidecar, comment: Comment, source: Source | None) -> Place:
        """Returns where one comment is; of a large sidecar, or on an unchanged source, no other one is looked for."""
        present, marker = self.open(sidecar.path, source), sidecar.marker_of(comment)
        anchor = current_anchor(marker) if marker else None
        wanted = [anchor.blob] if anchor and anchor.blob != present.blob else []
        is_unchanged = anchor is not None and not wanted
        if marker is None or (not is_unchanged and len(sidecar.original or b"") <= limits.COMMENTS_HERE):
            return next(each.place for each in self.locate(sidecar, source) if each.comment.id == comment.id)
        return locate_all(present, [marker], self.versions.read(wanted, limits.HERE, MOST_VERSIONS))[0]

    def old_texts(
        self, sidecars: Sequence[tuple[Sidecar, PresentSource]], left_out: set[str] | None = None
    ) -> dict[str, str]:
        """Returns the versions that the markers of some files were made on, as far as they can be had.

        `left_out` gets those that only a worker compares, because they are large.
        """
        wanted = {blob for sidecar, present in sidecars for blob in list_versions(sidecar, present)}
        if not wanted or parses_everything_here():
            return self.versions.read(wanted) if wanted else {}
        return self.versions.read(wanted, limits.HERE, MOST_VERSIONS, left_out)

    def update_markers(self, sidecar: Sidecar, source: Source | None, here: set[str] | None = None) -> None:
        """Renew the markers whose place is sure; those that are uncertain or lost stay as they are.

        So do those that `find_unproven` names: what is written would be the truth for everybody.
        `here` are the comments that are known to have stayed in the file. Where nobody looked, a file that may have
        been given another's content keeps its markers; without git that is every file.
        """
        if source is None or sidecar.is_made_on(source.blob):
            return
        recent = RecentVersions(self.tree)
        if here is None and self._may_be_another(sidecar, source, recent):
            return
        named: list[Symbol] | None = None
        kept = False
        placed = self._locate_markers(sidecar, source, recent)
        unproven = self.find_unproven(placed)
        for marker, place in placed:
            stayed = here is None or not here.isdisjoint(marker.commentIds)
            if not stayed or place.state not in PLACED or place.path != sidecar.path:
                continue
            if place.state == "exact" and not is_counted_by_editors(marker, source.path):
                continue
            named = named if named is not None else symbols(source.text, language_of(source.path))
            if place.state == "exact":
                if anew := count_anew(marker, named):
                    sidecar.change_marker(marker.id, anew)
                continue
            if marker.id in unproven:
                continue
            sidecar.change_marker(marker.id, renew_marker(marker, place, source, named, now()))
            for comment in marker.commentIds:
                place_comment(sidecar, comment, place.line, place.endLine if marker.endLine else 0)
            kept = True
        if kept:
            self.versions.keep(source)

    def find_unproven(self, placed: Sequence[tuple[Marker, Place]]) -> set[str]:
        """Returns the ids of markers whose code went or changed, as far as what they keep tells, and not beyond doubt.

        The version that they were made on is not to be had here. Who has it may know better.
        """
        asked = {
            marker.id: anchor.blob
            for marker, place in placed
            if place.state in ("moved", "modified") and (anchor := current_anchor(marker))
        }
        if not asked:
            return set()
        known: set[str] = set()
        known |= self.versions.read(asked.values(), 0, 0, known).keys()  # which there are, and nothing of them
        return {
            marker.id
            for marker, place in placed
            if asked.get(marker.id, "") not in {"", *known} and not self._stands_whole(marker, place)
        }

    def _stands_whole(self, marker: Marker, place: Place) -> bool:
        source = self.tree.source_or_none(RelativePath(place.path))
        return source is not None and stands_whole(marker, place, source.lines)

    def _may_be_another(self, sidecar: Sidecar, source: Source, recent: RecentVersions) -> bool:
        from postil.comments.anchoring.exchanged_files import find_exchanged  # only where a file was edited
        from postil.comments.anchoring.renamed_away import find_renamed_away

        versions = frozenset(list_versions(sidecar, PresentSource(sidecar.path, source)))
        content = {str(sidecar.path): Content(source.blob, versions)}
        if not self.tree.git:
            return True
        if find_exchanged(self.tree, self.versions, content):
            return True
        return bool(find_renamed_away(self.tree, content, recent))

    def _locate_markers(self, sidecar: Sidecar, source: Source, recent: RecentVersions) -> list[tuple[Marker, Place]]:
        present, markers = self.open(sidecar.path, source, recent), sidecar.markers
        if len(source.text) > limits.HERE:  # as in a refresh, a worker compares it: the sidecar on disk is this one
            from postil.comments.index.refresh_worker import locate_apart

            places = {each.marker.id: each.place for each in locate_apart(self, sidecar.path) if each.marker}
            return [(marker, places[marker.id]) for marker in markers if marker.id in places]
        places = locate_all(present, markers, self.old_texts([(sidecar, present)]))
        return list(zip(markers, places, strict=True))


def read_past(versions: FileVersions, steps: Sequence[tuple[str, str]], size: int) -> list[Between]:
    """Returns versions of a file of about that size, by commits and blob ids, as far as they can be had."""
    most = max(2, min(MOST_PAST, LARGEST_PAST // max(1, size)))
    if len(steps) > most:
        steps = [steps[number * (len(steps) - 1) // (most - 1)] for number in range(most)]
    largest = limits.GIT_OBJECT if parses_everything_here() else limits.HERE
    asked = [blob for _, blob in steps if blob]
    texts = versions.read(asked, largest, MOST_VERSIONS) if asked else {}
    return [Between(commit, texts.get(blob, "")) for commit, blob in steps if not blob or blob in texts]


def list_past(
    versions: FileVersions, past: Mapping[str, Sequence[tuple[str, str]]], size: int, blob: str
) -> list[Between]:
    """Returns the versions after one, where their commits and blob ids are known."""
    return read_past(versions, past.get(blob, ()), size)


def list_versions(sidecar: Sidecar, present: PresentSource) -> set[str]:
    """Returns the other versions of a file that its markers were made on, by blob id."""
    return {
        anchor.blob for marker in sidecar.markers if (anchor := current_anchor(marker)) and anchor.blob != present.blob
    }
