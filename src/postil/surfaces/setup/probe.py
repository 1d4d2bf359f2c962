"""Trying a client's own entry: start the server as the client would, say hello, time the answer.

An entry is text that somebody else may have written: a repository's file, or what another program left at home. So only
this Postil is ever started, by the path where we found it ourselves; whatever else an entry names is reported, not run.
"""

from __future__ import annotations

import os
import time
from typing import Any

import msgspec
from msgspec import Struct

from postil.core.failure import Conflict, Unreachable, describe_install
from postil.core.others.one_line import on_one_line
from postil.core.others.unreadable import UNREADABLE
from postil.core.others.untrusted import shorten
from postil.surfaces.setup import hooks as client_hooks
from postil.surfaces.setup.clients import NAME, Client, command_of, executable
from postil.surfaces.setup.whole_entry import list_foreign, split_words

PATIENCE = 15.0
LONGEST_SAID = 200
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "postil-doctor", "version": "1"},
    },
}
NARROW_PATH = "/usr/bin:/bin"
"""What a graphical host has: an entry that needs more than this works in a terminal only."""


class Answered(Struct, frozen=True):
    """The server that answered, and how long it took."""

    name: str
    version: str
    milliseconds: int


class NotOurs(Conflict):
    """An entry that would start another program than this Postil."""


def try_entry(client: Client, found: dict[str, Any], root: str, patience: float = PATIENCE) -> Answered:
    """Start the Postil that this entry names, at the repository's root (or here, where there is none).

    Raises NotOurs when the entry names another program, and Unreachable when Postil does not answer.
    """
    try:
        named, *args = command_of(client, found)
        programs = client_hooks.list_programs(found) if client.shape == "hooks" else [named]
    except (KeyError, IndexError, TypeError, ValueError):
        named, args, programs = "", [], []
    if os.path.isabs(named) and not os.path.lexists(named):
        raise Unreachable(f"{named} does not exist", advice=f"Run `postil setup {client.name} --write` again")
    if named == NAME and not _installed(root):
        raise Unreachable(
            "No `postil` is on PATH, and this file names it so that everybody's finds their own",
            advice=f"Install it for all programs: {describe_install()}",
        )
    program = find_own(named, root)
    if not program or not _are_safe(client, args) or not all(find_own(each, root) for each in programs):
        raise refuse(client)
    if foreign := list_foreign(client, found, root):
        raise refuse(client, ", ".join(foreign), or_settings=True)
    if client.shape == "hooks" and (more := client_hooks.find_more(found, client.hook_shape)):
        raise refuse(client, more)
    if client.shape == "hooks":
        # Not the hook itself: it would take the messages that wait for the assistant.
        return _try_version([program, "--version"], root or ".", patience)
    return _try_server([program, *args], root or ".", patience)


def refuse(client: Client, more: str = "", *, or_settings: bool = False) -> NotOurs:
    """Returns what to say of an entry that is not ours to the letter; `more` is what it has beside our words."""
    settings = ", or with settings that somebody else chose" if or_settings else ""
    named = f": {shorten(on_one_line(more), LONGEST_SAID)}" if more else ""
    return NotOurs(
        f"{client.file} starts something else than this Postil{settings}{named}; it was not run, since the file may be "
        "somebody else's",
        advice=f"Look at it, then run `postil setup {client.name} --write`",
    )


def find_own(named: str, root: str) -> str:
    """Returns the path of our own program if `named` is that very file, else an empty text.

    Ours are the program that is running and the `postil` that PATH finds outside of the repository. A relative path is
    never ours: it may be one file for us and another one for whoever starts it. The plain name is the one of PATH.
    """
    if named == NAME and _is_path_absolute():
        return _installed(root)
    if not os.path.isabs(named):
        return ""
    for own in (executable(), _installed(root)):
        try:
            if own and os.path.samefile(own, named):
                return own
        except OSError:
            continue
    return ""


def _is_path_absolute() -> bool:
    """Returns whether PATH means the same in every folder; with a relative one in it the plain name is nobody's."""
    return all(os.path.isabs(folder) for folder in os.environ.get("PATH", "").split(os.pathsep))


def _installed(root: str) -> str:
    from shutil import which

    folders = [folder for folder in os.environ.get("PATH", "").split(os.pathsep) if os.path.isabs(folder)]
    found = which("postil", path=os.pathsep.join(folders)) or ""
    inside = os.path.join(os.path.realpath(root), "") if root else ""
    return "" if inside and any(path.startswith(inside) for path in (found, os.path.realpath(found))) else found


def _are_safe(client: Client, args: list[str]) -> bool:
    """Returns whether these arguments only start a server. What the user's own files say is the user's business."""
    if client.place != "repository" or client.shape == "hooks":  # of hooks, only the version is asked
        return True
    return split_words(client, args) is not None


def _try_server(command: list[str], folder: str, patience: float) -> Answered:
    """Start the server, shake hands, end it."""
    began = time.monotonic()
    out, err = _run(command, folder, msgspec.json.encode(HELLO) + b"\n", patience)
    took = round((time.monotonic() - began) * 1000)
    try:
        info: dict[str, str] = msgspec.json.decode(out.partition(b"\n")[0])["result"]["serverInfo"]
        return Answered(info["name"], info["version"], took)
    except (*UNREADABLE, KeyError, TypeError):
        said = err.decode("utf-8", "replace").strip().rpartition("\n")[2][:200]
        raise Unreachable(
            f"{shorten(' '.join(command), LONGEST_SAID)} did not answer the handshake" + (f": {said}" if said else ""),
            advice="Run that command by hand and see what it says",
        ) from None


def _try_version(command: list[str], folder: str, patience: float) -> Answered:
    began = time.monotonic()
    name, _, version = _run(command, folder, b"", patience)[0].decode("utf-8", "replace").strip().partition(" ")
    if name != "postil":
        raise Unreachable(f"{command[0]} is not Postil", advice="Run `postil setup CLIENT --write` again")
    return Answered(name, version, round((time.monotonic() - began) * 1000))


def _run(command: list[str], folder: str, stdin: bytes, patience: float) -> tuple[bytes, bytes]:
    import subprocess

    try:
        done = subprocess.run(
            command,
            input=stdin,
            capture_output=True,
            cwd=folder,
            env={**os.environ, "PATH": NARROW_PATH},
            timeout=patience,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        too_long = isinstance(error, subprocess.TimeoutExpired)
        why = f"it did not end within {patience:.0f} s" if too_long else error.strerror
        raise Unreachable(
            f"{command[0] or 'The entry'} cannot be started: {why}", advice="Run `postil setup CLIENT --write` again"
        ) from error
    return done.stdout, done.stderr
