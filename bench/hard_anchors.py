"""Hard cases for anchoring, made of real files: functions copied, deleted, moved and edited, several at once.

What is true is known, since the edits are ours. Half of the lines that are asked for are the hard ones: comments whose
words stand there several times, and `if`, `return` and closing brackets.

    python -m bench.hard_anchors [FILE...]      of the standard library, when no file is named
"""

from __future__ import annotations

import random
import sys
import sysconfig
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from postil.anchor.model import Relocation, Source, Span
from postil.anchor.page import is_remark
from postil.anchor.relocate import relocate_all
from postil.anchor.syntax.languages import language_of, parse_everything_here
from postil.anchor.syntax.symbols import symbols
from scripts.usage import show_usage

ASKED = 40
LONGEST = 4000
CONTROL = ("if", "return", "else", "for", "while", "try", "break", "}", "raise", "throw")
KINDS = ("copied above", "copied below", "deleted", "swapped", "storm")


class Case(NamedTuple):
    """Two versions of a file, and where each asked line of the old one is now (None: gone)."""

    kind: str
    path: str
    old: str
    new: str
    truth: dict[int, int | None]


Row = tuple[int, str]  # the old line it was, or 0, and its text


def find_blocks(text: str, path: str) -> list[tuple[int, int, str]]:
    """Returns the first and last lines of functions that do not overlap, their comments included, and their names."""
    found: list[tuple[int, int, str]] = []
    for each in symbols(text, language_of(path)):
        if (
            each.is_function
            and 3 <= each.span.last - each.span.start < 80
            and (not found or each.span.start > found[-1][1])
        ):
            found.append((each.span.start, each.span.last, each.name))
    return found


def edit_row(text: str, chance: random.Random) -> str:
    """Returns a line with one word changed; what has no word stays."""
    words = [word for word in text.replace("(", " ").replace(")", " ").replace(".", " ").split() if word.isidentifier()]
    if not words:
        return text
    word = chance.choice(words)
    return text.replace(word, word + "_now", 1)


def make_case(kind: str, path: str, text: str, chance: random.Random) -> Case | None:
    """Returns a case of a kind; None where the file has too few functions."""
    lines = text.split("\n")
    blocks = find_blocks(text, path)
    if len(blocks) < 4:
        return None
    rows: list[Row] = list(enumerate(lines, 1))
    steps = chance.sample(KINDS[:4], 3) if kind == "storm" else [kind]
    touched: set[int] = set()
    for step, block in zip(steps, chance.sample(blocks, min(2 * len(steps), len(blocks)))[::2], strict=False):
        first, last, name = block
        places = [at for at, (old, _) in enumerate(rows) if first <= old <= last]
        if not places:
            continue
        start, stop = places[0], places[-1] + 1
        body = rows[start:stop]
        touched.update(range(first - 12, last + 13))
        copy = [(0, row.replace(name, f"{name}_too")) for _, row in body]  # what cannot be told apart is not asked
        copy = [(0, edit_row(row, chance) if chance.random() < 0.15 else row) for _, row in copy]
        if step == "copied above":
            rows[start:start] = [*copy, (0, "")]
        elif step == "copied below":
            rows[stop:stop] = [(0, ""), *copy]
        elif step == "deleted":
            del rows[start:stop]
        else:
            other = chance.choice([each for each in blocks if each != block])
            target = next((at for at, (old, _) in enumerate(rows) if old == other[0]), None)
            if target is None or start <= target < stop:
                continue
            touched.update(range(other[0] - 12, other[1] + 13))
            del rows[start:stop]
            if target > start:
                target -= stop - start
            rows[target:target] = [*body, (0, "")]
    if kind == "storm":
        rows = [
            (old, edit_row(row, chance)) if old in touched and chance.random() < 0.1 else (old, row)
            for old, row in rows
        ]
    now = {old: at for at, (old, _) in enumerate(rows, 1) if old}
    near = [number for number in sorted(touched) if 1 <= number <= len(lines) and len(lines[number - 1].strip()) > 1]
    keys = Counter("".join(line.split()) for line in lines)
    hard = [n for n in near if _is_hard(lines[n - 1], keys)]
    asked = {*chance.sample(hard, min(len(hard), ASKED // 2)), *chance.sample(near, min(len(near), ASKED // 2))}
    return Case(kind, path, text, "\n".join(row for _, row in rows), {line: now.get(line) for line in sorted(asked)})


def _is_hard(line: str, keys: Counter[str]) -> bool:
    key = "".join(line.split())
    return (is_remark(key) and keys[key] > 2) or line.strip().startswith(CONTROL)


def make_cases(files: Sequence[tuple[str, str]], seed: int = 19) -> Iterator[Case]:
    """Yields cases of every kind for every file that has enough functions."""
    chance = random.Random(seed)
    for path, text in files:
        for kind in KINDS:
            case = make_case(kind, path, text, chance)
            if case:
                yield case


def judge(truth: int | None, found: Relocation) -> str:
    """Returns what a place is worth: right, review (with the truth among them), wrong or lost."""
    if found.state == "review":
        among = truth is None or truth in [each.span.start for each in found.candidates]
        return "review" if among else "missing"
    if found.span is None:
        return "right" if truth is None else "lost"
    return "right" if found.span.start == truth else "wrong"


def measure(cases: Iterator[Case]) -> dict[str, Counter[str]]:
    """Returns how many places are right, wrong and in review, by kind."""
    counts: dict[str, Counter[str]] = {}
    for case in cases:
        asked = list(case.truth)
        found = relocate_all(Source(case.old, case.path), Source(case.new, case.path), [Span(line) for line in asked])
        for line, each in zip(asked, found, strict=True):
            counts.setdefault(case.kind, Counter())[judge(case.truth[line], each)] += 1
    return counts


def list_files() -> list[tuple[str, str]]:
    """Returns modules of the standard library: code of many hands that is everywhere."""
    folder = Path(sysconfig.get_paths()["stdlib"])
    found = [path for path in sorted(folder.glob("*.py")) if 8_000 < path.stat().st_size < 80_000]
    return [(path.name, path.read_text("utf-8", "replace")) for path in found[::3]]


def show(counts: dict[str, Counter[str]]) -> Iterator[str]:
    """Yields the rows of a table: found (right, or in review with the truth), silently wrong, in review, percent."""
    yield "| made up, hard | lines | found | silently wrong | in review |"
    yield "|---|---|---|---|---|"
    for kind, count in counts.items():
        total = count.total()
        good, review = count["right"] + count["review"], count["review"] + count["missing"]
        shares = " | ".join(f"{100 * each / total:.2f}" for each in (good, count["wrong"], review))
        yield f"| {kind} | {total:,} | {shares} |"


def main() -> None:
    """Print the table."""
    show_usage(__doc__)
    parse_everything_here()  # there are no workers that would parse large texts
    named = [(each, Path(each).read_text("utf-8", "replace")) for each in sys.argv[1:]]
    files = [(path, text) for path, text in named or list_files() if text.count("\n") < LONGEST]
    print("\n".join(show(measure(make_cases(files)))))


if __name__ == "__main__":
    main()
