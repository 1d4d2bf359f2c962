"""The seven tools of the contract, each with what else it can do on the united server and in the shell."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar

from msgspec import UNSET, Meta, to_builtins
from msgspec.structs import replace

from postil.anchor.syntax.languages import language_of
from postil.comments.clock import new_id, now
from postil.comments.failures import CommentChanged, CommentNotFound, SourceNotParsed
from postil.comments.model import ALL_TAGS, TAGS, Addition, AiMeta, NewComment
from postil.comments.operations.answers import Exported, FileComments, Found, Moved, comment_now
from postil.comments.operations.validation import (
    ASSISTANT,
    BY_CONTRACT,
    AddArguments,
    AnyState,
    AnyStatus,
    AnyTag,
    DeleteArguments,
    EditArguments,
    EndLine,
    ExportArguments,
    ExportOptions,
    FilePath,
    Filters,
    GivenAiMeta,
    Id,
    Limit,
    Line,
    MoveArguments,
    NewText,
    SearchArguments,
    Text,
    Where,
    check_ai,
    check_format,
    check_tag,
    check_text,
    find_comment,
    name_tag,
    sign,
)
from postil.comments.operations.wordings import reword
from postil.comments.operations.written import NOT_NOTED, Added, Deleted, Edited
from postil.comments.sidecar.format import detect_tag
from postil.comments.sidecar.template import new_params
from postil.comments.storage.store import Store, refuse_unlisted
from postil.core import call
from postil.core.arguments.typed import type_words
from postil.core.failure import InvalidArguments, NotFound
from postil.core.operation import Spelling, destroys, reads, writes
from postil.workspace.paths import RelativePath

if TYPE_CHECKING:
    from postil.anchor.syntax.symbols import Symbol
    from postil.comments.part import CommentsContext
    from postil.comments.sidecar.document import Sidecar
    from postil.comments.source_tree import Source

EXPORTS = ("json", "markdown", "jsonl", "parquet", "csv", "html")
T = TypeVar("T")
WITH_MACROS = ("c", "cpp")
"""Languages whose files a grammar cannot judge: what a compiler sees is what their macros make of them."""


def _advise_parsing(anchor: str) -> str:
    """Returns what to do about a syntax error, with what the caller's face offers."""
    fix = "Fix syntax errors before adding comments"
    if anchor == BY_CONTRACT:
        return fix
    how = "--anchor text" if call.current().person else 'anchor: "text"'
    return f"{fix}, or comment all the same with {how}"


def _warn_of_blank(source: Source, line: int, comment: str, anchor: str = "") -> str:
    """Returns what it means that a comment is on a blank line, and where the code is that it may be about."""
    if anchor == BY_CONTRACT:
        return ""  # which has no words for it
    below = (at for at in range(line, len(source.lines)) if source.lines[at].strip())
    above = (at for at in range(line - 2, -1, -1) if source.lines[at].strip())
    said = f"Line {line} is blank: the comment is tied to what stands around it, and lost when that line goes"
    nearest = next(below, next(above, None))
    if nearest is None:
        return said
    typed = f"`postil comments move {type_words(comment, source.path, str(nearest + 1))}`"
    how = typed if call.current().person else f"move_comment to {source.path} {nearest + 1}"
    return f"{said}. The nearest code is line {nearest + 1}, `{source.lines[nearest].strip()[:80]}`: {how}"


def _warn_of_first(store: Store, path: str, anchor: str) -> str:
    if anchor == BY_CONTRACT:
        return ""
    from postil.comments.storage.first_write import tell_first  # only for the first comment of a file

    return ". ".join(tell_first(store, [path]))


