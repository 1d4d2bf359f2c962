"""What an entry says beside the program: flags of `serve`, variables, a folder, keys that we do not write.

A clone brings the entries of its own files: with PATH, PYTHONPATH or GITLAB_URL in them our words start something else,
or send elsewhere what the user has. So of those only what is known to be harmless passes; a file at home is the user's.
"""

from __future__ import annotations

import os
from typing import Any, cast

from postil.core.failure import Failure
from postil.settings.files import list_harmless_variables
from postil.surfaces.setup.clients import Client, command_of
from postil.surfaces.shell.serve_flags import read_stdio_flags

LONGEST = 4096
"""Characters of the command line that a file may give us: reading very many flags takes a second."""
VARIABLES = ("env", "environment")
"""The keys under which clients keep an entry's variables."""
HARMLESS = frozenset(
    {"type", "command", "args", "name", "description", "timeout", "enabled", "disabled", "includeTools", "excludeTools"}
)
"""Keys of an entry that decide neither what is started nor what a client lets it do unasked."""
_OF_COMMAND = frozenset({"type", "command", "cmd", "args"})
HERE = ("${workspaceFolder}", "${workspaceRoot}")
"""How clients write the folder that is open in them."""
_OFF = frozenset({"", "0", "false", "no", "off"})


def split_words(client: Client, args: list[str]) -> tuple[list[str], list[str]] | None:
    """Returns the global options and the flags of `serve` that these words are; None where they are anything else.

    A clone's entry has only those that serve over stdio has; one at home may name a folder and a settings file.
    """
    own = client.place != "repository"
    before: list[str] = []
    rest = list(args)
    while rest and rest[0] != "serve":
        takes = own and rest[0] in ("-C", "--config")
        if not takes and rest[0] not in ("--read-only", "--no-input"):
            return None
        before, rest = before + rest[: 1 + takes], rest[1 + takes :]
    if not rest or sum(map(len, args)) > LONGEST:
        return None
    try:
        read_stdio_flags(rest[1:], config=own)
    except Failure:
        return None
    return before, rest[1:]


def keep_choices(
    client: Client, found: dict[str, Any], ours: dict[str, Any], root: str
) -> tuple[dict[str, Any], list[str]]:
    """Returns our entry with what an older one of ours chose beside it, and the names of what cannot be kept."""
    foreign = list_foreign(client, found, root)
    kept: dict[str, Any] = {}
    for key, value in found.items():
        if key in VARIABLES and isinstance(value, dict):
            table = cast("dict[str, object]", value)
            if left := {name: each for name, each in table.items() if name not in foreign}:
                kept[key] = left
        elif key not in foreign and key not in _OF_COMMAND:
            kept[key] = value
    given = command_of(client, found)[1:]
    split, own = split_words(client, given), command_of(client, ours)[1:]
    if split is None:
        return {**ours, **kept}, [*foreign, *given]
    before, flags = split
    if own[:1] == ["-C"] and "-C" in before:
        at = before.index("-C")
        before = before[:at] + before[at + 2 :]
    words = [*own[:-1], *before, "serve", *flags]
    if client.shape == "joined":
        return {**ours, **kept, "command": [command_of(client, ours)[0], *words]}, foreign
    return {**ours, **kept, "args": words}, foreign


def list_foreign(client: Client, found: dict[str, Any], root: str) -> list[str]:
    """Returns the names of what somebody else chose for this entry; none in a file of the user's own."""
    if client.place != "repository" or client.shape == "hooks":
        return []
    foreign: list[str] = []
    for key, value in found.items():
        if key in VARIABLES:
            foreign += list_foreign_variables(cast("object", value), key)
        elif key == "cwd":
            foreign += [] if _is_inside(cast("object", value), root) else [key]
        elif key not in HARMLESS:
            foreign.append(key)
    return foreign


def list_foreign_variables(given: object, key: str) -> list[str]:
    """Returns the variables that a repository may not say; the key they stand under where they cannot be read."""
    if not isinstance(given, dict):
        return [] if given is None else [key]
    known = list_harmless_variables()
    return [name for name, value in cast("dict[str, object]", given).items() if not _is_harmless(name, value, known)]


def _is_harmless(name: str, value: object, known: frozenset[str]) -> bool:
    # It may narrow what is offered, and not undo what the user's own file says.
    return name in known and not (name == "POSTIL_READ_ONLY" and str(value).lower() in _OFF)


def _is_inside(folder: object, root: str) -> bool:
    """Returns whether a folder is the repository's, as every client understands it."""
    if not isinstance(folder, str):
        return folder is None
    for here in HERE:
        if folder == here or folder.startswith(f"{here}/"):
            folder = "." + folder.removeprefix(here)
    if folder.startswith("~") or "$" in folder or "%" in folder or "\0" in folder:
        return False
    inside = os.path.realpath(root)
    return os.path.join(os.path.realpath(os.path.join(root, folder)), "").startswith(os.path.join(inside, ""))
