"""A client of the contract's own server: a real process, frames on its stdin and stdout."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

PROGRAM = "import sys; from postil.surfaces.shell.main import paired_comments; sys.exit(paired_comments())"


class Client:
    """Speaks to the server line by line; what it did not ask for is kept in `heard`."""

    def __init__(self, root: Path, *command: str) -> None:
        words = [sys.executable, *(command or ("-c", PROGRAM))]
        self.process = subprocess.Popen(words, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.heard: list[dict[str, Any]] = []
        self._next = 0
        self._timer = threading.Timer(60, self.process.kill)
        self._timer.start()

    def send(self, method: str, **params: object) -> int:
        self._next += 1
        assert self.process.stdin
        self.process.stdin.write(
            json.dumps({"jsonrpc": "2.0", "id": self._next, "method": method, "params": params}) + "\n"
        )
        self.process.stdin.flush()
        return self._next

    def receive(self) -> dict[str, Any]:
        assert self.process.stdout
        line = self.process.stdout.readline()
        assert line, "the server ended"
        return json.loads(line)

    def ask(self, method: str, **params: object) -> dict[str, Any]:
        wanted = self.send(method, **params)
        while True:
            frame = self.receive()
            if frame.get("id") == wanted:
                return frame
            self.heard.append(frame)

    def close(self) -> None:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.close()
        self.process.wait(20)
        self.process.stdout.close()
        self._timer.cancel()
