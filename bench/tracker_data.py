"""Repositories with very many issues, for the tracker's bench: logs as commands write them, in one of two orders."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

from msgspec import structs

from postil.tracker import events as ev
from postil.tracker.log.append import name_segment
from postil.tracker.log.format import SEAL
from postil.tracker.log.refs import LOG

WRITERS = 8
EVENTS = 5


def filled(where: Path, issues: int, order: Order) -> Path:
    """A repository with so many issues, packed as after a clone, and one ordinary commit."""
    where.mkdir()
    git(where, "init", "--quiet", "--initial-branch=main")
    git(where, "commit", "--quiet", "--allow-empty", "-m", "first")
    dice = random.Random(1)
    ids = [ev.new_entity_id() for _ in range(issues)]
    replicas = ["bench" + letter * 8 for letter in "abcdefgh"[:WRITERS]]
    logs: list[list[tuple[int, bytes]]] = [[] for _ in replicas]
    seen: list[dict[str, int]] = [{} for _ in ids]
    for clock, (writer, number, kind) in enumerate(order(issues), 1):
        replica, log = replicas[writer], logs[writer]
        others = {other: n for other, n in seen[number].items() if other != replica}
        made = event(dice, ids[number], number, kind, replica, len(log) + 1, clock)
        log.append((clock, ev.encode(structs.replace(made, dep=others or None))))
        seen[number][replica] = len(log)
    for replica, log in zip(replicas, logs, strict=True):
        write_log(where, LOG + replica, log)
    git(where, "repack", "-adq")
    git(where, "prune-packed", "-q")
    return where


Happening = tuple[int, int, int]
"""The writer, the number of the issue, and which of its events it is."""
Order = Callable[[int], Iterable[Happening]]


def writer_by_writer(issues: int) -> Iterable[Happening]:
    """One writer after the other, each with issues of its own: all are opened, then all are commented, and so on."""
    return (
        (writer, number, kind)
        for writer in range(WRITERS)
        for kind in range(EVENTS)
        for number in range(writer, issues, WRITERS)
    )


def in_turns(issues: int) -> Iterable[Happening]:
    """All writers at the same time, two of them at every third issue, most of whose life is short."""
    dice = random.Random(2)
    when: list[tuple[float, int, int]] = []
    for number in range(issues):
        at = float(number)
        for kind in range(EVENTS):
            when.append((at, number, kind))
            at += dice.expovariate(1 / 200)
    return (
        ((number + (kind % 2 if number % 3 == 0 else 0)) % WRITERS, number, kind) for _, number, kind in sorted(when)
    )


def write_log(where: Path, ref: str, log: list[tuple[int, bytes]]) -> None:
    """A log as commands write it: one commit an event, a segment every 256."""
    feed = subprocess.Popen(["git", "fast-import", "--quiet"], cwd=where, stdin=subprocess.PIPE)
    assert feed.stdin is not None
    who = b"Bench <bench@example.org> 1760000000 +0000"
    for at, (clock, line) in enumerate(log):
        message = b"postil %d 1 %d\n\n%s\n" % (at, clock, line)
        feed.stdin.write(
            b"commit %s\nauthor %s\ncommitter %s\ndata %d\n%s\n" % (ref.encode(), who, who, len(message), message)
        )
        if (at + 1) % SEAL == 0:
            blob = b"".join(sealed + b"\n" for _, sealed in log[at + 1 - SEAL : at + 1])
            path = name_segment(at + 1 - SEAL, SEAL).encode()
            feed.stdin.write(b"M 100644 inline %s\ndata %d\n%s\n" % (path, len(blob), blob))
    feed.stdin.close()
    assert feed.wait() == 0


def event(dice: random.Random, id_: str, number: int, kind: int, replica: str, n: int, clock: int) -> ev.Known:
    words = " ".join(dice.choice(("crash", "start", "window", "slow", "config", "network")) for _ in range(8))
    stamp = {"ent": id_, "id": ev.new_event_id(), "r": replica, "n": n, "l": clock}
    told = {"ts": f"2026-01-{1 + clock % 28:02}T10:00:00.000Z", "a": "Ann Author <ann@example.org>"}
    if kind == 0:
        labels = ("bug", f"area-{number % 50}")
        return ev.Created(**stamp, **told, kind="issue", title=words[:50], description=words * 3, labels=labels)  # type: ignore[arg-type]
    if kind in (1, 2):
        return ev.Commented(**stamp, **told, c=ev.new_event_id(), body=words * 2)  # type: ignore[arg-type]
    if kind == 3:
        return ev.Labelled(**stamp, **told, add=(f"p{number % 4}",))  # type: ignore[arg-type]
    return ev.Set(**stamp, **told, f="status", value="closed" if number % 3 else "open")  # type: ignore[arg-type]


def git(where: Path, *arguments: str) -> str:
    identity = {"GIT_AUTHOR_NAME": "Bench", "GIT_AUTHOR_EMAIL": "b@example.org"}
    identity |= {name.replace("AUTHOR", "COMMITTER"): value for name, value in identity.items()}
    done = subprocess.run(
        ["git", *arguments], cwd=where, capture_output=True, text=True, check=True, env={**os.environ, **identity}
    )
    return done.stdout
