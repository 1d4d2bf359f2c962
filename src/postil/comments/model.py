"""What comments are made of: the comment, its marker, its anchor, and how both stand in the code now. No behaviour."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType, field

State: TypeAlias = Literal["exact", "moved", "modified", "review", "orphaned"]
AiMeta: TypeAlias = dict[str, Any]
"""What an assistant says about its own comment: model, confidence, reasoning, enrichedAt, and whatever else."""
LineNumber: TypeAlias = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
"""A number that a file of another program may hold as a line, and every cache as a number."""
Status: TypeAlias = Literal["open", "resolved", "wontfix"]

TAGS = ("TODO", "FIXME", "NOTE", "STAR", "QUESTION")
"""The tags of the contract, in its order."""
ALL_TAGS = (*TAGS, "HACK", "WARNING")
"""The extension knows two more."""

LONGEST_TEXT = 10_000
LONGEST_PATH = 500
LONGEST_AUTHOR = 100
LIKELY = 0.05
"""How sure a place must be to be offered to who has to decide; code that has no such place is gone."""


class Param(Struct, frozen=True):
    """What `${name}` in a text stands for: a value, and where it comes from."""

    value: str
    source: str = ""


class Reply(Struct, frozen=True, omit_defaults=True):
    """One answer in a thread."""

    id: str
    text: str
    author: str
    created: str


class Revision(Struct, frozen=True, omit_defaults=True):
    """What a comment said before, or says on another branch."""

    text: str
    author: str = ""
    at: str = ""


EDITED_BY = "x-editedBy"
"""The key of a comment that says whose words it has, where they are not its author's."""
REVISIONS = "x-revisions"
"""The key of a comment with the other words that it got on another branch, or has had."""
COPY_OF = "x-copy-of"
"""The key of a comment that says which one it repeats."""


class Comment(Struct, frozen=True):
    """A comment as a sidecar holds it, whatever the dialect."""

    id: str
    text: str
    author: str
    created: str
    updated: str
    tag: str | None = None
    line: int = 0
    """Where it was made; the marker says where it is."""
    endLine: int = 0
    status: Status = "open"
    resolvedBy: str = ""
    resolvedAt: str = ""
    replies: tuple[Reply, ...] = ()
    aiMeta: AiMeta | None = None
    params: dict[str, Param] = {}
    markerId: str = ""
    revisions: tuple[Revision, ...] = ()
    editedBy: str = ""
    """Whose words these are, where they are not the author's any more."""
    copyOf: str = ""
    """The comment that this one repeats."""

    @property
    def signed(self) -> str:
        """Its author, and whose words it has where those are another's."""
        return sign_words(self.author, self.editedBy)


def sign_words(author: str, edited_by: str) -> str:
    """Returns the author of a comment, and whose words it has where those are another's."""
    return f"{author}, edited by {edited_by}" if edited_by else author


class Event(Struct, frozen=True, omit_defaults=True):
    """One step in the life of an anchor: where it was, what happened, and when."""

    at: str
    state: State
    path: str = ""
    line: LineNumber = 0
    end: LineNumber = 0
    blob: str = ""
    confidence: float = 1.0
    reason: str = ""
    comment: str = ""
    """The one comment that left; empty when all of the marker went together."""
    texts: tuple[str, ...] = ()
    """The line and its neighbours, where the marker knew no version of the source."""


class Anchor(Struct, frozen=True, omit_defaults=True):
    """Our own data on a marker (`x-anchor`): the exact version of the source it was made on."""

    v: LineNumber = 1
    blob: str = ""
    """The git blob id of the source when the marker was last renewed: the whole old file can be had from git."""
    line: LineNumber = 0
    end: LineNumber = 0
    pre: tuple[str, ...] = ()
    post: tuple[str, ...] = ()
    """The lines around, for when the old file cannot be had."""
    above: str = ""
    below: str = ""
    """Codes of the lines beyond those: see anchoring/line_codes.py."""
    body: tuple[str, ...] = ()
    """The lines of the range after the first."""
    wrote: tuple[str, ...] = ()
    """The code when somebody last said what it is about, where it was edited since: what staleness is judged by."""
    history: tuple[Event, ...] = ()


class Marker(Struct, frozen=True):
    """Where comments are tied to the code, as a sidecar holds it."""

    id: str
    line: int
    commentIds: tuple[str, ...]
    endLine: int = 0
    symbolPath: tuple[str, ...] = ()
    symbolKind: str = ""
    lineText: str = ""
    prevLineText: str = ""
    nextLineText: str = ""
    lastVerified: str = ""
    anchor: Anchor | None = None
    offset: int = 0
    """Lines from where its symbol begins."""


class SymbolAnchor(Struct, frozen=True):
    """The extension's `astAnchor`: the symbol a marker stands in, its kind by VS Code's name."""

    symbolPath: tuple[str, ...]
    symbolKind: str
    containerName: str | None
    offset: int
    """Lines from the symbol's first line."""


