"""Other programs' refs, written by hand."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from pathlib import Path

from hypothesis import strategies as st

from postil.tracker.operations.answers import Shown
from tests.tracker.groups import Tracker
from tests.tracker.programs import answered, git


def essence(shown: Shown) -> tuple[object, ...]:
    links = sorted((link.type, link.id) for link in shown.links or ())
    words = [(c.author, c.body, c.ts) for c in shown.comments]
    return (
        shown.id,
        shown.title,
        shown.status,
        shown.description,
        shown.labels,
        shown.milestone,
        shown.due,
        links,
        words,
    )


def everything(where: Path) -> list[tuple[object, ...]]:
    mine = Tracker(where)
    kinds = ("issue", "milestone")
    return sorted(
        (essence(mine.show(kind, item.id)) for kind in kinds for item in mine.list(kind, includeClosed=True).items),
        key=str,
    )


def blob(where: Path, content: bytes) -> str:
    done = subprocess.run(
        ["git", "hash-object", "-w", "--stdin"], input=content, cwd=where, capture_output=True, timeout=30
    )
    return done.stdout.decode().strip()


def tree(where: Path, entries: dict[str, tuple[str, str]]) -> str:
    text = "".join(
        f"{'040000 tree' if kind == 'tree' else '100644 blob'} {oid}\t{name}\n" for name, (kind, oid) in entries.items()
    )
    done = subprocess.run(["git", "mktree"], input=text.encode(), cwd=where, capture_output=True, timeout=30)
    return done.stdout.decode().strip()


def commit(where: Path, tree_oid: str, message: str, *parents: str, at: int = 1_700_000_000) -> str:
    words = [word for parent in parents for word in ("-p", parent)]
    done = subprocess.run(
        ["git", "commit-tree", tree_oid, *words],
        input=message.encode(),
        cwd=where,
        capture_output=True,
        timeout=30,
        env={**os.environ, "GIT_COMMITTER_DATE": f"{at} +0000", "GIT_AUTHOR_DATE": f"{at} +0000"},
    )
    return done.stdout.decode().strip()


def told(where: Path, id_: str) -> list[tuple[str, str, str, str]]:
    """The history as `git mile log` has it: time, author, type, what."""
    events = answered(where, "log", id_)["events"]
    return [(e["ts"][:19], e["author"], e["type"], e["what"].partition(": ")[2] or e["what"]) for e in events]


ALPHA = {"title": "Alpha", "description": "d", "status": "open", "labels": ["a"]}


OLD = "3f2b8c1e-0000-4000-8000-00000000abcd"


def write_entity(repository: Path, events: list[dict[str, object]], ats: bytes = b"@@") -> None:
    """An entity of the old git-mile, each operation a minute after the one before it, each write a commit.

    `ats` stands in the place of `@@`, which can be no text.
    """
    blobs: dict[str, tuple[str, str]] = {}
    packs: dict[str, tuple[str, str]] = {}
    tip: list[str] = []
    for counter, event in enumerate(events, 1):
        raw = json.dumps(event).encode().replace(b"@@", ats)
        digest = hashlib.sha256(raw).hexdigest()
        blobs[f"{digest}.blob"] = ("blob", blob(repository, raw))
        author = "Ann <ann@x>" if counter % 2 else "Bob <bob@x>"
        files = {
            "id": f"{counter}@host1",
            "meta.json": json.dumps({"author": author, "message": "why" if counter == 2 else None}),
            "parents": "",
            "payload": digest,
        }
        packs[f"{counter:020d}-host1-0000"] = (
            "tree",
            tree(repository, {name: ("blob", blob(repository, text.encode())) for name, text in files.items()}),
        )
        top = tree(repository, {"blobs": ("tree", tree(repository, blobs)), "pack": ("tree", tree(repository, packs))})
        tip = [commit(repository, top, "persist operation pack: x", *tip, at=1_700_000_000 + 60 * counter)]
    git(repository, "update-ref", f"refs/git-mile/entities/{OLD}", tip[0])


EVENTS: list[dict[str, object]] = [
    {"version": 3, "type": "created", "data": {**ALPHA, "initial_comment": {"comment_id": "c-1", "body": "hello"}}},
    {"version": 3, "type": "label_attached", "data": {"label": "b"}},
    {"version": 3, "type": "label_detached", "data": {"label": "a"}},
    {"version": 3, "type": "status_changed", "data": {"status": "closed"}},
    {"version": 9, "type": "from_the_future", "data": {"x": 1}},
    {"version": 3, "type": "comment_appended", "data": {"comment_id": "c-2", "body": "again"}},
]


words = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp")), min_size=1, max_size=12)


line = words.map(lambda text: " ".join(text.split())).filter(bool)


marks = st.sampled_from(["---", "origin: x", "<!-- comment a b c -->", "\\<!-- comment a b c -->", "# T", ""])


text = st.lists(line | marks, max_size=6).map(lambda lines: "\n".join(lines).strip("\n"))
