"""One sidecar: what it says, and its text after a change. Pure: bytes in, bytes out; times and ids are given.

Written in the extension's dialect. A file of another dialect, or one the reference server damaged, is completed on its
first change: every key it has stays, the keys the extension demands are added. Not here: files, locks, source code.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from msgspec.structs import replace

from postil.comments.failures import refuse_full
from postil.comments.model import Addition, Comment, Marker
from postil.comments.sidecar import dialects
from postil.comments.sidecar.demanded import NewId, finish_comments, finish_markers, rename_twins
from postil.comments.sidecar.json_edit import (
    Document,
    Items,
    JsonObject,
    NotAnObject,
    Piece,
    ReadAnew,
    check_text,
    decode_object,
    new_document,
)
from postil.comments.sidecar.ledger import Ledger, find_position
from postil.comments.sidecar.noted import Noted, Steps, note_change
from postil.core.others.unreadable import UNREADABLE

if TYPE_CHECKING:
    from postil.comments.sidecar.one_by_one import OneByOne

VERSION = "2.1.0"
_OWN_KEYS = frozenset({"file", "version", "ghostMarkers", "comments"})

LARGE = 512 * 1024
"""Bytes of a sidecar of which a larger one is read so. As `limits.COMMENTS_HERE`, which is not of this folder."""
M = TypeVar("M", Comment, Marker)


class LineTexts(NamedTuple):
    """What the extension keeps of a line: its hash and text, and the texts of the lines beside it, trimmed."""

    lineHash: str
    lineText: str
    prevLineText: str = ""
    nextLineText: str = ""

    @classmethod
    def at(cls, lines: Sequence[str], line: int) -> LineTexts:
        """Returns what is kept of a line of a source."""
        from postil.anchor.fingerprint import line_hash  # brings in all that reads sources, which who lists needs not

        before, there, after = (lines[at].strip() if 0 <= at < len(lines) else "" for at in (line - 2, line - 1, line))
        longest = dialects.LONGEST_LINE
        return cls(line_hash(there), there[:longest], before[:longest], after[:longest])


class Sidecar:
    """The comments of one source file. `path` is the source's."""

    def __init__(self, path: str, data: bytes | None) -> None:
        """Read a sidecar, or begin one when there is none. Raises Unreadable when its shape cannot be understood."""
        self.path = path
        self.original = data
        self.changed = self._stale = False
        self._made_on = ""
        self.steps: list[Noted] = []
        self.longest = 0, ""
        """Bytes and id of the longest comment that was written into it."""
        if data is None:
            self._load(new_document({"file": path, "version": VERSION, "ghostMarkers": [], "comments": []}))
            return
        self._load(data.removeprefix(b"\xef\xbb\xbf"))
        try:
            check_text(self._text)
        except NotAnObject as fault:
            raise dialects.Unreadable(str(fault)) from None

    def _load(self, text: bytes) -> None:
        self._text = text
        self._is_complete: bool | None = None
        self._taken_apart: Document | None = None
        self._ledger: Ledger | None = None
        self._large: OneByOne | None = None
        if len(text) > LARGE:
            from postil.comments.sidecar.one_by_one import OneByOne, check_items  # only for large files

            check_items(text)
            self.steps = Steps(self.steps)
            self._large = OneByOne(self._document)
            self._heads = None
            return
        # A file the extension takes is understood by what it demands; the rest of it is read when somebody asks.
        self._heads: dialects.ExtensionFile | None = None
        self._content: dialects.AnyFile | None = None
        try:
            self._heads = dialects.EXTENSION.decode(text)
        except UNREADABLE:
            self._content = dialects.read_any(text)
        self._read_comments: list[Comment] | None = None
        self._read_markers: list[Marker] | None = None
        self._raw_markers: list[dialects.AnyMarker] | None = None

    @property
    def _document(self) -> Document:
        """The file as text that can be changed; reading comments does not need it."""
        if self._taken_apart is None:
            try:
                self._taken_apart = Document(self._text, partial(refuse_full, self.path))
            except NotAnObject as fault:
                raise dialects.Unreadable(str(fault)) from None
        return self._taken_apart

    @property
    def content(self) -> dialects.AnyFile:
        """The whole file in the shape of any dialect; of a large one its names alone."""
        if self._large:
            return self._large.names
        self._reload()
        if self._content is None:
            self._content = dialects.read_any(self._text)
        return self._content

    @property
    def raw_markers(self) -> Sequence[dialects.AnyMarker]:
        """The markers as they are written."""
        if self._large:
            return self._large.raw_markers
        self._reload()
        found = self._raw_markers
        if found is None and self._content is not None:
            found = self._content.ghostMarkers or []
        elif found is None:
            try:
                found = dialects.MARKERS.decode(self._document.raw("ghostMarkers")) or []
            except UNREADABLE as fault:
                raise dialects.Unreadable(f"a field has the wrong type: {fault}") from None
        self._raw_markers = found
        return found

    def is_made_on(self, blob: str) -> bool:
        """Whether every marker was made on this version of the source: then each is where it says."""
        if self._made_on != blob:
            self._made_on = blob if all(_is_made_on(each, blob) for each in self.raw_markers) else ""
        return self._made_on == blob

    @property
    def version(self) -> str | None:
        """The version the file says it has."""
        return self._heads.version if self._heads else self.content.version

    @property
    def comments(self) -> Sequence[Comment]:
        """The comments, in the file's order."""
        if self._large:
            return self._large.comments
        self._reload()
        if self._read_comments is None:
            content = self.content  # before the markers, which are in it
            self._read_comments = dialects.read_comments(content, self.markers)
        return self._read_comments

    @property
    def markers(self) -> Sequence[Marker]:
        """The markers, in the file's order."""
        if self._large:
            return self._large.markers
        self._reload()
        # Both are made when asked for: adding one comment to a file of thousands needs no model of them.
        if self._read_markers is None:
            self._read_markers = [dialects.read_marker(each) for each in self.raw_markers]
        return self._read_markers

    @property
    def writable(self) -> bool:
        """Whether its version is one we know."""
        version = self.version
        return version is None or dialects.KNOWN_VERSION.fullmatch(version) is not None

    @property
    def complete(self) -> bool:
        """Whether the extension takes it as it is."""
        if self._is_complete is None and self._large:
            self._is_complete = self._large.is_complete()
        elif self._is_complete is None:
            heads = self._heads
            self._is_complete = heads is not None and len({each.id for each in heads.comments}) == len(heads.comments)
        return self._is_complete

    def comment(self, comment: str) -> Comment | None:
        """Returns the comment of that id."""
        return _find(self.comments, comment)

    def marker_of(self, comment: Comment) -> Marker | None:
        """Returns the marker that holds a comment."""
        return _find(self.markers, comment.markerId)

    def raw_comment(self, comment: str) -> JsonObject:
        """Returns a comment with every key it has."""
        return decode_object(self._comments.texts[_find_index(self.comments, comment)])

    def raw_marker(self, marker: str) -> JsonObject:
        """Returns a marker with every key it has."""
        return decode_object(self._markers.texts[_find_index(self.markers, marker)])

    def add(self, raw: JsonObject, marker: JsonObject, behind: Collection[object] = ()) -> None:
        """Add a comment under a marker, which takes it in or is added, before what belongs `behind` it."""
        self._reload()
        markers, known = self.raw_markers, self._list_lines()
        held = next((index for index, each in enumerate(markers) if each.id == marker["id"]), -1)
        if held >= 0:
            here, names = decode_object(self._markers.texts[held]), list(markers[held].commentIds or ())
            at = next((index for index, name in enumerate(names) if name in behind), len(names))
            self._markers.replace(held, {**here, "commentIds": [*names[:at], str(raw["id"]), *names[at:]]})
        else:
            at = find_position([each.line for each in markers], _integer(marker["line"]))
            self._markers.insert(at, marker)
        at = find_position([line for _, line in known], _integer(raw["line"]))
        at = next((index for index, (name, _) in enumerate(known[:at]) if name in behind), at)
        size = self._comments.insert(at, {**raw, "ghostMarkerId": marker["id"]})
        self.longest = max(self.longest, (size, str(raw["id"])))
        self.steps.append(Noted(str(raw["id"]), raw, marker))
        self._touch()

    def add_all(self, additions: Sequence[Addition]) -> list[str]:
        """Add comments, each under the marker that its lines have or a new one. Returns the ids of their markers.

        One that is here already stays as it is: its writer died before it could say so.
        """
        ledger = self._ledger
        if ledger is None:
            self._reload()
            ledger = Ledger(self._list_lines(), self.raw_markers)
        markers, comments = self._document.items("ghostMarkers"), self._document.items("comments")
        answers: list[str] = []
        grown: set[int] = set()
        for each in additions:
            comment, marker = each.comment, each.marker
            if comment.id in ledger.known:
                answers.append(ledger.holder(comment.id))
                continue
            spot = (marker.line, marker.endLine or 0, marker.lineText)
            hung = ledger.find(spot)
            if hung:
                hung.comments.append(comment.id)
                grown.add(id(hung))
                name = hung.marker
            else:
                name = marker.id
                markers.insert(ledger.mark(spot, name, comment.id), replace(marker, commentIds=(comment.id,)))
            answers.append(name)
            self.steps.append(Noted(comment.id, comment, marker))
            comments.insert(ledger.place(comment.id, marker.line), replace(comment, ghostMarkerId=name))
        for at, hung in enumerate(ledger.hung) if grown else ():  # each is written once, whatever hangs on it
            if id(hung) in grown:
                markers.replace(at, {**decode_object(markers.texts[at]), "commentIds": hung.comments})
        made_on = self._made_on
        self._touch()
        # As long as nothing else changes, the next additions need not read the file again.
        self._ledger = ledger
        self._made_on = made_on if all(each.blob == made_on for each in additions) else ""
        return answers

    def add_bare(self, raw: JsonObject) -> None:
        """Add a comment that has no marker, at the end; `finish` gives it one."""
        self._reload()
        self._comments.insert(len(self._comments), raw)
        self.steps.append(Noted(str(raw.get("id")), raw))
        self._touch()

    def change(
        self, comment: str, values: JsonObject, drop: tuple[str, ...] = (), *, undoes: bool = False, reply: str = ""
    ) -> None:
        """Set some keys of a comment and take some away; the others stay as they are. `reply`: the one it is about."""
        at = _find_index(self.comments, comment)
        size = len(self._comments.texts[at])
        raw = decode_object(self._comments.texts[at])
        new = {key: value for key, value in raw.items() if key not in drop} | values
        self.longest = max(self.longest, (self._comments.replace(at, new), comment))
        self.steps.append(note_change(comment, raw, new, size, undoes=undoes, reply=reply))
        heads = self._heads
        self._touch(hangs_as_before=True)
        if heads is not None and new.get("id") == comment:
            self._read_one(heads, at, self._document.items("comments").texts[at])

    def _read_one(self, heads: dialects.ExtensionFile, at: int, text: Piece) -> None:
        """Read the one comment that changed: the others need not be read again, unless the extension demands more."""
        content, known = self._content, self._read_comments
        try:
            head, raw = dialects.HEAD.decode(text), dialects.COMMENT.decode(text)
        except UNREADABLE:
            return
        if content is None or content.comments is None or known is None or len(self.original or b"") > LARGE:
            return
        heads.comments[at], content.comments[at] = head, raw
        read = dialects.read_comment(raw, dialects.find_holder(raw, self._read_markers or ()))
        self._read_comments = [*known[:at], read, *known[at + 1 :]]  # who has the list sees what was
        self._stale = False

    def change_marker(self, marker: str, values: JsonObject) -> None:
        """Set some keys of a marker; a key set to None that was never there stays away."""
        raw = self.raw_marker(marker)
        new = {key: value for key, value in values.items() if value is not None or key in raw}
        if "endLine" in new and new["endLine"] is None:
            del new["endLine"]
            raw.pop("endLine", None)
        at = _find_index(self.markers, marker)
        self._markers.replace(at, {**raw, **new})
        self._touch(hangs_as_before="commentIds" not in new)
        if self._large:
            self._large.move_holder(at)

    def hang(self, comment: str, old: str, marker: JsonObject) -> None:
        """Take a comment from its old marker to another one, which is added if it is not here."""
        self._take_off(comment, (old,))
        found = next((index for index, each in enumerate(self.markers) if each.id == marker["id"]), -1)
        if found < 0:
            at = find_position([each.line for each in self.markers], _integer(marker["line"]))
            self._markers.insert(at, {**marker, "commentIds": [comment]})
        elif comment not in self.markers[found].commentIds:
            held = [*self.markers[found].commentIds, comment]
            self._markers.replace(found, {**decode_object(self._markers.texts[found]), "commentIds": held})
        self._touch()

    def remove(self, comment: str) -> None:
        """Take a comment out, and its marker when it holds no other."""
        self._comments.remove(_find_index(self.comments, comment))
        self.steps.append(Noted(comment))
        self._take_off(comment, [each.id for each in self.markers])

    def _take_off(self, comment: str, named: Sequence[str]) -> None:
        """Take a comment off these markers; one on which nothing hangs then is gone."""
        markers = self.markers
        # From the end, so that the places of those still to be looked at stay what they are.
        for index in range(len(self._markers) - 1, -1, -1):
            held = markers[index].commentIds
            if comment not in held or markers[index].id not in named:
                continue
            left = [each for each in held if each != comment]
            if left:
                self._markers.replace(index, {**decode_object(self._markers.texts[index]), "commentIds": left})
            else:
                self._markers.remove(index)
        self._touch()

    def finish(self, texts_of: Callable[[int], LineTexts], now: str, new_id: NewId) -> None:
        """Add what the extension demands and the file lacks. `texts_of` returns what is kept of a line."""
        if self.complete:
            return
        if not isinstance(self._document.value("file"), str):
            self._document.set("file", self.path)
        if not isinstance(self._document.value("version"), str):
            self._document.set("version", VERSION)
        self._touch()
        rename_twins(self._comments, self._markers, lambda: [each.commentIds for each in self.markers], new_id)
        self._touch()
        lines = {each.id: max(each.line, 1) for each in reversed(self.raw_markers)}
        finish_markers(self.markers, self._markers, texts_of, now)
        made = finish_comments(self.comments, self._comments, lines, texts_of, now, new_id)
        for new in made:
            self._markers.insert(len(self._markers), new)
        self._touch()

    def lists(self) -> tuple[Items, Items]:
        """Returns the comments and the markers as they are written, for who changes very many of them."""
        return self._comments, self._markers

    def name_source(self) -> None:
        """Say whose sidecar this is, when the source was renamed; a folder may be counted from elsewhere and stays."""
        named = self._document.value("file")
        if isinstance(named, str) and named.replace("\\", "/").rsplit("/", 1)[-1] != self.path.rsplit("/", 1)[-1]:
            self._document.set("file", self.path)
            self._touch()

    def text(self) -> bytes:
        """Returns the file as it is to be written."""
        return self._document.text() if self._taken_apart else self._text

    def pieces(self) -> Sequence[bytes | memoryview]:
        """Returns the same in pieces, so that nobody holds a large file twice."""
        return self._document.pieces() if self._taken_apart else [self._text]

    @property
    def _comments(self) -> Items:
        self._reload()
        return self._document.items("comments")

    @property
    def _markers(self) -> Items:
        self._reload()
        return self._document.items("ghostMarkers")

    def _list_lines(self) -> list[tuple[str, int]]:
        """Returns the id and the line of each comment."""
        if self._large:
            return self._large.list_lines()
        comments = self._heads.comments if self._heads else self.content.comments or []
        return [(each.id, each.line or 0) for each in comments]

    def _touch(self, *, hangs_as_before: bool = False) -> None:
        self._stale = self.changed = True
        self._ledger, self._made_on = None, ""
        if self._large:
            self._is_complete = None
            if not hangs_as_before:
                self._large.forget_holders()

    def _reload(self) -> None:
        """Read what the text says now, so that the next change sees the last one."""
        if self._stale and not self._large:
            self._stale = False
            self._load(self._document.text())


