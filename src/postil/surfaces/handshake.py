"""Trying a client's own entry: start the server exactly as the client would, say hello, time the answer."""

from __future__ import annotations

import os
import time

import msgspec
from msgspec import Struct

from postil.core.failure import Unreachable

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


def try_command(command: list[str], folder: str) -> Answered:
    """Start the server, shake hands, end it; raises Unreachable when it does not answer."""
    import subprocess

    began = time.monotonic()
    try:
        done = subprocess.run(
            command,
            input=msgspec.json.encode(HELLO) + b"\n",
            capture_output=True,
            cwd=folder,
            env={**os.environ, "PATH": NARROW_PATH},
            timeout=PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        why = (
            f"it did not end within {PATIENCE:g} s" if isinstance(error, subprocess.TimeoutExpired) else error.strerror
        )
        raise Unreachable(
            f"{command[0] or 'The entry'} cannot be started: {why}", advice="Run `postil setup CLIENT --write` again"
        ) from error
    took = round((time.monotonic() - began) * 1000)
    line = done.stdout.partition(b"\n")[0]
    try:
        info: dict[str, str] = msgspec.json.decode(line)["result"]["serverInfo"]
        return Answered(info["name"], info["version"], took)
    except (msgspec.DecodeError, KeyError, TypeError):
        said = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2][:200]
        raise Unreachable(
            f"{' '.join(command)} did not answer the handshake" + (f": {said}" if said else ""),
            advice="Run that command by hand and see what it says",
        ) from None
