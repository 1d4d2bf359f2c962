"""Bringing comments to where their code is now: written into the sidecars, across files, undone, and reviewed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Annotated, Literal, cast

from msgspec import Meta, Struct

from postil.comments.answers import CommentNow, Moved, comment_now
from postil.comments.checks import only_in_the_shell
from postil.comments.desk import Desk
from postil.comments.model import Placed
from postil.comments.search import file_matches
from postil.comments.settling import settle
from postil.comments.sidecar import Sidecar
from postil.comments.threads import Id, Where, one_line
from postil.core import call
from postil.core.failure import Failure, InvalidArguments, NotFound
from postil.core.operation import reads, writes
from postil.core.visible import harmless
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


class Reviewed(Struct, frozen=True):
    """What a person decided about uncertain comments."""

    placed: int
    deleted: int
    skipped: int
    waiting: tuple[CommentNow, ...] = ()

    def text(self) -> str:
        if self.waiting:
            return "\n".join(["To review (run it on a terminal to decide):", *map(_with_options, self.waiting)])
        return f"{self.placed} placed, {self.deleted} deleted, {self.skipped} left as they were"


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

    @reads("comments_orphans", title="Comments without their code", shell="comments orphans", positional=("file",))
    def orphaned(self, file: Where = "") -> Orphaned:
        """List comments whose code is gone or uncertain, with the old code, the commit, and candidates"""
        file = self.ground.typed(file)
        found = [
            each
            for each in self.overview.where("state IN ('orphaned', 'review')")
            if not file or file_matches(file, each.filePath)
        ]
        return Orphaned(tuple(self.explained(each) for each in found))

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

    @writes("comments_confirm", shell="comments confirm", positional=("commentId",), tool=False)
    def confirm(self, commentId: Id) -> Moved:
        """Say that a comment still holds for its code as it is now: it is no longer stale"""
        each = self.one(commentId)
        place = each.place
        if place.state == "orphaned":
            raise NotFound(
                "The code of this comment is gone", advice="Tie it to other lines with `postil comments move`"
            )
        return self.moves.to(each.filePath, place.path, commentId, place.line, place.endLine)

    @writes("comments_review", shell="comments review", positional=("file",), tool=False)
    def review(self, file: Where = "") -> Reviewed:
        """Go through uncertain, orphaned and stale comments and decide where each belongs"""
        only_in_the_shell()
        there = self.ground.typed(file)
        stale = [each for each in self.overview.where("stale = 1") if not there or file_matches(there, each.filePath)]
        waiting = (*self.orphaned(file).comments, *map(self.explained, stale))
        if not call.current().interactive:
            return Reviewed(0, 0, 0, waiting)
        placed = deleted = skipped = 0
        for number, each in enumerate(waiting, 1):
            answer = _asked(number, len(waiting), each)
            if answer == "quit":
                skipped += len(waiting) - number + 1
                break
            if answer == "delete":
                self.editing.delete(RelativePath(each.filePath), each.id)
                deleted += 1
            elif answer is None:
                skipped += 1
            elif answer == "keep":
                self.confirm(each.id)
                placed += 1
            else:
                try:
                    file, comment, line = answer
                    self.moves.to(each.filePath, self.ground.typed(file), comment, line)
                    placed += 1
                except Failure as fault:
                    sys.stderr.write(f"{harmless(fault.text())}\n")
                    skipped += 1
        return Reviewed(placed, deleted, skipped)


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


class Orphaned(Struct, frozen=True):
    """Comments whose code is gone or uncertain."""

    comments: tuple[CommentNow, ...]

    def text(self) -> str:
        return "\n".join(map(_with_options, self.comments)) if self.comments else "No comment has lost its code."


def _step(each: Placed) -> Step:
    place, marker = each.place, each.marker
    before = marker.line if marker else each.comment.line
    return Step(
        each.comment.id, each.filePath, before, place.path, place.line, place.state, place.confidence, place.reason
    )


def _with_options(each: CommentNow) -> str:
    lines = [one_line(each), f"    {each.reason}" + (", and little is left of what it was" if each.stale else "")]
    if each.commit:
        lines.append(f"    by {each.commit.id[:12]} {each.commit.subject} ({each.commit.author})")
    lines += [f"    - {line}" for line in each.oldText.split("\n")[:5] if line.strip()]
    if each.stale:
        lines += [f"    + {line}" for line in each.newText.split("\n")[:5] if line.strip()]
    lines += [
        f"    {rank}. {option.path}:{option.line} ({option.confidence:.2f}) {option.text.strip()[:100]}"
        for rank, option in enumerate(each.candidates, 1)
    ]
    return "\n".join(lines)


def _asked(
    number: int, total: int, each: CommentNow
) -> tuple[str, str, int] | Literal["quit", "delete", "keep"] | None:
    """What the person at the terminal says about one comment: a place, `keep`, `delete`, `quit`, or nothing."""
    sys.stderr.write(f"\n[{number}/{total}] {harmless(_with_options(each))}\n")
    while True:
        keep = "[k]eep here, " if each.stale else ""
        sys.stderr.write(f"number of a candidate, FILE:LINE, LINE, {keep}[s]kip, [d]elete, [q]uit > ")
        sys.stderr.flush()
        said = sys.stdin.readline()
        word = said.strip()
        if not said or word == "q":
            return "quit"
        if word in ("", "s"):
            return None
        if word == "d":
            return "delete"
        if word == "k" and each.stale:
            return "keep"
        place = _place_named(word, each)
        if place:
            return place
        sys.stderr.write("That is none of these.\n")


def _place_named(word: str, each: CommentNow) -> tuple[str, str, int] | None:
    if word.isdigit() and 1 <= int(word) <= len(each.candidates):
        option = each.candidates[int(word) - 1]
        return option.path, each.id, option.line
    file, _, line = word.rpartition(":")
    return (file or each.filePath, each.id, int(line)) if line.isdigit() and int(line) > 0 else None


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
