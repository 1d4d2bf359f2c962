"""Working with comments by their id: list, show, reply, resolve."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Annotated

from msgspec import UNSET, Meta, Struct, UnsetType, to_builtins
from msgspec.json import encode
from msgspec.structs import replace

from postil.comments.clock import new_id, now
from postil.comments.failures import ThreadFull
from postil.comments.model import Candidate, Commit, Damage, Event, Reply, Status
from postil.comments.operations.answers import (
    CommentNow,
    comment_now,
    indent,
    leave_out_unlikely,
    warn_missing,
)
from postil.comments.operations.validation import (
    MOST_AT_ONCE,
    AnyState,
    AnyStatus,
    AnyTag,
    Id,
    Limit,
    Skip,
    Where,
    find_comment,
    name_tag,
    sign,
)
from postil.comments.operations.wordings import tell_wordings
from postil.comments.operations.written import NOT_NOTED, warn
from postil.comments.search.filters import Conditions
from postil.comments.show.one_comment import show_line, show_row
from postil.core import call, limits
from postil.core.answer import Answer
from postil.core.arguments.typed import type_words
from postil.core.failure import InvalidArguments
from postil.core.group import MOST_OFFERED, completer
from postil.core.operation import Spelling, reads, writes
from postil.core.others.one_line import on_one_line

if TYPE_CHECKING:
    from postil.comments.index.overview import Overview
    from postil.comments.model import Located
    from postil.comments.part import CommentsContext
    from postil.comments.sidecar.document import Sidecar
    from postil.comments.sidecar.json_edit import JsonObject


LISTED = "IN (SELECT value FROM json_each(?))"
MOST_LINES = 20
"""Lines of code that are shown with a comment."""
NO_NAMES: Mapping[str, str] = {}


class PlainList(Struct, frozen=True):
    """Comments, as programs get them."""

    comments: tuple[CommentNow, ...]
    total: int
    damaged: tuple[Damage, ...]
    outside: str | UnsetType = UNSET


class PlainListAt(Struct, frozen=True, omit_defaults=True):
    """The comments of a revision, as programs get them."""

    revision: str
    comments: tuple[CommentNow, ...]
    later: tuple[CommentNow, ...]
    damaged: tuple[Damage, ...] = ()
    laterTotal: int = 0
    """How many comments were made since, where not all are here."""
    laterWithoutCode: int = 0
    """How many more were made since, whose code was not there then."""


class NamedComments(Answer, frozen=True, kw_only=True):
    """Comments that people read under short names. Those of damaged comment files are missing."""

    damaged: tuple[Damage, ...] = ()
    names: Mapping[str, str] = NO_NAMES
    """Short names for people, which every command takes."""

    @property
    def exit_status(self) -> int:
        """7 when a comment file could not be read: something may be missing here."""
        return 7 if self.damaged else 0

    def show_named(self, each: CommentNow) -> str:
        """Returns a comment on one line, under its short name."""
        return show_row(each, self.names.get(each.id, each.id))


class Listed(NamedComments, frozen=True):
    """Comments, by file and line."""

    comments: tuple[CommentNow, ...]
    total: int
    outside: str | UnsetType = UNSET
    """What is said of comments that a sparse checkout leaves out."""
    skipped: int = 0
    among: int = 0
    """How many comments there are in all, where no one of them was asked for."""

    def for_model(self) -> str:
        return self._join([show_line(each) for each in self.comments], "limit", "skip")

    def for_person(self) -> str:
        return self._join([self.show_named(each) for each in self.comments], "--limit", "--skip")

    def plain(self) -> PlainList | PlainListAt:
        return PlainList(self.comments, self.total, self.damaged, self.outside)

    def _join(self, rows: list[str], limit: str, skip: str) -> str:
        lines = rows or [tell_none(self.total, self.among)]
        shown = self.skipped + len(rows)
        if rows and self.total > shown:
            how = f"{skip} {shown}" + (f", or {limit}" if len(rows) < MOST_AT_ONCE else "")
            lines.append(f"… and {self.total - shown} more ({how})")
        return "\n".join(lines) + warn_missing(self.damaged, self.outside)


class ListedAt(Listed, frozen=True):
    """The comments that a revision held, and where the code of later ones was."""

    revision: str = ""
    later: tuple[CommentNow, ...] = ()
    later_total: int = 0
    later_without: int = 0

    def for_model(self) -> str:
        none = tell_none(self.total, self.among, f" at {self.revision[:12]}")
        lines = [show_line(each) for each in self.comments] or [none]
        shown = self.skipped + len(self.comments)
        if self.comments and self.total > shown:
            lines.append(f"… and {self.total - shown} more ({'--' * call.current().person}skip {shown})")
        if self.later:
            lines += ["", "Made since, and where their code was then:", *map(show_line, self.later)]
        if self.later_total > len(self.later):
            lines.append(f"… and {self.later_total - len(self.later)} more made since")
        if self.later_without:
            lines.append(f"… and {self.later_without} made since had no code there then")
        return "\n".join(lines) + warn_missing(self.damaged)

    def for_person(self) -> str:
        return self.for_model()

    def plain(self) -> PlainListAt:
        total = self.later_total if self.later_total > len(self.later) else 0
        return PlainListAt(self.revision, self.comments, self.later, self.damaged, total, self.later_without)


class Shown(Answer, frozen=True, omit_defaults=True):
    """One comment with all that is known of it."""

    comment: CommentNow
    commit: Commit | None = None
    history: tuple[Event, ...] = ()
    code: str = ""
    copies: tuple[Candidate, ...] = ()
    """Other places with the same code, to which the comment could be copied."""
    copyOf: str = ""
    """The comment that this one repeats."""

    def for_model(self) -> str:
        now_, doing = self.comment, call.current()
        told = doing.tell_moment
        by = f" by {now_.resolvedBy}" if now_.resolvedBy and now_.status != "open" else ""
        lines = [
            f"{now_.tag or 'COMMENT'} {now_.id} ({now_.status}{by})",
            f"{now_.path}:{now_.lines}  {now_.anchor}" + (f"  ({now_.origin})" if now_.origin else ""),
            f"{now_.signed}, {told(now_.created)}"
            + (f", changed {told(now_.updated)}" if _is_changed(now_) else "")
            + (f", copy of {self.copyOf}" if self.copyOf else ""),
            "",
            now_.said,
            *(f"\n  ↳ {reply.author}, {told(reply.created)}\n    {indent(reply.text, 4)}" for reply in now_.replies),
            *tell_wordings(now_),
            "",
            f"state: {now_.state} (confidence {now_.confidence:.2f}) — {now_.reason}"
            + (", stale" if now_.stale else ""),
        ]
        if self.commit:
            lines.append(
                f"by {self.commit.id[:12]} {self.commit.subject} ({self.commit.author}, {told(self.commit.date)})"
            )
        old = [*now_.oldAround] or (now_.oldText.split("\n") if now_.oldText else [])
        if old and now_.state != "exact" and not (self.code and now_.oldText == self.code):
            lines += ["", "was:", *(f"  - {line}" for line in old[:MOST_LINES]), *_tell_more(len(old), "")]
        if self.code:
            rows = self.code.split("\n")
            how = f" (postil comments view {type_words(now_.path)})" if doing.person and len(rows) > MOST_LINES else ""
            lines += ["", "now:", *[f"  + {line}" for line in rows[:MOST_LINES]], *_tell_more(len(rows), how)]
        lines += [*_show_candidates(now_), *self._show_copies(by_shell=doing.person)]
        for event in self.history:
            where = f"{event.path or now_.filePath}:{event.line}"
            lines.append(f"  {event.at}  left {where} ({event.state}, {event.reason})")
        return "\n".join(lines)

    def _show_copies(self, *, by_shell: bool) -> Iterator[str]:
        for other in self.copies:
            command = (
                f"postil comments copy {type_words(self.comment.id, other.path, str(other.line))}"
                if by_shell
                else "add_comment there, if it holds there too"
            )
            yield f"  also at {other.path}:{other.line} ({command})"


def _show_candidates(each: CommentNow) -> Iterator[str]:
    if each.candidates:
        yield from ("", "may be at:")
    for rank, option in enumerate(each.candidates, 1):
        first, _, more = option.text.strip().partition("\n")
        code = first[:100] + (" …" if more or len(first) > 100 else "")
        yield on_one_line(f"  {rank}. {option.path}:{option.line} ({option.confidence:.2f}) {code}")


def tell_none(total: int, among: int, when: str = "") -> str:
    """Returns what is said where no comment is shown: all were left out, none fits, or there is none."""
    if total:
        return f"There are {total}{when}, and all of them are left out."
    return f"None of {among} comment{'s' * (among != 1)}{when} fits." if among else f"No comments{when}."


def is_on(each: CommentNow, path: str, first: int, last: int) -> bool:
    """Whether a comment's code is in these lines of a file, as far as is known."""
    is_here = each.path == path and each.state != "orphaned" and not each.has_left
    return is_here and each.line <= last and max(each.line, each.endLine) >= first


