"""What changed in the work tree, the index, a commit, a range or a branch: the files, and how each differs."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from typing import Annotated, Literal

from msgspec import Meta

from postil.core import call
from postil.core.answer import Answer, in_rows
from postil.core.content import Block, Image
from postil.core.failure import NotFound
from postil.core.operation import reads
from postil.core.resource import resource
from postil.workspace.changes.changed_files import (
    ChangedFile,
    find_changed,
    is_comment_file,
    list_changed,
    tell_comment_files,
)
from postil.workspace.changes.compared import find_commit, read_compared
from postil.workspace.changes.file_diff import MOST_LINES, FileDiff, read_diffs, write_diffs
from postil.workspace.changes.file_text import CodeLine, read_lines
from postil.workspace.changes.images import find_kind, read_content
from postil.workspace.part import Workspace
from postil.workspace.paths import resolve_inside

MOST_FILES = 2_000
MOST_AT_ONCE = 50
Scope = Annotated[
    str,
    Meta(
        description="nothing: all that is not committed; staged, unstaged, a commit, A..B, A...B, branch, branch:NAME",
        max_length=1_000,
    ),
]


class Changes(Answer, frozen=True, omit_defaults=True):
    """The files that differ."""

    says: str
    files: tuple[ChangedFile, ...]
    version: str = ""
    """How a remark names these versions."""
    more: int = 0
    """Files that are not listed."""
    branch: str = ""
    comment_files: int = 0
    """Comment files that differ: they are not among the files, and said in words by `comments diff`."""
    comments_since: str = ""
    """The commit since which they differ; empty for the last one."""

    def for_model(self) -> str:
        """One file a line, as `git diff --stat` tells it."""
        rows = [
            f"{one.change} {one.file}"
            + (f" (was {one.old_file})" if one.old_file else "")
            + (" binary" if one.is_binary else f" +{one.added} -{one.removed}")
            for one in self.files
        ]
        more = [f"{self.more} more"] if self.more else []
        if self.comment_files:
            how = f"postil comments diff {self.comments_since}".strip() if call.current().person else "comments_diff"
            more.append(f"and {tell_comment_files(self.comment_files)}: `{how}` tells what was said in them")
        return "\n".join([f"{self.says}: {len(self.files) + self.more} files", *rows, *more])


class Diffs(Answer, frozen=True):
    """How some files differ."""

    diffs: tuple[FileDiff, ...]
    version: str = ""

    def for_model(self) -> str:
        """The lines, with the numbers that each has on its side."""
        return "\n".join(write_diffs(self.diffs)[1:])


class FileText(Answer, frozen=True):
    """Some lines of a file."""

    file: str
    lines: tuple[CodeLine, ...]
    total: int

    def for_model(self) -> str:
        """The lines with their numbers."""
        rows = [f"{line.number:>5} {line.text}" for line in self.lines]
        left = self.total - (self.lines[-1].number if self.lines else 0)
        more = [f"… {left} lines more: start={self.total - left + 1}"] if left > 0 and self.lines else []
        return "\n".join([*rows, *more])


class Picture(Answer, frozen=True):
    """A picture."""

    kind: str
    data: bytes

    def for_model(self) -> list[Block]:
        """The picture itself."""
        return [Image(b64encode(self.data).decode("ascii"), self.kind)]

    def for_person(self) -> bytes:
        """Its bytes, for a file or a program."""
        return self.data


class ChangeTools:
    """What changed."""

    def __init__(self, context: Workspace) -> None:
        self._workspace = context

    @reads("workspace_changes", shell="workspace changes", positional=("scope",), toolset="extra")
    def list_changes(
        self,
        scope: Scope = "",
        content: Annotated[bool, Meta(description="with git's name of each content in the work tree")] = True,
    ) -> Changes:
        """List the files that changed, with how many lines each."""
        repository = self._workspace.find()
        compared = read_compared(repository, scope)
        every = list_changed(repository, compared, names_content=content)
        files = [one for one in every if not is_comment_file(one.file)]
        kept = tuple(files[:MOST_FILES])
        since = compared.old[:12] if compared.new and find_commit(repository, compared.old) else ""
        return Changes(
            compared.says,
            kept,
            compared.version,
            len(files) - len(kept),
            repository.branch() or "",
            len(every) - len(files),
            since,
        )

    @reads("workspace_diff", shell="workspace diff", positional=("files",), toolset="extra")
    def show_diff(
        self,
        files: Annotated[
            tuple[str, ...],
            Meta(max_length=MOST_AT_ONCE, description="files that changed; without any, the first ones"),
        ] = (),
        scope: Scope = "",
        context: Annotated[int, Meta(ge=0, le=100, description="unchanged lines around each change")] = 3,
        skip: Annotated[int, Meta(ge=0, description="lines of the diff to leave out, for a long one")] = 0,
    ) -> Diffs:
        """Show how files changed, line by line, with the words that changed and the colours of the code."""
        repository = self._workspace.find()
        compared = read_compared(repository, scope)
        listed = find_changed(repository, compared, files) if files else list_changed(repository, compared)
        changed = {one.file: one for one in listed if files or not is_comment_file(one.file)}
        missing = next((name for name in files if name not in changed), None)
        if missing is not None:
            raise NotFound(
                f"{missing[:200]} did not change there",
                advice="`postil workspace changes` lists what changed",
                file=missing[:200],
            )
        wanted = [changed[name] for name in dict.fromkeys(files or [*changed][:MOST_AT_ONCE])]
        return Diffs(tuple(read_diffs(repository, compared, wanted, context, skip)), compared.version)

    @reads("workspace_file", shell="workspace file", positional=("file",), toolset="extra")
    def show_file(
        self,
        file: Annotated[str, Meta(description="a file of the work tree", max_length=4_000)],
        start: Annotated[int, Meta(ge=1, description="the first line")] = 1,
        lines: Annotated[int, Meta(ge=1, le=MOST_LINES, description="how many")] = 500,
    ) -> FileText:
        """Show a file of the work tree, with the colours of its code."""
        repository = self._workspace.find()
        path = resolve_inside(repository.root, file)
        found, total = read_lines(repository, path, start, lines)
        return FileText(str(path), tuple(found), total)

    @reads("workspace_picture", shell="workspace picture", positional=("file",), toolset="extra")
    def show_picture(
        self,
        file: Annotated[str, Meta(description="a picture that changed")],
        scope: Scope = "",
        side: Annotated[Literal["old", "new"], Meta(description="as it was, or as it is")] = "new",
    ) -> Picture:
        """Show a picture that changed, as it was or as it is."""
        repository = self._workspace.find()
        compared = read_compared(repository, scope)
        one = next((each for each in find_changed(repository, compared, [file]) if each.file == file), None)
        content = read_content(repository, compared, one, side) if one is not None else None
        kind = find_kind(content) if content else ""
        if content is None or not kind:
            raise NotFound(
                f"{file[:200]} is no picture that changed there", advice="Look at the file itself", file=file[:200]
            )
        return Picture(kind, content)

    @resource("postil://changes", name="Changes", mime_type="text/plain", watch="watch")
    def read_changes(self) -> str:
        """The files that changed and are not committed"""
        return in_rows(self.list_changes()).for_model()

    def watch(self, uri: str, changed: Callable[[], None]) -> Callable[[], None]:
        """Call `changed` when the work tree, the index or HEAD changed. Returns a function that stops this."""
        from postil.workspace.changes.tree_watch import watch_tree  # inotify, which only who waits needs

        return watch_tree(self._workspace.find(), changed)