class ContractTools:
    """Add, edit, delete, search, list, move and export comments."""

    def __init__(self, context: CommentsContext) -> None:
        self._context = context
        self._tree, self._store = context.tree, context.store

    @writes(
        "add_comment",
        contract=AddArguments,
        aliases=("comments_add",),
        shell="comments add",
        thing="filePath",
        says="Comment on a line or a range of a source file",
        positional=("filePath", "line", "text"),
        requires=("text",),
        tool_only=("aiMeta",),
        shell_only=("copyOf",),
        spellings=(
            Spelling(
                "comments copy",
                {"anchor": "text"},
                "Say the same of other code: a comment of its own that names the one it was copied from",
                positional=("copyOf", "filePath", "line"),
                requires=("copyOf",),
                name="comments_copy",
                older={"commentId": "copyOf", "file": "filePath"},
            ),
        ),
    )
    def add(
        self,
        filePath: FilePath,
        line: Line,
        text: Text = "",
        tag: Annotated[str, Meta(description="Its tag", extra_json_schema={"enum": list(ALL_TAGS)})] | None = None,
        author: Annotated[str, Meta(description="Who says it")] = "",
        aiMeta: GivenAiMeta | None = None,
        endLine: EndLine = 0,
        anchor: Annotated[
            Literal["code", "text"], Meta(description="`text` comments on code that has a syntax error, too")
        ] = "code",
        copyOf: Annotated[str, Meta(description="Repeat this comment; `text` and `tag` are then its own")] = "",
    ) -> Added:
        """Add a new paired comment to a source file at a specific line"""
        from postil.anchor.syntax.symbols import (  # only who adds reads what a source holds
            describe_problem,
            innermost,
            problem_at,
            symbols,
            syntax_problems,
        )

        tag = name_tag(tag)
        original = self._context.find(copyOf).comment if copyOf else None
        if original:
            text, tag = text or original.text, tag or original.tag
        check_text(text)
        asked = call.current()
        end = endLine if endLine != line else 0
        source = self._tree.source_with_line(asked.resolve(filePath, self._tree.root), line, end)
        refuse_unlisted(source.path)
        language = language_of(source.path)
        problems = syntax_problems(source.text, language)
        named = symbols(source.text, language)
        symbol = innermost(named, line)
        problem = problem_at(problems, named, line) if problems else None
        if problem and anchor != "text" and language not in WITH_MACROS:
            raise SourceNotParsed(source.path, describe_problem(problem), _advise_parsing(anchor))
        author = sign(author or ("" if asked.person else ASSISTANT), self._context.person)
        repeated = original.id if original else ""
        is_first = not self._store.has(source.path)
        added = self._add(source, symbol, line, text, author, tag or detect_tag(text), end, aiMeta, repeated)
        if is_first and (said := _warn_of_first(self._store, source.path, anchor)):
            return replace(added, warning=said)
        if problems:
            what = "a macro that is not understood, or a" if language in WITH_MACROS else "a"
            return replace(added, warning=f"The file has {what} syntax error: {describe_problem(problems[0])}")
        is_blank = not any(row.strip() for row in source.lines[line - 1 : max(line, end)])
        return replace(added, warning=_warn_of_blank(source, line, added.commentId, anchor)) if is_blank else added

    def add_on(self, source: Source, line: int, text: str, author: str) -> Added:
        """Add a comment to a version of a source at hand."""
        from postil.anchor.syntax.symbols import symbol_at

        symbol = symbol_at(source.text, language_of(source.path), line)
        return self._add(source, symbol, line, text, author, detect_tag(text))

    def _add(
        self,
        source: Source,
        symbol: Symbol | None,
        line: int,
        text: str,
        author: str,
        tag: str | None,
        end: int = 0,
        ai: AiMeta | None = None,
        copy_of: str = "",
    ) -> Added:
        from postil.comments.anchoring.marker import make_marker  # only who adds

        if ai is not None:
            check_ai(ai)
        made = now()
        comment = NewComment(
            id=new_id("c_"),
            line=line,
            text=text,
            author=author,
            created=made,
            updated=made,
            startLine=line,
            endLine=end or UNSET,
            tag=tag,
            copyOf=copy_of or UNSET,
            aiMeta=UNSET if ai is None else {"enrichedAt": made, **ai},
            params=(symbol and "${" in text and new_params(text, symbol.path, symbol.kind)) or UNSET,
        )
        marker = make_marker(source, symbol, line, end, name=new_id("gm_"), now=made)
        held = self._store.add(
            source.path,
            Addition(source.blob, comment, marker),
            lambda sidecar: sidecar.is_made_on(source.blob) or self._context.reader.update_markers(sidecar, source),
        )
        if source.blob not in self._context.versions.kept:
            self._context.versions.keep(source)
        anchored_to = f"the {symbol.phrase}" if symbol else f"line {line}"
        return Added(comment.id, held, source.path, line, tag, anchored_to, end)

    @writes(
        "edit_comment",
        contract=EditArguments,
        aliases=("comments_edit",),
        shell="comments edit",
        thing="commentId",
        says="Change a comment's text or tag, wherever it is; refuse when someone was faster",
        positional=("commentId", "text"),
        tool_only=("filePath",),
        shell_only=("wording",),
    )
    def edit(
        self,
        commentId: Id,
        text: NewText = "",
        tag: Annotated[str, Meta(description="Another tag", extra_json_schema={"enum": list(ALL_TAGS)})] | None = None,
        expectedUpdated: Annotated[str, Meta(description="Refuse when changed since")] = "",
        filePath: Annotated[str, Meta(description="The file it is in")] = "",
        wording: Annotated[int, Meta(ge=0, description="Of two that a merge kept: 1 takes the other, 0 drops it")]
        | None = None,
    ) -> Edited:
        """Edit the text content of an existing comment"""
        tag = name_tag(tag)
        if not text and not tag and wording is None:
            raise InvalidArguments("Nothing to change", advice="Give a text or a tag", path="text")

        def change(sidecar: Sidecar) -> Edited:
            found = find_comment(sidecar, commentId)
            if expectedUpdated and found.updated != expectedUpdated:
                raise CommentChanged(sidecar.path, found.id, found.updated)
            return reword(sidecar, found, text, tag, wording, self._context.person)

        edited = self._in_its_file(filePath, commentId, lambda path: self._store.change(path, change))
        return replace(edited, warning=NOT_NOTED) if self._store.log.has_missed(edited.commentId) else edited

    @destroys(
        "delete_comment",
        contract=DeleteArguments,
        aliases=("comments_delete",),
        shell="comments delete",
        thing="commentId",
        says="Delete a comment, wherever it is",
        positional=("commentId",),
        tool_only=("filePath",),
    )
    def delete(self, commentId: Id, filePath: Annotated[str, Meta(description="Path to source file")] = "") -> Deleted:
        """Delete a comment and its associated ghost marker"""
        from postil.comments.operations.restore import forget
        from postil.comments.storage.erased import delete

        def change(sidecar: Sidecar) -> Deleted:
            found = find_comment(sidecar, commentId)
            delete(sidecar, found)
            return Deleted(found.id, sidecar.path)

        try:
            deleted = self._in_its_file(filePath, commentId, lambda path: self._store.change(path, change))
        except CommentNotFound:
            if (deleted := forget(self._context, commentId)) is None:
                raise
        is_noted, undo = not self._store.log.has_missed(deleted.commentId), "postil comments restore"
        return replace(deleted, undo=f"{undo} {type_words(deleted.commentId)}") if is_noted else deleted

    @reads(
        "search_comments",
        contract=SearchArguments,
        positional=("query",),
        tool_only=("filters",),
        shell_only=("words", "replies"),
        spellings=(
            Spelling(
                "comments search",
                {"words": True},
                "Search comments by pattern or plain text, with filters on tag, author, file, dates, state and status",
                name="comments_search",
            ),
        ),
    )
    def search(
        self,
        query: Annotated[
            str,
            Meta(
                min_length=1,
                description="A pattern (RE2); in the shell also filters: tag:TODO author:ann file:src is:orphaned "
                "created:>7d",
            ),
        ],
        filters: Filters | None = None,
        limit: Limit = 100,
        plain: Annotated[bool, Meta(description="The query is plain text, without patterns and filters")] = False,
        tag: AnyTag | None = None,
        author: Annotated[str, Meta(description="Only this author")] = "",
        file: Where = "",
        ai: Annotated[bool, Meta(description="Only with AI metadata")] = False,
        since: Annotated[str, Meta(description="Made since a date-time, or 7d")] = "",
        until: Annotated[str, Meta(description="Made until a date-time, or 7d ago")] = "",
        state: AnyState | None = None,
        status: AnyStatus | None = None,
        words: Annotated[bool, Meta(description="The query holds filters, too")] = False,
        replies: Annotated[bool, Meta(description="Replies, too")] = True,
    ) -> Found:
        """Search comments by text query with optional filters"""
        from postil.comments.search.filters import Conditions, read_moment, split_filters  # brings in RE2
        from postil.comments.search.search import search

        tag, today = name_tag(tag), datetime.now(UTC)
        if filters is None:
            file = self._tree.where(file)
            since, until = read_moment(since, today, "since"), read_moment(until, today, "until")
            conditions = Conditions(tag or "", author, file, ai, since, until, state or "", status or "")
        else:
            check_tag(filters.tag, TAGS)
            conditions = Conditions.of(filters)
        if words and not plain:
            query, conditions = split_filters(query, conditions, today)
        shown = to_builtins(filters or {key: value for key, value in to_builtins(conditions).items() if value})
        return search(self._context.overview, query, conditions, limit, shown, plain=plain, replies=replies)

    @reads("get_file_comments", shell="comments file", positional=("filePath",), thing="filePath")
    def file_comments(
        self,
        filePath: Annotated[str, Meta(description="Path to source file")],
        includeOrphaned: Annotated[
            bool, Meta(description="Include orphaned comments (anchors no longer exist)")
        ] = True,
    ) -> FileComments:
        """Retrieve all comments and ghost markers for a file"""
        path = self._context.existing(self._tree.typed(filePath))
        located = sorted(self._context.overview.file(path), key=lambda each: (each.comment.created, each.comment.id))
        orphaned = sum(each.place.state == "orphaned" for each in located)
        listed = [each for each in located if includeOrphaned or each.place.state != "orphaned"]
        shown = tuple(self._context.name_anchor(comment_now(each)) for each in listed)
        return FileComments(path, shown, len(listed), orphaned, self._context.outside_of(path) or UNSET)

    @writes(
        "move_comment",
        contract=MoveArguments,
        aliases=("comments_move",),
        shell="comments move",
        says="Tie a comment to other lines, in this or another file",
        positional=("commentId", "targetFile", "targetLine"),
        requires=("targetFile", "targetLine"),
        older={"file": "targetFile", "line": "targetLine"},
        tool_only=("sourceFile",),
        spellings=(
            Spelling(
                "comments confirm",
                {"targetFile": "", "targetLine": 0, "endLine": 0, "sourceFile": ""},
                "Say that a comment still holds for its code as it is now: it is no longer stale",
                positional=("commentId",),
                name="comments_confirm",
                older={},
            ),
        ),
    )
    def move(
        self,
        commentId: Id,
        targetFile: Annotated[
            str, Meta(description="Destination file (can be same as source); without one the place its code is now")
        ] = "",
        targetLine: Annotated[int, Meta(ge=0, description="New line number in target file")] = 0,
        endLine: EndLine = 0,
        sourceFile: Annotated[str, Meta(description="Current file containing the comment")] = "",
    ) -> Moved:
        """Move a comment to a different file or line (e.g., after refactoring)"""
        if not targetFile and not targetLine:
            return self._confirm(commentId)
        if not targetLine:
            raise InvalidArguments("targetLine is missing", advice="Give the line in the file", path="targetLine")
        target = self._tree.typed(targetFile)
        refuse_unlisted(target)
        moved = self._in_its_file(
            sourceFile,
            commentId,
            lambda path: self._context.moves.move(path, target or path, commentId, targetLine, endLine),
        )
        source = self._tree.source_or_none(RelativePath(moved.targetFile))
        line = moved.targetLine
        if source is None or any(row.strip() for row in source.lines[line - 1 : max(line, endLine)]):
            return moved
        blank = _warn_of_blank(source, line, moved.commentId)
        return replace(moved, warning=". ".join(filter(None, (moved.warning, blank))))

    def _confirm(self, comment: str) -> Moved:
        """Tie a comment to its code as it is now."""
        each = self._context.find(comment)
        place = each.place
        if place.state == "orphaned":
            raise NotFound(
                "The code of this comment is gone", advice="Tie it to other lines with `postil comments move`"
            )
        moved = self._context.moves.move(each.filePath, place.path, comment, place.line, place.endLine)
        return replace(moved, did="confirmed")

    @reads(
        "export_comments",
        contract=ExportArguments,
        aliases=("comments_export",),
        shell="comments export",
        says="Export comments as JSON, Markdown, training data, Parquet, CSV or a web page",
        tool_only=("filePath", "options"),
        writes_with=("output",),
        positional=("format",),
        shell_only=("file", "context", "output"),
    )
    def export(
        self,
        format: Annotated[str, Meta(description=", ".join(EXPORTS), extra_json_schema={"enum": list(EXPORTS)})],
        filePath: Annotated[str, Meta(description="Optional: Export only specific file (omit for all files)")]
        | None = None,
        options: ExportOptions | None = None,
        file: Where = "",
        context: Annotated[int, Meta(ge=0, le=20, description="Lines of code around each comment")] = 0,
        output: Annotated[str, Meta(description="Write to this file")] = "",
    ) -> Exported:
        """Export comments as JSON, Markdown, or AI training data"""
        from postil.comments.search.filters import is_glob
        from postil.comments.transfer.export import export_document, export_file  # only an export needs the writers

        check_format(format, EXPORTS)
        where: str = self._tree.where(file)
        if where and not is_glob(where):
            self._context.existing(where)
        if filePath is not None:
            where = self._context.existing(filePath)
        options = options or ExportOptions(context > 0, context or 3)
        if format == "parquet" and not output and call.current().person:
            raise InvalidArguments("Parquet is not for a terminal", advice="Name a file with --output", path="output")
        if output:
            return export_file(self._tree, self._context.overview, format, where, options, output)
        made = export_document(self._tree, self._context.overview, format, where, options)
        return replace(made, asked=where) if where else made

    def _in_its_file(self, given: str, comment: str, change: Callable[[RelativePath], T]) -> T:
        """Change a comment of a file, or one whose code is in that file now while another file's sidecar holds it.

        Where no file is given, the comment is found by its id.
        """
        if not given:
            return self._context.in_its_file(comment, change)
        path = self._tree.path(self._tree.typed(given))
        home = self._context.join_doubled(comment)
        try:
            return change(path)
        except CommentNotFound:
            if home:
                return change(RelativePath(home))
            held = self._context.overview.where("id = ? AND now_path = ?", comment, path)
            if not held:
                raise
        return change(RelativePath(held[0].filePath))
