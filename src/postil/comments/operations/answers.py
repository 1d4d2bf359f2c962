"""Comments as operations answer them, and the answers of several groups; a group's own answers stand beside it."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from postil.anchor.syntax.names import say_name
from postil.comments.model import (
    ALL_TAGS,
    LIKELY,
    AiMeta,
    Before,
    Candidate,
    Commit,
    Damage,
    Located,
    Reply,
    Revision,
    State,
    Status,
    sign_words,
)
from postil.comments.sidecar.format import strip_tag
from postil.comments.sidecar.template import fill_template
from postil.core import call, limits
from postil.core.answer import LARGEST, Answer, Verbatim
from postil.core.arguments.typed import type_words
from postil.core.content import Block, Document, Embedded, Text
from postil.core.others.visible import harmless

LONGEST_CODE = 20_000
MOST_LISTED = 4 * LARGEST
"""Characters of a list that are written for a model, which reads fewer."""
AROUND = 2
"""Lines on each side of a blank one that are told with it."""
BLANK = "(the blank line)"
MOST_SHOWN_AT_ONCE = 1000
"""Comments that a search shows at most, whatever is asked."""


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
    """What it is tied to, in words: `validatePassword()`, `AuthService class`, `line 12`."""
    movedTo: str = ""
    """The file the code is in now, when it is another one."""
    stale: bool = False
    oldText: str = ""
    oldAround: tuple[str, ...] = ()
    """What stood above and below code that was blank and is lost or uncertain."""
    newText: str = ""
    candidates: tuple[Candidate, ...] = ()
    was: Before | None = None
    """The code that is lost or uncertain, where it was, for who has to decide."""
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
    editedBy: str = ""
    """Whose words these are, where they are not the author's any more."""
    lineCodes: str = ""
    """In an export that holds no source: the codes of its lines and of those around, for who imports it."""
    lineVersion: str = ""
    """In an export, of code that is lost or uncertain: the version (a git blob) and the lines in it that it was."""

    @property
    def lines(self) -> str:
        """`42`, or `42-50` of a range."""
        return f"{self.line}-{self.endLine}" if self.endLine > self.line else str(self.line)

    @property
    def signed(self) -> str:
        """Its author, and whose words it has where those are another's."""
        return sign_words(self.author, self.editedBy)

    @property
    def wordings(self) -> str:
        """What marks it in a list where a merge kept other words beside its own."""
        return f" [{len(self.revisions) + 1} wordings]" if self.revisions else ""

    @property
    def path(self) -> str:
        """The file that the line is of."""
        return self.movedTo or self.filePath

    @property
    def origin(self) -> str:
        """Where the comment is kept, or where its code may be, when that is another file: for lists that name both."""
        if self.has_left:
            return f"may be at {self.candidates[0].path}:{self.candidates[0].line}"
        return f"was in {self.filePath}" if self.movedTo else ""

    @property
    def has_left(self) -> bool:
        """Whether its code is not in its file any more, and where it went is for a person to say."""
        return self.state == "review" and bool(self.candidates) and self.candidates[0].path != self.path

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


def comment_now(located: Located, *, commit: Commit | None = None) -> CommentNow:
    """Returns the public shape of a comment in its place."""
    comment, place = located.comment, located.place
    said = fill_template(comment.text, comment.params, place)
    return CommentNow(
        id=comment.id,
        filePath=located.filePath,
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
        anchor=describe_anchor(place.symbolPath, place.symbolKind, place.line),
        movedTo=place.path if place.path != located.filePath else "",
        stale=place.stale,
        oldText=_shorten(place.oldText) if place.state != "exact" else "",
        oldAround=_list_around(located),
        newText=_shorten(place.newText),
        candidates=place.candidates,
        replies=comment.replies,
        resolvedBy=comment.resolvedBy,
        resolvedAt=comment.resolvedAt,
        aiMeta=comment.aiMeta,
        markerId=comment.markerId,
        revisions=comment.revisions,
        editedBy=comment.editedBy,
        commit=commit,
        shown=said if said != comment.text else "",
    )