def _order(each: Located) -> tuple[str, int, str]:
    """Returns what lists are in the order of."""
    return each.place.path, each.place.line, each.comment.created


def _tell_more(count: int, how: str) -> list[str]:
    return [f"  … and {count - MOST_LINES} more lines{how}"] if count > MOST_LINES else []


def _is_changed(each: CommentNow) -> bool:
    """Whether more was done to a comment than to answer and close it, which is shown where it stands."""
    told = (each.created, *(reply.created for reply in each.replies), each.resolvedAt if each.status != "open" else "")
    return each.updated not in told


class Replied(Answer, frozen=True):
    """A reply that was added."""

    commentId: str
    replyId: str
    filePath: str

    def for_model(self) -> str:
        return f"✅ Reply added\n\nComment ID: {self.commentId}\nReply ID: {self.replyId}\nFile: {self.filePath}"


class Settled(Answer, frozen=True):
    """A comment whose status changed."""

    commentId: str
    filePath: str
    status: Status
    updated: str = ""
    warning: str | UnsetType = UNSET

    def for_model(self) -> str:
        said = f"✅ Comment is {self.status}\n\nComment ID: {self.commentId}\nFile: {self.filePath}"
        return said + warn(self.warning)


def _make_clause(conditions: Conditions, overview: Overview) -> tuple[str, list[object]]:
    where, values = conditions.clause(overview)
    # All that match are counted by file: the whole table is read quicker than each row by the tag's index.
    return where.replace("tag = ?", "+tag = ?") or "1", values


