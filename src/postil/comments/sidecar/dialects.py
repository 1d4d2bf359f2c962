"""The shapes sidecars have in the wild, read into one model. By shape, not by version.

A  the extension: `file`, comments with `line`, markers with `commentIds` and hashes (1.0 to 2.1.0)
B  the reference server: `filePath`, comments without `line`, markers with one `commentId` and a symbol's name
C  the playground: `fileName`, comments with `timestamp`, no markers

A file may be a mixture (the reference server appends its shape to the extension's files). Only reading here.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, TypeVar, cast

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, field

from postil.comments.model import (
    COPY_OF,
    EDITED_BY,
    REVISIONS,
    AiMeta,
    Anchor,
    Comment,
    LineNumber,
    Marker,
    Param,
    Reply,
    Revision,
    Status,
)
from postil.core.others.number import read_float
from postil.core.others.one_line import on_one_line
from postil.core.others.unreadable import UNREADABLE

OWN_KEY = "x-anchor"
"""What we keep on a marker."""
LONGEST_LINE = 2000
"""So much of a line is kept beside its hash: a minified file must not be copied into its sidecar."""
LONGEST_ID = 1024
"""Characters of the id of another comment: a longer one names none."""
KNOWN_VERSION = re.compile(r"(1\.0|2\.0|2\.1)(\.\d+)?")
"""The versions that we may write: a newer one may mean something that we would destroy."""
_NOTHING = Raw(b"null")
_TOLD = ("model", "confidence", "reasoning", "enrichedAt")
_STATUSES: dict[str, Status] = {"resolved": "resolved", "wontfix": "wontfix", "open": "open"}


class Unreadable(ValueError):
    """The file's shape cannot be understood; the sentence says why."""


class AnyReply(Struct, frozen=True):
    text: str
    id: str = ""
    author: str | None = None
    created: str | None = None


class AnyRevision(Struct, frozen=True):
    text: str
    author: str = ""
    at: str = ""


class _Comment(Struct, frozen=True, kw_only=True):
    """What may be left out of a comment; a field of the wrong type makes the file unreadable."""

    id: str
    text: str
    timestamp: str | None = None
    startLine: LineNumber | None = None
    endLine: LineNumber | None = None
    ghostMarkerId: str | None = None
    tag: str | None = None
    status: str | None = None
    resolvedBy: str | None = None
    resolvedAt: str | None = None
    replies: list[AnyReply] | None = None
    revisions: list[AnyRevision] | None = field(default=None, name=REVISIONS)
    editedBy: str | None = field(default=None, name=EDITED_BY)
    copyOf: object = field(default=None, name=COPY_OF)


class AnyComment(_Comment, frozen=True, kw_only=True):
    """A comment of any dialect."""

    line: LineNumber | None = None
    author: str | None = None
    created: str | None = None
    updated: str | None = None
    aiMeta: object = None
    params: object = None


class ExtensionComment(_Comment, frozen=True, kw_only=True):
    """What the extension demands of a comment."""

    line: LineNumber
    author: str
    created: str
    updated: str


class AnySymbol(Struct, frozen=True):
    symbolPath: list[str] = []
    symbolKind: str = ""
    offset: object = None


class _Marker(Struct, frozen=True, kw_only=True):
    """What may be left out of a marker."""

    id: str
    line: LineNumber
    commentId: str | None = None
    endLine: LineNumber | None = None
    astAnchor: AnySymbol | None = None
    anchor: str | None = None
    anchorType: str | None = None


class Own(Struct, frozen=True):
    """What is asked of our data on a marker before all of it is read."""

    blob: str = ""
    line: int = 0
    wrote: Raw | UnsetType = UNSET


class AnyMarker(_Marker, frozen=True, kw_only=True):
    """A marker of any dialect."""

    commentIds: list[str] | None = None
    lineText: str | None = None
    prevLineText: str | None = None
    nextLineText: str | None = None
    lineHash: str | None = None
    lastVerified: str | None = None
    own: Raw = field(default=_NOTHING, name=OWN_KEY)
    """What we keep on it, as it is written: what another program writes there need not be readable."""

    def read_own(self) -> Own | None:
        """Returns a little of it, where there is any."""
        try:
            return _decode_own(self.own)
        except UNREADABLE:
            return None


class ExtensionMarker(_Marker, frozen=True, kw_only=True):
    """What the extension demands of a marker."""

    commentIds: list[str]
    lineText: str
    prevLineText: str
    nextLineText: str
    lineHash: str
    lastVerified: str


