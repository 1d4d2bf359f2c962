"""Another tracker that keeps issues with the code, in the same run on as many issues: Backlog.md, Markdown in git.

The one peer whose package brings its program: git-bug and git-dit are sources to be built, beads fetches its program
from elsewhere when it is installed. `make bench` installs it into bench/peers.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from bench.report import Goal
from bench.server import ROOT, ended_cpu
from bench.tell import say
from bench.tracker_data import git

PROGRAM = ROOT / "bench" / "peers" / "node_modules" / ".bin" / "backlog"
TASK = """\
---
id: TASK-{number}
title: {title}
status: {status}
assignee: []
created_date: '2026-01-{day:02} 10:00'
labels:
  - bug
  - area-{area}
dependencies: []
---

## Description

{text}
"""


def peer(top: Path, ours: Path, listing: list[str], creating: list[str], issues: int) -> list[Goal]:
    """List and create beside the peer's, whole processes."""
    if not PROGRAM.exists():
        return [Goal("git mile beside Backlog.md", "≤ 0.5", "not installed: bench/peers: `make bench`", None)]
    say(f"tracker: Backlog.md with {issues} issues")
    theirs = backlog(top / "backlog", issues)
    narrow = ["--plain", "--status", "To Do", "--labels", "area-7", "--limit", "50", "--sort", "id"]
    pairs = {
        "list": (listing, [str(PROGRAM), "task", "list", *narrow]),
        "create": (creating, [str(PROGRAM), "task", "create", "One more", "--plain"]),
    }
    goals: list[Goal] = []
    for verb, (mine, other) in pairs.items():
        runs = [(ended_cpu(mine, cwd=ours), ended_cpu(other, cwd=theirs)) for _ in range(3)]
        ratio = min(run[0] for run in runs) / min(run[1] for run in runs)
        what = f"git mile {verb} beside Backlog.md's, {issues} issues each, CPU"
        goals.append(Goal(what, "≤ 0.5", f"{ratio:.3f}", ratio <= 0.5))
    shutil.rmtree(theirs)
    return goals


def backlog(where: Path, issues: int) -> Path:
    """A project of its own kind, set to the quickest it can: no remotes, no other branches looked at."""
    where.mkdir()
    git(where, "init", "--quiet", "--initial-branch=main")
    git(where, "commit", "--quiet", "--allow-empty", "-m", "first")
    ended_cpu([str(PROGRAM), "init", "bench", "--defaults", "--check-branches", "false"], cwd=where)
    config = where / "backlog" / "config.yml"
    config.write_text(config.read_text().replace("remote_operations: true", "remote_operations: false"))
    tasks = where / "backlog" / "tasks"
    for number in range(1, issues + 1):
        title = f"crash start window {number}"
        (tasks / f"task-{number} - {title.replace(' ', '-')}.md").write_text(
            TASK.format(
                number=number,
                title=title,
                status="Done" if number % 3 else "To Do",
                day=1 + number % 28,
                area=number % 50,
                text="crash start window slow config network " * 5,
            )
        )
    git(where, "add", "-A")
    git(where, "commit", "--quiet", "-m", "tasks")
    return where
