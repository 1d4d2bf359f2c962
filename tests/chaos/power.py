"""Power cuts by our own model: a program's writes and syncs are recorded, then the power fails after random steps.

Every cut is laid out in a folder and opened as the next start would: nothing acknowledged may be missing, nothing
unreadable, and a cache must show what the files hold.
"""

from __future__ import annotations

import random
import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from postil.comments.part import CommentsContext
from postil.core.failure import Failure
from postil.storage.sqlite import SqliteState
from tests.chaos.disk import Disk
from tests.chaos.recording import Step, record

STATE = """
import sys
from postil.storage.sqlite import SqliteState
state = SqliteState(sys.argv[1] + "/postil/state.db")
for n in range(int(sys.argv[2])):
    with state.writing() as changes:
        changes.put("s", f"{n:05d}", b"v" * (n % 7 * 900))
        changes.put("keys", f"{n:05d}", b"", 4e9)
        if n % 3 == 2:
            changes.delete("keys", f"{n - 2:05d}")
    print(f"ack {n}", flush=True)
"""
COMMENTS = """
import sys
from postil.comments.operations.contract import ContractTools
from postil.comments.part import CommentsContext
context = CommentsContext(sys.argv[1], cache_home=sys.argv[1] + "/cache")
tools = ContractTools(context)
for n in range(int(sys.argv[2])):
    tools.add("a.py", n % 40 + 1, f"note {n:05d}", "NOTE")
    print(f"ack {n}", flush=True)
    if n % 4 == 3:
        context.overview.refresh()
"""


class Outcome(NamedTuple):
    """What a campaign found."""

    tried: int
    lost: int
    unreadable: int
    wrong: int
    """Answers that were silently wrong."""


class Subject(NamedTuple):
    """A store: the program that writes, how its folder begins, and what is in a folder after a cut."""

    program: str
    prepare: Callable[[Path], None]
    find: Callable[[Path], tuple[set[int], bool]]
    """Returns the writes that are there, and whether a cache shows the same. Raises what makes it unreadable."""


def _prepare_nothing(folder: Path) -> None:
    pass


def _prepare_source(folder: Path) -> None:
    (folder / "a.py").write_text("".join(f"value_{n} = {n}\n" for n in range(60)))


def _find_in_state(folder: Path) -> tuple[set[int], bool]:
    if not (folder / "postil" / "state.db").exists():
        return set(), True
    state = SqliteState(str(folder / "postil" / "state.db"))
    try:
        damage = state.damage()
        assert not damage, damage
        with state.reading() as records:
            return {int(key) for key, _ in records.range("s")}, True
    finally:
        state.close()


def _find_in_comments(folder: Path) -> tuple[set[int], bool]:
    context = CommentsContext(str(folder), cache_home=str(folder / "cache"))
    overview = context.overview
    texts = {one.text for path in overview.store.paths() for one in overview.store.read(path).comments}
    shown = {each.comment.text for each in overview.everything()}
    return {int(text.split()[1]) for text in texts}, shown == texts and not overview.find_lies()


SUBJECTS = {
    "state (SQLite)": Subject(STATE, _prepare_nothing, _find_in_state),
    "comments and their cache": Subject(COMMENTS, _prepare_source, _find_in_comments),
}


def cut_power(subject: Subject, cuts: int, writes: int, chance: random.Random) -> Outcome:
    """Record a run, then cut the power so many times."""
    with tempfile.TemporaryDirectory(prefix="postil-chaos-") as base:
        folder = Path(base) / "run"
        folder.mkdir()
        subject.prepare(folder)
        begun = Path(base) / "begun"
        shutil.copytree(folder, begun)
        command = [sys.executable, "-c", subject.program, str(folder), str(writes)]
        steps = record(command, folder, Path(base) / "trace")
        points = sorted(chance.choices(range(1, len(steps) + 1), k=cuts))
        return _replay(subject, steps, begun, folder, points, chance, Path(base))


def _replay(
    subject: Subject, steps: list[Step], begun: Path, folder: Path, points: list[int], chance: random.Random, base: Path
) -> Outcome:
    shutil.rmtree(folder)
    shutil.copytree(begun, folder)
    disk, at = Disk(folder), 0
    acknowledged: set[int] = set()
    lost = unreadable = wrong = 0
    for point in points:
        for step in steps[at:point]:
            if step.kind == "ack":
                acknowledged |= {int(n) for n in re.findall(rb"ack (\d+)", step.data)}
            else:
                disk.apply(step)
        at = point
        left = base / "left"
        shutil.rmtree(left, ignore_errors=True)
        left.mkdir()
        disk.lose_power(left, chance)
        try:
            found, is_true = subject.find(left)
        except (Failure, AssertionError) as fault:
            sys.stderr.write(f"unreadable after step {point}: {fault}\n")
            unreadable += 1
            continue
        lost += not acknowledged <= found
        wrong += not is_true
    return Outcome(len(points), lost, unreadable, wrong)


def run_without_sync(subject: Subject, cuts: int, chance: random.Random) -> Outcome:
    """The same with a program whose syncs are left out: the model has to find something, or it finds nothing at all."""
    with tempfile.TemporaryDirectory(prefix="postil-chaos-") as base:
        folder = Path(base) / "run"
        folder.mkdir()
        subject.prepare(folder)
        begun = Path(base) / "begun"
        shutil.copytree(folder, begun)
        command = [sys.executable, "-c", subject.program, str(folder), "20"]
        steps = [step for step in record(command, folder, Path(base) / "trace") if step.kind != "sync"]
        points = sorted(chance.choices(range(len(steps) // 2, len(steps) + 1), k=cuts))
        return _replay(subject, steps, begun, folder, points, chance, Path(base))


__all__ = ["SUBJECTS", "Outcome", "cut_power", "run_without_sync"]
