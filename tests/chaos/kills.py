"""Kills: a writer acknowledges each write; it is killed at a random moment; what it acknowledged must be there.

Writers are forked from a process that has imported everything, so that thousands of kills take minutes. The histories
are checked by an oracle: acknowledged is a subset of stored, nothing is stored twice, everything can be read, and the
next writer needs no help.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from postil.comments.operations.contract import ContractTools
from postil.comments.part import CommentsContext
from postil.core.failure import Failure
from postil.storage.idempotency import IdempotencyKeys
from postil.storage.sqlite import SqliteState
from postil.tracker.issues import Issues
from postil.tracker.operations.assistant import AssistantTools
from postil.workspace.repository import find_repository


class Killed(NamedTuple):
    """What a campaign found."""

    kills: int
    acknowledged: int
    lost: int
    doubled: int
    unreadable: int


class Target(NamedTuple):
    """A store: how a writer writes number after number, and which numbers are there."""

    prepare: Callable[[Path], None]
    write: Callable[[Path, int, Callable[[int], None]], None]
    find: Callable[[Path], list[int]]


def kill_writers(target: Target, kills: int, chance: random.Random, longest: float) -> Killed:
    """Kill so many writers, one after another and two at a time, and check what is there."""
    with tempfile.TemporaryDirectory(prefix="postil-chaos-") as base:
        folder = Path(base)
        target.prepare(folder)
        acknowledged: set[int] = set()
        made = unreadable = 0
        for kill in range(0, kills, 2):
            writers = [_start(target, folder, (kill + n) * 100_000) for n in range(2)]
            time.sleep(chance.uniform(0, longest))  # the moment of the kill is what is varied
            for process, _ in writers:
                os.killpg(process, signal.SIGKILL)
                made += 1
            for process, pipe in writers:
                os.waitpid(process, 0)
                with open(pipe, "rb") as said:
                    acknowledged |= {int(line) for line in said.read().split(b"\n")[:-1]}
            if kill % 50 == 0:
                unreadable += not _can_be_read(target, folder)
        stored = target.find(folder)
        return Killed(made, len(acknowledged), len(acknowledged - {*stored}), len(stored) - len({*stored}), unreadable)


def _can_be_read(target: Target, folder: Path) -> bool:
    try:
        target.find(folder)
        return True
    except Failure:
        return False


def _start(target: Target, folder: Path, first: int) -> tuple[int, int]:
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # other threads hold nothing that the child needs
        process = os.fork()
    if process:
        os.close(writer)
        with_group(process)
        return process, reader
    try:
        os.setpgid(0, 0)
        os.close(reader)

        def acknowledge(n: int) -> None:
            os.write(writer, b"%d\n" % n)

        target.write(folder, first, acknowledge)
    finally:
        os._exit(0)


def with_group(process: int) -> None:
    """The child does the same: whoever comes first."""
    with suppress(OSError):
        os.setpgid(process, process)


# -- the stores --


def _nothing(folder: Path) -> None:
    pass


def _write_state(folder: Path, first: int, acknowledge: Callable[[int], None]) -> None:
    state = SqliteState(str(folder / "state.db"))
    keys = IdempotencyKeys(state)
    for n in range(first, first + 1000):
        keys.begin("s", str(n), "f")
        with state.writing() as changes:
            changes.put("s", f"{n:09d}", b"v")
        keys.finish("s", str(n), b"done")
        acknowledge(n)


def _find_state(folder: Path) -> list[int]:
    state = SqliteState(str(folder / "state.db"))
    try:
        with state.reading() as records:
            return [int(key) for key, _ in records.range("s")]
    finally:
        state.close()


def _write_comments(folder: Path, first: int, acknowledge: Callable[[int], None]) -> None:
    tools = ContractTools(CommentsContext(str(folder), cache_home=str(folder / "cache")))
    for n in range(first, first + 1000):
        (folder / f"f{n % 16}.py").touch()
        tools.add("a.py" if n % 2 else f"f{n % 16}.py", 1, f"note {n}", "NOTE")
        acknowledge(n)


def prepare_comments(folder: Path) -> None:
    """Source files to comment on."""
    for name in ("a", *(f"f{n}" for n in range(16))):
        (folder / f"{name}.py").write_text("".join(f"value_{n} = {n}\n" for n in range(60)))


def _find_comments(folder: Path) -> list[int]:
    overview = CommentsContext(str(folder), cache_home=str(folder / "cache")).overview
    return [int(one.text.split()[1]) for path in overview.store.paths() for one in overview.store.read(path).comments]


def prepare_repository(folder: Path) -> None:
    """A repository with a first commit."""
    for words in (["init", "-q"], ["config", "user.name", "c"], ["config", "user.email", "c@x"]):
        subprocess.run(["git", *words], cwd=folder, check=True)
    subprocess.run(["git", "commit", "-q", "--allow-empty", "-m", "first"], cwd=folder, check=True)


def make_issues(folder: Path) -> Issues:
    """The issues of a repository, with a cache beside it."""
    return Issues(lambda: find_repository(str(folder)), str(folder / "cache"), "")


def _write_issues(folder: Path, first: int, acknowledge: Callable[[int], None]) -> None:
    tools = AssistantTools(make_issues(folder))
    for n in range(first, first + 1000):
        tools.create(title=f"issue {n}")
        acknowledge(n)


def _find_issues(folder: Path) -> list[int]:
    rows = make_issues(folder).refresh().index.query("SELECT title FROM ent")
    return [int(title.split()[1]) for (title,) in rows]


TARGETS = {
    "state (SQLite), with keys": (Target(_nothing, _write_state, _find_state), 0.12),
    "comments": (Target(prepare_comments, _write_comments, _find_comments), 0.12),
    "issues (git)": (Target(prepare_repository, _write_issues, _find_issues), 0.6),
}
