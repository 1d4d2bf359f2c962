"""Keeping one person's file out of a team's commits: a line in `.git/info/exclude`, which git never commits."""

from __future__ import annotations

import os

from postil.surfaces.setup.clients import Client
from postil.workspace.disk import read_regular
from postil.workspace.files import atomic_write, make_folder
from postil.workspace.git import try_git
from postil.workspace.paths import RelativePath
from postil.workspace.repository import find_repository

FILE = "info/exclude"
MARK = "# postil: it names a program of this machine"
LARGEST = 1024 * 1024


def keep_out_of_commits(client: Client, root: str) -> str:
    """Let git ignore a personal file. Returns what to say of it; nothing where git ignores it already."""
    if not client.is_personal:
        return ""
    if try_git(root, "ls-files", "-z", "--", client.file).out:
        return f"{client.file} is committed here, and now names a program of this machine: do not commit that"
    if try_git(root, "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--", client.file).out:
        return ""
    before = _read(root)
    if before is None:
        return f"{client.file} names a program of this machine: do not commit it"
    gap = "" if not before or before.endswith("\n") else "\n"
    _write(root, f"{before}{gap}{_lines(client)}")
    return f"git ignores {client.file} here (.git/{FILE})"


def stop_keeping_out(client: Client, root: str) -> None:
    """Take our line out again."""
    before = _read(root) if client.is_personal else None
    if before and _lines(client) in before:
        _write(root, before.replace(_lines(client), "", 1))


def _lines(client: Client) -> str:
    return f"{MARK}\n/{client.file}\n"


def _read(root: str) -> str | None:
    """Returns what is ignored; None where that cannot be known, and so must not be written."""
    path = os.path.join(find_repository(root).common_dir, FILE)
    if not os.path.lexists(path):
        return ""
    content = None if os.path.islink(path) else read_regular(path, LARGEST)
    return None if content is None else content.decode("utf-8", "surrogateescape")


def _write(root: str, text: str) -> None:
    folder = find_repository(root).common_dir
    make_folder(folder, os.path.dirname(FILE))
    atomic_write(folder, RelativePath(FILE), text.encode("utf-8", "surrogateescape"))