class AnyFile(Struct, frozen=True):
    """A whole sidecar of any dialect."""

    file: str | None = None
    filePath: str | None = None
    fileName: str | None = None
    version: str | None = None
    comments: list[AnyComment] | None = None
    ghostMarkers: list[AnyMarker] | None = None


class Outline(Struct, frozen=True):
    """The same, each comment and marker as it is written."""

    file: str | None = None
    filePath: str | None = None
    fileName: str | None = None
    version: str | None = None
    comments: list[Raw] | None = None
    ghostMarkers: list[Raw] | None = None


F = TypeVar("F", AnyFile, Outline)


class ExtensionFile(Struct, frozen=True):
    """What the extension demands of a sidecar; one that lacks any of it is refused there as a whole."""

    file: str
    version: str
    comments: list[ExtensionComment]
    ghostMarkers: list[ExtensionMarker] = []
    filePath: str | None = None
    fileName: str | None = None


EXTENSION = msgspec.json.Decoder(ExtensionFile, float_hook=read_float)
"""Decodes what the extension demands of a file; UNREADABLE is raised when it lacks something of it."""
HEAD = msgspec.json.Decoder(ExtensionComment, float_hook=read_float)
COMMENT = msgspec.json.Decoder(AnyComment, float_hook=read_float)
_decode_own = msgspec.json.Decoder(Own | None, float_hook=read_float).decode
_decode_anchor = msgspec.json.Decoder(Anchor | None, float_hook=read_float).decode
_FILE = msgspec.json.Decoder(AnyFile, float_hook=read_float)
_OUTLINE = msgspec.json.Decoder(Outline, float_hook=read_float)


def read_any(data: bytes) -> AnyFile:
    """Returns the file, whatever its dialect. Raises Unreadable when it has none."""
    return _read_file(data, _FILE)


def read_outline(data: bytes) -> Outline:
    """Returns a large file as far as it is no comment or marker. Raises Unreadable."""
    return _read_file(data, _OUTLINE)


def _read_file(data: bytes, decoder: msgspec.json.Decoder[F]) -> F:
    if not data.strip():
        raise Unreadable("the file is empty")
    if b"<<<<<<< " in data and re.search(rb"^<<<<<<< ", data, re.MULTILINE) and b"\n>>>>>>> " in data:
        raise Unreadable("the file has unresolved merge conflict markers")
    try:
        found = decoder.decode(data.removeprefix(b"\xef\xbb\xbf"))
    except msgspec.ValidationError as fault:
        raise Unreadable(f"a field has the wrong type: {fault}") from None
    except RecursionError:
        raise Unreadable("the file is nested too deeply") from None
    except UNREADABLE as fault:
        raise Unreadable(f"the file is not JSON: {fault}") from None
    if found.comments is None and found.version is None:
        raise Unreadable("the file has neither comments nor a version")
    return found


def trim_line(line: str) -> str:
    """Returns what a marker keeps of a line."""
    return line.strip()[:LONGEST_LINE]


class Holder(NamedTuple):
    """What a comment has to know of its marker."""

    id: str
    line: int


MARKERS: msgspec.json.Decoder[list[AnyMarker] | None] = msgspec.json.Decoder(
    list[AnyMarker] | None, float_hook=read_float
)
"""Decodes a list of markers of any dialect."""


def read_comments(found: AnyFile, markers: Sequence[Marker]) -> list[Comment]:
    """Returns the comments, in the file's order, each with the marker that holds it."""
    first: dict[str, Holder] = {}
    named: dict[str, Holder] = {}
    holding: set[tuple[str, str]] = set()
    for marker in markers:
        holder = Holder(marker.id, marker.line)
        named.setdefault(marker.id, holder)
        for comment in marker.commentIds:
            if first.setdefault(comment, holder) is not holder:
                holding.add((comment, marker.id))
    return [read_comment(each, _find_own(each, first, named, holding)) for each in found.comments or ()]


def _find_own(
    raw: AnyComment, first: Mapping[str, Holder], named: Mapping[str, Holder], holding: Collection[tuple[str, str]]
) -> Holder | None:
    # The extension makes a second marker when a marked line is pasted: the comment's own one counts.
    own = raw.ghostMarkerId
    if own is not None and (raw.id not in first or (raw.id, own) in holding):
        return named.get(own)
    return first.get(raw.id)


def find_holder(raw: AnyComment, markers: Sequence[Marker]) -> Holder | None:
    """Returns the marker that one comment hangs on; `read_comments` finds those of all at once."""
    naming = [each for each in markers if raw.id in each.commentIds]
    own = next((each for each in naming or markers if each.id == raw.ghostMarkerId), naming[0] if naming else None)
    return Holder(own.id, own.line) if own else None


