"""A workspace with very many comments, a fifth of them without their code, and what each command costs there.

`make many-comments` prints a table (ARGS="--comments 100000"). CPU seconds of the process and of all that it starts,
and the most memory that one of these processes held; wall times say little on a shared machine.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from bench.commented import texts
from bench.server import ROOT
from postil.anchor.fingerprint import AROUND
from postil.comments.anchoring.line_codes import code_lines
from postil.comments.sidecar.json_edit import JsonObject
from postil.workspace.digest import blob_id
from tests.comments.workspaces import write
from tests.workspace.repositories import git

PER_FILE = 500
LOST = 5
"""Of so many comments one has lost its code."""


def make_source(file: int) -> list[str]:
    """Lines that no other file has."""
    return [f"value_{file}_{line} = compute_{line % 17}({file}, {line})" for line in range(PER_FILE)]


def make(root: Path, count: int) -> None:
    """A repository with so many comments, and a commit since that took every fifth commented line away."""
    root.mkdir(parents=True)
    git(root, "init", "-q", "-b", "main")
    said = texts(count)
    files = range(count // PER_FILE)
    for file in files:
        name = f"package{file % 50}/module{file}.py"
        lines = make_source(file)
        source = "\n".join(lines) + "\n"
        blob = blob_id(source.encode())
        markers: list[JsonObject] = []
        held: list[JsonObject] = []
        for line in range(1, PER_FILE + 1):
            number = file * PER_FILE + line
            made = f"2026-0{1 + number % 9}-{1 + number % 28:02d}T{number % 24:02d}:{number % 60:02d}:00.000Z"
            id_, marker = f"c_{number:019d}", f"gm_{number:019d}"
            own = {
                "v": 1,
                "blob": blob,
                "line": line,
                "pre": lines[max(0, line - 1 - AROUND) : line - 1],
                "post": lines[line : line + AROUND],
                "above": code_lines(lines[max(0, line - 31) : max(0, line - 6)]),
                "below": code_lines(lines[line + 5 : line + 30]),
            }
            markers.append({
                "id": marker,
                "line": line,
                "commentIds": [id_],
                "lineHash": "",
                "lineText": lines[line - 1],
                "prevLineText": lines[line - 2] if line > 1 else "",
                "nextLineText": lines[line] if line < PER_FILE else "",
                "lastVerified": made,
                "x-anchor": own,
            })  # fmt: skip
            times = {"created": made, "updated": made, "ghostMarkerId": marker}
            held.append({"id": id_, "line": line, "text": next(said), "author": "ai", **times, "tag": "NOTE"})
        write(root, name, source)
        document = {"file": name, "version": "2.1.0", "ghostMarkers": markers, "comments": held}
        write(root, f"{name}.comments", msgspec.json.format(msgspec.json.encode(document), indent=2))
    commit = ("-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-qm")
    git(root, "add", "-A")
    git(root, *commit, "comments")
    for file in files:
        kept = [line for at, line in enumerate(make_source(file)) if at % LOST]
        write(root, f"package{file % 50}/module{file}.py", "\n".join(kept) + "\n")
    git(root, "add", "-A")
    git(root, *commit, "without a fifth")


class Watched:
    """Looks at a process and its children while they run: the most memory that each of them held."""

    def __init__(self, pid: int) -> None:
        self.peak: dict[str, int] = {}
        self._pid, self._ended = pid, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._ended.wait(0.05):
            for pid in self._family(self._pid):
                try:
                    status = Path(f"/proc/{pid}/status").read_text()
                    name = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
                except OSError:
                    continue
                found = re.search(r"VmHWM:\s+(\d+)", status)
                kind = "git" if "git" in name.split(" ")[0] else "worker" if "_worker" in name else "postil"
                if found:
                    self.peak[kind] = max(self.peak.get(kind, 0), int(found[1]))

    def _family(self, pid: int) -> list[int]:
        try:
            tasks = os.listdir(f"/proc/{pid}/task")
            children = [
                int(each) for task in tasks for each in Path(f"/proc/{pid}/task/{task}/children").read_text().split()
            ]
        except OSError:
            return [pid]
        return [pid, *(each for child in children for each in self._family(child))]

    def end(self) -> dict[str, int]:
        """Returns it, in KiB, by kind of process."""
        self._ended.set()
        self._thread.join()
        return self.peak


PROGRAM = str(ROOT / ".venv" / "bin" / "postil")


def run(root: Path, words: Sequence[str]) -> None:
    """Run one command, and print a row of the table."""
    began = time.perf_counter()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        command = [PROGRAM, *(word.format(output=root.parent / "output") for word in words)]
        child = subprocess.Popen(command, cwd=root, stdout=out, stderr=err, stdin=subprocess.DEVNULL)
        watched = Watched(child.pid)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        peak = watched.end()
        size = out.seek(0, 2)
        err.seek(0)
        said = err.read()[-200:].decode("utf-8", "replace").strip()
    memory = ", ".join(f"{kind} {kib >> 10}" for kind, kib in sorted(peak.items()))
    cpu = used.ru_utime + used.ru_stime
    wall = time.perf_counter() - began
    print(
        f"| `{' '.join(words)[:60]}` | {cpu:.1f} | {wall:.1f} | {memory} | {size} | {child.returncode} {said} |",
        flush=True,
    )


OUTPUT = "{output}"
COMMANDS = (
    ("comments", "list"),
    ("comments", "list"),
    ("comments", "list", "--state", "orphaned"),
    ("comments", "orphans"),
    ("comments", "review"),
    ("comments", "search", "rate limiting"),
    ("comments", "search", "the", "--state", "orphaned"),
    ("comments", "export", "json", "--output", OUTPUT),
    ("comments", "export", "markdown", "--output", OUTPUT),
    ("comments", "export", "jsonl", "--output", OUTPUT),
    ("comments", "export", "csv", "--output", OUTPUT),
    ("comments", "export", "html", "--output", OUTPUT),
    ("comments", "export", "parquet", "--output", OUTPUT),
    ("comments", "ci", "--base", "HEAD~1"),
    ("comments", "ci", "--base", "HEAD~1", "--format", "sarif"),
    ("comments", "list", "--changed", "HEAD~1"),
    ("comments", "check"),
    ("comments", "diff", "HEAD~1"),
    ("comments", "at", "HEAD~1"),
    ("comments", "view", "package0/module0.py"),
    ("comments", "show", "c_0000000000000000001"),
    ("status",),
    ("doctor",),
)


RESOURCES = ("comment://workspace/all", "comment://workspace/orphaned", "comment://workspace/tags/NOTE")


def read_resource(root: Path, uri: str) -> None:
    """Read all pages of a resource over stdio, and print a row of the table."""
    began, pages, size, first = time.perf_counter(), 0, 0, uri
    child = subprocess.Popen([PROGRAM, "serve"], cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdin is not None
    assert child.stdout is not None
    watched = Watched(child.pid)

    def ask(number: int, method: str, **params: object) -> bytes:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(msgspec.json.encode({"jsonrpc": "2.0", "id": number, "method": method, "params": params}))
        child.stdin.write(b"\n")
        child.stdin.flush()
        while True:
            line = child.stdout.readline()
            if not line or msgspec.json.decode(line, type=dict[str, object]).get("id") == number:
                return line

    ask(1, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "bench", "version": "1"})
    ask(2, "resources/list")
    while uri:
        pages += 1
        line = ask(2 + pages, "resources/read", uri=uri)
        size += len(line)
        (content,) = msgspec.json.decode(line)["result"]["contents"]
        uri = msgspec.json.decode(content["text"]).get("next", "")
    child.stdin.close()
    _, _, used = os.wait4(child.pid, 0)
    child.stdout.close()
    memory = ", ".join(f"{kind} {kib >> 10}" for kind, kib in sorted(watched.end().items()))
    cpu, wall = used.ru_utime + used.ru_stime, time.perf_counter() - began
    print(f"| `{first}`, {pages} pages | {cpu:.1f} | {wall:.1f} | {memory} | {size} | |", flush=True)


def main() -> int:
    """Measure all."""
    parser = argparse.ArgumentParser(prog="bench.million_comments", description=__doc__)
    parser.add_argument("--comments", type=int, default=1_000_000, help="how many; measure a tenth, too")
    parser.add_argument("--root", default="", help="a folder that is kept, for another run")
    parser.add_argument("--only", default="", help="words of commands, or `resources`, between commas")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(options.root or folder, f"of{options.comments}")
        if not root.exists():
            began = time.process_time()
            make(root, options.comments)
            print(f"made with {time.process_time() - began:.0f} s", flush=True)
        print(f"load {os.getloadavg()[0]:.1f}")
        print("| command | CPU s | wall s | peak MB | bytes | status |", "|---|---|---|---|---|---|", sep="\n")
        for words in COMMANDS:
            if not options.only or any(each in words for each in options.only.split(",")):
                run(root, words)
        if not options.only or "resources" in options.only:
            for uri in RESOURCES:
                read_resource(root, uri)
    return 0


if __name__ == "__main__":
    sys.exit(main())
