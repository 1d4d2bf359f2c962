"""Comments and history: the commits behind a comment, where comments were at a revision, how well they would follow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

from msgspec import Meta, Struct

from postil.comments.context import Desk
from postil.comments.git import blame as history
from postil.comments.git.blame import Touch
from postil.comments.git.evaluate import Measured, measure
from postil.comments.git.objects import contents
from postil.comments.git.timeline import Change, changes
from postil.comments.operations.answers import CommentNow, comment_now
from postil.comments.operations.by_id import Id, Where, one_line
from postil.comments.operations.validation import only_in_the_shell
from postil.comments.search.search import file_matches
from postil.comments.sidecar.dialects import Unreadable
from postil.comments.sidecar.document import Sidecar
from postil.comments.sidecar.format import blob_id
from postil.comments.source_tree import Source, decode
from postil.comments.storage.move_journal import events_of
from postil.comments.storage.store import SUFFIX, is_sidecar
from postil.core import call
from postil.core.failure import NotFound
from postil.core.operation import reads
from postil.workspace.paths import RelativePath

AT_ONCE = 200
AtRevision = Annotated[str, Meta(min_length=1, max_length=300, description="A commit, a branch or a tag")]


class Blamed(Struct, frozen=True):
    """The commits that made and changed the code of a comment, newest first."""

    commentId: str
    touches: tuple[Touch, ...]

    def text(self) -> str:
        if not self.touches:
            return "No commit has touched this code yet."
        return "\n".join(
            f"{each.commit.id[:12]} {each.commit.date[:10]} {each.commit.author}: {each.commit.subject}"
            f"  ({each.did}, {each.path}:{each.line})"
            for each in self.touches
        )


class Lifetime(Struct, frozen=True):
    """What happened to a comment, oldest first."""

    commentId: str
    changes: tuple[Change, ...]

    def text(self) -> str:
        return "\n".join(line for each in self.changes for line in _told(each))


class Then(Struct, frozen=True):
    """The comments a revision held, and where the code of later ones was."""

    revision: str
    comments: tuple[CommentNow, ...]
    later: tuple[CommentNow, ...] = ()

    def text(self) -> str:
        lines = [one_line(each) for each in self.comments] or [f"No comments at {self.revision[:12]}."]
        if self.later:
            lines += ["", "Made since, and where their code was then:", *map(one_line, self.later)]
        return "\n".join(lines)


class Past(Desk):
    """Looking back."""

    @reads("comments_blame", title="Commits behind a comment", shell="comments blame", positional=("commentId",))
    def blame(self, commentId: Id) -> Blamed:
        """List the commits that made and changed the code under a comment"""
        each = self.one(commentId)
        place = each.place
        if place.state == "orphaned":
            return Blamed(each.comment.id, ())
        found_ = history.touching(self.ground, self.texts, place.path, place.line, place.endLine)
        return Blamed(each.comment.id, tuple(found_))

    @reads("comments_history", shell="comments history", positional=("commentId",), tool=False)
    def lifetime(self, commentId: Id) -> Lifetime:
        """Tell what happened to a comment: its texts, replies and status, commit by commit, and its moves"""
        each = self.one(commentId)
        events = events_of(each.comment, each.marker)
        return Lifetime(each.comment.id, tuple(changes(self.ground, each.comment, each.filePath, events)))

    @reads("comments_at", title="Comments at a revision", shell="comments at", positional=("revision", "file"))
    def at(self, revision: AtRevision, file: Where = "") -> Then:
        """List the comments a revision held, in the places they had in its code; and where present ones were then"""
        file = self.ground.typed(file)
        commit = history.resolved(self.ground, revision)
        if commit is None:
            raise NotFound(f"There is no revision {revision[:100]!r}", advice="Name a commit, a branch or a tag")
        held = [
            name.removesuffix(SUFFIX)
            for name in history.sidecars_at(self.ground, commit.id)
            if is_sidecar(name.rsplit("/", 1)[-1]) and (not file or file_matches(file, name.removesuffix(SUFFIX)))
        ]
        present = [path for path in self.store.paths() if not file or file_matches(file, path)]
        listed = list(self._then(commit.id, held, {}))
        known = {each.id for each in listed}
        now: dict[str, bytes] = {path: data for path in present if (data := self.store.bytes_of(path)) is not None}
        later = [each for each in self._then(commit.id, present, now) if each.id not in known]
        return Then(commit.id, tuple(listed), tuple(each for each in later if each.state != "orphaned"))

    def _then(self, commit: str, paths: Sequence[str], sidecars: Mapping[str, bytes]) -> Iterator[CommentNow]:
        """The comments of these files in the code of a commit; sidecars that are not given are the commit's own."""
        for first in range(0, len(paths), AT_ONCE):
            call.current().check()
            call.current().progress(first, len(paths), f"reading {commit[:12]}")
            some = paths[first : first + AT_ONCE]
            names = {path: (f"{commit}:{path}", f"{commit}:{path}{SUFFIX}") for path in some}
            there = contents(self.ground.root, (name for both in names.values() for name in both))
            for path, (source, sidecar) in names.items():
                data = sidecars.get(path, there.get(sidecar))
                yield from self._placed_then(path, data, there.get(source))

    def _placed_then(self, path: str, data: bytes | None, content: bytes | None) -> list[CommentNow]:
        try:
            sidecar = Sidecar(path, data)
        except Unreadable:
            return []
        source = None
        if content is not None:
            source = Source(RelativePath(path), decode(content), blob_id(content, self.ground.id_width), "")
        return [comment_now(each) for each in self.reading.placed(sidecar, source)]

    @reads("comments_bench", shell="comments bench", tool=False)
    def bench(
        self,
        commits: Annotated[int, Meta(ge=1, le=100000, description="How many commits back")] = 200,
        files: Annotated[int, Meta(ge=1, le=100000, description="At most so many changed files")] = 200,
    ) -> Measured:
        """Measure how well comments would have followed this repository's own history"""
        only_in_the_shell()
        if not self.ground.git:
            raise NotFound("There is no history to measure on", advice="Run it in a git repository")
        return measure(self.ground, commits, files)


def _told(each: Change) -> Iterator[str]:
    by = f" by {each.by}" if each.by else ""
    commit = f"  ({each.commit.id[:12]})" if each.commit else ""
    why = f" ({each.before})" if each.did.startswith("left ") and each.before else ""
    yield f"{each.at}  {each.did}{by}{why}{commit}"
    if each.did in ("edited", "tagged"):
        yield from (f"    - {line}" for line in each.before.split("\n"))
    if each.did in ("edited", "tagged", "replied"):
        yield from (f"    + {line}" for line in each.after.split("\n"))
