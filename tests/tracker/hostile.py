"""A collaborator with push rights and bad intentions: logs that no version of ours would write."""

from __future__ import annotations

import hashlib
import json
import zlib
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
    tree = write_object(where, "tree", b"")
    text = f"tree {tree}\n" + (f"parent {parent}\n" if parent else "")
    text += "author E <e@example.org> 1 +0000\ncommitter E <e@example.org> 1 +0000\n\n"
    text += f"{head} {position} {len(events)} {clock}\n\n{lines}"
    commit = write_object(where, "commit", text.encode())
    git(where, "update-ref", f"refs/postil/log/{replica}", commit)
    return commit


def write_sealed(where: Path, *segments: bytes, replica: str = EVIL) -> None:
    """Write a log of which all events are in segments alone."""
    entries = b""
    position = 0
    for lines in segments:
        name = b"%09d-%d" % (position, lines.count(b"\n"))
        entries += b"100644 %s\0%s" % (name, bytes.fromhex(write_object(where, "blob", lines)))
        position += lines.count(b"\n")
    shelf = write_object(where, "tree", entries)
    write_tip(where, make_shelves(where, shelf), position, replica=replica)


def make_shelves(where: Path, shelf: str) -> str:
    """Returns the tree of a log whose segments are named in this one."""
    shelves = write_object(where, "tree", b"40000 000000\0" + bytes.fromhex(shelf))
    return write_object(where, "tree", b"40000 seg\0" + bytes.fromhex(shelves))


def write_tip(where: Path, tree: str, count: int, more: str = "", replica: str = EVIL) -> None:
    """Write a log of one commit without lines; `more` are lines of its head that git does not know."""
    text = f"tree {tree}\nauthor E <e@example.org> 1 +0000\ncommitter E <e@example.org> 1 +0000\n{more}\n"
    commit = write_object(where, "commit", f"{text}postil 0 {count} 1\n\n".encode())
    git(where, "update-ref", f"refs/postil/log/{replica}", commit)


def write_object(where: Path, kind: str, content: bytes) -> str:
    """Write an object as it is, also one that git would not write. Returns its name."""
    raw = b"%s %d\0%s" % (kind.encode(), len(content), content)
    oid = hashlib.sha1(raw, usedforsecurity=False).hexdigest()
    objects = where / ".git/objects" if (where / ".git").exists() else where / "objects"
    file = objects / oid[:2] / oid[2:]
    file.parent.mkdir(exist_ok=True)
    if not file.exists():
        file.write_bytes(zlib.compress(raw))
    return oid
