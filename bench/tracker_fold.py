"""The fold of one issue with very many events: CPU an event must not grow with their number, whatever they are.

`python -m bench.tracker_fold KIND COUNT chain` (or `conflict`, `lies`) folds once and prints CPU and memory. `make
bench` compares 2^14 with 2^20, its `--quick` with 2^18.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import islice, product

from bench.report import Effort, Goal
from bench.server import ROOT, ended_cpu

PYTHON = str(ROOT / ".venv" / "bin" / "python")
ENTITY = "8903a9b6-0000-4000-8000-000000000001"
LESS = 14
_HEAD = '{"t":"%s","ent":"' + ENTITY + '","id":"%019d%s","r":"%s","n":%d,"l":%d,"ts":"2026-01-01T00:00:00.000Z",'
_HEAD += '"a":"A <a@b>"'


def _line(t: str, i: int, r: str, n: int, clock: int, more: str) -> str:
    return _HEAD % (t, i, t[0], r, n, clock) + more + "}\n"


KINDS: dict[str, Callable[[int], tuple[str, str]]] = {
    "set": lambda i: ("set", f',"f":"title","value":"T{i}"'),
    "described": lambda i: ("described", f',"text":"{i}"'),
    "labels": lambda i: ("labels", f',"{"add" if i % 2 else "rm"}":["l{i // 2 % 8}"]'),
    "assign": lambda i: ("assign", f',"{"add" if i % 2 else "rm"}":["p{i // 2 % 8}"]'),
    "link": lambda i: ("link", f',"{"add" if i % 2 else "rm"}":[["related","x{i // 2 % 8}"]]'),
    "comment": lambda i: ("comment", f',"c":"c{i}","body":"b"'),
    "comment_edit": lambda i: ("comment_edit", ',"c":"c1","body":"b"'),
    "comment_delete": lambda i: ("comment_delete", ',"c":"c1"'),
    "claim": lambda i: ("claim", f',"who":"w{i % 9}","until":"2026-01-02T00:00:00.000Z"'),
    "release": lambda i: ("release", ',"who":""'),
    "unknown": lambda i: ("unknown", ""),
    "created": lambda i: ("created", ',"kind":"issue","title":"T"'),
}


def lines(kind: str, count: int, how: str) -> Iterator[str]:
    """The events of one issue: by one writer; or each by another, who knew of none, or of one with a later clock."""
    yield _line("created", 0, "aaaaaaaaaaaaa", 1, 1, ',"kind":"issue","title":"T","description":"d"')
    for i in range(1, count):
        t, more = KINDS[kind](i)
        if how == "conflict":
            yield _line(t, i, f"r{i}", 1, 2, more + ',"dep":{"aaaaaaaaaaaaa":1}')
        elif how == "lies":
            yield _line(t, i, f"r{i}", 1, 2 * count - i, more + f',"dep":{{"r{i - 1}":1}}')
        else:
            yield _line(t, i, "aaaaaaaaaaaaa", i + 1, i + 1, more)


def measure(kind: str, count: int, how: str) -> tuple[float, float]:
    """CPU seconds of a fold, from the stored lines to the entity, and megabytes of the whole process at its largest."""
    from postil.tracker.index.line_file import LineFile
    from postil.tracker.state.fold import fold_lines

    stored = LineFile(None)  # as the index gives out what is large
    every = iter(lines(kind, count, how))
    while some := "".join(islice(every, 4096)):
        stored.write(some.encode())
    started = time.process_time()
    entity = fold_lines(stored)
    used = time.process_time() - started
    assert entity is not None
    return used, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def fold_goals(effort: Effort, less: int = LESS) -> Iterator[Goal]:
    """One row a kind, alone and all in conflict; and 20,000 titles beside bare Python."""
    more = effort.fold
    for kind, how in [*product(KINDS, ("chain", "conflict")), ("set", "lies")]:
        few, many = (_in_process(kind, 1 << power, how) for power in (less, more))
        growth = (many[0] / (1 << more)) / (few[0] / (1 << less))
        what = f"fold of 2^{more} events beside 2^{less}, an event: {kind}{_HOW[how]}"
        met = growth <= 1.5 and many[1] <= 300
        yield Goal(what, "≤ 1.5, ≤ 300 MB", f"{growth:.2f}, {many[1]:.0f} MB", met)
    nothing = min(ended_cpu([PYTHON, "-c", "pass"]) for _ in range(7))
    titles = _in_process("set", 20_000, "conflict")[0] / nothing
    yield Goal("20,000 concurrent titles beside `python -c pass`", "≤ 100", f"{titles:.1f}", titles <= 100)


_HOW = {"chain": "", "conflict": ", all in conflict", "lies": ", all with clocks that lie"}


def _in_process(kind: str, count: int, how: str) -> tuple[float, float]:
    command = [PYTHON, "-m", "bench.tracker_fold", kind, str(count), how]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    cpu, memory = done.stdout.split()
    return float(cpu), float(memory)


if __name__ == "__main__":
    print(*measure(sys.argv[1], int(sys.argv[2]), sys.argv[3]))
