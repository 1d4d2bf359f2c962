"""The ground comments stand on: a folder, in git or not, its source files, and where locks and caches of it live.

Every path a caller names is checked here and answered with the contract's codes. Not here: comments.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from functools import lru_cache

from msgspec import Struct

from postil.comments.failures import FileAccessDenied, InvalidFilePath, SourceNotFound, SourceNotParsed
from postil.comments.model import LONGEST_PATH
from postil.comments.sidecar.format import blob_id
from postil.core import call
from postil.workspace.failures import FileMissing, FileTooLarge, FileUnreadable, UnsafePath
from postil.workspace.files import read_file
from postil.workspace.paths import RelativePath, resolve_inside
from postil.workspace.repository import locate

LARGEST_SOURCE = 16 * 1024 * 1024
ONE_TICK = 20_000_000
_SECRET = re.compile(r"\.env(\..*)?")
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")


class Source(Struct, frozen=True):
    """A source file as it is on disk."""

    path: RelativePath
    text: str
    blob: str
    stat: str

    @property
    def lines(self) -> list[str]:
        """Its lines, without their ends; an empty file has one."""
        return lines_of(self.text)


def lines_of(text: str) -> list[str]:
    """The lines of a text: the piece after the last newline is none; a file of lone carriage returns has lines too."""
    return list(_lines(text))


@lru_cache(2)  # whoever adds a comment asks for the same ones several times
def _lines(text: str) -> tuple[str, ...]:
    if "\n" not in text and "\r" in text:
        text = text.replace("\r", "\n")
    found = text.split("\n")
    if len(found) > 1 and not found[-1]:
        found.pop()
    return tuple(line.removesuffix("\r") for line in found) if "\r" in text else tuple(found)


class Ground:
    """One workspace. `start` is any folder in it; without git the folder itself is the workspace."""

    def __init__(self, start: str, cache_home: str = "") -> None:
        self._start = os.path.realpath(start)
        found = locate(start)
        self.cache_home = cache_home
        self.git = found is not None and not found.bare
        if found is not None and not found.bare:
            self.root, self.git_dir, self.common_dir = found.root, found.git_dir, found.common_dir
            self.folder = os.path.join(found.common_dir, "postil")
        else:
            self.root, self.git_dir, self.common_dir = os.path.realpath(start), "", ""
            self.folder = ""
        if not self.folder or not os.access(self.common_dir, os.W_OK):
            key = hashlib.sha256(os.fsencode(self.root)).hexdigest()[:32]
            self.folder = os.path.join(cache_home or os.path.expanduser("~/.cache/postil"), key)
        # Work trees share the git directory and hold different files.
        self.key = hashlib.sha256(os.fsencode(self.root)).hexdigest()[:16]
        self.id_width = _id_width(self.common_dir)

    def typed(self, given: str) -> str:
        """What a person in the shell means by a path: from where they are, or from the root of the workspace."""
        if not given or call.current().caller.surface != "shell":
            return given
        below = os.path.relpath(self._start, self.root)
        if os.path.isabs(given):
            inside = os.path.relpath(os.path.realpath(given), self.root)
        else:
            inside = os.path.normpath(os.path.join(below, given))
        outside = inside == ".." or inside.startswith("../")
        if outside or not os.path.lexists(os.path.join(self.root, inside)):
            return given  # as it is: a glob, a path from the root, or one to refuse
        return "" if inside == "." else inside

    def path(self, given: str) -> RelativePath:
        """The file a caller names, relative to the root; the contract's failures when it may not be one."""
        if not given or given.isspace():
            raise InvalidFilePath(given, "the path is empty")
        if len(given) > LONGEST_PATH:
            raise InvalidFilePath(given[:100] + "…", f"the path is longer than {LONGEST_PATH} characters")
        if "\0" in given:
            raise InvalidFilePath(given.replace("\0", "\\0"), "the path contains a NUL character")
        if given.startswith(("/", "\\", "~/")) or _DRIVE.match(given):
            raise InvalidFilePath(given, "the path is absolute")
        parts = given.replace("\\", "/").split("/")
        if ".." in parts:
            raise InvalidFilePath(given, "the path leads upwards")
        if any(part.lower() in (".git", "git~1") for part in parts):
            raise FileAccessDenied(given, "git's own folder is closed")
        try:
            inside = resolve_inside(self.root, given)
        except UnsafePath as refused:
            raise FileAccessDenied(given, refused.message) from None
        if any(_SECRET.fullmatch(part.lower()) for part in inside.split("/")):
            raise FileAccessDenied(given, "files with secrets are closed")
        if inside.endswith(".comments"):
            raise InvalidFilePath(given, "this is a comment file; name the source file it belongs to")
        return inside

    def source(self, path: RelativePath) -> Source:
        """The source file; the contract's failures when there is none that can be commented."""
        try:
            content = read_file(self.root, path, LARGEST_SOURCE)
            stat = self.stat(path)
        except FileMissing:
            raise SourceNotFound(path, self.shown_root()) from None
        except UnsafePath as refused:
            if os.path.isdir(os.path.join(self.root, path)):
                raise SourceNotFound(path, self.shown_root()) from None
            raise FileAccessDenied(path, refused.message) from None
        except FileUnreadable as refused:
            raise FileAccessDenied(path, refused.message) from None
        except FileTooLarge as refused:
            raise SourceNotParsed(path, refused.message, "Comment on a smaller file") from None
        if b"\0" in content[:8000]:
            raise SourceNotParsed(path, "the file is binary", "Comment on a text file")
        return Source(path, decode(content), blob_id(content, self.id_width), stat)

    def stat(self, path: str) -> str:
        """What changes whenever the file does; empty when it is not there."""
        return self.stat_of(os.path.join(self.root, path))

    def stat_of(self, path: str) -> str:
        """The same for any path."""
        try:
            seen = os.stat(path, follow_symlinks=False)
        except OSError:
            return ""
        now = time.time_ns()
        # The clock of a file system is coarse: two writes of one tick look alike, so a file this new is never known.
        fresh = f"-{now}" if now - max(seen.st_mtime_ns, seen.st_ctime_ns) < ONE_TICK else ""
        return f"{seen.st_mtime_ns}-{seen.st_size}-{seen.st_ino}-{seen.st_ctime_ns}{fresh}"

    def shown_root(self) -> str:
        """The root for a failure's data; callers from elsewhere have no use for a path of this machine."""
        return "" if call.current().caller.surface == "http" else self.root


def decode(content: bytes) -> str:
    """The text of a file: UTF-8, with what is not replaced so that it can be shown and sent."""
    return content.decode("utf-8", "replace").removeprefix("\ufeff")


def _id_width(common_dir: str) -> int:
    if not common_dir:
        return 40
    try:
        with open(os.path.join(common_dir, "config"), encoding="utf-8", errors="replace") as config:
            return 64 if re.search(r"(?im)^\s*objectformat\s*=\s*sha256", config.read()) else 40
    except OSError:
        return 40
