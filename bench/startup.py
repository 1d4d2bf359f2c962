"""What starting a command costs: CPU of whole processes as a multiple of an interpreter that does nothing.

The best of some rounds in which the commands take turns, in a repository of its own. `python -m bench.startup` prints
it alone; `make bench` adds it to docs/benchmarks.md.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from unittest.mock import patch

from msgspec import Struct

from bench.report import Effort, Goal, goal_table
from bench.server import ROOT, ended_cpu
from postil.app import read_catalogue

BIN = ROOT / ".venv" / "bin"
NOTHING = [str(BIN / "python"), "-c", "pass"]


class Command(Struct, frozen=True):
    """A command people start often, and how many times a bare interpreter it may cost."""

    shell: str
    words: tuple[str, ...]
    limit: float


COMMANDS = (
    Command("status", ("status",), 12),
    Command("workspace info", ("workspace", "info"), 7),
    Command("inbox send", ("inbox", "send", "--file", "a.py", "--line", "1", "--comment", "why?"), 7),
    Command("inbox list", ("inbox", "list"), 7),
    Command("issue list", ("issue", "list"), 5),
)


def startup(effort: Effort) -> list[Goal]:
    """Every command that there is, against its limit."""
    offered = {entry.shell for entry in read_catalogue().operations}
    commands = [command for command in COMMANDS if command.shell in offered]
    with tempfile.TemporaryDirectory(prefix="postil-startup-") as folder, patch.dict(os.environ, HOME=folder):
        repository = make_repository(Path(folder, "repo"))
        best = {command.shell: float("inf") for command in commands}
        nothing = float("inf")
        for _ in range(effort.rounds):
            nothing = min(nothing, ended_cpu(NOTHING))
            for command in commands:
                used = ended_cpu([str(BIN / "postil"), *command.words], cwd=repository)
                best[command.shell] = min(best[command.shell], used)
    return [
        Goal(
            f"`postil {command.shell}`, CPU, times `python -c pass`",
            f"≤ {command.limit:g}",
            f"{best[command.shell] / nothing:.2f}",
            best[command.shell] / nothing <= command.limit,
        )
        for command in commands
    ]


def make_repository(folder: Path) -> Path:
    """A small repository with one commit."""
    folder.mkdir()
    (folder / "a.py").write_text("x = 1\n")
    identity = ["-c", "user.name=Bench", "-c", "user.email=bench@example.org"]
    for words in (["init", "-q"], ["add", "."], [*identity, "commit", "-qm", "first"]):
        subprocess.run(["git", *words], cwd=folder, check=True)
    return folder


def main() -> int:
    """Print the table; status 1 when a limit is passed."""
    goals = startup(Effort(rounds=10))
    print("\n".join(goal_table(goals)))
    return 0 if all(goal.met for goal in goals) else 1


if __name__ == "__main__":
    sys.exit(main())
