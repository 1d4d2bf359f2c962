"""The source files that comments belong to: a folder, in git or not, and where its locks and caches are.

Every path that a caller names is checked here and refused with the contract's codes. Not here: comments.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Sequence
from contextlib import suppress

from msgspec import Struct

from postil.anchor.syntax.languages import Question, ask_slow_texts_of
from postil.comments.failures import FileAccessDenied, InvalidFilePath, InvalidLine, SourceNotFound, SourceNotParsed
from postil.comments.lines import split_lines
from postil.comments.model import LONGEST_PATH
from postil.core import call, limits
from postil.core.arguments.file_line import split_place
from postil.core.failure import Failure, InvalidArguments, NotFound
from postil.workspace.digest import blob_id, sha256
from postil.workspace.disk import read_regular
from postil.workspace.failures import FileMissing, FileTooLarge, FileUnreadable, UnsafePath, printable
from postil.workspace.files import read_file
from postil.workspace.paths import RelativePath, resolve_inside
from postil.workspace.repository import locate

LARGEST_SOURCE = limits.FILE
LINE_COST = 64
"""Bytes that a line takes beside its characters, where the lines are held."""
ONE_TICK = 20_000_000
ASKED_TOGETHER = 500
# Blanks of one line: those of all lines would be tried from each of them.
_SHA256 = re.compile(rb"(?im)^[ \t]*objectformat[ \t]*=[ \t]*sha256")
_SECRET = re.compile(r"(?:^|/)\.env(?:[./]|\Z)")
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")


class Source(Struct, frozen=True):
    """A source file as it is on disk."""

    path: RelativePath
    text: str
    blob: str

    @property
    def lines(self) -> Sequence[str]:
        """Its lines, without their ends; an empty file has one."""
        return split_lines(self.text)


class SourceTree:
    """One workspace. `start` is any folder in it; without git the folder itself is the workspace."""

    def __init__(self, start: str, cache_home: str = "", *, cautious: bool = False) -> None:
        found = locate(start)
        ask_slow_texts_of(_ask)
        self.cache_home = cache_home
        self.cautious = cautious
        """Whether a place that is not quite sure is left to a person."""
        self.git = found is not None and not found.bare
        self.bare = found is not None and found.bare
        if found is not None and not found.bare:
            self.root, self.git_dir, self.common_dir = found.root, found.git_dir, found.common_dir
            self.folder = found.postil_folder()
        else:
            self.root, self.git_dir, self.common_dir = os.path.realpath(start), "", ""
            self.folder = ""
        if not self.folder or not os.access(self.common_dir, os.W_OK):
            key = sha256(os.fsencode(self.root))[:32]
            self.folder = os.path.join(cache_home or os.path.expanduser("~/.cache/postil"), key)
        # Work trees share the git directory and hold different files.
        self.key = sha256(os.fsencode(self.root))[:16]
        self.id_width = _id_width(self.common_dir)

    def typed(self, given: str) -> str:
        """Returns the path that a caller means: a person in the shell names it from the folder they stand in."""
        return call.current().resolve(given, self.root) if given else given

    def split_lines(self, given: str) -> tuple[str, int, int]:
        """Returns what a caller names without the lines behind it (`FILE:10-12`), the first and the last of these.

        Both are 0 where there are none, and where a file is called so. Raises InvalidArguments for no such range.
        """
        file, line, end = split_place(given)
        if not line or os.path.lexists(os.path.join(self.root, self.typed(given))):
            return given, 0, 0
        if end and end < line:
            raise _refuse_range(line, end)
        if os.path.isdir(os.path.join(self.root, self.typed(file))):
            raise InvalidArguments(f"{file} is a folder, which has no lines", advice="Name a file, or no line")
        return file, line, end or line

    def where(self, given: str) -> str:
        """Returns the file, the folder or the glob in which a caller looks. Raises InvalidFilePath for one outside."""
        typed = self.typed(given)
        if ".." in typed.split("/") or typed.startswith("/"):
            raise InvalidFilePath(given, "it lies outside of the workspace")
        return typed

    def path(self, given: str) -> RelativePath:
        """Returns the file that a caller names, relative to the root. Raises the contract's failures."""
        if not given or given.isspace():
            raise InvalidFilePath(given, "the path is empty")
        if len(given) > LONGEST_PATH:
            raise InvalidFilePath(given[:100] + "…", f"the path is longer than {LONGEST_PATH} characters")
        if "\0" in given:
            raise InvalidFilePath(given.replace("\0", "\\0"), "the path contains a NUL character")
        if given.startswith(("/", "\\", "~/")) or _DRIVE.match(given):
            raise InvalidFilePath(given, "the path is absolute")
        parts = given.lower().replace("\\", "/").split("/")
        if ".." in parts:
            raise InvalidFilePath(given, "the path leads upwards")
        if ".git" in parts or "git~1" in parts:
            raise FileAccessDenied(given, "git's own folder is closed")
        try:
            inside = resolve_inside(self.root, given)
        except UnsafePath as refused:
            raise FileAccessDenied(given, refused.message) from None
        if _SECRET.search(inside.lower()):
            raise FileAccessDenied(given, "files with secrets are closed")
        if inside.endswith(".comments"):
            raise InvalidFilePath(given, "this is a comment file; name the source file it belongs to")
        return inside

    def source(self, path: RelativePath) -> Source:
        """Returns the source file. Raises the contract's failures when there is none that can be commented."""
        try:
            content = read_file(self.root, path, LARGEST_SOURCE)
            blob = blob_id(content, self.id_width)
        except Failure as fault:
            raise self._translate(path, fault) from None
        return self._make_source(path, content, blob)

    def source_with_line(self, given: str, line: int, end: int = 0) -> Source:
        """Returns the source that a caller names. Raises InvalidLine when it does not have these lines."""
        path = self.path(given)
        try:  # as in `source`, written out: the way of every new comment
            content = read_file(self.root, path, LARGEST_SOURCE)
            blob = blob_id(content, self.id_width)
        except Failure as fault:
            raise self._translate(path, fault) from None
        source = self._make_source(path, content, blob)
        count = len(source.lines)
        for number in (line, end or line):
            if not 1 <= number <= count:
                raise InvalidLine(source.path, number, count)
        if end and end < line:
            raise _refuse_range(line, end)
        return source

    @staticmethod
    def _make_source(path: RelativePath, content: bytes, blob: str) -> Source:
        if b"\0" in content[:8000]:
            raise SourceNotParsed(path, "the file is binary", "Comment on a text file")
        if len(content) > limits.LINES and content.count(b"\n") > limits.LINES:
            raise SourceNotParsed(path, f"it has more than {limits.LINES} lines", "Comment on a smaller file")
        text = decode(content)
        if len(content) > limits.HERE and is_too_large(text):
            raise SourceNotParsed(path, "its characters and lines take too much memory", "Comment on a smaller file")
        return Source(path, text, blob)

    def _translate(self, path: RelativePath, fault: Failure) -> Failure:
        """Returns what the contract says when a source cannot be read."""
        if self.bare:
            return self.without_files()
        if isinstance(fault, FileMissing) or os.path.isdir(os.path.join(self.root, path)):
            return self.not_found(path)
        if isinstance(fault, FileTooLarge):
            return SourceNotParsed(path, fault.message, "Comment on a smaller file")
        if isinstance(fault, (UnsafePath, FileUnreadable)):
            return FileAccessDenied(path, fault.message)
        return fault

    def source_or_none(self, path: RelativePath) -> Source | None:
        """Returns the source, or None when it is gone or is no text any more."""
        try:
            return self.source(path)
        except (SourceNotFound, SourceNotParsed):
            return None

    def stat(self, path: str) -> str:
        """Returns what changes whenever the file does; empty when it is not there. `path` may be absolute, too."""
        try:
            seen = os.stat(os.path.join(self.root, path), follow_symlinks=False)
        except OSError:
            return ""
        now = time.time_ns()
        # The clock of a file system is coarse: two writes of one tick look alike, so a file this new is never known.
        fresh = f"-{now}" if now - max(seen.st_mtime_ns, seen.st_ctime_ns) < ONE_TICK else ""
        return f"{seen.st_mtime_ns}-{seen.st_size}-{seen.st_ino}-{seen.st_ctime_ns}{fresh}"

    def size(self, path: str) -> int:
        """Returns how many bytes a file has; 0 when it is not there."""
        try:
            return os.stat(os.path.join(self.root, path)).st_size
        except (OSError, ValueError):
            return 0

    def shown_root(self) -> str:
        """Returns the root for a failure's data; empty for callers who may not know a path of this machine."""
        return self.root if call.current().reveals_paths else ""

    def without_files(self) -> NotFound:
        """Returns the failure that says what a bare repository is, or a git directory whose work tree is elsewhere."""
        from postil.workspace.repository import list_work_trees  # only where there are no files

        if away := list_work_trees(self.root):
            named = printable(away[-1]) if call.current().reveals_paths else "elsewhere"
            return NotFound(
                f"This is a git directory: its files are in its work tree ({named}), and their comments beside them",
                advice="Run it there (`postil -C FOLDER`); a `.git` file there with `gitdir: PATH` leads here",
            )
        return NotFound(
            "This is a bare repository: it has no files, and so no comments beside them",
            advice="Run it in a work tree of it: `git worktree add ../work` makes one",
        )

    def not_found(self, path: str) -> SourceNotFound:
        """Returns the failure that says this file is not there."""
        from postil.comments.git.outside import advise_outside  # only where something is missing

        advice = ""
        with suppress(Failure):  # that it is missing is known without git
            advice = advise_outside(self.root, self.git_dir, path)
        return SourceNotFound(path, self.shown_root(), advice)


