"""Bringing comments back: those that were deleted here, and those that another program took out of their files."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from postil.comments.clock import now
from postil.comments.failures import CommentNotFound
from postil.comments.model import sign_words
from postil.comments.operations.written import Deleted
from postil.comments.show.one_comment import cut_said
from postil.comments.sidecar.noted import Noted
from postil.comments.sidecar.short_ids import is_named, is_short
from postil.comments.storage.erased import (
    Erased,
    Gone,
    Kept,
    Overwritten,
    count_vanished,
    describe,
    describe_reply,
    find_erased_replies,
    read_gone,
)
from postil.comments.storage.put_back import put_back, put_back_reply
from postil.comments.storage.store import SUFFIX
from postil.core import call
from postil.core.answer import Answer
from postil.core.arguments.typed import type_words
from postil.core.failure import Failure, InvalidArguments
from postil.workspace.paths import RelativePath

if TYPE_CHECKING:
    from postil.comments.part import CommentsContext
    from postil.comments.storage.overwritten import PutBack

MOST_NAMED = 3
MOST_SHOWN = 20


class WholeFile(Struct, frozen=True):
    """A comment file that another program deleted, and how many comments are in it."""

    filePath: str
    comments: int
    first: str = ""
    """The id of one of them: whoever restores it restores the file."""

    @property
    def counted(self) -> str:
        return "1 comment" if self.comments == 1 else f"{self.comments} comments"


class Restored(Answer, frozen=True, omit_defaults=True):
    """Comments that were written again."""

    comments: tuple[Erased, ...]
    failed: tuple[str, ...] = ()
    """The files into which nothing could be written, and why."""
    files: tuple[WholeFile, ...] = ()
    """The comment files that git has and that came back whole; comments in them that no log knows are told so alone."""
    overwritten: tuple[Overwritten, ...] = ()
    """Comments that say again what we had written, and have the status that we gave them."""

    @property
    def exit_status(self) -> int:
        """7 when something could not be brought back."""
        return 7 if self.failed else 0

    def for_model(self) -> str:
        return "\n".join([self._tell(), *(f"⚠️ {said}" for said in self.failed)])

    def _tell(self) -> str:
        if not self.comments and not self.files and not self.overwritten:
            return "Nothing was brought back" if self.failed else "Nothing was taken out by another program."
        rows = [f"✅ {each.filePath}{SUFFIX} is here again, with {each.counted}" for each in self.files]
        named = [
            f"✅ {show_name(each)} is in {each.filePath}{SUFFIX} again ({show_said(each)})" for each in self.comments
        ]
        rows += named[:MOST_SHOWN]
        if len(named) > MOST_SHOWN:
            rows.append(f"… and {len(named) - MOST_SHOWN} more")
        whole = [each for each in self.comments if not each.replyTo]
        if len(whole) > MOST_NAMED:
            how = "`postil comments delete ID`" if call.current().person else "delete_comment with commentId, filePath"
            rows.append(f"To undo it, for each of these {len(whole)} comments: {how}")
        else:
            rows += [f"To undo it: {_undo(each)}" for each in whole]
        if len(whole) < len(self.comments):
            rows.append("No command takes out a reply again")
        rows += [
            f"✅ {each.id} in {each.filePath}{SUFFIX} {_tell_again(each)}" for each in self.overwritten[:MOST_SHOWN]
        ]
        if len(self.overwritten) > MOST_SHOWN:
            rows.append(f"… and {len(self.overwritten) - MOST_SHOWN} more")
        if self.overwritten:
            name = self.overwritten[0].id if len(self.overwritten) == 1 else ""
            how = (
                f"`postil comments undo {type_words(name) if name else 'ID'}`"
                if call.current().person
                else "comments_undo"
            )
            rows.append(f"To undo it: {how}" if name else f"To undo it, for each of them: {how}")
        return "\n".join(rows)


def _undo(each: Erased) -> str:
    if call.current().person:
        return f"`postil comments delete {type_words(each.id)}`"
    return f"delete_comment with commentId {each.id} and filePath {each.filePath}"


def _tell_again(each: Overwritten) -> str:
    words = f"says again “{cut_said(each.text, 80)}”" if each.text else ""
    return " and ".join(filter(None, (words, f"is {each.status} again" if each.status else "")))


def tell_overwritten(each: Overwritten) -> str:
    """What a comment is again, and what we had made of it, in a few words."""
    words = f"“{cut_said(each.textNow, 40)}”, not “{cut_said(each.text, 40)}”" if each.text else ""
    return ", ".join(filter(None, (words, f"{each.statusNow}, not {each.status}" if each.status else "")))


def show_name(each: Erased) -> str:
    """A comment by its id, a reply with the comment it is missing from."""
    return f"reply {each.id} to {each.replyTo}" if each.replyTo else each.id


def show_said(each: Erased) -> str:
    """Who said what, in a few words."""
    return f"{sign_words(each.author, each.editedBy)}: {cut_said(each.text, 80)}"


def tell_vanished(context: CommentsContext, there: Collection[str]) -> str:
    """Returns what a glance says of comments whose files another program deleted; mostly nothing."""
    said = count_vanished(context.store, there, context.overview.held)
    how = "postil comments check" if call.current().person else "comments_check"
    return f". {said} ({how})" if said else ""


def restore_all(context: CommentsContext) -> Restored:
    """Write again all that another program took out, or put back to what it was."""
    from postil.comments.storage.overwritten import find_overwritten  # only who restores something

    told: list[Erased] = []
    failed: list[str] = []
    with read_gone(context.store, context.overview.held) as gone:
        whole = gone.find_deleted_files()
        erased = _group(gone.find_erased())
        for path in dict.fromkeys((*erased, *whole)):
            try:
                told += _put_back(context, gone, RelativePath(path), erased.get(path, ()))
            except Failure as fault:
                failed.append(f"{path}{SUFFIX}: {fault.message}. {fault.advice}")
    for name, reply in find_erased_replies(context.store).items():
        try:
            put_back_reply(context.store, name, reply)
            told.append(describe_reply(name, reply))
        except Failure as fault:
            failed.append(f"{reply.path}{SUFFIX}: {fault.message}. {fault.advice}")
    again: list[Overwritten] = []
    for each in find_overwritten(context.store).values():
        try:
            again.append(_write_again(context, each))
        except Failure as fault:
            failed.append(f"{each.path}{SUFFIX}: {fault.message}. {fault.advice}")
    return Restored((*told,), tuple(dict.fromkeys(failed)), _count_back(context, whole), (*again,))


def restore_words(context: CommentsContext, name: str) -> Restored | None:
    """Write again what was said of a comment that is here, where another program put back what it was before."""
    from postil.comments.storage.overwritten import find_overwritten  # only who restores something

    found = find_overwritten(context.store).get(name)
    return Restored((), overwritten=(_write_again(context, found),)) if found else None


def _write_again(context: CommentsContext, each: PutBack) -> Overwritten:
    from postil.comments.storage.overwritten import write_again  # only who restores something

    write_again(context.store, each)
    return each.describe()


def restore_file(context: CommentsContext, path: RelativePath) -> None:
    """Write a comment file again that is gone and that git has, with what was written here since."""
    with read_gone(context.store, context.overview.held) as gone:
        if path in gone.find_deleted_files():
            erased = _group(gone.find_erased())
            list(_put_back(context, gone, path, erased.get(path, ())))


def _count_back(context: CommentsContext, paths: Iterable[str]) -> tuple[WholeFile, ...]:
    """Returns those of some files that have a sidecar again."""
    store = context.store
    back = [path for path in map(RelativePath, paths) if store.has(path)]
    return tuple(WholeFile(path, len(store.read(path).comments)) for path in back)


def _group(found: Mapping[str, Kept]) -> dict[str, list[Kept]]:
    by_path: dict[str, list[Kept]] = {}
    for each in found.values():
        by_path.setdefault(each.path, []).append(each)
    return by_path


def _put_back(context: CommentsContext, gone: Gone, path: RelativePath, some: Sequence[Kept]) -> Iterator[Erased]:
    """Write comments of one file again. Yields what is told of them."""
    written = [each for kept in some if (each := gone.load(kept))]
    if written or not some:
        yield from map(describe, put_back(context.store, path, written, gone.list_taken_out(path)))


def restore_one(context: CommentsContext, name: str) -> Restored:
    """Write again a comment that was deleted, or a comment or reply that another program took out.

    A comment file that is gone whole comes back whole.
    """
    with read_gone(context.store, context.overview.held) as gone:
        deleted = gone.find_deleted()
        if not name:
            raise _make_nameless(gone, deleted)
        replies = find_erased_replies(context.store)
        if name in replies:
            put_back_reply(context.store, name, replies[name])
            return Restored((describe_reply(name, replies[name]),))
        erased, whole = gone.find_erased(), gone.find_deleted_files()
        known = {**gone.find_missing(), **deleted, **erased}
        named = [each for each in known if each == name or (is_short(name) and is_named(each, name))]
        if len(named) > 1:
            raise InvalidArguments(
                f"{len(named)} comments that are gone are named {name}",
                advice=f"Give more of it: {', '.join(sorted(named)[:5])}",
                path="commentId",
            )
        if named:
            one = known[named[0]]
            path = RelativePath(one.path)
            is_whole = not context.store.has(path)
            some = [each for each in erased.values() if each.id == one.id or (is_whole and each.path == one.path)]
            told = tuple(_put_back(context, gone, path, some if one in some else [one, *some]))
            if told:
                return Restored(told, files=_count_back(context, [path] if path in whole else []))
        for path in [path for path, names in whole.items() if _is_among(name, names)][:1]:
            told = tuple(
                _put_back(context, gone, RelativePath(path), [each for each in erased.values() if each.path == path])
            )
            return Restored(told, files=_count_back(context, [path]))
    name = context.find(name).comment.id if is_short(name) else name
    if context.overview.held([name]):
        if again := restore_words(context, name):
            return again
        raise InvalidArguments(f"{name} is not gone", advice="See it with `postil comments show`", path="commentId")
    raise CommentNotFound("", name)


def forget(context: CommentsContext, name: str) -> Deleted | None:
    """Note that a comment which another program, or git, took out is deleted; None where there is none such."""
    with read_gone(context.store, context.overview.held) as gone:
        missing = gone.find_missing()
    named = [each for each in missing if each == name or (is_short(name) and is_named(each, name))]
    if len(named) != 1:
        return None
    one = missing[named[0]]
    context.store.log.note(one.path, now(), [Noted(one.id)])
    return Deleted(one.id, one.path)


def _is_among(name: str, ids: Collection[str]) -> bool:
    return name in ids or (is_short(name) and sum(is_named(each, name) for each in ids) == 1)


def _make_nameless(gone: Gone, deleted: Mapping[str, Kept]) -> InvalidArguments:
    found = [each for kept in list(deleted.values())[-MOST_NAMED:] if (each := gone.load(kept))]
    last = "; ".join(f"{each.id} ({show_said(describe(each))})" for each in found)
    said = f". Deleted last: {last}" if last else ""
    return InvalidArguments(
        "No comment is named", advice=f"Give an id of `postil comments check`, or --all{said}", path="commentId"
    )
