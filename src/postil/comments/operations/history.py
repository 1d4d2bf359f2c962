"""Comments and history: the commits behind a comment, what happened to it, how well comments would follow the code."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Annotated, TypeAlias

from msgspec import Meta, Struct

from postil.comments.anchoring.locate import current_anchor
from postil.comments.anchoring.travel import WENT
from postil.comments.git.blame import (
    Touch,
    Touches,
    find_inner_repository,
    find_patience,
    is_shallow,
    list_touches,
    require_git,
)
from postil.comments.git.evaluate import Measured, measure
from postil.comments.git.timeline import Change, list_changes
from postil.comments.model import Commit, Located, State
from postil.comments.operations.answers import comment_now
from postil.comments.operations.validation import Id
from postil.comments.storage.move_journal import list_moves
from postil.core import call
from postil.core.answer import Answer
from postil.core.failure import NotFound
from postil.core.operation import reads

if TYPE_CHECKING:
    from postil.comments.part import CommentsContext

All: TypeAlias = Annotated[bool, Meta(description="Look at all commits, however long it takes")]
_NOT_FETCHED = "What other commits did is not known: this clone has left versions of the file at its remote."
_LOOK_FURTHER = "Older ones were not looked at in time: `--all` in a shell looks at all."


class Blamed(Answer, frozen=True):
    """The commits that made and changed the code of a comment, newest first."""

    commentId: str
    touches: tuple[Touch, ...]
    gone: bool = False
    """Whether the code is gone: these are the commits until then."""
    complete: bool = True
    """False where older commits of the file were not looked at, and may have touched the code."""
    looked: int = 0
    """How many commits of the file were looked at."""
    shallow: bool = False
    """Whether commits that had the code may be missing in this clone."""
    partial: bool = False
    """Whether versions of its file are missing in this clone, and with them what older commits did."""
    uncertain: str = ""
    """Of a comment in review, the likeliest place of its code: these are the commits of that."""

    def for_model(self) -> str:
        told = call.current().tell_moment
        lines = [
            f"{each.commit.id[:12]} {told(each.commit.date, each.commit.date[:10])} {each.commit.author}:"
            f" {each.commit.subject}  ({_show_did(each)}, {each.path}:{each.line})"
            for each in self.touches
        ]
        if not self.complete:
            others = "No other" if lines else "None"
            lines.append(f"{others} of the last {self.looked} commits of its file touched this code. {_LOOK_FURTHER}")
        elif self.partial:
            lines.append(_NOT_FETCHED)
        elif not lines and self.shallow:
            return "The code is gone, and no commit of this shallow clone had it (git fetch --unshallow)."
        elif not lines:
            lines.append(
                "The code is gone, and no commit had it." if self.gone else "No commit has touched this code yet."
            )
        return "\n".join([*self._tell_doubt(), *lines])

    def _tell_doubt(self) -> list[str]:
        if not self.uncertain:
            return []
        how = "`postil comments review` decides" if call.current().person else "comments_show has the other places"
        return [
            f"It is not sure where its code is now: these are the commits of {self.uncertain}, the likeliest; {how}"
        ]


class Whereabouts(Struct, frozen=True, omit_defaults=True):
    """Where the code of a comment is now, and the commit that brought it there."""

    filePath: str
    lines: str
    state: State
    reason: str
    commit: Commit | None = None


class Lifetime(Answer, frozen=True):
    """What happened to a comment, oldest first."""

    commentId: str
    changes: tuple[Change, ...]
    shallow: bool = False
    """Whether commits are missing in this clone, and with them what they changed."""
    complete: bool = True
    """False where older commits of its comment file were not looked at."""
    partial: bool = False
    """Whether versions of its comment file are missing in this clone, and with them what they changed."""
    now: Whereabouts | None = None
    """Where its code is, if not where the comment was put last."""

    def for_model(self) -> str:
        lines = [line for each in self.changes for line in _show_change(each)]
        if self.shallow:
            lines.append(
                "… and what older commits hold, which this shallow clone does not have (git fetch --unshallow)"
            )
        if self.partial:
            lines.append(f"… {_NOT_FETCHED}")
        if not self.complete:
            lines.append(f"… and what older commits hold. {_LOOK_FURTHER}")
        return "\n".join([*lines, *(_show_now(self.now) if self.now else ())])


class HistoryTools:
    """The commits behind comments and their code."""

    def __init__(self, context: CommentsContext) -> None:
        self._context = context

    @reads(
        "comments_blame",
        title="Commits behind a comment",
        shell="comments blame",
        positional=("commentId",),
        shell_only=("all",),
    )
    def blame(self, commentId: Id, all: All = False) -> Blamed:
        """List the commits that made and changed the code under a comment"""
        context = self._context
        each = context.find(commentId)
        require_git(context.tree, "no commit")
        if inner := find_inner_repository(context.tree, each.place.path):
            raise NotFound(
                f"{each.place.path} is of the repository in {inner}, whose commits are not of this one",
                advice=f"Run it in {inner}",
            )
        place, patience = each.place, inf if all else None
        if place.state == "orphaned":
            return self._blame_gone(each, patience)
        until = monotonic() + find_patience(patience)
        found = list_touches(context.tree, context.versions, place.path, place.line, place.endLine, patience=patience)
        for origin in _list_origins(each):
            if not found.complete or (found.touches and found.touches[-1].did != "added"):
                break  # what came before is not known
            left = until - monotonic()  # for all of them: a comment file may name many, and nobody need have been there
            if left <= 0:
                found = Touches(found.touches, complete=False, looked=found.looked)
                break
            before = list_touches(context.tree, context.versions, *origin, patience=left)
            known = {touch.commit.id for touch in found.touches}
            touches = [*found.touches, *(touch for touch in before.touches if touch.commit.id not in known)]
            found = Touches(touches, before.complete, found.looked + before.looked, before.partial)
        now = comment_now(each)
        likeliest = f"{now.path}:{now.lines}" if place.state == "review" else ""
        return Blamed(
            each.comment.id,
            tuple(found.touches),
            complete=found.complete,
            looked=found.looked,
            partial=found.partial,
            uncertain=likeliest,
        )

    def _blame_gone(self, each: Located, patience: float | None) -> Blamed:
        """Returns the commit that took the code out, and those behind the code that the comment was tied to."""
        context, marker = self._context, each.marker
        anchor = current_anchor(marker) if marker else None
        if marker is None or anchor is None:
            return Blamed(each.comment.id, (), gone=True, shallow=is_shallow(context.tree))
        last = context.explain(each).commit
        taken = [Touch(last, "deleted", each.filePath, marker.line, each.place.oldText)] if last else []
        found = list_touches(
            context.tree, context.versions, each.filePath, marker.line, marker.endLine, anchor.blob, patience
        )
        touches = (*taken, *found.touches)
        shallow = not touches and is_shallow(context.tree)
        return Blamed(each.comment.id, touches, True, found.complete, found.looked, shallow, found.partial)

    @reads(
        "comments_history",
        shell="comments history",
        positional=("commentId",),
        shell_only=("all",),
        toolset="extra",
    )
    def lifetime(self, commentId: Id, all: All = False) -> Lifetime:
        """Tell what happened to a comment: what was said of it, commit by commit, its moves, and where it is now"""
        each = self._context.find(commentId)
        moves, tree = list_moves(each.comment, each.marker), self._context.tree
        found = list_changes(tree, each.comment, each.filePath, moves, inf if all else None)
        here = self._tell_whereabouts(each)
        return Lifetime(each.comment.id, tuple(found.changes), is_shallow(tree), found.complete, found.partial, here)

    def _tell_whereabouts(self, each: Located) -> Whereabouts | None:
        if each.place.state == "exact" and each.place.path == each.filePath:
            return None
        found = self._context.explain(each)
        return Whereabouts(found.path, found.lines, found.state, found.reason, found.commit)

    @reads("comments_bench", shell="comments bench", toolset="extra")
    def bench(
        self,
        commits: Annotated[int, Meta(ge=1, le=100000, description="How many commits back")] = 200,
        files: Annotated[int, Meta(ge=1, le=100000, description="At most so many changed files")] = 200,
    ) -> Measured:
        """Measure how well comments would have followed this repository's own history"""
        require_git(self._context.tree, "no history to measure on")
        return measure(self._context.tree, commits, files)


