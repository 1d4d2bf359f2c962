"""What the numbers mean: ratios against goals, as a table for the terminal and a page for docs/benchmarks.md."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from bench.load import Served
from bench.measure import Calls, Start

MEGABYTE = 1024 * 1024


class Result(Struct, frozen=True):
    """Everything measured of one server."""

    name: str
    start: Start
    calls: Calls
    served: Served


class Whole(Struct, frozen=True):
    """CPU of whole processes of the `postil` command, beside an interpreter that does nothing."""

    nothing: float
    version: float
    serve: float
    tools_list: int


class Goal(Struct, frozen=True):
    """A goal, what was measured, and whether that is enough."""

    what: str
    wanted: str
    measured: str
    met: bool


def goals(ours: Result, sdk: Result, typescript: Result, whole: Whole, total: int) -> Iterator[Goal]:
    """The goals, one by one. The SDK is the official Python one's faster server; TypeScript its newest version."""

    def at_most(what: str, value: float, limit: float, wanted: str) -> Goal:
        return Goal(what, wanted, f"{value:.3f}" if limit < 1 else f"{value:.2f}", value <= limit)

    yield at_most("cold start, CPU, of the SDK's", ours.start.cpu / sdk.start.cpu, 1 / 8, "≤ 0.125")
    yield at_most("cold start, CPU, of TypeScript's", ours.start.cpu / typescript.start.cpu, 1, "≤ 1")
    yield at_most("cold start, wall, of TypeScript's", ours.start.wall / typescript.start.wall, 1, "≤ 1")
    pipelined = ours.calls.pipelined / sdk.calls.pipelined
    yield at_most("pipelined stdio call, CPU, of the SDK's", pipelined, 1 / 30, "≤ 0.033")
    rate = ours.served.per_cpu_second / sdk.served.per_cpu_second
    yield Goal("HTTP requests a second on one core, times the SDK's", "≥ 4", f"{rate:.2f}", rate >= 4)
    yield at_most("memory after start, of the SDK's", ours.start.rss / sdk.start.rss, 1 / 2, "≤ 0.5")
    growth = (ours.calls.rss_after - ours.calls.rss_before) / MEGABYTE
    yield at_most(f"growth over {total:,} calls, MB", growth, 1, "≤ 1")
    yield at_most("`postil --version`, CPU, times `python -c pass`", whole.version / whole.nothing, 4, "≤ 4")
    yield at_most("`postil serve`, initialize then EOF, times `python -c pass`", whole.serve / whole.nothing, 8, "≤ 8")
    yield at_most("tools/list of the united server, kB", whole.tools_list / 1000, 48, "≤ 48")


def goal_table(listed: list[Goal]) -> list[str]:
    lines = ["| goal | wanted | measured | |", "|---|---|---|---|"]
    return lines + [f"| {g.what} | {g.wanted} | {g.measured} | {'met' if g.met else '**missed**'} |" for g in listed]


def put_rows(path: Path, begin: str, listed: list[Goal]) -> None:
    """Put the goals of one part into the page, in the place of those whose rows begin alike."""
    lines = path.read_text("utf-8").split("\n")
    rows = [place for place, line in enumerate(lines) if line.startswith(f"| {begin}")]
    table = next(place for place, line in enumerate(lines) if line.startswith("| goal "))
    end = next(place for place in range(table, len(lines)) if not lines[place].startswith("|"))
    at = rows[0] if rows else end
    kept = [line for place, line in enumerate(lines) if place not in rows]
    kept[at:at] = goal_table(listed)[2:]
    path.write_text("\n".join(kept), "utf-8")


def result_table(results: list[Result]) -> list[str]:
    """One line a server; in brackets how many times ours."""
    ours = results[0]
    head = [
        "server",
        "cold start CPU",
        "wall",
        "sequential call",
        "pipelined call",
        "HTTP req/s per core",
        "memory",
        "growth",
    ]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for r in results:
        cells = [
            r.name,
            f"{r.start.cpu * 1e3:.0f} ms ({r.start.cpu / ours.start.cpu:.1f})",
            f"{r.start.wall * 1e3:.0f} ms ({r.start.wall / ours.start.wall:.1f})",
            f"{r.calls.sequential * 1e6:.0f} µs ({r.calls.sequential / ours.calls.sequential:.1f})",
            f"{r.calls.pipelined * 1e6:.1f} µs ({r.calls.pipelined / ours.calls.pipelined:.1f})",
            f"{r.served.per_cpu_second:,.0f} ({r.served.per_cpu_second / ours.served.per_cpu_second:.2f})",
            f"{r.start.rss / MEGABYTE:.0f} MB ({r.start.rss / ours.start.rss:.1f})",
            f"{(r.calls.rss_after - r.calls.rss_before) / MEGABYTE:+.1f} MB",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def page(results: list[Result], listed: list[Goal], whole: Whole, total: int) -> str:
    """docs/benchmarks.md: the numbers of the last run, and how they were taken."""
    return PAGE.format(
        machine=f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        day=f"{datetime.now(UTC):%Y-%m-%d}",
        goals="\n".join(goal_table(listed)),
        results="\n".join(result_table(results)),
        nothing=whole.nothing * 1e3,
        version=whole.version * 1e3,
        serve=whole.serve * 1e3,
        total=total,
    )


PAGE = """\
# Benchmarks

Written by `make bench`; do not edit. The same echo tool on each server, one run, one machine
({machine}; {day}).
Numbers of different runs do not compare; ratios within one do.

## Goals

{goals}

## Side by side

In brackets: how many times Postil's.

{results}

`python -c pass` took {nothing:.0f} ms of CPU, `postil --version` {version:.0f} ms, and `postil serve` with one
`initialize` and then EOF, every part enabled, {serve:.0f} ms.

## How it is measured

- *Cold start*: from starting the process until the answer to `initialize` is read; the median of rounds in which the
  servers take turns. Bytecode is compiled for all of them.
- *Calls*: `tools/call` over stdio after a warm-up, one at a time and with 64 under way. CPU is the kernel's count for
  the server process, all threads. *Growth* is resident memory before and after {total:,} pipelined calls of Postil;
  the others make a tenth of that.
- *HTTP*: `tools/call` answered in JSON over 16 kept-alive connections, protocol 2026-07-28 where the server has it;
  requests per second of the server's CPU, so that neither the load generator nor other work on the machine counts.
  The Python servers all run on uvicorn with httptools and uvloop.
- *Memory*: resident size after the first answer.
"""
