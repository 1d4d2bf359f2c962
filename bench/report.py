"""What the numbers mean: goals as tables, for the terminal and for docs/benchmarks.md, which has one section a subject.

A section that is measured alone replaces its own part of the document; the others stay as they were.
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from msgspec import Struct

ANCHORS = "<!-- anchors"
"""What `make anchors` wrote begins with this, at the end of the document."""


class Effort(Struct, frozen=True):
    """How much is measured: the whole, or fewer rounds of the same rows."""

    calls: int = 100_000
    """Pipelined calls to Postil; the other servers get a tenth."""
    rounds: int = 15
    """Cold starts of each server, and of each command."""
    seconds: float = 5
    """HTTP load on each server."""
    issues: int = 100_000
    comments: int = 1_000_000
    fold: int = 20
    """The fold of one issue is measured up to so many doublings of its events."""
    repeats: int = 7
    """How often a smaller thing is repeated."""


QUICK = Effort(calls=20_000, rounds=5, seconds=2, fold=18, repeats=3)


class Goal(Struct, frozen=True):
    """A goal, what was measured, and whether that is enough; None where it could not be measured."""

    what: str
    wanted: str
    measured: str
    met: bool | None


def at_most(what: str, value: float, limit: float, shape: str = "") -> Goal:
    """A goal with an upper limit."""
    return Goal(what, f"≤ {limit:g}", f"{value:{shape or ('.3f' if limit < 1 else '.2f')}}", value <= limit)


def goal_table(listed: Sequence[Goal]) -> list[str]:
    """One line a goal."""
    lines = ["| goal | wanted | measured | |", "|---|---|---|---|"]
    return lines + [f"| {g.what} | {g.wanted} | {g.measured} | {VERDICT[g.met]} |" for g in listed]


VERDICT = {True: "met", False: "**missed**", None: "not measured"}


class Outcome(Struct, frozen=True):
    """What one section brought: goals, further lines, and how long it took."""

    goals: list[Goal]
    lines: list[str]
    seconds: float
    quick: bool = False

    def as_text(self) -> str:
        """Its part of the document, without the heading."""
        how = ", with fewer rounds (`--quick`)" if self.quick else ""
        load = f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
        day = f"{datetime.now(UTC):%Y-%m-%d}"
        said = f"Measured on {day} in {_in_words(self.seconds)}{how} ({load})."
        return "\n".join([said, "", *goal_table(self.goals), *(["", *self.lines] if self.lines else [])])


def _in_words(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def merge(document: str, titles: Sequence[str], measured: Mapping[str, str]) -> str:
    """Put the sections that were measured into the document; the others, and what `make anchors` wrote, stay."""
    body, mark, anchors = document.partition(ANCHORS)
    found: dict[str, str] = {}
    for part in re.split(r"(?m)^## ", body)[1:]:
        title, _, text = part.partition("\n")
        found[title.strip()] = text.strip()
    known = {title: text for title in titles if (text := measured.get(title, found.get(title)))}
    # Of an older form of the document, until everything was measured anew.
    older = {} if len(known) == len(titles) else {t: text for t, text in found.items() if t not in (*titles, HOW)}
    sections = {**known, **older}
    rows = [row for text in sections.values() for row in text.splitlines() if row.startswith("|")]
    met, missed = (sum(row.endswith(f"| {VERDICT[each]} |") for row in rows) for each in (True, False))
    head = HEAD.format(
        machine=f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        met=met,
        missed=missed,
    )
    parts = [head, *(f"## {title}\n\n{text}\n" for title, text in sections.items()), f"## {HOW}\n{METHOD}"]
    return "\n".join(parts) + (f"\n{mark}{anchors}" if mark else "")


HOW = "How it is measured"
HEAD = """\
# Benchmarks

Written by `make bench`; do not edit. One machine ({machine}).
Numbers of different runs do not compare; ratios within one do. Goals met: {met}; missed: {missed}.
"""
METHOD = """
- *Cold start*: from starting the process until the answer to `initialize` is read; the median of rounds in which the
  servers take turns. Bytecode is compiled for all of them.
- *Calls*: `tools/call` over stdio after a warm-up, one at a time and with 64 under way. CPU is the kernel's count for
  the server process, all threads. *Growth* is resident memory before and after the pipelined calls of Postil;
  the others make a tenth of them.
- *HTTP*: `tools/call` answered in JSON over 16 kept-alive connections, protocol 2026-07-28 where the server has it;
  requests per second of the server's CPU, so that neither the load generator nor other work on the machine counts.
  The Python servers all run on uvicorn with httptools and uvloop.
- *Memory*: resident size after the first answer.
- `make bench ARGS=tracker` measures one section and leaves the others of this page; `ARGS=--quick` does fewer rounds
  of everything; `ARGS=--list` names the sections.
"""
