"""Bringing comments back: those that were deleted here, and those that another program took out of their files."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

from postil.comments.failures import CommentNotFound
from postil.comments.sidecar.short_ids import is_named, is_short
from postil.comments.storage.erased import (
    Erased,
    describe,
    describe_reply,
    find_deleted,
    find_erased,
    find_erased_replies,
    put_back,
    put_back_reply,
)
from postil.comments.storage.store import SUFFIX
from postil.core import call
from postil.core.answer import Answer
from postil.core.failure import InvalidArguments

if TYPE_CHECKING:
    from postil.comments.part import CommentsContext

MOST_NAMED = 3


class Restored(Answer, frozen=True):
    """Comments that were written again."""

    comments: tuple[Erased, ...]

    def for_model(self) -> str:
        if not self.comments:
            return "Nothing was taken out by another program."
        rows = [
            f"✅ {show_name(each)} is in {each.filePath}{SUFFIX} again ({show_said(each)})" for each in self.comments
        ]
        whole = [each for each in self.comments if not each.replyTo]
        if len(whole) > MOST_NAMED:
            how = "`postil comments delete ID`" if call.current().person else "delete_comment with commentId, filePath"
            rows.append(f"To undo it, for each of these {len(whole)} comments: {how}")
        else:
            rows += [f"To undo it: {_undo(each)}" for each in whole]
        if len(whole) < len(self.comments):
            rows.append("No command takes out a reply again")
        return "\n".join(rows)


def _undo(each: Erased) -> str:
    if call.current().person:
        return f"`postil comments delete {quote(each.id)}`"
    return f"delete_comment with commentId {each.id} and filePath {each.filePath}"


def show_name(each: Erased) -> str:
    """A comment by its id, a reply with the comment it is missing from."""
    return f"reply {each.id} to {each.replyTo}" if each.replyTo else each.id


def show_said(each: Erased) -> str:
    """Who said what, in a few words."""
    first, _, rest = each.text.partition("\n")
    return f"{each.author}: {first[:80]}" + ("…" if rest or len(first) > 80 else "")


def restore_all(context: CommentsContext) -> Restored:
    """Write again all that another program took out."""
    found, replies = find_erased(context.store, context.overview.held), find_erased_replies(context.store)
    for each in found.values():
        put_back(context.store, each)
    for name, reply in replies.items():
        put_back_reply(context.store, name, reply)
    told = [describe_reply(name, reply) for name, reply in replies.items()]
    return Restored((*map(describe, found.values()), *told))


def restore_one(context: CommentsContext, name: str) -> Restored:
    """Write again a comment that was deleted, or a comment or reply that another program took out."""
    gone = find_deleted(context.store, context.overview.held)
    if not name:
        last = "; ".join(f"{each.id} ({show_said(describe(each))})" for each in list(gone.values())[-MOST_NAMED:])
        deleted = f". Deleted last: {last}" if last else ""
        raise InvalidArguments(
            "No comment is named", advice=f"Give an id of `postil comments check`, or --all{deleted}", path="commentId"
        )
    replies = find_erased_replies(context.store)
    if name in replies:
        put_back_reply(context.store, name, replies[name])
        return Restored((describe_reply(name, replies[name]),))
    gone |= find_erased(context.store, context.overview.held)
    named = [each for each in gone if each == name or (is_short(name) and is_named(each, name))]
    if len(named) > 1:
        raise InvalidArguments(
            f"{len(named)} comments that are gone are named {name}",
            advice=f"Give more of it: {', '.join(sorted(named)[:5])}",
            path="commentId",
        )
    if not named:
        if context.overview.held([name]):
            raise InvalidArguments(f"{name} is not gone", advice="See it with `postil comments show`", path="commentId")
        raise CommentNotFound("", name)
    put_back(context.store, gone[named[0]])
    return Restored((describe(gone[named[0]]),))
