"""From words to a command: the global options in front, then the longest command that the words begin with."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from postil.core.catalogue import OperationEntry
from postil.core.failure import InvalidArguments

HIDDEN = {"bridge": "lazygit-mcp-bridge", "mile": "git mile"}
"""First words that only an old executable uses (and leaves unsaid): `postil --help` does not list their commands."""

PROGRAMS = {"lazygit-mcp-bridge": ("bridge", "inbox"), "git mile": ("mile", "", "issue")}
"""First words that the users of an old executable leave unsaid; each is tried in turn."""


class Globals(Struct, frozen=True):
    """Options that stand before the command."""

    folder: str = ""
    config: str = ""
    no_input: bool = False
    flags: dict[str, Any] = {}


def split_globals(words: list[str]) -> tuple[Globals, list[str]]:
    """Returns the global options in front of the command, and the words of the command."""
    folder = config = ""
    no_input = False
    flags: dict[str, Any] = {}
    rest = list(words)
    while rest and rest[0].startswith("-"):
        name, joined, value = rest[0].partition("=")
        if name in ("-C", "--config"):
            if not joined and len(rest) < 2:
                raise InvalidArguments(f"{name} needs a value")
            value = value if joined else rest[1]
            rest = rest[1 if joined else 2 :]
            folder, config = (value, config) if name == "-C" else (folder, value)
        elif name == "--replica":
            raise InvalidArguments(
                "--replica is not taken: a clone's identity is made for it, so that no two can share one by mistake",
                advice="Leave it out; --author and --email name the writer",
            )
        elif name == "--no-input":
            no_input, rest = True, rest[1:]
        elif name == "--read-only":
            flags["read_only"], rest = True, rest[1:]
        else:
            break
    if folder:
        import os
        import sys

        if not os.path.isdir(folder):
            raise InvalidArguments(f"{folder} is not a folder", advice="Name an existing folder")
        sys.argv[0] = os.path.abspath(sys.argv[0])  # our own name counts from where we were started
        os.chdir(folder)  # relative paths in the other words count from there, as with git -C
    return Globals("", config, no_input, flags), rest


def find(
    entries: Iterable[OperationEntry], words: list[str], prefixes: tuple[str, ...] = ()
) -> tuple[OperationEntry, list[str]] | None:
    """Returns the operation whose command is the longest beginning of the words, and the words after it.

    Each prefix is tried in turn as an unspoken first word: `git mile list` may mean `mile list` or `issue list`.
    """
    by_words = {tuple(entry.shell.split()): entry for entry in entries if entry.shell}
    longest = max(map(len, by_words), default=0)
    for prefix in prefixes or ("",):
        unspoken = tuple(prefix.split())
        for count in range(min(len(words), longest), 0, -1):
            entry = by_words.get((*unspoken, *words[:count]))
            if entry is not None:
                return entry, words[count:]
    return None
