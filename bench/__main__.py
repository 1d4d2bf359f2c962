"""Measure Postil, section by section; print the goals and write docs/benchmarks.md.

A section that fails is told, and the others are measured all the same. A missed goal is said in the table.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from pathlib import Path

import msgspec
from msgspec import Struct

from bench.report import QUICK, Effort, Goal, Outcome, goal_table, merge
from bench.server import ROOT
from bench.tell import say


class Section(Struct, frozen=True):
    """A subject that is measured alone or with the others."""

    name: str
    title: str
    function: str
    """`module:function`, imported when it is measured: a section whose program is missing costs no other."""

    def measure(self, effort: Effort) -> Iterable[Goal | str]:
        module, _, name = self.function.partition(":")
        function: Callable[[Effort], Iterable[Goal | str]] = getattr(import_module(module), name)
        return function(effort)


SECTIONS = (
    Section("servers", "Servers side by side", "bench.side_by_side:side_by_side"),
    Section("startup", "Starting a command", "bench.startup:startup"),
    Section("gateway", "The gateway", "bench.gateway:gateway"),
    Section("neighbours", "A hostile neighbour", "bench.neighbours:neighbours"),
    Section("gitlab", "GitLab", "bench.gitlab:gitlab"),
    Section("assistants", "What a model reads", "bench.assistants:assistants"),
    Section("page", "The page beside difit", "bench.page:page"),
    Section("page_load", "The page of a large repository", "bench.page_load:page_load"),
    Section("comments", "Comments", "bench.comments:comments"),
    Section("anchors", "Code laid out anew or moved", "bench.anchors:anchors"),
    Section("tracker", "Tracker", "bench.tracker:tracker"),
    Section("fold", "One issue with very many events", "bench.tracker_fold:fold_goals"),
)


def measure(section: Section, effort: Effort, show: Callable[[str], None] = print) -> tuple[Outcome, bool]:
    """Measure one section, printing each row as it comes. The second is False if it failed; earlier rows stay."""
    begun = time.perf_counter()
    goals: list[Goal] = []
    lines: list[str] = []
    whole = True
    show(f"\n## {section.title}\n")
    try:
        for found in section.measure(effort):
            shown = goal_table([found])[0 if not goals else -1 :] if isinstance(found, Goal) else [found]
            show("\n".join(shown))
            goals.append(found) if isinstance(found, Goal) else lines.append(found)
    except Exception as problem:  # noqa: BLE001 - whatever it is, the other sections are measured
        whole = False
        words = " ".join(f"{type(problem).__name__}: {problem}".split()).replace("|", "&#124;")[:300]
        failed = Goal(f"{section.name}: every row is measured", "yes", f"failed: {words}", False)
        show(goal_table([failed])[-1])
        say(f"{section.name} failed: {words}")
        goals.append(failed)
    return Outcome(goals, lines, time.perf_counter() - begun, effort.rounds <= QUICK.rounds), whole


def run(sections: Sequence[Section], effort: Effort, path: Path | None, titles: Sequence[str]) -> int:
    """Measure these sections; the document is written after each, so that an interruption loses one at most."""
    failed: list[str] = []
    missed: list[Goal] = []
    for section in sections:
        say(section.name)
        outcome, whole = measure(section, effort)
        say(f"{section.name} took {outcome.seconds:.0f} s")
        if not whole:
            failed.append(section.name)
        missed += [goal for goal in outcome.goals if goal.met is False]
        if path is not None:
            document = path.read_text("utf-8") if path.exists() else ""
            path.write_text(merge(document, titles, {section.title: outcome.as_text()}), "utf-8")
    if missed:
        print("\n".join(["", "Missed:", "", *goal_table(missed)]))
    if failed:
        say(f"failed: {', '.join(failed)}")
    return 1 if failed else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    names = [section.name for section in SECTIONS]
    parser.add_argument("section", nargs="*", help=f"which sections (default: all): {', '.join(names)}")
    parser.add_argument("--list", action="store_true", help="name the sections")
    parser.add_argument("--quick", action="store_true", help="every row, with fewer rounds")
    for field in msgspec.structs.fields(Effort):
        parser.add_argument(f"--{field.name}", type=type(field.default), help=f"{field.default:,} unless told")
    parser.add_argument("--no-page", action="store_true", help="print only, leave docs/benchmarks.md as it is")
    options = parser.parse_args()
    if unknown := [name for name in options.section if name not in names]:
        parser.error(f"no section is named {', '.join(unknown)}. There are: {', '.join(names)}")
    if options.list:
        print("\n".join(f"{section.name:11} {section.title}" for section in SECTIONS))
        return 0
    told = {field.name: getattr(options, field.name) for field in msgspec.structs.fields(Effort)}
    effort = msgspec.structs.replace(
        QUICK if options.quick else Effort(), **{name: value for name, value in told.items() if value is not None}
    )
    for role in ("AUTHOR", "COMMITTER"):  # on a machine where git knows nobody
        os.environ |= {f"GIT_{role}_NAME": "Bench", f"GIT_{role}_EMAIL": "bench@example.org"}
    chosen = [section for section in SECTIONS if not options.section or section.name in options.section]
    path = None if options.no_page else ROOT / "docs" / "benchmarks.md"
    return run(chosen, effort, path, [section.title for section in SECTIONS])


if __name__ == "__main__":
    sys.exit(main())
