"""What the GitLab part costs: CPU of a proxied call beside a bare httpx2 call, and the import of the Python client.

Both calls read the same page of twenty issues from the emulator, in turns, in one process of their own; the emulator is
another process, so its CPU is not counted. `python -m bench.gitlab` prints it alone.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from statistics import median

from bench.report import Effort, Goal, goal_table
from bench.server import ROOT
from postil.gitlab.instance.client import Instance
from postil.gitlab.instance.connection import Connection
from postil.gitlab.operations.issues import IssueOperations
from postil.gitlab.part import GitLab
from tests.emulator.world import DEVELOPER

CALLS = 200
PYTHON = str(ROOT / ".venv" / "bin" / "python")
PATH = "/api/v4/projects/124/issues?page=1&per_page=20"


@contextmanager
def emulator() -> Iterator[str]:
    """The emulator as a process of its own; it prints its address when it listens."""
    command = [PYTHON, "-m", "tests.emulator.server", "--port", "0"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().split()[-1]
        finally:
            process.terminate()


async def cpu(call: Callable[[], Awaitable[object]]) -> float:
    """Microseconds of CPU of one call."""
    started = time.process_time()
    for _ in range(CALLS):
        await call()
    return (time.process_time() - started) / CALLS * 1e6


async def proxied(address: str, rounds: int) -> tuple[float, float]:
    """The CPU of a bare call and of ours, each the median of rounds that take turns."""
    import httpx2

    part = GitLab(Connection(Instance(address), lambda: DEVELOPER))
    issues = IssueOperations(part)
    bare: list[float] = []
    ours: list[float] = []
    async with httpx2.AsyncClient(headers={"authorization": f"Bearer {DEVELOPER}"}, trust_env=False) as client:

        async def asked() -> object:
            return (await client.get(address + PATH)).json()

        async def answered() -> object:
            return (await issues.list_issues(124)).plain()

        await asked()
        await answered()
        for _ in range(rounds):
            bare.append(await cpu(asked))
            ours.append(await cpu(answered))
    await part.close()
    return median(bare), median(ours)


def imported(module: str) -> float:
    """Milliseconds of CPU that importing a module costs beyond a bare interpreter; the best of a few."""
    script = f"import time; s = time.process_time(); import {module}; print(time.process_time() - s)"
    environ = {**os.environ, "PYTHONPATH": str(ROOT / "clients" / "python" / "src")}
    runs = [subprocess.check_output([PYTHON, "-c", script], env=environ, text=True) for _ in range(5)]
    return min(json.loads(run) for run in runs) * 1e3


def gitlab(effort: Effort) -> list[Goal]:
    """The goals of this part."""
    with emulator() as address:
        bare, ours = asyncio.run(proxied(address, effort.repeats))
    client, sdk = imported("mcp_gitlab"), imported("mcp")
    return [
        Goal(
            "GitLab: CPU of a proxied list of 20 issues beside a bare httpx2 call",
            "≤ 1.5×",
            f"{ours / bare:.2f}× ({ours:.0f} µs, {bare:.0f} µs)",
            ours <= 1.5 * bare,
        ),
        Goal(
            "GitLab: importing the Python client beside the MCP SDK",
            "≤ 1/5",
            f"1/{sdk / client:.0f} ({client:.0f} ms, {sdk:.0f} ms)",
            client * 5 <= sdk,
        ),
    ]


if __name__ == "__main__":
    found = gitlab(Effort())
    print("\n".join(goal_table(found)))
    sys.exit(0 if all(goal.met for goal in found) else 1)