def place_comment(sidecar: Sidecar, comment: str, line: int, end: int = 0) -> None:
    """Say on a comment itself where it is, too, as far as it says so at all: other programs read that."""
    if sidecar.comment(comment) is None:
        return
    raw = sidecar.raw_comment(comment)
    values: JsonObject = {key: line for key in ("line", "startLine") if key in raw}
    if end and "endLine" in raw:
        values["endLine"] = end
    if any(raw[key] != value for key, value in values.items()):
        sidecar.change(comment, values)


def is_emptied(sidecar: Sidecar) -> bool:
    """Whether the last comment was taken out of a sidecar that says nothing else: then the file goes, too."""
    if not sidecar.changed or sidecar.original is None or sidecar.comments or sidecar.markers:
        return False
    return Document(sidecar.text()).keys() <= _OWN_KEYS


def _is_made_on(marker: dialects.AnyMarker, blob: str) -> bool:
    own = marker.read_own()
    return own is not None and own.blob == blob and own.line == marker.line


def _find(among: Sequence[M], wanted: str) -> M | None:
    if isinstance(among, ReadAnew):
        return among[at] if (at := among.find(wanted)) >= 0 else None
    return next((each for each in among if each.id == wanted), None)


def _find_index(among: Sequence[Comment] | Sequence[Marker], wanted: str) -> int:
    if isinstance(among, ReadAnew):
        return among.find(wanted)
    return next(index for index, each in enumerate(among) if each.id == wanted)


def _integer(value: object) -> int:
    assert isinstance(value, int)
    return value
