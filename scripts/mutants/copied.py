"""Judges a mutant by running the nearest tests over a copy of the source that has it.

Slow, two to sixty seconds for one; but it sees what only another process runs, and what a module does when imported.
"""

import multiprocessing
import os
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from itertools import islice
from multiprocessing.process import BaseProcess
from multiprocessing.queues import SimpleQueue
from pathlib import Path
from typing import NoReturn

from scripts.mutants.make import ROOT, SRC, Mutant
from scripts.mutants.near import Judged, quick, tests_for
from scripts.mutants.scratch import make_folder

BROKEN = 70


class Budget:
    """A pytest plugin: no further test is started when the time for one mutant is used up; slow tests are left out."""

    def __init__(self, seconds: float, found: Path) -> None:
        # Of processor time, so that a busy machine lets nobody escape; tests that wait have four times as much.
        self.until, self.deadline = time.process_time() + seconds, time.monotonic() + 4 * seconds
        self.failed = False
        self._found = found
        """Where the name of the first test that failed goes, or of the one that runs."""

    def pytest_collection_modifyitems(self, items: list) -> None:
        items[:] = quick(items)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        if not self.failed:
            self._found.write_text(nodeid, "utf-8")

    def pytest_runtest_logreport(self, report) -> None:
        self.failed |= report.failed

    def pytest_collectreport(self, report) -> None:
        self.failed |= report.failed

    def pytest_runtest_setup(self, item) -> None:
        if time.process_time() > self.until or time.monotonic() > self.deadline:
            item.session.shouldstop = "the time for this mutant is used up"


def judge(source: Path, tests: list[str], budget: float, scratch: Path) -> tuple[bool, str]:
    """Run the tests over one copy of the source in a child; whether one failed, and which."""
    log, found = scratch / "log", scratch / "found"
    found.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        with open(log, "wb") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        _run(source, tests, budget, scratch)
    deadline = time.monotonic() + 4 * budget + 45
    try:
        while True:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                break
            if time.monotonic() > deadline:
                return found.exists(), found.read_text("utf-8") if found.exists() else ""
            time.sleep(0.01)
    finally:
        _end_group(child)
    code = os.waitstatus_to_exitcode(status)
    if code == BROKEN:
        raise RuntimeError(log.read_text("utf-8", "replace"))
    return code != 0, found.read_text("utf-8") if found.exists() else f"exit status {code}"


def _end_group(child: int) -> None:
    """End the child, if it runs, and the servers that a failed test left behind."""
    try:
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
    except (ProcessLookupError, ChildProcessError):  # it has ended, and was waited for
        pass


def _run(source: Path, tests: list[str], budget: float, scratch: Path) -> NoReturn:
    os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = str(scratch / "hypothesis")
    code = BROKEN
    try:
        plugin = Budget(budget, scratch / "found")
        ended = run_pytest(source, ["-x", "--timeout=15", f"--basetemp={scratch / 'tmp'}", *tests], plugin)
        code = 1 if plugin.failed or ended in (3, 4) else 0  # 3, 4: a conftest could not be imported
    except BaseException:  # noqa: BLE001 # the child must not go on as its parent
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def run_pytest(source: Path, arguments: list[str], plugin: object) -> int:
    """Run pytest in this process over a tree of the source; nothing is cached, and every run draws the same."""
    import pytest

    os.chdir(ROOT)
    for name in [name for name in os.environ if name.startswith(("PYTEST_", "COV_"))]:
        del os.environ[name]
    os.environ["PATH"] = f"{ROOT / '.tools' / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    os.environ["PYTHONPATH"] = str(source)
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    os.environ["CI"] = ""
    sys.dont_write_bytecode = True
    sys.path[:0] = [str(source), str(ROOT)]
    sys.argv = ["pytest"]
    options = ["-q", "-p", "no:cacheprovider", "--hypothesis-seed=0", "--no-header", "--tb=line"]
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    return pytest.main([*options, *arguments], plugins=[plugin])


