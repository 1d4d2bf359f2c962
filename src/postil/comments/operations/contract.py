"""The seven tools of the contract. What else comments can do is in the classes beside this one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, TypeVar

from msgspec import Meta, to_builtins

from postil.comments.failures import CommentNotFound, SourceNotFound
from postil.comments.operations.add import Saying
from postil.comments.operations.answers import Added, Deleted, Edited, Exported, FileComments, Found, Moved, comment_now
from postil.comments.operations.arguments import (
    Author,
    DeletedId,
    EditedId,
    ExportOptions,
    FilePath,
    Filters,
    Format,
    GivenAiMeta,
    Line,
    MovedId,
    Tag,
    Text,
)
from postil.comments.operations.by_id import Threads
from postil.comments.operations.history import Past
from postil.comments.operations.maintenance import Upkeep
from postil.comments.operations.prompts import Prompts
from postil.comments.operations.relocate import Relocating
from postil.comments.operations.resources import Resources
from postil.comments.operations.review import Reviewing
from postil.comments.operations.transfer import Exchange
from postil.comments.operations.validation import check_tag
from postil.comments.search.search import Wanted, found
from postil.comments.transfer.export import OF_THE_CONTRACT, exported
from postil.core.failure import InvalidArguments
from postil.core.glance import glance
from postil.core.operation import destroys, reads, writes
from postil.workspace.paths import RelativePath

QUICKLY_READ = 500
T = TypeVar("T")


class Comments(Threads, Relocating, Reviewing, Past, Exchange, Upkeep, Resources, Prompts):
    """Comments paired with source files, anchored to code."""

    @writes("add_comment")
    def add(
        self,
        filePath: FilePath,
        line: Line,
        text: Text,
        tag: Tag,
        author: Author = "ai",
        aiMeta: GivenAiMeta | None = None,
    ) -> Added:
        """Add a new paired comment to a source file at a specific line"""
        check_tag(tag)
        return self.adding.add(filePath, Saying(line, text, author, tag, ai=aiMeta))

    @writes("edit_comment")
    def edit(
        self,
        filePath: Annotated[str, Meta(description="Path to source file containing the comment")],
        commentId: EditedId,
        text: Annotated[str, Meta(min_length=1, max_length=10000, description="New comment text")],
    ) -> Edited:
        """Edit the text content of an existing comment"""
        return self._where_it_is(filePath, commentId, lambda path: self.editing.edit(path, commentId, text))

    @destroys("delete_comment")
    def delete(
        self, filePath: Annotated[str, Meta(description="Path to source file")], commentId: DeletedId
    ) -> Deleted:
        """Delete a comment and its associated ghost marker"""
        return self._where_it_is(filePath, commentId, lambda path: self.editing.delete(path, commentId))

    @reads("search_comments")
    def search(
        self,
        query: Annotated[str, Meta(min_length=1, description="Search query (supports regex)")],
        filters: Filters | None = None,
        limit: Annotated[int, Meta(le=1000, description="Max results to return")] = 100,
    ) -> Found:
        """Search comments by text query with optional filters"""
        given = filters or Filters()
        check_tag(given.tag)
        wanted = Wanted.of(given)
        return found(self.overview, query, wanted, limit, to_builtins(given))

    @reads("get_file_comments")
    def file_comments(
        self,
        filePath: Annotated[str, Meta(description="Path to source file")],
        includeOrphaned: Annotated[
            bool, Meta(description="Include orphaned comments (anchors no longer exist)")
        ] = True,
    ) -> FileComments:
        """Retrieve all comments and ghost markers for a file"""
        path = self.ground.path(filePath)
        if not self.store.has(path) and not self.ground.stat(path):
            raise SourceNotFound(path, self.ground.shown_root())
        placed = sorted(self.overview.file(path), key=lambda each: (each.comment.created, each.comment.id))
        orphaned = sum(each.place.state == "orphaned" for each in placed)
        listed = [each for each in placed if includeOrphaned or each.place.state != "orphaned"]
        return FileComments(path, tuple(comment_now(each) for each in listed), len(listed), orphaned)

    @writes("move_comment")
    def move(
        self,
        sourceFile: Annotated[str, Meta(description="Current file containing the comment")],
        targetFile: Annotated[str, Meta(description="Destination file (can be same as source)")],
        commentId: MovedId,
        targetLine: Annotated[int, Meta(ge=1, description="New line number in target file")],
    ) -> Moved:
        """Move a comment to a different file or line (e.g., after refactoring)"""
        return self._where_it_is(
            sourceFile, commentId, lambda path: self.moves.to(path, targetFile, commentId, targetLine)
        )

    @reads("export_comments")
    def export(
        self,
        format: Format,
        filePath: Annotated[str, Meta(description="Optional: Export only specific file (omit for all files)")]
        | None = None,
        options: ExportOptions | None = None,
    ) -> Exported:
        """Export comments as JSON, Markdown, or AI training data"""
        if format not in OF_THE_CONTRACT:
            raise InvalidArguments(
                f"Invalid arguments: unknown format {format[:50]!r}",
                advice=f"Use one of {', '.join(OF_THE_CONTRACT)}",
                path="format",
            )
        path = None
        if filePath is not None:
            path = self.ground.path(filePath)
            if not self.store.has(path) and not self.ground.stat(path):
                raise SourceNotFound(path, self.ground.shown_root())
        return exported(self.ground, self.overview, format, path, options or ExportOptions())

    def _where_it_is(self, given: str, comment: str, change: Callable[[RelativePath], T]) -> T:
        """Change a comment of a file, or one whose code is in that file now while another file's sidecar holds it."""
        path = self.ground.path(given)
        try:
            return change(path)
        except CommentNotFound:
            held = self.overview.where("id = ? AND now_path = ?", comment, path)
            if not held:
                raise
        return change(RelativePath(held[0].filePath))

    @glance
    def glance(self) -> str:
        """The comments in one line, for `postil status`."""
        files = sum(1 for _ in self.store.paths())
        if not files:
            return "no comments"
        if files > len(self.overview.index.paths()) + QUICKLY_READ:
            return f"{files} files have comments"  # never read before: too much for a glance
        self.overview.refresh()
        count = self.overview.index.counts()
        open_, lost = count["open"], count["orphaned"] + count["review"]
        return f"{open_} open" + (f", {lost} without their code (postil comments orphans)" if lost else "")
