"""Ordinary calls of this checkout beside those of an older one, in turns: what has become slower?

`make against BASE=../older` measures against a checkout in which `make setup` ran. The older one is measured twice in
every round, so its spread is known: a call is slower only if it is above both 1.03 and that spread.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any, TypeAlias

from msgspec import Struct

from bench.server import ROOT, Process, Server, ended_cpu, started

TOLERANCE = 1.03
FILES = 10
EACH = 6
ISSUES = 40
_COMMENT = re.compile(r"\bc_\d{13,19}\b")
_ISSUE = re.compile(r'"id":"([0-9a-f-]{36})"')
Arguments: TypeAlias = dict[str, Any]


class Side:
    """One of the servers, in a repository of its own."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._sent = 0
        self.comments = [
            (f"f{number}.py", self.add(f"f{number}.py", line)) for number in range(FILES) for line in range(1, EACH + 1)
        ]
        for number in range(ISSUES):
            self.ask("git_mile.create", {"title": f"issue {number}"})
        self.issues = _ISSUE.findall(self.ask("git_mile.list", {"entity": "issue"}).replace("\\", ""))
        if not self.issues:
            raise RuntimeError("no issue was listed")

    def ask(self, tool: str, arguments: Arguments) -> str:
        """Call a tool; returns what it says. Raises RuntimeError if it refuses."""
        self._sent += 1
        params = {"name": tool, "arguments": arguments}
        self._process.send({"jsonrpc": "2.0", "id": self._sent, "method": "tools/call", "params": params})
        while (answer := self._process.receive()).get("id") != self._sent:
            pass  # what it notifies of
        result: Any = answer.get("result")
        if result is None or result.get("isError"):
            raise RuntimeError(f"{tool} was refused: {str(answer)[:300]}")
        return str(result["content"][0].get("text", ""))

    def add(self, path: str, line: int) -> str:
        """Add a comment; returns its id."""
        said = self.ask("add_comment", {"filePath": path, "line": line, "text": f"on {line}", "tag": "NOTE"})
        found = _COMMENT.search(said)
        if found is None:
            raise RuntimeError(f"no id in {said!r}")
        return found[0]

    def measure(self, kind: Kind, begin: int, calls: int) -> float:
        """Returns the CPU seconds that so many calls take; what prepares each is not counted."""
        prepared = [kind.given(self, number) for number in range(begin, begin + calls)]
        before = self._process.cpu()
        for arguments in prepared:
            self.ask(kind.tool, arguments)
        return self._process.cpu() - before


class Kind(Struct, frozen=True):
    """A tool, under the name that every release answers to, and the arguments of its so-many-th call."""

    tool: str
    given: Callable[[Side, int], Arguments]


def _comment(side: Side, number: int) -> Arguments:
    path, id_ = side.comments[number % len(side.comments)]
    return {"filePath": path, "commentId": id_}


def _by_id(side: Side, number: int) -> Arguments:
    return {"commentId": _comment(side, number)["commentId"]}


def _issue(side: Side, number: int) -> Arguments:
    return {"entity": "issue", "id": side.issues[number % len(side.issues)]}


def _move(side: Side, number: int) -> Arguments:
    given = _comment(side, number)
    line = 1 + number // len(side.comments) % EACH
    return {"sourceFile": given["filePath"], "targetFile": given["filePath"], "targetLine": line + 10} | _by_id(
        side, number
    )


def _moved(side: Side, number: int) -> Arguments:
    side.ask("move_comment", _move(side, number))
    return _by_id(side, number)


def _added(side: Side, number: int) -> Arguments:
    path = f"f{number % FILES}.py"
    return {"filePath": path, "commentId": side.add(path, 9)}