def _list_origins(each: Located) -> Iterator[tuple[str, int, int, str]]:
    """Yields where the code was before it went to another file, the last first: file, lines, and blob id."""
    marker = each.marker
    anchor = current_anchor(marker) if marker else None
    if marker and anchor and each.place.path != each.filePath:
        yield each.filePath, marker.line, marker.endLine, anchor.blob
    for event in reversed(list_moves(each.comment, marker)):
        # A person may have put the comment on other code: only what was found there is the same.
        if event.path and event.blob and event.reason.startswith(WENT):
            yield event.path, event.line, event.end, event.blob


def _show_did(each: Touch) -> str:
    return "made here or before: this clone knows nothing older" if each.did == "before" else each.did


def _show_now(now: Whereabouts) -> Iterator[str]:
    by = f"  ({now.commit.id[:12]})" if now.commit else ""
    if now.state == "orphaned":
        yield f"now  its code is gone: {now.reason}{by}"
    elif now.state == "review":
        yield f"now  not sure where, {now.filePath}:{now.lines} is the likeliest: {now.reason}{by}"
    else:
        yield f"now  at {now.filePath}:{now.lines}, {now.state}: {now.reason}{by}"


def _show_change(each: Change) -> Iterator[str]:
    by = f" by {each.by}" if each.by else ""
    commit = f"  ({each.commit.id[:12]})" if each.commit else ""
    why = f" ({each.before})" if each.did.startswith("left ") and each.before else ""
    yield f"{each.at}  {each.did}{by}{why}{commit}"
    if each.did in ("edited", "tagged"):
        yield from (f"    - {line}" for line in each.before.split("\n"))
    if each.did in ("edited", "tagged", "replied"):
        yield from (f"    + {line}" for line in each.after.split("\n"))
