"""A person with a repository, and assistants that connect to it: the doubles of these tests are real processes."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from queue import Empty, Queue
from typing import Any, Self

from tests.workspace.repositories import git, new_repository

BIN = Path(sys.executable).parent
SOURCE = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n"


class Person:
    """Somebody with a repository, a state folder and a config folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.root = new_repository(folder / "repository", a__txt=SOURCE, b__txt="other\n")
        self.state = folder / "state"
        self.config = folder / "config"
        self.environment = {
            **os.environ,
            "XDG_STATE_HOME": str(self.state),
            "XDG_CONFIG_HOME": str(self.config),
            "PYTHONUNBUFFERED": "1",
        }

    def run(self, *words: str, cwd: Path | None = None, input: str = "") -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        program, *rest = words
        return subprocess.run(
            [str(BIN / program), *rest],
            cwd=cwd or self.root,
            env=self.environment,
            input=input,
            capture_output=True,
            text=True,
            timeout=60,
        )

    def send(self, comment: str, file: str = "a.txt", line: str = "", *more: str) -> str:
        """Send a remark; what was printed."""
        words = ["postil", "inbox", "send", "--file", file, "--comment", comment, *more]
        done = self.run(*words, *(["--line", line] if line else []))
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def messages(self, *more: str) -> list[dict[str, Any]]:
        """What `inbox list --json` shows."""
        done = self.run("postil", "inbox", "list", "--json", *more)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["messages"]

    def states(self) -> dict[int, str]:
        """Number and state of each open message."""
        return {message["id"]: message["state"] for message in self.messages()}

    def assistant(self, *words: str) -> "Assistant":
        """An assistant that has started a server in the repository."""
        return Assistant(self, words or ("lazygit-mcp-bridge", "server"))


class Assistant:
    """A client on the other end of a server's pipes."""

    def __init__(self, person: Person, words: tuple[str, ...]) -> None:
        self.server = subprocess.Popen(
            [str(BIN / words[0]), *words[1:]],
            cwd=person.root,
            env=person.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._frames: Queue[dict[str, Any]] = Queue()
        self._number = 0
        self.notes: list[dict[str, Any]] = []
        assert self.server.stdout is not None
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        self.ask("initialize", {"protocolVersion": "2024-11-05", "capabilities": {}})
        self.tell("notifications/initialized")
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read(self) -> None:
        assert self.server.stdout is not None
        with self.server.stdout as source:
            for line in source:
                self._frames.put(json.loads(line))

    def write(self, frame: object) -> None:
        """Write one frame."""
        assert self.server.stdin is not None
        self.server.stdin.write(json.dumps(frame).encode() + b"\n")
        self.server.stdin.flush()

    def tell(self, method: str, params: object = None) -> None:
        """Send a notification."""
        self.write({"jsonrpc": "2.0", "method": method, **({"params": params} if params is not None else {})})

    def ask(self, method: str, params: object = None, timeout: float = 30) -> dict[str, Any]:
        """Send a request and wait for its answer."""
        self._number += 1
        self.write({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params or {}})
        return self.answer(self._number, timeout)

    def answer(self, number: int, timeout: float = 30) -> dict[str, Any]:
        """Wait for the answer with this id; notifications on the way are kept."""
        while True:
            frame = self._frames.get(timeout=timeout)
            if frame.get("id") == number:
                return frame
            self.notes.append(frame)

    def note(self, method: str, timeout: float = 10) -> dict[str, Any] | None:
        """Wait for a notification of this method; None when none comes."""
        for kept in self.notes:
            if kept.get("method") == method:
                self.notes.remove(kept)
                return kept
        try:
            while True:
                frame = self._frames.get(timeout=timeout)
                if frame.get("method") == method:
                    return frame
                self.notes.append(frame)
        except Empty:
            return None

    def call(self, tool: str, **arguments: object) -> dict[str, Any]:
        """Call a tool; its result."""
        answered = self.ask("tools/call", {"name": tool, "arguments": arguments})
        assert "result" in answered, answered
        return answered["result"]

    def check(self) -> str:
        """The text of `check_lazygit_messages`."""
        return self.call("check_lazygit_messages")["content"][0]["text"]

    def details(self) -> list[dict[str, Any]]:
        """What `check_lazygit_messages` says beside its text."""
        return self.call("check_lazygit_messages").get("_meta", {}).get("postil/messages", [])

    def close(self) -> int:
        """End the input in an orderly way and wait for the server."""
        assert self.server.stdin is not None
        assert self.server.stderr is not None
        if not self.server.stdin.closed:
            self.server.stdin.close()
        status = self.server.wait(timeout=20)
        self._reader.join(timeout=10)
        self.server.stderr.close()
        return status


__all__ = ["SOURCE", "Assistant", "Person", "git"]