KINDS = (
    Kind("workspace_info", lambda side, number: {}),
    Kind("check_lazygit_messages", lambda side, number: {}),
    Kind("inbox_list", lambda side, number: {}),
    Kind("add_comment", lambda side, n: {"filePath": f"f{n % FILES}.py", "line": 8, "text": "more", "tag": "NOTE"}),
    Kind("edit_comment", lambda side, number: _comment(side, number) | {"text": f"edited {number}"}),
    Kind("comments_reply", lambda side, number: _by_id(side, number) | {"text": f"reply {number}"}),
    Kind("comments_resolve", lambda side, n: _by_id(side, n) | {"status": ("resolved", "wontfix")[n // 60 % 2]}),
    Kind("move_comment", _move),
    Kind("comments_undo", _moved),
    Kind("delete_comment", _added),
    Kind("comments_list", lambda side, number: {}),
    Kind("comments_show", _by_id),
    Kind("comments_orphans", lambda side, number: {}),
    Kind("get_file_comments", lambda side, number: {"filePath": f"f{number % FILES}.py"}),
    Kind("search_comments", lambda side, number: {"query": "edited|reply"}),
    Kind("export_comments", lambda side, number: {"format": "markdown"}),
    Kind("git_mile.create", lambda side, number: {"title": f"another {number}"}),
    Kind("git_mile.update", lambda side, n: {"id": _issue(side, n)["id"], "title": f"renamed {n}"}),
    Kind("git_mile.comment", lambda side, n: {"id": _issue(side, n)["id"], "body": f"remark {n}"}),
    Kind("git_mile.list", lambda side, number: {"entity": "issue"}),
    Kind("git_mile.show", _issue),
)
COMMANDS = (
    ("--version",),
    ("status",),
    ("inbox", "send", "--file", "f0.py", "--line", "1", "--comment", "why?"),
    ("issue", "list"),
    ("comments", "list"),
)


def against(base: Path, rounds: int, calls: int, only: list[str]) -> Iterator[tuple[str, float, float]]:
    """Yields each call and command with this checkout's part of the older one's CPU, and the older one's of its own."""
    checkouts = (ROOT, base, base)
    with ExitStack() as held:
        folders = [Path(held.enter_context(repository())) for _ in checkouts]
        programs = [str(checkout / ".venv" / "bin" / "postil") for checkout in checkouts]
        servers = [
            held.enter_context(started(Server("Postil", (program, "serve")), cwd=folder))
            for program, folder in zip(programs, folders, strict=True)
        ]
        for server in servers:
            server.handshake()
        sides = [Side(server) for server in servers]
        for kind in KINDS:
            if not only or kind.tool in only:
                used = [[side.measure(kind, turn * calls, calls) for side in sides] for turn in range(rounds + 1)]
                yield kind.tool, *_compare(used[1:])  # the first round imports what the others have
        for words in COMMANDS:
            if not only or words[-1] in only or words[0] in only:
                commands = [[program, *words] for program in programs]
                used = [
                    [ended_cpu(command, cwd=folder) for command, folder in zip(commands, folders, strict=True)]
                    for _ in range(rounds)
                ]
                yield "postil " + " ".join(words[:2]), *_compare(used)


def _compare(used: list[list[float]]) -> tuple[float, float]:
    return median(this / older for this, older, _ in used), median(again / older for _, older, again in used)


@contextmanager
def repository() -> Iterator[str]:
    """A small repository with functions to comment on."""
    with tempfile.TemporaryDirectory(prefix="postil-against-") as folder:
        for number in range(FILES):
            rows = [f"def f{line}(a):\n    return a * {line}\n" for line in range(30)]
            Path(folder, f"f{number}.py").write_text("\n".join(rows))
        for words in ("init -q", "add -A", "commit -qm start"):
            subprocess.run(["git", "-c", "commit.gpgsign=false", *words.split()], cwd=folder, check=True)
        yield folder


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="bench.against", description=__doc__)
    parser.add_argument("base", type=Path, help="a checkout of an older version in which `make setup` ran")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--calls", type=int, default=20, help="calls of a kind in a round")
    parser.add_argument("only", nargs="*", help="names of tools and commands (default: all)")
    options = parser.parse_args(words)
    base: Path = options.base.resolve()
    if not (base / ".venv" / "bin" / "postil").exists():
        parser.error(f"{options.base} has no .venv: run `make setup` there first")
    for role in ("AUTHOR", "COMMITTER"):  # on a machine where git knows nobody
        os.environ |= {f"GIT_{role}_NAME": "Bench", f"GIT_{role}_EMAIL": "bench@example.org"}
    print(f"| call | this beside {options.base.name} | {options.base.name} beside itself | |\n|---|---|---|---|")
    slower: list[str] = []
    with tempfile.TemporaryDirectory(prefix="postil-home-") as home:
        os.environ["HOME"] = home
        for name, ratio, spread in against(base, options.rounds, options.calls, options.only):
            is_slower = ratio > max(TOLERANCE, spread, 1 / spread)
            print(f"| {name} | {ratio:.2f} | {spread:.2f} | {'**slower**' if is_slower else ''} |", flush=True)
            slower += [name] * is_slower
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
