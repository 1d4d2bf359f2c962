"""Comments and history: the commits behind a comment, what happened to it, how well comments would follow the code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from postil.comments.anchoring.locate import current_anchor
from postil.comments.git.blame import Touch, is_shallow, list_touches
from postil.comments.git.evaluate import Measured, measure
from postil.comments.git.timeline import Change, list_changes
from postil.comments.model import Located
from postil.comments.operations.validation import Id
from postil.comments.storage.move_journal import list_moves
from postil.core import call
from postil.core.answer import Answer
from postil.core.failure import NotFound
from postil.core.operation import reads

if TYPE_CHECKING:
    from postil.comments.part import CommentsContext


class Blamed(Answer, frozen=True):
    """The commits that made and changed the code of a comment, newest first."""

    commentId: str
    touches: tuple[Touch, ...]
    gone: bool = False
    """Whether the code is gone: these are the commits until then."""

    def for_model(self) -> str:
        if not self.touches:
            return "The code is gone, and no commit had it." if self.gone else "No commit has touched this code yet."
        told = call.current().tell_moment
        return "\n".join(
            f"{each.commit.id[:12]} {told(each.commit.date, each.commit.date[:10])} {each.commit.author}:"
            f" {each.commit.subject}  ({_show_did(each)}, {each.path}:{each.line})"
            for each in self.touches
        )


class Lifetime(Answer, frozen=True):
    """What happened to a comment, oldest first."""

    commentId: str
    changes: tuple[Change, ...]
    shallow: bool = False
    """Whether commits are missing in this clone, and with them what they changed."""

    def for_model(self) -> str:
        lines = [line for each in self.changes for line in _show_change(each)]
        cut = ["… and what older commits hold, which this shallow clone does not have (git fetch --unshallow)"]
        return "\n".join([*lines, *(cut if self.shallow else [])])


class HistoryTools:
    """The commits behind comments and their code."""

    def __init__(self, context: CommentsContext) -> None:
        self._context = context

    @reads("comments_blame", title="Commits behind a comment", shell="comments blame", positional=("commentId",))
    def blame(self, commentId: Id) -> Blamed:
        """List the commits that made and changed the code under a comment"""
        context = self._context
        each = context.find(commentId)
        place = each.place
        if place.state == "orphaned":
            return Blamed(each.comment.id, tuple(self._list_until_gone(each)), gone=True)
        touches = list_touches(context.tree, context.versions, place.path, place.line, place.endLine)
        return Blamed(each.comment.id, tuple(touches))

    def _list_until_gone(self, each: Located) -> Iterator[Touch]:
        """Yields the commit that took the code out, and those behind the code that the comment was tied to."""
        context, marker = self._context, each.marker
        anchor = current_anchor(marker) if marker else None
        if marker is None or anchor is None:
            return
        last = context.explain(each).commit
        if last:
            yield Touch(last, "deleted", each.filePath, marker.line, each.place.oldText)
        yield from list_touches(
            context.tree, context.versions, each.filePath, marker.line, marker.endLine, blob=anchor.blob
        )

    @reads("comments_history", shell="comments history", positional=("commentId",), toolset="extra")
    def lifetime(self, commentId: Id) -> Lifetime:
        """Tell what happened to a comment: its texts, replies and status, commit by commit, and its moves"""
        each = self._context.find(commentId)
        moves, tree = list_moves(each.comment, each.marker), self._context.tree
        changes = list_changes(tree, each.comment, each.filePath, moves)
        return Lifetime(each.comment.id, tuple(changes), is_shallow(tree))

    @reads("comments_bench", shell="comments bench", toolset="extra")
    def bench(
        self,
        commits: Annotated[int, Meta(ge=1, le=100000, description="How many commits back")] = 200,
        files: Annotated[int, Meta(ge=1, le=100000, description="At most so many changed files")] = 200,
    ) -> Measured:
        """Measure how well comments would have followed this repository's own history"""
        if not self._context.tree.git:
            raise NotFound("There is no history to measure on", advice="Run it in a git repository")
        return measure(self._context.tree, commits, files)


def _show_did(each: Touch) -> str:
    return "made here or before: the shallow clone begins with it" if each.did == "before" else each.did


def _show_change(each: Change) -> Iterator[str]:
    by = f" by {each.by}" if each.by else ""
    commit = f"  ({each.commit.id[:12]})" if each.commit else ""
    why = f" ({each.before})" if each.did.startswith("left ") and each.before else ""
    yield f"{each.at}  {each.did}{by}{why}{commit}"
    if each.did in ("edited", "tagged"):
        yield from (f"    - {line}" for line in each.before.split("\n"))
    if each.did in ("edited", "tagged", "replied"):
        yield from (f"    + {line}" for line in each.after.split("\n"))