def read_comment(raw: AnyComment, own: Holder | None) -> Comment:
    """Returns a comment; `own` is the marker that it hangs on."""
    created, author, tag = raw.created or raw.timestamp or raw.updated or "", raw.author or "unknown", raw.tag or ""
    resolver, editor = raw.resolvedBy or "", raw.editedBy or ""
    if not f"{created}{author}{tag}{resolver}{editor}".isprintable():
        created, author, tag, resolver, editor = map(on_one_line, (created, author, tag, resolver, editor))
    line = max(raw.line or raw.startLine or (own.line if own else 1), 1)
    return Comment(
        id=raw.id,
        text=raw.text,
        author=author,
        created=created,
        updated=raw.updated or created,
        tag=tag if raw.tag else None,
        line=line,
        endLine=max(raw.endLine or 0, 0),
        status=_STATUSES.get(raw.status or "open", "open"),
        resolvedBy=resolver,
        resolvedAt=raw.resolvedAt or "",
        replies=_read_replies(raw.replies) if raw.replies else (),
        aiMeta=_read_ai_meta(raw.aiMeta),
        params=_read_params(raw.params) if raw.params else {},
        markerId=own.id if own else "",
        revisions=tuple([Revision(r.text, r.author, r.at) for r in raw.revisions]) if raw.revisions else (),
        editedBy=editor,
        copyOf=raw.copyOf if isinstance(raw.copyOf, str) and len(raw.copyOf) <= LONGEST_ID else "",
    )


def _read_replies(some: Sequence[AnyReply]) -> tuple[Reply, ...]:
    found = [Reply(each.id, each.text, each.author or "unknown", each.created or "") for each in some]
    if "".join([f"{each.author}{each.created}" for each in found]).isprintable():
        return tuple(found)
    return tuple([Reply(each.id, each.text, on_one_line(each.author), on_one_line(each.created)) for each in found])


def read_marker(raw: AnyMarker) -> Marker:
    """Returns a marker."""
    symbol = raw.astAnchor or AnySymbol([raw.anchor] if raw.anchor else [], (raw.anchorType or "").capitalize())
    ids = raw.commentIds if raw.commentIds is not None else [raw.commentId] if raw.commentId else []
    line, end, anchor = max(raw.line, 1), max(raw.endLine or 0, 0), _read_anchor(raw.own)
    if anchor and end and end == anchor.end and line != anchor.line:
        end = line + max(0, anchor.end - anchor.line)  # the extension took the first line elsewhere, and only that
    return Marker(
        id=raw.id,
        line=line,
        commentIds=tuple(ids),
        endLine=end,
        symbolPath=tuple(symbol.symbolPath),
        symbolKind=symbol.symbolKind,
        lineText=trim_line(raw.lineText or ""),
        prevLineText=trim_line(raw.prevLineText or ""),
        nextLineText=trim_line(raw.nextLineText or ""),
        lastVerified=raw.lastVerified or "",
        anchor=anchor,
        offset=symbol.offset if isinstance(symbol.offset, int) else 0,
    )


def _read_anchor(raw: Raw) -> Anchor | None:
    """Our data on a marker; another program's under the same key, or a newer one of ours, is left alone."""
    try:
        found = _decode_anchor(raw)
    except UNREADABLE:
        return None
    return found if found and found.v == 1 else None


def _read_params(raw: object) -> dict[str, Param]:
    """Returns the parameters a comment keeps; what is not one is left out."""
    found: dict[str, Param] = {}
    for name, each in cast("dict[str, object]", raw).items() if isinstance(raw, dict) else ():
        if isinstance(each, dict):
            values = cast("dict[str, object]", each)
            value, source = values.get("value"), values.get("source")
            found[name] = Param("" if value is None else str(value), source if isinstance(source, str) else "")
    return found


def _read_ai_meta(raw: object) -> AiMeta | None:
    """Returns what an assistant says of its comment, whole; the playground's other meaning of `aiMeta` counts, too."""
    if not isinstance(raw, dict) or not raw:
        return None
    values = cast(AiMeta, raw)
    try:
        msgspec.msgpack.encode(values)
    except (OverflowError, RecursionError):  # a number no cache holds: the sidecar keeps it, answers go without
        return {key: value for key in _TOLD if isinstance(value := values.get(key), str | float)}
    return values


def find_id(raw: object, kind: type[AnyComment | AnyMarker]) -> str:
    """Returns the id of a comment or marker; nothing where it is none."""
    try:
        return msgspec.json.decode(msgspec.json.encode(raw), type=kind).id
    except (msgspec.MsgspecError, OverflowError, RecursionError):
        return ""
