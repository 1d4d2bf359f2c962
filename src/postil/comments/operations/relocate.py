"""Bringing comments to where their code is now: written into the sidecars, across files, by hand, and undone."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, cast

from msgspec import Meta, Struct
from msgspec.structs import replace

from postil.comments.anchoring.locate import UNCHANGED
from postil.comments.anchoring.marker import is_counted_by_editors
from postil.comments.failures import CommentNotFound
from postil.comments.model import Damage, Located, Place
from postil.comments.operations.answers import CommentNow, Moved, comment_now, warn_missing
from postil.comments.operations.restore import Restored, restore_one, restore_words
from postil.comments.operations.validation import Id, Where, sign
from postil.comments.operations.written import TakenBack
from postil.comments.search.filters import is_about
from postil.comments.show.one_comment import show_line
from postil.comments.storage.first_write import tell_first
from postil.comments.storage.last_edit import find_last_edit, take_back
from postil.comments.storage.move_journal import list_moves
from postil.comments.storage.store import refuse_unlisted
from postil.core import call
from postil.core.answer import Answer
from postil.core.failure import Conflict, InvalidArguments
from postil.core.operation import writes
from postil.core.others.unreadable import UNREADABLE
from postil.workspace.paths import RelativePath

if TYPE_CHECKING:
    from postil.comments.part import CommentsContext


MOST_PLACES = 3
MOST_SHOWN = 20


class Step(Struct, frozen=True):
    """One comment that follows its code."""

    commentId: str
    source: str
    sourceLine: int
    target: str
    targetLine: int
    state: str
    confidence: float
    reason: str


class Relocated(Answer, frozen=True):
    """What was brought to its place, what waits for a person, and what is gone."""

    moved: tuple[Step, ...]
    review: tuple[CommentNow, ...]
    orphaned: tuple[CommentNow, ...]
    dryRun: bool = False
    carried: int = 0
    """How many of those that wait went along with their file, which has another name."""
    warnings: tuple[str, ...] = ()
    damaged: tuple[Damage, ...] = ()

    @property
    def exit_status(self) -> int:
        """7 when a comment file could not be read: something may be missing here."""
        return 7 if self.damaged else 0

    @property
    def has_words(self) -> bool:
        return bool(self.review or self.orphaned)

    def for_model(self) -> str:
        stay = sum((each.source, each.sourceLine) == (each.target, each.targetLine) for each in self.moved)
        done = ("would move" if self.dryRun else "moved") + (f" ({stay} of them edited where they are)" if stay else "")
        went = "would go" if self.dryRun else "went"
        along = f" ({self.carried} of them {went} with their file)" if self.carried else ""
        lines = [f"{len(self.moved)} {done}, {len(self.review)} to review, {len(self.orphaned)} orphaned{along}"]
        lines += [
            f"  {each.source}:{each.sourceLine} → {each.target}:{each.targetLine}  ({each.state}, "
            f"{each.confidence:.2f}: {each.reason})  {each.commentId}"
            for each in self.moved[:MOST_SHOWN]
        ]
        if len(self.moved) > MOST_SHOWN:
            lines.append(f"  … and {len(self.moved) - MOST_SHOWN} more")
        waiting = (*self.review, *self.orphaned)
        lines += [f"  {show_line(each)}" for each in waiting[:MOST_SHOWN]]
        if len(waiting) > MOST_SHOWN:
            how = "`postil comments orphans`" if call.current().person else "comments_orphans"
            lines.append(f"  … and {len(waiting) - MOST_SHOWN} more to review or orphaned: {how} lists them")
        return "\n".join([*lines, *(f"⚠️ {said}" for said in self.warnings)]) + warn_missing(self.damaged)


class MovedAll(Answer, frozen=True, omit_defaults=True):
    """Comments that went to another file, and those whose code is not there."""

    moved: tuple[Moved, ...]
    left: tuple[CommentNow, ...]
    warning: str = ""

    def for_model(self) -> str:
        lines = [f"{len(self.moved)} moved, {len(self.left)} stay: their code is not there"]
        lines += [
            f"  {each.sourceFile}:{each.sourceLine} → {each.targetFile}:{each.targetLine}  {each.commentId}"
            for each in self.moved
        ]
        lines += [f"  {show_line(each)}" for each in self.left]
        return "\n".join([*lines, *([f"⚠️ {self.warning}"] if self.warning else [])])


class RelocateTools:
    """Follows code, on request."""

    def __init__(self, context: CommentsContext) -> None:
        self._context = context

    @writes(
        "comments_relocate",
        title="Write where comments are now",
        idempotent=True,
        task="optional",
        aliases=("comments_relocate_here",),
        shell="comments relocate",
        says="Write into the sidecars where comments are now, or follow lines between texts in bulk (--batch)",
        positional=("files",),
        tool_only=("file",),
        shell_only=("files", "batch"),
    )
    def relocate(
        self,
        file: Where = "",
        dryRun: Annotated[bool, Meta(description="Only say what would be done")] = False,
        files: Annotated[tuple[str, ...], Meta(description="Only these files, folders or globs")] = (),
        batch: Annotated[bool, Meta(description="Answer pairs of texts, one JSON object a line, on stdin")] = False,
    ) -> Relocated:
        """Write into the sidecars where comments are now; comments whose code went to another file go with it"""
        if batch:
            return cast(Relocated, _answer_batch())  # piece by piece, as the shell prints them: no answer to keep
        wanted = [self._context.tree.where(each) for each in (file, *files) if each]
        if "" in wanted:  # the root itself
            wanted = []
        located = [
            each
            for each in self._context.overview.everything()
            if not wanted or any(is_about(pattern, each) for pattern in wanted)
        ]
        for each in wanted if not located else ():
            self._context.refuse_missing(each)
        unproven = self._find_unproven(located)
        steps: list[Step] = []
        by_file: dict[str, list[Located]] = {}
        for each in located:
            if each.comment.id in unproven:
                continue
            if each.place.state in ("moved", "modified") or _is_astray(each) or _may_be_counted_anew(each):
                by_file.setdefault(each.filePath, []).append(each)
        for number, (path, some) in enumerate(by_file.items()):
            call.current().check()
            call.current().progress(number, len(by_file), path)
            steps += [_make_step(each) for each in some if each.place.state in ("moved", "modified")]
            if not dryRun:
                self._update_file(RelativePath(path), some)
        kinds = {state: [each for each in located if each.place.state == state] for state in ("review", "orphaned")}
        review, orphaned = (tuple(comment_now(each) for each in kinds[state]) for state in ("review", "orphaned"))
        others = [each for some in by_file.values() for each in some if each.place.path != each.filePath]
        carried = sum(map(_is_astray, others))
        told = tell_first(self._context.store, [] if dryRun else list({each.place.path: None for each in others}))
        told = [*told, *self._tell_unproven(len(unproven))]
        names = wanted or [""]
        damaged = {each.filePath: each for name in names for each in self._context.overview.damaged(name)}
        return Relocated(tuple(steps), review, orphaned, dryRun, carried, tuple(told), tuple(damaged.values()))

    def _find_unproven(self, located: list[Located]) -> set[str]:
        """Returns the comments that stay as they are, since only who has the version they were written on can tell."""
        unproven = self._context.reader.find_unproven([(each.marker, each.place) for each in located if each.marker])
        return {each.comment.id for each in located if each.marker and each.marker.id in unproven}

    def _tell_unproven(self, count: int) -> list[str]:
        if not count:
            return []
        from postil.comments.git.outside import tell_shallow  # only where the past is missing

        stay, they = ("1 comment stays", "it was") if count == 1 else (f"{count} comments stay", "they were")
        why = f"{stay} where {they}: the version that {they} written on is not here, and what is kept of it is no proof"
        return [". ".join(filter(None, (why, tell_shallow(self._context.tree.common_dir))))]

    def _update_file(self, path: RelativePath, some: list[Located]) -> None:
        context = self._context
        if any(each.place.path == path for each in some):
            source = context.tree.source_or_none(path)
            here = {each.comment.id for each in some if each.place.path == path}
            context.store.change(path, lambda sidecar: context.reader.update_markers(sidecar, source, here))
        for each in some:
            if _is_astray(each):
                context.moves.carry(each)
            elif each.place.path != path:
                context.moves.follow(each)

    @writes("comments_move_all", shell="comments move-all", positional=("file", "target"), toolset="extra")
    def move_all(
        self,
        file: Annotated[str, Meta(description="The file whose comments go")],
        target: Annotated[str, Meta(description="The file their code is in now")],
    ) -> MovedAll:
        """Take all comments of a file to another one that has their code now, as after a split or a copy"""
        source, goal = map(self._context.tree.typed, (file, target))
        refuse_unlisted(goal)
        if source == goal:
            raise InvalidArguments(
                f"The comments of {goal} are in it already", advice="Name another file as the target"
            )
        from postil.comments.index.cache import IN_FILE  # SQLite, which the overview loads

        path = self._context.existing(source)
        shown = self._context.overview.where(IN_FILE, path, path)
        waiting = self._context.overview.index.stream("state = 'review' AND ? NOT IN (path, now_path)", (path,))
        shown += [each for each in waiting if {path, goal} <= {option.path for option in each.place.candidates}]
        moved, left = self._context.moves.move_all(path, goal, shown)
        warning = ". ".join(tell_first(self._context.store, [goal] if moved else []))
        return MovedAll(tuple(moved), tuple(comment_now(each) for each in left), warning)

    @writes("comments_undo", title="Undo a change", shell="comments undo", positional=("commentId",))
    def undo(
        self, commentId: Id, madeAt: Annotated[str, Meta(description="Only one made then")] = ""
    ) -> Moved | Restored | TakenBack:
        """Undo a comment's last change, or its deletion"""
        if commentId.startswith("r_"):  # a reply, as `comments_check` names one that another program took out
            return restore_one(self._context, commentId)
        try:
            each = self._context.find_unchanged(commentId)
        except CommentNotFound:
            return restore_one(self._context, commentId)
        moves = list_moves(each.comment, each.marker)
        # A move notes when it began, an edit when it was written: within one millisecond the move is the later one.
        own = sign("", self._context.person)
        replies = [] if madeAt else [reply.id for reply in each.comment.replies if reply.author == own]
        edit = find_last_edit(self._context.store, each.comment.id, moves[-1].at if moves else "", replies)
        if madeAt and (edit is None or edit.updated != madeAt):
            raise _make_conflict(each.comment.id)
        if edit:
            path = self._context.file_of(commentId)
            said = take_back(self._context.store, path, each.comment.id, edit)
            if said is None:
                if again := restore_words(self._context, each.comment.id):
                    return again  # another program took the change back; this undoes that
                raise _make_conflict(each.comment.id)
            now_ = self._context.find_unchanged(commentId).comment
            return TakenBack(now_.id, path, now_.text, now_.status, said, _tell_stays(each, edit.at))
        back = replace(self._context.moves.undo(each), did="taken back")
        if moves and (stays := _tell_stays(each, moves[-1].at)):
            back = replace(back, warning=". ".join(filter(None, (back.warning, stays))))
        place = self._context.find_unchanged(commentId).place
        if place.state == "orphaned":
            return replace(back, codeNow="gone")
        if place.state == "review":
            return replace(back, codeNow=_tell_doubt(place))
        there = (place.path, place.line) == (back.targetFile, back.targetLine)
        return back if there else replace(back, codeNow=f"at {place.path}:{place.line}")


