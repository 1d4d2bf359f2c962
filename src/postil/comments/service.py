"""The seven tools of the contract. What else comments can do is in the classes beside this one."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, to_builtins

from postil.anchor.languages import language_of
from postil.anchor.symbols import innermost, symbols, syntax_problem_at
from postil.comments.additions import Addition
from postil.comments.anchoring import marker_for
from postil.comments.answers import Added, Deleted, Edited, Exported, FileComments, Found, Moved, comment_now
from postil.comments.arguments import (
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
from postil.comments.desk import check_author, check_tag, check_text, wanted
from postil.comments.export import exported
from postil.comments.failures import SourceNotFound, SourceNotParsed
from postil.comments.filing import Filing
from postil.comments.ground import Source
from postil.comments.jsontext import JsonObject
from postil.comments.moves import move
from postil.comments.prompts import Prompts
from postil.comments.resources import Resources
from postil.comments.search import Wanted, found
from postil.comments.sidecar import Sidecar
from postil.comments.words import detect_tag, new_id, now
from postil.core.operation import destroys, reads, writes

QUICKLY_READ = 500


class Comments(Filing, Resources, Prompts):
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
        return self.add_at(filePath, line, text, tag, author, aiMeta)

    def add_at(
        self,
        path: str,
        line: int,
        text: str,
        tag: str | None,
        author: str,
        ai: GivenAiMeta | None = None,
        end: int = 0,
        *,
        by_text: bool = False,
    ) -> Added:
        """Add a comment on a line or a range."""
        check_text(text)
        source = self.source_with_line(path, line, end)
        language = language_of(source.path)
        problem = syntax_problem_at(source.text, language, line)
        if problem and not by_text:
            raise SourceNotParsed(
                source.path,
                f"{problem.message} at line {problem.span.start}",
                'Fix syntax errors before adding comments, or use comments_add with anchor: "text" to comment all the '
                "same",
            )
        return self.add_on(source, line, text, tag, author, end, ai)

    def add_on(
        self,
        source: Source,
        line: int,
        text: str,
        tag: str | None,
        author: str,
        end: int = 0,
        ai: GivenAiMeta | None = None,
    ) -> Added:
        """Add a comment to a version of a source at hand."""
        check_author(author)
        raw = _new_comment(line, end, text, tag, author, ai)
        named = symbols(source.text, language_of(source.path))
        addition = Addition(source.blob, raw, marker_for(source, named, line, end))
        marker = self.store.add(source.path, addition, lambda sidecar: self.settle(sidecar, source))
        self.texts.keep(source)
        symbol = innermost(named, line)
        held = f"the {symbol.phrase}" if symbol else f"line {line}"
        return Added(str(raw["id"]), marker, source.path, line, tag, held, end)

    @writes("edit_comment")
    def edit(
        self,
        filePath: Annotated[str, Meta(description="Path to source file containing the comment")],
        commentId: EditedId,
        text: Annotated[str, Meta(min_length=1, max_length=10000, description="New comment text")],
    ) -> Edited:
        """Edit the text content of an existing comment"""
        path = self.ground.path(filePath)

        def change(sidecar: Sidecar) -> Edited:
            comment = wanted(sidecar, commentId)
            tag = detect_tag(text) or comment.tag
            updated = now()
            values: JsonObject = {"text": text, "updated": updated}
            if tag != comment.tag:
                values["tag"] = tag
            sidecar.change(comment.id, values)
            return Edited(comment.id, path, updated, tag)

        return self.store.change(path, change)

    @destroys("delete_comment")
    def delete(
        self, filePath: Annotated[str, Meta(description="Path to source file")], commentId: DeletedId
    ) -> Deleted:
        """Delete a comment and its associated ghost marker"""
        path = self.ground.path(filePath)

        def change(sidecar: Sidecar) -> Deleted:
            comment = wanted(sidecar, commentId)
            sidecar.remove(comment.id)
            return Deleted(comment.id, path)

        return self.store.change(path, change)

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
        placed = sorted(self.reading.file(path), key=lambda each: (each.comment.created, each.comment.id))
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
        return self.move_to(sourceFile, targetFile, commentId, targetLine)

    def move_to(self, sourceFile: str, targetFile: str, comment_id: str, line: int, end: int = 0) -> Moved:
        """Put a comment on other lines, here or in another file."""
        origin = self.ground.path(sourceFile)
        source = self.source_with_line(targetFile, line, end)
        with self.store.locked():
            here = self.store.read(origin)
            comment = wanted(here, comment_id)
            before = next(
                each.place
                for each in self.reading.placed(here, self.reading.source_or_none(origin))
                if each.comment.id == comment.id
            )
            there = here if source.path == origin else self.store.read(source.path)
            move(self.store, here, there, comment.id, lambda s: self.marker_at(s, source, line, end), before)
        self.texts.keep(source)
        symbol = innermost(symbols(source.text, language_of(source.path)), line)
        return Moved(comment.id, origin, before.line, source.path, line, symbol.label if symbol else f"line {line}")

    @reads("export_comments")
    def export(
        self,
        format: Format,
        filePath: Annotated[str, Meta(description="Optional: Export only specific file (omit for all files)")]
        | None = None,
        options: ExportOptions | None = None,
    ) -> Exported:
        """Export comments as JSON, Markdown, or AI training data"""
        path = None
        if filePath is not None:
            path = self.ground.path(filePath)
            if not self.store.has(path) and not self.ground.stat(path):
                raise SourceNotFound(path, self.ground.shown_root())
        return exported(self.ground, self.overview, format, path, options or ExportOptions())

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


def _new_comment(line: int, end: int, text: str, tag: str | None, author: str, ai: GivenAiMeta | None) -> JsonObject:
    made = now()
    raw: JsonObject = {
        "id": new_id("c_"),
        "line": line,
        "text": text,
        "author": author,
        "created": made,
        "updated": made,
        "startLine": line,
    }
    if end:
        raw["endLine"] = end
    raw |= {"ghostMarkerId": "", "tag": tag, "status": "open"}
    if ai is not None:
        raw["aiMeta"] = {**to_builtins(ai), "enrichedAt": made}
    return raw
