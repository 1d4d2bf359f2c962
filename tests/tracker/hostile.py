"""A collaborator with push rights and bad intentions: logs that no version of ours would write."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.tracker.programs import git

EVIL = "eeeeeeeeeeeee"
LATEST = (1 << 48) - 1


def event(ent: str, n: int, t: str, clock: int = LATEST, **more: Any) -> dict[str, Any]:
    """One line of a log, with any lie in it."""
    return {
        "t": t,
        "ent": ent,
        "id": f"evil{n:016}",
        "r": EVIL,
        "n": n,
        "l": clock,
        "ts": "2026-01-01T00:00:00.000Z",
        "a": "Eve <eve@example.org>",
        **more,
    }


def write_log(where: Path, *events: dict[str, Any], replica: str = EVIL, parent: str = "", head: str = "postil") -> str:
    """Write events as a log of this repository, after `parent` or instead of what was there. Returns the commit."""
    position = int(git(where, "log", "-1", "--format=%s", parent).split()[1]) + 1 if parent else 0
    lines = "".join(json.dumps(one, separators=(",", ":")) + "\n" for one in events)
    clock = max((one["l"] for one in events), default=1)
    tree = _hash(where, "tree", b"")
    text = f"tree {tree}\n" + (f"parent {parent}\n" if parent else "")
    text += "author E <e@example.org> 1 +0000\ncommitter E <e@example.org> 1 +0000\n\n"
    text += f"{head} {position} {len(events)} {clock}\n\n{lines}"
    commit = _hash(where, "commit", text.encode())
    git(where, "update-ref", f"refs/postil/log/{replica}", commit)
    return commit


def _hash(where: Path, kind: str, content: bytes) -> str:
    done = subprocess.run(
        ["git", "hash-object", "-t", kind, "-w", "--stdin"], cwd=where, input=content, capture_output=True, check=True
    )
    return done.stdout.decode().strip()