class CommentsById:
    """Comments by their id, in any file."""

    def __init__(self, context: CommentsContext) -> None:
        self._context = context
        self._tree, self._store = context.tree, context.store

    @reads(
        "comments_list",
        title="List comments",
        aliases=("comments_at",),
        shell="comments list",
        positional=("file",),
        spellings=(
            Spelling(
                "comments at",
                {"changed": ""},
                "List the comments a revision held, in the places they had in its code; and where present ones were "
                "then",
                positional=("revision", "file"),
                requires=("revision",),
            ),
        ),
    )
    def list_comments(
        self,
        file: Where = "",
        tag: AnyTag | None = None,
        author: Annotated[str, Meta(description="Only this author")] = "",
        state: AnyState | None = None,
        status: AnyStatus | None = None,
        stale: Annotated[bool, Meta(description="Only where code changed in substance")] = False,
        limit: Limit = 200,
        skip: Skip = 0,
        revision: Annotated[str, Meta(max_length=300, description="At this commit, branch or tag")] = "",
        changed: Annotated[str, Meta(max_length=300, description="Only on lines changed since this commit")] = "",
    ) -> Listed:
        """List comments in their places: by file, tag, author, state of the code, or status; now or at a revision"""
        if revision and changed:
            raise InvalidArguments(
                "The past has no changed lines: revision and changed do not go together",
                advice="Give one of them",
                path="changed",
            )
        tag = name_tag(tag)
        file, first, last = self._tree.split_lines(file)
        file = self._tree.where(file)
        conditions = Conditions(
            tag=tag or "", author=author, file=file, state=state or "", status=status or "", stale=stale
        )
        if revision:
            return self._list_past(revision, conditions, first, last, skip, limit)
        overview = self._context.overview
        overview.refresh()
        if changed or last:
            from postil.comments.index.pages import keep_page  # SQLite, which the overview has loaded

            read = self._find_on_lines(conditions, changed, first, last)
            total, page = keep_page(read, _order, skip, limit)
            damaged = overview.damaged(file)
        else:
            total, page, damaged = overview.index.read(
                lambda: self._read_page(conditions, skip, limit), "list", conditions, skip, limit
            )
        if not total and not changed:
            self._context.refuse_missing(file)
        shown = tuple(map(comment_now, page))
        short = self._context.short_names() if call.current().person else {}
        among = 0 if total else self._count_all()
        outside = self._context.tell_left_out(file, page) or UNSET
        return Listed(shown, total, outside, skip, among, damaged=damaged, names=short)

    def _list_past(
        self, revision: str, conditions: Conditions, first: int, last: int, skip: int, limit: int
    ) -> ListedAt:
        from postil.comments.git.revision import list_at  # only for the past
        from postil.comments.index.known_files import KnownFiles

        def is_wanted(each: CommentNow) -> bool:
            return (not last or is_on(each, conditions.file, first, last)) and conditions.hold_for(each)

        known_files = KnownFiles(self._context.overview)
        found = list_at(self._context.reader, revision, conditions.file, skip, limit, is_wanted, known_files)
        held, damaged, later = tuple(found.held), tuple(found.damaged), tuple(found.later)
        shown = ListedAt(held, found.total, damaged=damaged, skipped=skip, among=found.among, later=later)
        return replace(shown, revision=found.commit, later_total=found.made_since, later_without=found.without)

    def _find_on_lines(
        self, conditions: Conditions, changed: str, first: int, last: int
    ) -> Callable[[], Iterator[Located]]:
        """Returns what reads the comments on lines that changed since a commit, and on some lines of a file."""
        index, file = self._context.overview.index, conditions.file
        where, values = _make_clause(conditions, self._context.overview)
        tests: list[Callable[[Located], bool]] = []
        if changed:
            from postil.comments.show.on_changed import find_changed_since

            change = find_changed_since(self._context, changed, where, values)
            where, values = change.where, [*change.values]
            tests.append(change.holds)
        if last:
            tests.append(lambda each: is_on(comment_now(each), file, first, last))
        return lambda: (each for each in index.stream(where, values) if all(test(each) for test in tests))

    def _count_all(self) -> int:
        from postil.comments.index.pages import count_comments  # SQLite, which the overview has loaded

        return count_comments(self._context.overview.index, "1")

    def _read_page(
        self, conditions: Conditions, skip: int, limit: int
    ) -> tuple[int, list[Located], tuple[Damage, ...]]:
        """Returns how many comments there are, those that are shown of them, and what cannot be read."""
        from postil.comments.index.pages import choose_files, count_files, read_first  # SQLite is loaded

        overview = self._context.overview
        index, damaged = overview.index, overview.damaged(conditions.file)
        where, values = _make_clause(conditions, overview)
        total, files, before = choose_files(count_files(index, where, values), skip, limit)
        if total <= limit and not skip:  # nothing is left out: no need to look at each twice
            return total, sorted(index.rows(where, values), key=_order), damaged
        inside = f"{where} AND now_path {LISTED}"
        return total, read_first(index, inside, (*values, encode(files).decode()), _order, limit, before), damaged

    @reads("comments_show", thing="commentId", title="Show a comment", shell="comments show", positional=("commentId",))
    def show(self, commentId: Id) -> Shown:
        """Show one comment with its thread, its code then and now, and the commit that changed it"""
        from postil.comments.anchoring.duplicates import find_copies  # only here
        from postil.comments.storage.move_journal import list_moves

        each = self._context.find(commentId)
        now_ = leave_out_unlikely(self._context.explain(each))
        moves = list_moves(each.comment, each.marker)
        return Shown(now_, now_.commit, moves, now_.newText, find_copies(self._tree, each.place), each.comment.copyOf)

    @completer("commentId")
    def complete_id(self, typed: str, given: Mapping[str, object]) -> dict[str, str]:
        """Returns the short names (or else ids) of comments that begin so, with file, line and what they say."""
        named = {id_: name for id_, name in self._context.short_names().items() if name.startswith(typed)}
        if not named:
            named = {id_: id_ for id_ in self._context.overview.index.ids(typed) if id_.startswith(typed)}
        some = sorted(named)[-MOST_OFFERED:]  # ours begin with their moment: the newest
        found = self._context.overview.where(f"id {LISTED}", encode(some).decode())
        return {named[each.comment.id]: f"{each.filePath}:{each.place.line} {each.comment.text}" for each in found}

    @writes(
        "comments_reply",
        thing="commentId",
        title="Reply to a comment",
        shell="comments reply",
        positional=("commentId", "text"),
    )
    def reply(
        self,
        commentId: Id,
        text: Annotated[str, Meta(min_length=1, max_length=10000, description="The reply")],
        author: Annotated[str, Meta(description="Who replies")] = "",
    ) -> Replied:
        """Add a reply to a comment's thread"""
        made = Reply(new_id("r_"), text, sign(author, self._context.person), now())

        def change(sidecar: Sidecar) -> Replied:
            comment = find_comment(sidecar, commentId)
            held = sidecar.raw_comment(comment.id)
            if len(encode(held)) > limits.THREAD:
                raise ThreadFull(comment.id, limits.THREAD)
            raw = held.get("replies")
            replies: list[object] = [*raw] if isinstance(raw, list) else []
            values: JsonObject = {"replies": [*replies, to_builtins(made)], "updated": made.created}
            sidecar.change(comment.id, values, reply=made.id)
            return Replied(comment.id, made.id, sidecar.path)

        return self._context.in_its_file(commentId, lambda path: self._store.change(path, change))

    @writes(
        "comments_resolve",
        thing="commentId",
        title="Resolve a comment",
        shell="comments resolve",
        positional=("commentId",),
        spellings=(
            Spelling(
                "comments reopen", {"status": "open", "author": ""}, "Open a comment again", name="comments_reopen"
            ),
        ),
    )
    def resolve(
        self,
        commentId: Id,
        status: Annotated[Status, Meta(description="resolved, wontfix, or open to reopen")] = "resolved",
        author: Annotated[str, Meta(description="Who decides")] = "",
    ) -> Settled:
        """Resolve a comment, close it as wontfix, or reopen it"""
        author = sign(author, self._context.person)

        def change(sidecar: Sidecar) -> Settled:
            comment = find_comment(sidecar, commentId)
            moment = now()
            values: JsonObject = {"status": status, "updated": moment}
            gone: tuple[str, ...] = ("resolvedBy", "resolvedAt")
            if status != "open":
                values |= {"resolvedBy": author, "resolvedAt": moment}
                gone = ()
            sidecar.change(comment.id, values, gone)
            return Settled(comment.id, sidecar.path, status, moment)

        settled = self._context.in_its_file(commentId, lambda path: self._store.change(path, change))
        return replace(settled, warning=NOT_NOTED) if self._store.log.has_missed(settled.commentId) else settled
