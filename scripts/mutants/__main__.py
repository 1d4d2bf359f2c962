"""`python -m scripts.mutants`: judge mutants, and print what became of them."""

import argparse
import sys
from collections import defaultdict
from pathlib import Path

import scripts.mutants
from scripts.mutants import copied, forked
from scripts.mutants.make import PACKAGES, Listed, Mutant, every_mutant, sample
from scripts.mutants.near import Judged
from scripts.mutants.scratch import end_by_signal


def line_of(one: Judged) -> str:
    """One mutant, for people."""
    mutant = one.mutant
    said = f"caught by {one.by}" if one.caught else "SURVIVED"
    return f"{mutant.path}:{mutant.line}: {mutant.where}: {mutant.what}   [{said}, {one.seconds:.1f} s]"


def table(judged: list[Judged]) -> str:
    """The survivors, and the share that was caught in each package."""
    counted: defaultdict[str, list[bool]] = defaultdict(list)
    for one in judged:
        counted[one.mutant.package].append(one.caught)
    lines = ["", *sorted(line_of(one) for one in judged if not one.caught), ""]
    lines.append(f"{'package':20} {'mutants':>8} {'caught':>8} {'share':>7}")
    for package in (*(name for name in PACKAGES if name in counted), "all"):
        caught = counted[package] if package != "all" else [one.caught for one in judged]
        lines.append(f"{package:20} {len(caught):8} {sum(caught):8} {sum(caught) / len(caught):7.1%}")
    return "\n".join(lines)


def main() -> int:
    """Judge mutants; exit status 1 if fewer than `--least` of them are caught."""
    parser = argparse.ArgumentParser(
        description=scripts.mutants.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("chosen", nargs="*", help="packages or modules below src/postil")
    parser.add_argument("--sample", type=int, default=0, help="so many of them")
    parser.add_argument("--seed", default="", help="what decides which are taken")
    parser.add_argument("--least", type=int, default=0, help="fail when fewer are caught; enough when so many are")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--budget", type=float, default=15, help="seconds of tests for one mutant")
    parser.add_argument("--all", action="store_true", help="not only one of three")
    parser.add_argument("--open", action="store_true", help="those that no test caught when they were listed")
    parser.add_argument("--map", action="store_true", help="first find out which test enters which function")
    parser.add_argument(
        "--quick", action="store_true", help="do not try other processes where no test noticed anything"
    )
    parser.add_argument("--keys", type=Path, help="only those that this file names, one a line")
    parser.add_argument("--list", action="store_true", help="only name them")
    given = parser.parse_args()
    mutants = every_mutant(given.chosen, listed=not given.open, whole=given.all)
    if given.open:
        known = Listed()
        mutants = [mutant for mutant in mutants if mutant.key in known.open]
    if given.keys:
        named = {*given.keys.read_text("utf-8").splitlines()}
        mutants = [mutant for mutant in mutants if mutant.key in named]
    if given.sample:
        mutants = sample(mutants, given.sample, given.seed)
    if given.list:
        print(*(f"{m.path}:{m.line}: {m.where}: {m.what}" for m in mutants), f"{len(mutants)} mutants", sep="\n")
        return 0
    end_by_signal()
    judged = judge(mutants, given)
    print(table([*judged.values()]))
    return 1 if sum(one.caught for one in judged.values()) < given.least else 0


def judge(mutants: list[Mutant], given: argparse.Namespace) -> dict[Mutant, Judged]:
    """Returns what became of each mutant: first in forks, then over a copy what is left."""
    judged: dict[Mutant, Judged] = {}

    def keep(one: Judged) -> bool:
        print(line_of(one), flush=True)
        judged[one.mutant] = one
        return 0 < given.least <= sum(each.caught for each in judged.values())

    if any(map(keep, forked.judge_all(mutants, given.workers, given.budget, mapped=given.map))):
        return judged
    left = [mutant for mutant in mutants if mutant not in judged or not (judged[mutant].caught or given.quick)]
    any(map(keep, copied.judge_all(left, given.workers, given.budget)))
    return judged


if __name__ == "__main__":
    sys.exit(main())
