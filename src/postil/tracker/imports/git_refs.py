"""Issues that other programs keep in git refs, as stories of what happened to each. Reads objects; runs nothing.

What the objects mean is `git_bug.py`'s and `git_mile.py`'s business; this finds the refs and sees to it
that one that cannot be read hides no other.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterator
from typing import TypeVar

import msgspec

from postil.core import limits
from postil.core.others.unreadable import UNREADABLE
from postil.tracker.imports.model import ForeignHistory
from postil.tracker.log.format import LogDamaged, Objects, open_objects, parse_tree
from postil.tracker.text import format_moment
from postil.workspace.git import run_git

T = TypeVar("T")
MOST_READ = 2 * limits.LOG_OBJECT
"""Bytes of the files of one story: what they say is held until it is written."""
Reader = Callable[["ForeignObjects", str, str], ForeignHistory | None]
"""From a ref's commit and the last part of its name to a story; None for what is no issue."""
_WRITTEN = re.compile(rb" -?\d{1,18} \S+\Z")
"""How the line of who made a commit ends: with the second, and the zone."""


def read_refs(root: str, source: str) -> tuple[list[ForeignHistory], list[str]]:
    """Returns all that `git-mile` or `git-bug` keeps in this repository, and in words what could not be read."""
    if source == "git-bug":
        from postil.tracker.imports.git_bug import make_reader

        return _read_all(root, {"refs/bugs/": make_reader(root)})
    from postil.tracker.imports.git_mile import read_entity, read_task

    return _read_all(root, {"refs/git-mile/entities/": read_entity, "refs/git-mile/tasks/": read_task})


def list_refs(root: str, prefix: str) -> list[tuple[str, str]]:
    """Returns the refs below a prefix: (commit, last part of the name)."""
    listed = run_git(root, "for-each-ref", "--format=%(objectname) %(refname)", prefix).decode().splitlines()
    return [(line.partition(" ")[0], line.partition(" ")[2].rpartition("/")[2]) for line in listed]


def _read_all(root: str, readers: dict[str, Reader]) -> tuple[list[ForeignHistory], list[str]]:
    stories: list[ForeignHistory] = []
    unread: list[str] = []
    for prefix, reader in readers.items():
        for oid, name in list_refs(root, prefix):
            with open_objects(
                root
            ) as git:  # a conversation each: one that ends in the middle must not confuse the next
                try:
                    story = reader(ForeignObjects(git), oid, name)
                except LogDamaged as fault:
                    unread.append(f"{prefix}{name}: {fault.message}")
                    continue
            if story is not None:
                stories.append(story)
    return stories, unread


class ForeignObjects:
    """Another program's objects: whatever is not as it should be is LogDamaged."""

    def __init__(self, git: Objects) -> None:
        self._git = git
        self._read = 0

    def commit(self, oid: str) -> tuple[dict[bytes, list[bytes]], bytes]:
        """Returns the head lines of a commit, by key, and its message."""
        top, _, message = self._content(oid, "commit").partition(b"\n\n")
        head: dict[bytes, list[bytes]] = {}
        for line in top.split(b"\n"):
            key, _, value = line.partition(b" ")
            head.setdefault(key, []).append(value)
        if b"tree" not in head or not _WRITTEN.search(head.get(b"committer", [b""])[0]):
            raise LogDamaged(oid, "a commit without a tree or a time")
        return head, message

    def ancestry(self, oid: str) -> Iterator[tuple[str, dict[bytes, list[bytes]], bytes]]:
        """Yields a commit and everything before it, on all sides of merges, each once."""
        waiting, seen = [oid], {oid}
        while waiting:
            at = waiting.pop()
            head, message = self.commit(at)
            yield at, head, message
            for parent in (each.decode("ascii", "replace") for each in head.get(b"parent", [])):
                if parent not in seen:
                    seen.add(parent)
                    waiting.append(parent)

    def tree(self, oid: str) -> dict[str, str]:
        """Returns the names and objects of a tree."""
        try:
            return dict(parse_tree(self._content(oid, "tree"), len(oid) // 2))
        except ValueError:
            raise LogDamaged(oid, "a tree that cannot be read") from None

    def tree_of(self, head: dict[bytes, list[bytes]]) -> dict[str, str]:
        """Returns the tree of a commit."""
        return self.tree(head[b"tree"][0].decode("ascii", "replace"))

    def blob(self, files: dict[str, str], name: str) -> bytes:
        """Returns the content of a file of a tree."""
        return self.read_blob(self.find(files, name))

    def find(self, files: dict[str, str], name: str) -> str:
        """Returns the object of a file of a tree."""
        if name not in files:
            raise LogDamaged(next(iter(files.values()), ""), f"the file {name} is missing")
        return files[name]

    def read_blob(self, oid: str) -> bytes:
        """Returns the content of a file, and counts it: one story must not unpack without end."""
        content = self._content(oid, "blob")
        self._read += len(content)
        if self._read > MOST_READ:
            raise LogDamaged(oid, f"it holds more than {MOST_READ // limits.MIB} MB")
        return content

    def decode(self, raw: bytes, kind: type[T], where: str) -> T:
        """Returns the JSON of another program. Raises LogDamaged."""
        try:
            return msgspec.json.decode(raw, type=kind)
        except UNREADABLE as fault:
            raise LogDamaged(where, str(fault)) from None

    def _content(self, oid: str, kind: str) -> bytes:
        found, content = self._git.read(oid)
        if found != kind:
            raise LogDamaged(oid, f"a {found} where a {kind} belongs")
        return content


def read_number(text: str, otherwise: int) -> int:
    """Returns a number of at most 18 digits; other digits than 0 to 9 are none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else otherwise


def read_commit_time(head: dict[bytes, list[bytes]]) -> str:
    """When a commit was made."""
    return format_seconds(int(head[b"committer"][0].split()[-2]))


def format_seconds(seconds: int) -> str:
    """Returns seconds since 1970 as events write moments; nonsense is the beginning."""
    try:
        return format_moment(datetime.datetime.fromtimestamp(seconds, datetime.UTC))
    except (ValueError, OverflowError, OSError):
        return format_moment(datetime.datetime.fromtimestamp(0, datetime.UTC))