def _list_around(each: Located) -> tuple[str, ...]:
    """Returns the lines on either side of a blank line that is lost: nothing else tells which it was."""
    marker = each.marker
    if each.place.state not in ("orphaned", "review") or each.place.oldText.strip() or marker is None:
        return ()
    anchor = marker.anchor
    above = anchor.pre[-AROUND:] if anchor and anchor.pre else (marker.prevLineText,)
    below = anchor.post[:AROUND] if anchor and anchor.post else (marker.nextLineText,)
    return (*above, BLANK, *below) if any(line.strip() for line in (*above, *below)) else ()


def list_old_code(each: CommentNow) -> list[str]:
    """Returns the code that a comment was tied to, or what stood around it where it was blank."""
    return [*each.oldAround] or [line for line in each.oldText.split("\n") if line.strip()]


def leave_out_unlikely(each: CommentNow) -> CommentNow:
    """Returns a comment without the places for its code that are hardly likely; the reason says how many these were."""
    if not each.candidates:
        return each
    likely = tuple(option for option in each.candidates if option.confidence >= LIKELY)
    if each.state == "review":  # it waits for a decision about this one at least
        likely = likely or each.candidates[:1]
    left_out = len(each.candidates) - len(likely)
    if not left_out:
        return each
    places = "a place" if left_out == 1 else f"{left_out} places"
    return replace(each, candidates=likely, reason=f"{each.reason}; {places} less than {LIKELY:.0%} likely left out")


def _shorten(code: str) -> str:
    """Code as an answer carries it: the one line of a minified file can be megabytes."""
    return code if len(code) <= LONGEST_CODE else code[:LONGEST_CODE] + "…"


def describe_anchor(path: tuple[str, ...], kind: str, line: int) -> str:
    """Returns what a comment is tied to, in words."""
    return say_name(path[-1], kind.lower() or "symbol") if path else f"line {line}"


class Moved(Answer, frozen=True, omit_defaults=True):
    """A comment in another place, or confirmed in its own."""

    commentId: str
    sourceFile: str
    sourceLine: int
    targetFile: str
    targetLine: int
    newAnchor: str
    did: Literal["moved", "confirmed", "taken back"] = "moved"
    codeNow: str = ""
    """Where the code is that it is tied to, when that is another place than it was."""
    warning: str = ""

    @property
    def has_words(self) -> bool:
        return False

    def for_model(self) -> str:
        return self.for_contract() + (f"\n\n⚠️ {self.warning}" if self.warning else "")

    def for_contract(self) -> str:
        if self.did != "moved":
            where = f"{self.targetFile}:{self.targetLine}"
            tied = "for the code at" if self.did == "confirmed" else "and tied again to the code that was at"
            now = f"\nThat code is {self.codeNow} now" if self.codeNow else ""
            return (
                f"✅ Comment {self.did} {tied} {where}{now}\n\nComment ID: {self.commentId}\nAnchor: {self.newAnchor}"
            )
        return (
            f"✅ Comment moved successfully\n\nFrom: {self.sourceFile}:{self.sourceLine}\n"
            f"To: {self.targetFile}:{self.targetLine}\n\nComment ID: {self.commentId}\nNew anchor: {self.newAnchor}"
        )


class FileComments(Answer, frozen=True):
    """The comments of one file, in the order they were made."""

    filePath: str
    comments: tuple[CommentNow, ...]
    commentCount: int
    orphanedCount: int
    outside: str | UnsetType = UNSET
    """What is said of comments that a sparse checkout leaves out."""

    def metadata(self) -> Mapping[str, Any]:
        counts = {"commentCount": self.commentCount, "orphanedCount": self.orphanedCount}
        return {"filePath": self.filePath, **counts}

    def for_model(self) -> str:
        count = {tag: sum(each.tag == tag for each in self.comments) for tag in ALL_TAGS}
        lines = [
            f"Comments for {self.filePath}\n\n📊 Summary:",
            f"- Total comments: {self.commentCount}",
            *(f"- {tag}: {number}" for tag, number in count.items() if number),
            f"- Orphaned: {self.orphanedCount}",
        ]
        entries = [_show_entry(number, each) for number, each in enumerate(self.comments, 1)]
        said = "\n".join(lines) + ("\n\n---\n\n" + "\n\n".join(entries) if entries else "")
        return said + warn_missing((), self.outside)