def work(todo: "SimpleQueue[Mutant | None]", done: "SimpleQueue[Judged]", folder: Path, budget: float) -> None:
    """One worker: a copy of the source of its own, one mutant after the other."""
    source, clean, scratch = folder / "src", folder / "clean" / "src", folder / "scratch"
    for copy in (source, clean):
        shutil.copytree(SRC, copy)
    scratch.mkdir()
    sound: dict[str, bool] = {}
    """Tests that caught something: whether they pass without a mutant, and have failed twice with each."""
    while (mutant := todo.get()) is not None:
        file = source / "postil" / mutant.path
        original, times = file.read_bytes(), file.stat()
        kept = list(file.parent.glob(f"__pycache__/{file.stem}.*.pyc"))
        compiled = [(path, path.read_bytes()) for path in kept]
        for path in kept:
            path.unlink()
        file.write_bytes(original[: mutant.start] + mutant.text.encode("utf-8") + original[mutant.end :])
        began = time.monotonic()
        caught, by = False, ""
        for tests in tests_for(mutant.path):
            if tests and not caught:
                caught, by = judge_soundly((source, clean), tests, budget, scratch, sound)
        done.put(Judged(mutant, caught, by, time.monotonic() - began))
        file.write_bytes(original)
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
        for path, data in compiled:
            path.write_bytes(data)


def judge_soundly(
    copies: tuple[Path, Path], tests: list[str], budget: float, scratch: Path, sound: dict[str, bool]
) -> tuple[bool, str]:
    """Judge as `judge` does, but leave out a test that fails without the mutant, over the second copy, or by chance."""
    source, clean = copies
    while True:
        left_out = [f"--deselect={test}" for test, passes in sound.items() if not passes]
        caught, by = judge(source, [*tests, *left_out], budget, scratch)
        if not caught or "::" not in by:  # nothing fails, or a module cannot be imported
            return caught, by
        if by not in sound:
            sound[by] = not judge(clean, [by], budget, scratch)[0]
        sound[by] = sound[by] and judge(source, [by], budget, scratch)[0]
        if sound[by]:
            return caught, by


def warm_up() -> None:
    """Import what every child needs, and nothing of ours: it is loaded from the copy."""
    import asyncio
    import email.message
    import http.client
    import sqlite3

    import _pytest.assertion.rewrite
    import anyio
    import httptools
    import httpx2
    import hypothesis
    import hypothesis.internal.conjecture.engine
    import hypothesis.strategies
    import jwt
    import msgspec
    import pytest
    import uvicorn
    import uvloop
    import xdist.plugin

    loaded = [asyncio, email.message, http.client, sqlite3, _pytest.assertion.rewrite, anyio, httptools, httpx2]
    loaded += [hypothesis, hypothesis.internal, hypothesis.strategies, jwt, msgspec, pytest, uvicorn, uvloop, xdist]
    assert loaded
    assert not any(name == "postil" or name.startswith("postil.") for name in sys.modules)


def end(hand: BaseProcess, patience: float = 5) -> None:
    """End a worker. Told once, it could wait for ever: a signal just before its read is handled after it."""
    while hand.is_alive():
        hand.terminate()
        hand.join(patience)


def judge_all(mutants: list[Mutant], workers: int, budget: float) -> Iterator[Judged]:
    """Yields what became of each mutant, several at a time."""
    warm_up()
    context = multiprocessing.get_context("fork")
    todo: SimpleQueue[Mutant | None] = context.SimpleQueue()
    done: SimpleQueue[Judged] = context.SimpleQueue()
    with make_folder("postil-mutants-") as folder:
        hands: list[BaseProcess] = []
        for number in range(workers):
            place = folder / f"worker{number}"
            place.mkdir()
            hands.append(context.Process(target=work, args=(todo, done, place, budget)))
            hands[-1].start()
        waiting = iter(mutants)
        try:
            for mutant in islice(waiting, 2 * workers):
                todo.put(mutant)
            for _ in mutants:
                yield done.get()
                if (following := next(waiting, None)) is not None:
                    todo.put(following)
        finally:
            for hand in hands:
                end(hand)
