"""Bringing comments to where their code is now: written into the sidecars, across files, by hand, and undone."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Annotated, cast

from msgspec import Meta, Struct

from postil.comments.anchoring.update_markers import settle
from postil.comments.context import Desk
from postil.comments.model import Placed
from postil.comments.operations.answers import CommentNow, Moved, comment_now
from postil.comments.operations.by_id import Id, Where, one_line
from postil.comments.operations.validation import only_in_the_shell
from postil.comments.search.search import file_matches
from postil.comments.sidecar.document import Sidecar
from postil.core import call
from postil.core.failure import InvalidArguments
from postil.core.operation import writes
from postil.workspace.paths import RelativePath

DryRun = Annotated[bool, Meta(description="Only say what would be done")]
AtLine = Annotated[int, Meta(ge=1, description="The line it belongs to")]


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


class Relocated(Struct, frozen=True):
    """What was brought to its place, what waits for a person, and what is gone."""

    moved: tuple[Step, ...]
    review: tuple[CommentNow, ...]
    orphaned: tuple[CommentNow, ...]
    dryRun: bool = False

    def text(self) -> str:
        done = "would move" if self.dryRun else "moved"
        lines = [f"{len(self.moved)} {done}, {len(self.review)} to review, {len(self.orphaned)} orphaned"]
        lines += [
            f"  {each.source}:{each.sourceLine} → {each.target}:{each.targetLine}  ({each.state}, "
            f"{each.confidence:.2f}: {each.reason})  {each.commentId}"
            for each in self.moved
        ]
        lines += [f"  {one_line(each)}" for each in (*self.review, *self.orphaned)]
        return "\n".join(lines)


class Relocating(Desk):
    """Following code, on request."""

    @writes("comments_relocate", title="Write where comments are now")
    def relocate_now(self, file: Where = "", dryRun: DryRun = False) -> Relocated:
        """Write into the sidecars where comments are now; comments whose code went to another file go with it"""
        return self.relocated([file] if file else [], dry_run=dryRun)

    @writes("comments_relocate_here", shell="comments relocate", positional=("files",), tool=False)
    def relocate_here(
        self,
        files: Annotated[tuple[str, ...], Meta(description="Only these files, folders or globs")] = (),
        dryRun: DryRun = False,
        batch: Annotated[bool, Meta(description="Answer pairs of texts, one JSON object a line, on stdin")] = False,
    ) -> Relocated:
        """Write into the sidecars where comments are now, or follow lines between texts in bulk (--batch)"""
        only_in_the_shell()
        if batch:
            return cast(Relocated, _batch())  # piece by piece, as the shell prints them: no answer to keep
        wanted = [self.ground.typed(file) for file in files]
        return self.relocated([] if "" in wanted else wanted, dry_run=dryRun)

    def relocated(self, wanted: list[str], *, dry_run: bool) -> Relocated:
        """Bring every comment of these files to its place."""
        placed = [
            each
            for each in self.overview.everything()
            if not wanted or any(file_matches(pattern, each.filePath) for pattern in wanted)
        ]
        steps: list[Step] = []
        by_file: dict[str, list[Placed]] = {}
        for each in placed:
            if each.place.state in ("moved", "modified"):
                by_file.setdefault(each.filePath, []).append(each)
        for number, (path, some) in enumerate(by_file.items()):
            call.current().check()
            call.current().progress(number, len(by_file), path)
            steps += [_step(each) for each in some]
            if not dry_run:
                self._settle_file(RelativePath(path), some)
        kinds = {state: [each for each in placed if each.place.state == state] for state in ("review", "orphaned")}
        review, orphaned = (tuple(comment_now(each) for each in kinds[state]) for state in ("review", "orphaned"))
        return Relocated(tuple(steps), review, orphaned, dry_run)

    def _settle_file(self, path: RelativePath, some: list[Placed]) -> None:
        if any(each.place.path == path for each in some):

            def change(sidecar: Sidecar) -> None:
                settle(sidecar, self.reading.source_or_none(path), self.reading, self.texts)

            self.store.change(path, change)
        for each in some:
            if each.place.path != path:
                self.moves.follow(each)

    @writes(
        "comments_move",
        title="Move a comment",
        shell="comments move",
        positional=("commentId", "file", "line"),
        tool=False,
    )
    def move_by_id(
        self,
        commentId: Id,
        file: Annotated[str, Meta(description="The file its code is in")],
        line: AtLine,
        endLine: Annotated[int, Meta(ge=0, description="The last line, for a range")] = 0,
    ) -> Moved:
        """Tie a comment to other lines, in this or another file"""
        return self.moves.to(self.file_of(commentId), self.ground.typed(file), commentId, line, endLine)

    @writes("comments_move_all", shell="comments move-all", positional=("file", "target"), tool=False)
    def move_all(
        self,
        file: Annotated[str, Meta(description="The file whose comments go")],
        target: Annotated[str, Meta(description="The file their code is in now")],
    ) -> MovedAll:
        """Take all comments of a file to another one that has their code now, as after a split or a copy"""
        moved, left = self.moves.all_to(self.ground.typed(file), self.ground.typed(target))
        return MovedAll(tuple(moved), tuple(comment_now(each) for each in left))

    @writes("comments_undo", title="Undo a move", shell="comments undo", positional=("commentId",))
    def undo(self, commentId: Id) -> Moved:
        """Take a comment back to where it was before its last move"""
        return self.moves.undo(self.one(commentId))


class MovedAll(Struct, frozen=True):
    """Comments that went to another file, and those whose code is not there."""

    moved: tuple[Moved, ...]
    left: tuple[CommentNow, ...]

    def text(self) -> str:
        lines = [f"{len(self.moved)} moved, {len(self.left)} stay: their code is not there"]
        lines += [
            f"  {each.sourceFile}:{each.sourceLine} → {each.targetFile}:{each.targetLine}  {each.commentId}"
            for each in self.moved
        ]
        return "\n".join([*lines, *(f"  {one_line(each)}" for each in self.left)])


def _step(each: Placed) -> Step:
    place, marker = each.place, each.marker
    before = marker.line if marker else each.comment.line
    return Step(
        each.comment.id, each.filePath, before, place.path, place.line, place.state, place.confidence, place.reason
    )


def _batch() -> Iterator[object]:
    import msgspec

    from postil.anchor.batch import Request, answer_all  # the engine, for whoever measures it

    decode = msgspec.json.Decoder(Request).decode

    def requests() -> Iterator[Request]:
        for number, row in enumerate(sys.stdin.buffer, 1):
            if row.strip():
                try:
                    yield decode(row)
                except (msgspec.DecodeError, UnicodeDecodeError) as fault:
                    raise InvalidArguments(
                        f"Line {number} is no request: {fault}", advice="See `postil comments relocate --help`"
                    ) from None

    for answer in answer_all(requests()):
        yield msgspec.json.encode(answer) + b"\n"