def _show_entry(number: int, comment: CommentNow) -> str:
    where = f"Lines {comment.lines}" if comment.endLine > comment.line else f"Line {comment.line}"
    if comment.movedTo:
        where += f" of {comment.movedTo}"
    said = indent(strip_tag(comment.said, comment.tag))
    status = f" | {comment.status.capitalize()}" if comment.status != "open" else ""
    replies = comment.replies and "".join(f"\n   ↳ {reply.author}: {indent(reply.text)}" for reply in comment.replies)
    return (
        f'{number}. {comment.tag or "COMMENT"} ({where}) - {comment.id}\n   "{said}"\n'
        f"   Author: {comment.signed} | {_show_anchor(comment)}{status}{replies or ''}"
    )


def _show_anchor(comment: CommentNow) -> str:
    if comment.state == "orphaned":
        return _show_doubt(comment)
    review = f" | {_show_doubt(comment)}" if comment.state == "review" else ""
    stale = " | The code has changed since" if comment.stale else ""
    return f"Anchored to: {comment.anchor}{review}{stale}"


def _show_doubt(comment: CommentNow) -> str:
    return f"{'Orphaned' if comment.state == 'orphaned' else 'Needs review'}: {comment.reason}"


def indent(text: str, column: int = 3) -> str:
    """Returns a text of several lines that stays in its column."""
    return text.replace("\n", "\n" + " " * column) if "\n" in text else text


class Found(Answer, frozen=True):
    """What a search found, newest first."""

    comments: tuple[CommentNow, ...]
    totalResults: int
    query: str
    filters: dict[str, str | bool | dict[str, str]]
    damaged: tuple[Damage, ...] = ()
    inReplies: dict[str, tuple[str, ...]] | UnsetType = UNSET
    """Of comments that were found by their replies alone, these replies."""
    outside: str | UnsetType = UNSET
    """What is said of comments that a sparse checkout leaves out."""

    @property
    def exit_status(self) -> int:
        """7 when a comment file could not be read: something may be missing here."""
        return 7 if self.damaged else 0

    def metadata(self) -> Mapping[str, Any]:
        return {"totalResults": self.totalResults, "query": self.query, "filters": self.filters}

    def for_model(self) -> str:
        return self._list_hits(named=True, most=MOST_LISTED)

    def for_person(self) -> str:
        return self._list_hits(named=True)

    def for_contract(self) -> str:
        return self._list_hits(named=False, most=MOST_LISTED)

    def _list_hits(self, *, named: bool, most: int = sys.maxsize) -> str:
        if not self.totalResults:
            return (
                f'No comments found matching query: "{self.query}"'
                + self._warn(named)
                + warn_missing(self.damaged, self.outside)
            )
        one = "1 matching comment" if self.totalResults == 1 else f"{self.totalResults} matching comments"
        shown = len(self.comments)
        how = f"; {'--' * call.current().person}limit for more" if named and shown < MOST_SHOWN_AT_ONCE else ""
        more = f" (showing the newest {shown}{how})" if shown < self.totalResults else ""
        inside = {} if isinstance(self.inReplies, UnsetType) else self.inReplies
        tell_moment = call.current().tell_moment
        hits = (
            _show_hit(number, each, named, tell_moment(each.created))
            + (_show_found_replies(each, inside[each.id]) if each.id in inside else "")
            for number, each in enumerate(self.comments, 1)
        )
        listed = [f"Found {one}{more}:"]
        for number, hit in enumerate(hits, 1):
            listed.append(hit)
            most -= len(hit)
            if most < 0 and number < shown:
                listed.append(f"and {shown - number} more")
                break
        return "\n\n".join(listed) + warn_missing(self.damaged, self.outside)

    def _warn(self, named: bool) -> str:
        """What was looked for beside the query: it is easily the reason that nothing is found."""
        if not named or not self.filters:
            return ""
        return f" with {', '.join(_show_filter(name, value) for name, value in self.filters.items())}"


def _show_filter(name: str, value: str | bool | dict[str, str]) -> str:
    if name in ("with_ai", "hasAIMetadata") and value:
        return "AI metadata"
    if isinstance(value, dict):
        return f"{name}: {' to '.join(value.values())}"
    return f"{name}: {value if isinstance(value, str) else 'yes' if value else 'no'}"


