"""Trying a client's own entry: start the server exactly as the client would, say hello, time the answer."""

from __future__ import annotations

import os
import time
from typing import Any

import msgspec
from msgspec import Struct

from postil.core.failure import Conflict, Unreachable
from postil.surfaces.setup.clients import Client, command_of, may_be_run

PATIENCE = 15.0
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
    """An entry in a repository's file that would start another program."""


def try_entry(client: Client, found: dict[str, Any], folder: str) -> Answered:
    """Start what this entry of the client starts; raises Unreachable when it does not answer."""
    if not may_be_run(client, found):
        raise NotOurs(
            f"{client.file} starts something else than this Postil; it was not run, since a repository's file may be "
            "somebody else's",
            advice=f"Look at it, then run `postil setup {client.name} --write`",
        )
    command = command_of(client, found)
    if client.shape == "hooks":
        # Not the hook itself: it would take the messages that wait for the assistant.
        return _try_version([command[0], "--version"], folder)
    return _try_server(command, folder)


def _try_server(command: list[str], folder: str) -> Answered:
    """Start the server, shake hands, end it."""
    began = time.monotonic()
    out, err = _run(command, folder, msgspec.json.encode(HELLO) + b"\n")
    took = round((time.monotonic() - began) * 1000)
    try:
        info: dict[str, str] = msgspec.json.decode(out.partition(b"\n")[0])["result"]["serverInfo"]
        return Answered(info["name"], info["version"], took)
    except (msgspec.DecodeError, KeyError, TypeError):
        said = err.decode("utf-8", "replace").strip().rpartition("\n")[2][:200]
        raise Unreachable(
            f"{' '.join(command)} did not answer the handshake" + (f": {said}" if said else ""),
            advice="Run that command by hand and see what it says",
        ) from None


def _try_version(command: list[str], folder: str) -> Answered:
    began = time.monotonic()
    name, _, version = _run(command, folder, b"")[0].decode("utf-8", "replace").strip().partition(" ")
    if name != "postil":
        raise Unreachable(f"{command[0]} is not Postil", advice="Run `postil setup CLIENT --write` again")
    return Answered(name, version, round((time.monotonic() - began) * 1000))


def _run(command: list[str], folder: str, stdin: bytes) -> tuple[bytes, bytes]:
    import subprocess

    try:
        done = subprocess.run(
            command,
            input=stdin,
            capture_output=True,
            cwd=folder,
            env={**os.environ, "PATH": NARROW_PATH},
            timeout=PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        too_long = isinstance(error, subprocess.TimeoutExpired)
        why = f"it did not end within {PATIENCE:g} s" if too_long else error.strerror
        raise Unreachable(
            f"{command[0] or 'The entry'} cannot be started: {why}", advice="Run `postil setup CLIENT --write` again"
        ) from error
    return done.stdout, done.stderr
