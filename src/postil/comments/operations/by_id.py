"""Working with comments by their id: add on a range, list, search, show, edit, reply, resolve, delete."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import Annotated, Literal

from msgspec import Meta, Struct, to_builtins

from postil.comments.context import Desk
from postil.comments.failures import SourceNotFound
from postil.comments.model import ALL_TAGS, Candidate, Commit, Damage, Event, Reply, State, Status
from postil.comments.operations.add import Saying
from postil.comments.operations.answers import Added, CommentNow, Deleted, Edited, Found, comment_now, indented, unread
from postil.comments.operations.validation import check_tag, wanted
from postil.comments.search.filters import without_filters
from postil.comments.search.search import Wanted, found, is_glob
from postil.comments.sidecar.document import Sidecar
from postil.comments.sidecar.format import detect_tag, new_id, now, without_tag
from postil.comments.sidecar.json_edit import JsonObject
from postil.comments.storage.move_journal import events_of
from postil.core.failure import InvalidArguments
from postil.core.operation import destroys, reads, writes

Id = Annotated[str, Meta(description="The comment's id", min_length=1, max_length=200)]
AnyTag = Annotated[str, Meta(description="Only this tag", extra_json_schema={"enum": list(ALL_TAGS)})]
Where = Annotated[str, Meta(description="Only this file or folder, or a glob", max_length=500)]
StateArgument = Annotated[State, Meta(description="Only comments whose code is in this state")]
StatusArgument = Annotated[Status, Meta(description="Only open, resolved or wontfix")]
Limit = Annotated[int, Meta(ge=1, le=1000, description="At most so many")]


class Listed(Struct, frozen=True):
    """Comments, by file and line."""

    comments: tuple[CommentNow, ...]
    total: int
    damaged: tuple[Damage, ...] = ()

    def text(self) -> str:
        lines = [one_line(each) for each in self.comments] or ["No comments."]
        if self.total > len(self.comments):
            lines.append(f"… and {self.total - len(self.comments)} more (--limit)")
        return "\n".join(lines) + unread(self.damaged)


class Shown(Struct, frozen=True, omit_defaults=True):
    """One comment with all that is known of it."""

    comment: CommentNow
    commit: Commit | None = None
    history: tuple[Event, ...] = ()
    code: str = ""
    copies: tuple[Candidate, ...] = ()
    """Other places with the same code, to which the comment could be copied."""

    def text(self) -> str:
        now_ = self.comment
        lines = [
            f"{now_.tag or 'COMMENT'} {now_.id} ({now_.status})",
            f"{now_.movedTo or now_.filePath}:{now_.lines}  {now_.anchor}",
            f"{now_.author}, {now_.created}" + (f", edited {now_.updated}" if now_.updated != now_.created else ""),
            "",
            now_.said,
            *(f"\n  ↳ {reply.author}, {reply.created}\n    {indented(reply.text)}" for reply in now_.replies),
            "",
            f"state: {now_.state} (confidence {now_.confidence:.2f}) — {now_.reason}"
            + (", stale" if now_.stale else ""),
        ]
        if self.commit:
            lines.append(f"by {self.commit.id[:12]} {self.commit.subject} ({self.commit.author}, {self.commit.date})")
        if now_.oldText and now_.state != "exact":
            lines += ["", "was:", *(f"  - {line}" for line in now_.oldText.split("\n")[:20])]
        if self.code:
            lines += ["", "now:", *(f"  + {line}" for line in self.code.split("\n")[:20])]
        for rank, option in enumerate(now_.candidates, 1):
            lines.append(f"  {rank}. {option.path}:{option.line} ({option.confidence:.2f}) {option.text.strip()[:100]}")
        for other in self.copies:
            lines.append(
                f"  also at {other.path}:{other.line} (postil comments copy {now_.id} {other.path} {other.line})"
            )
        for event in self.history:
            where = f"{event.path or now_.filePath}:{event.line}"
            lines.append(f"  {event.at}  left {where} ({event.state}, {event.reason})")
        return "\n".join(lines)


class Replied(Struct, frozen=True):
    """A reply that was added."""

    commentId: str
    replyId: str
    filePath: str

    def text(self) -> str:
        return f"✅ Reply added\n\nComment ID: {self.commentId}\nReply ID: {self.replyId}\nFile: {self.filePath}"


class Settled(Struct, frozen=True):
    """A comment whose status changed."""

    commentId: str
    filePath: str
    status: Status

    def text(self) -> str:
        return f"✅ Comment is {self.status}\n\nComment ID: {self.commentId}\nFile: {self.filePath}"


class Threads(Desk):
    """Comments by their id, wherever they are."""

    @writes("comments_add", title="Comment on lines", shell="comments add", positional=("filePath", "line", "text"))
    def add_lines(
        self,
        filePath: Annotated[str, Meta(description="The source file, relative to the workspace")],
        line: Annotated[int, Meta(ge=1, description="The line, from 1")],
        text: Annotated[str, Meta(min_length=1, max_length=10000, description="What to say")],
        tag: Annotated[str, Meta(description="Its tag", extra_json_schema={"enum": list(ALL_TAGS)})] | None = None,
        endLine: Annotated[int, Meta(ge=0, description="The last line, for a range")] = 0,
        author: Annotated[str, Meta(description="Who says it")] = "",
        anchor: Annotated[
            Literal["code", "text"], Meta(description="`text` comments on code that has a syntax error, too")
        ] = "code",
    ) -> Added:
        """Comment on a line or a range of a source file"""
        check_tag(tag, every=True)
        end = endLine if endLine != line else 0
        said = Saying(line, text, self.signed(author), tag or detect_tag(text), end)
        return self.adding.add(self.ground.typed(filePath), said, by_text=anchor == "text")

    @writes("comments_copy", shell="comments copy", positional=("commentId", "file", "line"), tool=False)
    def copy(
        self,
        commentId: Id,
        file: Annotated[str, Meta(description="The file of the other code")],
        line: Annotated[int, Meta(ge=1, description="Its line")],
        endLine: Annotated[int, Meta(ge=0, description="The last line, for a range")] = 0,
    ) -> Added:
        """Say the same of other code: a comment of its own that names the one it was copied from"""
        original = self.one(commentId).comment
        said = Saying(line, original.text, self.signed(""), original.tag, endLine, copy_of=original.id)
        return self.adding.add(self.ground.typed(file), said, by_text=True)

    @reads("comments_list", title="List comments", shell="comments list", positional=("file",))
    def listed(
        self,
        file: Where = "",
        tag: AnyTag | None = None,
        author: Annotated[str, Meta(description="Only this author")] = "",
        state: StateArgument | None = None,
        status: StatusArgument | None = None,
        stale: Annotated[bool, Meta(description="Only those whose code changed in substance")] = False,
        limit: Limit = 200,
    ) -> Listed:
        """List comments in their places: by file, tag, author, state of the code, or status"""
        check_tag(tag, every=True)
        file = self.ground.typed(file)
        conditions = Wanted(
            tag=tag or "", author=author, file=file, state=state or "", status=status or "", stale=stale
        )
        self.overview.refresh()
        where, values = conditions.condition(self.overview)
        placed = self.overview.index.rows(where or "1", values)
        if file and not placed and not is_glob(file) and not os.path.exists(os.path.join(self.ground.root, file)):
            raise SourceNotFound(file, self.ground.shown_root())
        placed.sort(key=lambda each: (each.place.path, each.place.line, each.comment.created))
        return Listed(tuple(comment_now(each) for each in placed[:limit]), len(placed), self.overview.damaged(file))

    @reads("comments_search", title="Search comments", shell="comments search", positional=("query",), tool=False)
    def search_more(
        self,
        query: Annotated[
            str,
            Meta(
                min_length=1,
                description="A pattern (RE2), and filters: tag:TODO author:ann file:src is:orphaned created:>7d",
            ),
        ],
        plain: Annotated[bool, Meta(description="The query is plain text, without patterns and filters")] = False,
        tag: AnyTag | None = None,
        author: Annotated[str, Meta(description="Only this author")] = "",
        file: Where = "",
        ai: Annotated[bool, Meta(description="Only with AI metadata")] = False,
        since: Annotated[str, Meta(description="Made at or after this date-time")] = "",
        until: Annotated[str, Meta(description="Made at or before this date-time")] = "",
        state: StateArgument | None = None,
        status: StatusArgument | None = None,
        limit: Limit = 100,
    ) -> Found:
        """Search comments by pattern or plain text, with filters on tag, author, file, dates, state and status"""
        check_tag(tag, every=True)
        conditions = Wanted(tag or "", author, self.ground.typed(file), ai, since, until, state or "", status or "")
        if not plain:
            query, conditions = without_filters(query, conditions, datetime.now(UTC))
        shown = {key: value for key, value in to_builtins(conditions).items() if value}
        return found(self.overview, query, conditions, limit, shown, plain=plain)

    @reads("comments_show", title="Show a comment", shell="comments show", positional=("commentId",))
    def show(self, commentId: Id) -> Shown:
        """Show one comment with its thread, its code then and now, and the commit that changed it"""
        each = self.one(commentId)
        now_ = self.explained(each)
        from postil.comments.anchoring.duplicates import copies  # only here

        events = events_of(each.comment, each.marker)
        return Shown(now_, now_.commit, events, now_.newText, copies(self.ground, each.place))

    @writes("comments_reply", title="Reply to a comment", shell="comments reply", positional=("commentId", "text"))
    def reply(
        self,
        commentId: Id,
        text: Annotated[str, Meta(min_length=1, max_length=10000, description="The reply")],
        author: Annotated[str, Meta(description="Who replies")] = "",
    ) -> Replied:
        """Add a reply to a comment's thread"""
        author = self.signed(author)
        path = self.file_of(commentId)
        made = Reply(new_id("r_"), text, author, now())

        def change(sidecar: Sidecar) -> Replied:
            comment = wanted(sidecar, commentId)
            raw = sidecar.raw_comment(comment.id).get("replies")
            replies: list[object] = [*raw] if isinstance(raw, list) else []  # type: ignore[has-type]
            sidecar.change(comment.id, {"replies": [*replies, to_builtins(made)], "updated": made.created})
            return Replied(comment.id, made.id, path)

        return self.store.change(path, change)

    @writes("comments_resolve", title="Resolve a comment", shell="comments resolve", positional=("commentId",))
    def resolve(
        self,
        commentId: Id,
        status: Annotated[Status, Meta(description="resolved, wontfix, or open to reopen")] = "resolved",
        author: Annotated[str, Meta(description="Who decides")] = "",
    ) -> Settled:
        """Resolve a comment, close it as wontfix, or reopen it"""
        author = self.signed(author)
        path = self.file_of(commentId)

        def change(sidecar: Sidecar) -> Settled:
            comment = wanted(sidecar, commentId)
            values: JsonObject = {"status": status, "updated": now()}
            gone: tuple[str, ...] = ("resolvedBy", "resolvedAt")
            if status != "open":
                values |= {"resolvedBy": author, "resolvedAt": now()}
                gone = ()
            sidecar.change(comment.id, values, gone)
            return Settled(comment.id, path, status)

        return self.store.change(path, change)

    @writes(
        "comments_edit", title="Edit a comment", shell="comments edit", positional=("commentId", "text"), tool=False
    )
    def edit_by_id(
        self,
        commentId: Id,
        text: Annotated[str, Meta(min_length=1, max_length=10000, description="The new text")] = "",
        tag: Annotated[str, Meta(description="Another tag", extra_json_schema={"enum": list(ALL_TAGS)})] | None = None,
        expectedUpdated: Annotated[str, Meta(description="Refuse when the comment was changed after this time")] = "",
    ) -> Edited:
        """Change a comment's text or tag, wherever it is; refuse when someone was faster"""
        check_tag(tag, every=True)
        if not text and not tag:
            raise InvalidArguments("Nothing to change", advice="Give a text or a tag", path="text")
        return self.editing.edit(self.file_of(commentId), commentId, text, tag, expectedUpdated)

    @destroys(
        "comments_delete", title="Delete a comment", shell="comments delete", positional=("commentId",), tool=False
    )
    def delete_by_id(self, commentId: Id) -> Deleted:
        """Delete a comment, wherever it is"""
        return self.editing.delete(self.file_of(commentId), commentId)


def one_line(each: CommentNow) -> str:
    """A comment on one line, for lists."""
    where = f"{each.movedTo or each.filePath}:{each.lines}"
    mark = "" if each.state in ("exact", "moved") else f" [{each.state}]"
    mark += " [stale]" if each.stale else ""
    status = "" if each.status == "open" else f" ({each.status})"
    first, _, rest = without_tag(each.said, each.tag).partition("\n")
    said = first[:100] + ("…" if rest or len(first) > 100 else "")
    return f"{where}  {each.tag or 'COMMENT'}{mark}{status}  {said}  {each.id}"