def _tell_stays(each: Located, since: str) -> str:
    """Returns what is said of replies that were made after what is undone; mostly nothing."""
    stay = sum(reply.created >= since for reply in each.comment.replies)
    return f"{stay} {'reply' if stay == 1 else 'replies'} made since {'stays' if stay == 1 else 'stay'}" if stay else ""


def _tell_doubt(place: Place) -> str:
    places = [f"{each.path}:{each.line}" for each in place.candidates[:MOST_PLACES]]
    return f"perhaps at {' or '.join(places)}" if places else f"perhaps at {place.path}:{place.line}"


def _make_conflict(comment: str) -> Conflict:
    return Conflict(
        f"Comment {comment} was changed since by somebody else, so nothing is taken back",
        advice="Look at what it says now, and edit it if it should say something else",
    )


def _is_astray(each: Located) -> bool:
    """Whether a comment's code is gone or in doubt, and its file has another name: it goes there, as it is."""
    return each.place.state in ("orphaned", "review") and each.place.path != each.filePath and each.marker is not None


def _may_be_counted_anew(each: Located) -> bool:
    """Whether a comment on its old line may be shown on another by an editor: something else in its file has moved."""
    place, marker = each.place, each.marker
    edited = place.state == "exact" and place.reason != UNCHANGED
    return edited and marker is not None and is_counted_by_editors(marker, each.filePath)


def _make_step(each: Located) -> Step:
    place, marker = each.place, each.marker
    before = marker.line if marker else each.comment.line
    return Step(
        each.comment.id, each.filePath, before, place.path, place.line, place.state, place.confidence, place.reason
    )


def _answer_batch() -> Iterator[object]:
    import msgspec

    from postil.anchor.batch import Request, answer_all  # the engine, for those who measure it

    decode = msgspec.json.Decoder(Request).decode

    def requests() -> Iterator[Request]:
        for number, row in enumerate(sys.stdin.buffer, 1):
            if row.strip():
                try:
                    yield decode(row)
                except UNREADABLE as fault:
                    raise InvalidArguments(
                        f"Line {number} is no request: {fault}", advice="See `postil comments relocate --help`"
                    ) from None

    for answer in answer_all(requests()):
        yield msgspec.json.encode(answer) + b"\n"
