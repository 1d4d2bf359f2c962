"""What the operations answer: structs for programs, with the texts of the contract for people and models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from msgspec import UNSET, Struct, UnsetType

from postil.comments.model import ALL_TAGS, AiMeta, Candidate, Commit, Damage, Placed, Reply, Revision, State, Status
from postil.comments.sidecar.format import without_tag
from postil.comments.sidecar.template import filled
from postil.core.content import Block, Document, Embedded

LONGEST_CODE = 20_000

Given: TypeAlias = dict[str, object]


class CommentNow(Struct, frozen=True, omit_defaults=True):
    """A comment and where it stands in the code now."""

    id: str
    filePath: str
    line: int
    text: str
    author: str
    created: str
    updated: str
    state: State
    tag: str | None = None
    endLine: int = 0
    status: Status = "open"
    confidence: float = 1.0
    reason: str = ""
    anchor: str = ""
    """What it hangs on, in words: `validatePassword()`, `AuthService class`, `line 12`."""
    movedTo: str = ""
    """The file the code is in now, when it is another one."""
    stale: bool = False
    oldText: str = ""
    newText: str = ""
    candidates: tuple[Candidate, ...] = ()
    replies: tuple[Reply, ...] = ()
    resolvedBy: str = ""
    resolvedAt: str = ""
    aiMeta: AiMeta | None = None
    markerId: str = ""
    revisions: tuple[Revision, ...] = ()
    commit: Commit | None = None
    """The commit that moved, changed or deleted the code, where it was asked for."""
    shown: str = ""
    """The text with its parameters filled in, when it has any."""

    @property
    def lines(self) -> str:
        """`42`, or `42-50` of a range."""
        return f"{self.line}-{self.endLine}" if self.endLine > self.line else str(self.line)

    @property
    def said(self) -> str:
        """The text as people read it."""
        return self.shown or self.text

    @property
    def model(self) -> str:
        """The assistant that made it, when it says so."""
        named = (self.aiMeta or {}).get("model")
        return named if isinstance(named, str) else ""

    @property
    def sureness(self) -> float | None:
        """How sure the assistant was."""
        given = (self.aiMeta or {}).get("confidence")
        return float(given) if isinstance(given, int | float) else None


def comment_now(placed: Placed, *, commit: Commit | None = None) -> CommentNow:
    """The public shape of a comment in its place."""
    comment, place = placed.comment, placed.place
    said = filled(comment.text, comment.params, place)
    return CommentNow(
        id=comment.id,
        filePath=placed.filePath,
        line=place.line,
        endLine=place.endLine,
        text=comment.text,
        author=comment.author,
        created=comment.created,
        updated=comment.updated,
        tag=comment.tag,
        status=comment.status,
        state=place.state,
        confidence=place.confidence,
        reason=place.reason,
        anchor=anchor_words(place.symbolPath, place.symbolKind, place.line),
        movedTo=place.path if place.path != placed.filePath else "",
        stale=place.stale,
        oldText=_shortened(place.oldText) if place.state != "exact" else "",
        newText=_shortened(place.newText),
        candidates=place.candidates,
        replies=comment.replies,
        resolvedBy=comment.resolvedBy,
        resolvedAt=comment.resolvedAt,
        aiMeta=comment.aiMeta,
        markerId=comment.markerId,
        revisions=comment.revisions,
        commit=commit,
        shown=said if said != comment.text else "",
    )


def _shortened(code: str) -> str:
    """Code as an answer carries it: the one line of a minified file can be megabytes."""
    return code if len(code) <= LONGEST_CODE else code[:LONGEST_CODE] + "…"


def anchor_words(path: tuple[str, ...], kind: str, line: int, *, containers: bool = False) -> str:
    """What a comment hangs on, in words."""
    if not path:
        return f"line {line}"
    from postil.anchor.model import Span
    from postil.anchor.syntax.symbols import Symbol

    symbol = Symbol(path[-1], kind.lower() or "symbol", Span(line), path[:-1])
    return symbol.label if containers else symbol.short


class Added(Struct, frozen=True, omit_defaults=True):
    """A new comment."""

    commentId: str
    ghostMarkerId: str
    filePath: str
    line: int
    tag: str | None
    anchoredTo: str
    endLine: int = 0
    warning: str = ""

    def text(self) -> str:
        tag = f"\nTag: {self.tag}" if self.tag else ""
        warning = f"\n\n⚠️ {self.warning}" if self.warning else ""
        lines = f"{self.line}-{self.endLine}" if self.endLine else str(self.line)
        return (
            f"✅ Comment added successfully\n\nComment ID: {self.commentId}\nGhost Marker ID: {self.ghostMarkerId}\n"
            f"File: {self.filePath}:{lines}{tag}\n\n"
            f"The comment has been anchored to {self.anchoredTo} and will track code changes.{warning}"
        )


class Edited(Struct, frozen=True):
    """A comment with another text."""

    commentId: str
    filePath: str
    updated: str
    tag: str | None = None

    def text(self) -> str:
        return (
            f"✅ Comment edited successfully\n\nComment ID: {self.commentId}\nFile: {self.filePath}\n"
            f"Updated: {self.updated}"
        )


class Deleted(Struct, frozen=True):
    """A comment that is gone."""

    commentId: str
    filePath: str

    def text(self) -> str:
        return f"✅ Comment deleted\n\nComment ID: {self.commentId}\nFile: {self.filePath}"


class Moved(Struct, frozen=True):
    """A comment in another place."""

    commentId: str
    sourceFile: str
    sourceLine: int
    targetFile: str
    targetLine: int
    newAnchor: str

    def text(self) -> str:
        return (
            f"✅ Comment moved successfully\n\nFrom: {self.sourceFile}:{self.sourceLine}\n"
            f"To: {self.targetFile}:{self.targetLine}\n\nComment ID: {self.commentId}\nNew anchor: {self.newAnchor}"
        )


class FileComments(Struct, frozen=True):
    """The comments of one file, in the order they were made."""

    filePath: str
    comments: tuple[CommentNow, ...]
    commentCount: int
    orphanedCount: int

    def metadata(self) -> Given:
        return {
            "filePath": self.filePath,
            "commentCount": self.commentCount,
            "orphanedCount": self.orphanedCount,
        }

    def text(self) -> str:
        count = {tag: sum(each.tag == tag for each in self.comments) for tag in ALL_TAGS}
        lines = [
            f"Comments for {self.filePath}\n\n📊 Summary:",
            f"- Total comments: {self.commentCount}",
            *(f"- {tag}: {number}" for tag, number in count.items() if number),
            f"- Orphaned: {self.orphanedCount}",
        ]
        entries = [_entry(number, each) for number, each in enumerate(self.comments, 1)]
        return "\n".join(lines) + ("\n\n---\n\n" + "\n\n".join(entries) if entries else "")


def _entry(number: int, comment: CommentNow) -> str:
    where = f"Lines {comment.lines}" if comment.endLine > comment.line else f"Line {comment.line}"
    if comment.movedTo:
        where += f" of {comment.movedTo}"
    said = indented(without_tag(comment.said, comment.tag))
    status = f" | {comment.status.capitalize()}" if comment.status != "open" else ""
    replies = "".join(f"\n   ↳ {reply.author}: {indented(reply.text)}" for reply in comment.replies)
    return (
        f'{number}. {comment.tag or "COMMENT"} ({where}) - {comment.id}\n   "{said}"\n'
        f"   Author: {comment.author} | {_hold(comment)}{status}{replies}"
    )


def _hold(comment: CommentNow) -> str:
    if comment.state == "orphaned":
        return f"Orphaned: {comment.reason}"
    review = f" | Needs review: {comment.reason}" if comment.state == "review" else ""
    stale = " | The code has changed since" if comment.stale else ""
    return f"Anchored to: {comment.anchor}{review}{stale}"


def indented(text: str) -> str:
    """A text of several lines that stays in its column."""
    return text.replace("\n", "\n   ")


class Found(Struct, frozen=True):
    """What a search found, newest first."""

    comments: tuple[CommentNow, ...]
    totalResults: int
    query: str
    filters: dict[str, str | bool | dict[str, str]]
    damaged: tuple[Damage, ...] = ()

    def metadata(self) -> Given:
        return {"totalResults": self.totalResults, "query": self.query, "filters": self.filters}

    def text(self) -> str:
        if not self.totalResults:
            return f'No comments found matching query: "{self.query}"' + unread(self.damaged)
        one = "1 matching comment" if self.totalResults == 1 else f"{self.totalResults} matching comments"
        shown = len(self.comments)
        more = f" (showing the newest {shown})" if shown < self.totalResults else ""
        hits = (_hit(number, each) for number, each in enumerate(self.comments, 1))
        return "\n\n".join([f"Found {one}{more}:", *hits]) + unread(self.damaged)


def unread(damaged: Sequence[Damage]) -> str:
    """A warning behind a list: comments may be missing from it."""
    if not damaged:
        return ""
    named = "".join(f"\n   {each.filePath}.comments: {each.problem}" for each in damaged[:5])
    more = f"\n   and {len(damaged) - 5} more" if len(damaged) > 5 else ""
    return f"\n\n⚠️ Not read, and left untouched (postil comments check --fix):{named}{more}"


def _hit(number: int, comment: CommentNow) -> str:
    tag = f" ({comment.tag})" if comment.tag else ""
    sure = "" if comment.sureness is None else f" (confidence: {comment.sureness:g})"
    model = f"\n   AI: {comment.model}{sure}" if comment.model else ""
    return (
        f"{number}. 📝 {comment.movedTo or comment.filePath}:{comment.line}{tag}\n"
        f'   "{indented(comment.said)}"\n   Author: {comment.author} | Created: {comment.created}{model}'
    )


class Exported(Struct, frozen=True, omit_defaults=True):
    """A document with the comments in it."""

    format: str
    totalComments: int
    sizeBytes: int
    uri: str
    mimeType: str
    document: str | UnsetType = UNSET
    blob: str | UnsetType = UNSET
    written: str = ""
    """The file it was written to, when one was named."""

    def metadata(self) -> Given:
        return {"format": self.format, "totalComments": self.totalComments, "sizeBytes": self.sizeBytes}

    def content(self) -> list[Block]:
        return [
            Embedded(
                Document(
                    self.uri,
                    self.mimeType,
                    text=self.document if isinstance(self.document, str) else None,
                    blob=self.blob if isinstance(self.blob, str) else None,
                )
            )
        ]

    def text(self) -> str:
        if isinstance(self.document, str):
            return self.document
        where = f" to {self.written}" if self.written else ""
        return f"✅ Exported {self.totalComments} comments as {self.format}{where} ({self.sizeBytes} bytes)"
