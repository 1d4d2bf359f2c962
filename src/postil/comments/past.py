"""Comments and history: the commits behind a comment, where comments were at a revision, how well they would follow."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from postil.comments import history
from postil.comments.answers import CommentNow, comment_now
from postil.comments.checks import only_in_the_shell
from postil.comments.desk import Desk
from postil.comments.dialects import Unreadable
from postil.comments.ground import Source, decode
from postil.comments.history import Touch
from postil.comments.measuring import Measured, measure
from postil.comments.search import file_matches
from postil.comments.sidecar import Sidecar
from postil.comments.store import SUFFIX, is_sidecar
from postil.comments.threads import Id, Where, one_line
from postil.comments.words import blob_id
from postil.core.failure import NotFound
from postil.core.operation import reads
from postil.workspace.paths import RelativePath

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


class Then(Struct, frozen=True):
    """The comments at a revision."""

    revision: str
    comments: tuple[CommentNow, ...]

    def text(self) -> str:
        return "\n".join(one_line(each) for each in self.comments) or f"No comments at {self.revision[:12]}."


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

    @reads("comments_at", title="Comments at a revision", shell="comments at", positional=("revision", "file"))
    def at(self, revision: AtRevision, file: Where = "") -> Then:
        """List the comments a revision held, in the places they had in its code; and where present ones were then"""
        commit = history.resolved(self.ground, revision)
        if commit is None:
            raise NotFound(f"There is no revision {revision[:100]!r}", advice="Name a commit, a branch or a tag")
        listed: list[CommentNow] = []
        for name in history.sidecars_at(self.ground, commit.id):
            path = name.removesuffix(SUFFIX)
            if is_sidecar(name.rsplit("/", 1)[-1]) and (not file or file_matches(file, path)):
                listed += self._then(commit.id, path, history.text_at(self.ground, commit.id, name))
        held = {each.id for each in listed}
        paths = {path for path in self.store.paths() if not file or file_matches(file, path)}
        for path in sorted(paths):
            later = self._then(commit.id, path, self.store.bytes_of(path))
            listed += [each for each in later if each.id not in held and each.state != "orphaned"]
        return Then(commit.id, tuple(listed))

    def _then(self, commit: str, path: str, data: bytes | None) -> list[CommentNow]:
        content = history.text_at(self.ground, commit, path)
        try:
            sidecar = Sidecar(path, data)
        except Unreadable:
            return []
        text = decode(content) if content is not None else ""
        source = Source(RelativePath(path), text, blob_id(content or b"", self.ground.id_width), "")
        return [comment_now(each) for each in self.reading.placed(sidecar, source if content is not None else None)]

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
