"""Which files differ between two versions, and by how many lines: git's raw and numstat output, read."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Literal, TypeAlias

from msgspec import Struct, structs

from postil.core.failure import Failure
from postil.workspace.changes.compared import Compared
from postil.workspace.digest import blob_id
from postil.workspace.failures import OddRepository
from postil.workspace.files import read_file
from postil.workspace.git import run_git, try_git
from postil.workspace.paths import RelativePath
from postil.workspace.repository import Repository

Change: TypeAlias = Literal["added", "deleted", "modified", "renamed", "copied", "type", "unmerged", "untracked"]
_CHANGES: dict[str, Change] = {
    "A": "added", "D": "deleted", "M": "modified", "R": "renamed", "C": "copied", "T": "type", "U": "unmerged",
}  # fmt: skip
_NO_FILE = re.compile(rb"\0(?:/|(?:[^\0]*/)?(?:\.\.?|\.git)/)", re.IGNORECASE)
OPTIONS = ("--no-color", "-M", "--abbrev=40", "--src-prefix=a/", "--dst-prefix=b/")
MOST_UNTRACKED = 1_000
"""Files that git does not know yet whose lines are counted; further ones are only named."""
LARGEST_COUNTED = 1024 * 1024
COMMENTS = ".comments"
LARGEST_LIST = 16 * 1024 * 1024
"""Bytes in which git lists what changed: some 80,000 files."""


class ChangedFile(Struct, frozen=True, omit_defaults=True):
    """One file that differs."""

    file: str
    change: Change
    added: int = 0
    removed: int = 0
    old_file: str = ""
    """Where it was, if it was renamed or copied."""
    is_binary: bool = False
    old: str = ""
    """git's name of the old content; empty where there is none."""
    new: str = ""
    """git's name of the new content, also where only the work tree has it; empty where there is none, or a giant."""


def is_comment_file(name: str) -> bool:
    """Whether a file holds the comments on another one: its words are told apart, nobody remarks on its JSON."""
    return name.endswith(COMMENTS) and not name.endswith("/" + COMMENTS) and name != COMMENTS


def tell_comment_files(count: int) -> str:
    """Returns how many comment files changed, in words."""
    return f"{count} comment file{'s' * (count != 1)}"


def list_changed(repository: Repository, compared: Compared, *, names_content: bool = True) -> list[ChangedFile]:
    """Returns the files that differ, by name; the name of what only the work tree has costs a read of each file."""
    return _list_among(repository, compared, (), names_content=names_content)


def find_changed(repository: Repository, compared: Compared, names: Sequence[str]) -> list[ChangedFile]:
    """Returns those of these files that differ, as the whole list has them, without reading the whole list.

    Only where one came or went is all looked at, since it may have been renamed; and where one is not found, since git
    may know it by other bytes than we can say.
    """
    wanted = frozenset(names)
    try:
        found = _list_among(repository, compared, names) if "" not in wanted and "\0" not in "".join(names) else []
    except Failure:  # a name that leads outside
        found = []
    if len(found) != len(wanted) or any(one.change in ("added", "deleted") for one in found):
        found = list_changed(repository, compared)
    return [one for one in found if one.file in wanted]


def _list_among(
    repository: Repository, compared: Compared, names: Sequence[str], *, names_content: bool = True
) -> list[ChangedFile]:
    """Returns the files that differ, of these or of all."""
    if repository.bare and not compared.new:
        return []
    options = (*OPTIONS, "--raw", "--numstat", "-z", *compared.arguments)
    printed = run_git(repository.root, "diff", *options, "--", *names, largest=LARGEST_LIST)
    if _NO_FILE.search(printed):  # git adds none such; an archive may bring an index that has one
        raise OddRepository(os.path.join(repository.git_dir, "index"), "names files that are not in the work tree")
    found = parse_changed(printed)
    if names_content and not compared.new and not compared.is_staged:
        found = [_name_content(repository, one) for one in found]
    if compared.has_untracked and (not names or len(names) != len(found)):
        found += _list_untracked(repository, names)
    return sorted(found, key=lambda one: one.file)


def parse_changed(printed: bytes) -> list[ChangedFile]:
    """Returns what `git diff --raw --numstat -z` printed."""
    pieces = printed.split(b"\0")
    raw: dict[str, ChangedFile] = {}
    at = 0
    while at < len(pieces) and pieces[at].startswith(b":"):
        _, _, old, new, kind = pieces[at][1:].decode("ascii").split(" ")
        first = _decode(pieces[at + 1])
        is_moved = kind[0] in "RC"
        file = _decode(pieces[at + 2]) if is_moved else first
        at += 3 if is_moved else 2
        change = _CHANGES.get(kind[0], "modified")
        raw[file] = ChangedFile(file, change, old_file=first if is_moved else "", old=_present(old), new=_present(new))
    while at < len(pieces) and pieces[at]:
        added, removed, name = pieces[at].split(b"\t", 2)
        file, at = (_decode(name), at + 1) if name else (_decode(pieces[at + 2]), at + 3)
        known = raw.get(file)
        if known is not None:
            counts = (0, 0, True) if added == b"-" else (int(added), int(removed), False)
            raw[file] = ChangedFile(
                file, known.change, counts[0], counts[1], known.old_file, counts[2], known.old, known.new
            )
    return [*raw.values()]


def _present(name: str) -> str:
    return "" if not name.strip("0") else name


def _decode(name: bytes) -> str:
    return name.decode("utf-8", "backslashreplace")  # JSON has no way to say other bytes


def _list_untracked(repository: Repository, among: Sequence[str]) -> list[ChangedFile]:
    listed = try_git(repository.root, "ls-files", "-z", "--others", "--exclude-standard", "--", *among)
    names = [_decode(name) for name in listed.out.split(b"\0") if name] if listed.status == 0 else []
    described = [_describe_untracked(repository, name) for name in names[:MOST_UNTRACKED]]
    return described + [ChangedFile(name, "untracked") for name in names[MOST_UNTRACKED:]]


def _describe_untracked(repository: Repository, name: str) -> ChangedFile:
    try:
        content = read_file(repository.root, RelativePath(name), LARGEST_COUNTED)
    except Failure:  # a link, a folder with a repository of its own, or a giant
        return ChangedFile(name, "untracked", is_binary=True)
    if b"\0" in content[:8192]:
        return ChangedFile(name, "untracked", is_binary=True)
    lines = content.count(b"\n") + (not content.endswith(b"\n") and bool(content))
    return ChangedFile(name, "untracked", lines, new=blob_id(content))


def _name_content(repository: Repository, one: ChangedFile) -> ChangedFile:
    """Returns the file with the name of what is in the work tree now: git leaves it out where it did not look."""
    if one.new or one.change == "deleted":
        return one
    try:
        content = read_file(repository.root, RelativePath(one.file), LARGEST_COUNTED)
    except Failure:
        return one
    return structs.replace(one, new=blob_id(content))