def warn_missing(damaged: Sequence[Damage], outside: str | UnsetType = UNSET) -> str:
    """Returns a warning to stand behind a list: comments may be missing from it.

    `outside` says which of them a sparse checkout leaves out.
    """
    elsewhere = "" if isinstance(outside, UnsetType) else f"\n\n⚠️ {outside}"
    if not damaged:
        return elsewhere
    named = "".join(f"\n   {each.filePath}.comments: {each.problem}" for each in damaged[:5])
    more = f"\n   and {len(damaged) - 5} more" if len(damaged) > 5 else ""
    return f"\n\n⚠️ Not read, and left untouched (postil comments check --fix):{named}{more}{elsewhere}"


def _show_hit(number: int, comment: CommentNow, named: bool, made: str) -> str:
    """`named`: with the id and the lines, as whoever goes on with a comment needs them; the contract has neither."""
    where = f"{comment.path}:{comment.lines if named else comment.line}"
    name = f" - {comment.id}" if named else ""
    tag = f" ({comment.tag})" if comment.tag else ""
    model = _show_model(comment) if comment.aiMeta else ""
    unsure = f" | {_show_doubt(comment)}" if comment.state in ("review", "orphaned") else ""
    if named and comment.status != "open":
        unsure += f" | {comment.status.capitalize()}"
    return (
        f"{number}. 📝 {where}{tag}{name}\n"
        f'   "{indent(comment.said)}"\n   Author: {comment.signed} | Created: {made}{unsure}{model}'
    )


def _show_model(comment: CommentNow) -> str:
    sure = "" if comment.sureness is None else f" (confidence: {comment.sureness:g})"
    return f"\n   AI: {comment.model}{sure}" if comment.model else ""


def _show_found_replies(comment: CommentNow, wanted: Sequence[str]) -> str:
    return "".join(
        f'\n   ↳ in a reply of {reply.author}: "{indent(reply.text, 5)}"'
        for reply in comment.replies
        if reply.id in wanted
    )


class Exported(Answer, frozen=True, omit_defaults=True):
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
    damaged: tuple[Damage, ...] = ()
    """The comment files that could not be read: what they hold is missing."""
    outside: str | UnsetType = UNSET
    """What is said of comments that a sparse checkout leaves out."""
    asked: str = ""
    """The file that was asked for; no part of the answer."""

    @property
    def exit_status(self) -> int:
        return 7 if self.damaged else 0

    def plain(self) -> Exported:
        return replace(self, asked="") if self.asked else self

    def metadata(self) -> Mapping[str, Any]:
        return {"format": self.format, "totalComments": self.totalComments, "sizeBytes": self.sizeBytes}

    def rest(self) -> str:
        of = f" -f {type_words(self.asked)}" if self.asked else ""
        less = "" if self.asked else "Ask for one file with filePath; "
        return (
            f"{less}`postil comments export {self.format} --output FILE{of}` in a shell writes "
            f"all {self.totalComments} comments."
        )

    def for_model(self) -> Sequence[Block]:
        text, blob = (None if isinstance(each, UnsetType) else each for each in (self.document, self.blob))
        shown: Sequence[Block] = [Embedded(Document(self.uri, self.mimeType, text=text, blob=blob))]
        if self.sizeBytes > limits.LARGE:  # else all of it would be cleaned, and most of that left out
            from postil.core.size import bound  # most exports are small

            shown = bound(shown, self.rest(), self.largest)
        missing = warn_missing(self.damaged, self.outside).strip()
        return [*shown, Text(missing)] if missing else shown

    def for_person(self) -> str:
        if isinstance(self.document, str):
            if missing := warn_missing(self.damaged, self.outside).strip():
                sys.stderr.write(f"{harmless(missing)}\n")
            return Verbatim(self.document)
        where = f" to {self.written}" if self.written else ""
        counted = "1 comment" if self.totalComments == 1 else f"{self.totalComments} comments"
        done = f"✅ Exported {counted} as {self.format}{where} ({self.sizeBytes} bytes)"
        return done + warn_missing(self.damaged, self.outside)