def tell_ignored(tree: SourceTree, paths: Sequence[str]) -> list[str]:
    """Returns what it means that git leaves out some sources, or the comment files that they have now."""
    said: list[str] = []
    for at in range(0, len(paths) if tree.git else 0, ASKED_TOGETHER):
        part = paths[at : at + ASKED_TOGETHER]
        from postil.workspace.git import run_git  # only for the first comment of a file

        both = [*part, *(f"{path}.comments" for path in part)]
        asked = ("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--", *both)
        try:
            ignored = set(run_git(tree.root, *asked).decode("utf-8", "surrogateescape").split("\0"))
        except Failure as fault:  # the comment is written, and is not to be written again
            return [f"The comment is written. Whether git leaves it out is not known: {fault.message}"]
        for path in part:
            if (sidecar := f"{path}.comments") in ignored:
                said.append(f"git ignores {sidecar}: the comment stays on this computer, no commit takes it along")
            elif path in ignored:
                said.append(f"git ignores {path}: a commit takes the comment along, and not the file it is about")
    return said


def _ask(question: Question) -> bytes | None:
    from postil.workspace.workers.parsing import ask  # ordinary texts never need it

    return ask(question)


def is_too_large(text: str) -> bool:
    """Whether a text takes more memory than it may: one wide character makes all of them wide."""
    lines = text.count("\n")
    return lines > limits.LINES or sys.getsizeof(text) + LINE_COST * lines > limits.HELD


def decode(content: bytes) -> str:
    """Returns the text of a file: UTF-8; other bytes are replaced, so that it can be shown and sent."""
    return content.decode("utf-8", "replace").removeprefix("\ufeff")


def _id_width(common_dir: str) -> int:
    if not common_dir:
        return 40
    config = read_regular(os.path.join(common_dir, "config"), limits.CONFIG) or b""
    return 64 if _SHA256.search(config) else 40


def _refuse_range(line: int, end: int) -> InvalidArguments:
    return InvalidArguments(
        f"The range ends at line {end}, before it begins at {line}",
        advice="Give the first line as the line, the last one as its end",
        path="endLine",
        line=line,
        endLine=end,
    )
