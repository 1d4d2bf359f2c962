"""Anchoring asked about pairs of versions with known truth, and how right it is: by set, and by what it says of itself.

python -m bench.anchor_truth DATA.jsonl.xz...       as bench/package_histories.py writes it
"""

from __future__ import annotations

import json
import lzma
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from bench.hard_anchors import judge
from postil.anchor.model import Relocation, Source, Span
from postil.anchor.relocate import relocate_all
from postil.anchor.syntax.languages import parse_everything_here
from scripts.usage import show_usage

WIDTH = 20  # signs of a bar that is full
STEPS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.999)


class Answer(NamedTuple):
    """What was said of one line: of which set it is, what that is worth, how sure the likeliest place was, if right."""

    set: str
    verdict: str
    confidence: float
    right: bool


def ask(path: Path) -> Iterator[Answer]:
    """Yields what anchoring answers, line by line."""
    texts: dict[str, str] = {}
    with lzma.open(path, "rt", encoding="utf-8") as rows:
        for row in rows:
            item = json.loads(row)
            if "blob" in item:
                texts[item["blob"]] = item["text"]
                continue
            pair = item["pair"]
            old, new = (Source(texts[pair[f"{age}_blob"]], pair[f"{age}_path"]) for age in ("old", "new"))
            places = relocate_all(old, new, [Span(each["line"]) for each in pair["anchors"]])
            yield from (
                read(pair["set"], each["truth"], found) for each, found in zip(pair["anchors"], places, strict=True)
            )


def read(name: str, truth: int | None, found: Relocation) -> Answer:
    """Returns what one answer is worth. Of code that is gone the likeliest place is as sure as its being there."""
    sure = found.confidence if found.span else 1.0 - found.confidence
    best = found.span.start if found.span else found.candidates[0].span.start if found.candidates else None
    return Answer(name, judge(truth, found), sure, best is not None and best == truth)


def show_sets(answers: Iterable[Answer]) -> Iterator[str]:
    """Yields the rows of a table: found, silently wrong, in review, percent of the lines of each set."""
    counts: dict[str, Counter[str]] = {}
    for each in answers:
        counts.setdefault(each.set, Counter())[each.verdict] += 1
    yield "| truth | lines | found | silently wrong | in review | wrongly gone |"
    yield "|---|---|---|---|---|---|"
    for name, count in counts.items():
        total = count.total()
        good, review = count["right"] + count["review"], count["review"] + count["missing"]
        shares = " | ".join(f"{100 * each / total:.2f}" for each in (good, count["wrong"], review, count["lost"]))
        yield f"| {name} | {total:,} | {shares} |"


def show_reliability(answers: Iterable[tuple[float, bool]]) -> Iterator[str]:
    """Yields the rows of a diagram: of the likeliest places that are said to be so sure, how many are right."""
    said: dict[float, list[bool]] = {step: [] for step in STEPS}
    for confidence, right in answers:
        said[max(step for step in STEPS if step <= confidence)].append(right)
    yield "| said | lines | right, % | |"
    yield "|---|---|---|---|"
    for step, some in said.items():
        if some:
            share = sum(some) / len(some)
            name = "below 0.1" if not step else f"{step:g}"
            yield f"| {name} | {len(some):,} | {100 * share:.1f} | {'█' * round(WIDTH * share)} |"


def main() -> None:
    """Print both tables."""
    show_usage(__doc__)
    parse_everything_here()  # there are no workers that would parse large texts
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    answers = [each for path in sys.argv[1:] for each in ask(Path(path))]
    print("\n".join(show_sets(answers)), end="\n\n")
    print("\n".join(show_reliability((each.confidence, each.right) for each in answers)))


if __name__ == "__main__":
    main()