class NewMarker(Struct, frozen=True, kw_only=True):
    """A marker that is not in a sidecar yet, with the keys it will be written with, in their order."""

    id: str
    line: int
    commentIds: tuple[str, ...] = ()
    endLine: int | UnsetType = UNSET
    astAnchor: SymbolAnchor | UnsetType | None = UNSET
    lineHash: str
    lineText: str
    prevLineText: str
    nextLineText: str
    lastVerified: str
    anchor: Anchor | UnsetType = field(default=UNSET, name="x-anchor")


class NewComment(Struct, frozen=True, kw_only=True):
    """A comment that is not in a sidecar yet, with the keys it will be written with, in their order."""

    id: str
    line: int
    text: str
    author: str
    created: str
    updated: str
    startLine: int
    endLine: int | UnsetType = UNSET
    ghostMarkerId: str = ""
    tag: str | None = None
    status: Status = "open"
    resolvedBy: str | UnsetType = UNSET
    resolvedAt: str | UnsetType = UNSET
    replies: tuple[Reply, ...] | UnsetType = UNSET
    revisions: tuple[Revision, ...] | UnsetType = field(default=UNSET, name=REVISIONS)
    editedBy: str | UnsetType = field(default=UNSET, name=EDITED_BY)
    copyOf: str | UnsetType = field(default=UNSET, name=COPY_OF)
    """The comment that this one repeats."""
    aiMeta: AiMeta | UnsetType = UNSET
    params: dict[str, NewParam] | UnsetType = UNSET


class NewParam(Struct, frozen=True):
    """What `${name}` in a new text stands for."""

    value: str
    type: Literal["dynamic"]
    source: str


class Addition(Struct, frozen=True):
    """A comment to add, on one version of its source, and the marker it gets unless its lines have one."""

    blob: str
    comment: NewComment
    marker: NewMarker


class Candidate(Struct, frozen=True, omit_defaults=True):
    """A place the code may be at now."""

    path: str
    line: int
    confidence: float
    text: str
    endLine: int = 0
    inside: str = ""
    """The function or class it is in, where that was asked for."""
    around: tuple[str, ...] = ()
    """The lines from the one above it to the one below, where they were asked for: what tells it from another."""


class Before(Struct, frozen=True, omit_defaults=True):
    """The code that a lost comment was tied to."""

    line: int
    code: tuple[str, ...]
    inside: str = ""
    """The function or class it was in."""
    above: tuple[str, ...] = ()
    """The line above it, and below it, where they are known."""
    below: tuple[str, ...] = ()


class Commit(Struct, frozen=True):
    """A commit that moved, changed or deleted the code."""

    id: str
    author: str
    date: str
    subject: str


class Place(Struct, frozen=True, omit_defaults=True):
    """Where a marker is now, how sure that is, and why."""

    state: State
    path: str
    line: int
    endLine: int = 0
    confidence: float = 1.0
    reason: str = ""
    oldText: str = ""
    newText: str = ""
    symbolPath: tuple[str, ...] = ()
    symbolKind: str = ""
    candidates: tuple[Candidate, ...] = ()
    stale: bool = False
    """The code under it changed in substance since the comment was written."""


class Located(Struct, frozen=True):
    """A comment together with where it is."""

    comment: Comment
    marker: Marker | None
    place: Place
    filePath: str
    """The source whose sidecar holds the comment."""
    cut: bool = False
    """The cache does not hold all that it says; the sidecar does."""


class OtherFile(Struct, frozen=True):
    """A file that lost code may have gone to: as it is now, and what it held when the comment knew its own file."""

    path: str
    text: str
    before: frozenset[str] = frozenset()
    """Its lines then, without their whitespace; none where it was not there."""
    common: frozenset[str] = frozenset()
    """Lines, without their whitespace, that several other files hold, and held then."""
    renamed: bool = False
    """It is what the comment's own file became, as much of it is there."""
    sure: bool = False
    """It became that beyond doubt: to the byte, or its name changed in case alone."""
    swapped: bool = False
    """It has the comment's own file whole, whose name was given to another one: what knew that very file goes along."""
    replaced: bool = False
    """The comment's own file holds, to the byte, what was given its name: whatever knew another version goes along."""
    exchanged: bool = False
    """It seems to have taken the name of the comment's own file, which took its own, and both were edited since."""
    unknown: bool = False
    """What it held before is not known: it may be a copy of the comment's own file as well."""
    copied: bool = False
    """The comment's own file is a copy of it now: what looks edited may be other code."""
    former: frozenset[str] = frozenset()
    """The versions, by blob id, of the comment's own file that went along when a commit renamed it to this one."""


class Damage(Struct, frozen=True, omit_defaults=True):
    """A sidecar that could not be read, and what was seen."""

    filePath: str
    problem: str
    fixed: str = field(default="")
