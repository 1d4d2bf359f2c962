"""Weighs the evidence: how likely each candidate is the code that was asked for. Knows no texts, only measures.

The weights are decision trees learnt from human-validated histories (see docs/anchoring.md); trees.py holds them.
"""

from collections.abc import Sequence
from math import exp, log1p

from postil.anchor.model import MOST_CANDIDATES
from postil.anchor.trees import NAMES, beginning, rest, trust

# Above SURE the best candidate is taken, below GONE the code is taken to be deleted; between them a person decides.
SURE = 0.72
GONE = 0.015

# Measures that are also seen beside those of the other candidates: by how much each is ahead of the best other one.
RELATIVE = tuple(
    """
    chars header tokens contained before after block support home votes local_votes children framed declares followed
    above below
    """.split()  # noqa: SIM905
)
_COLUMNS = [NAMES.index(name) for name in RELATIVE]
# Measures that vote by themselves: how many of them the best candidate leads is told to `trust`.
VOTERS = tuple(
    """
    chars header tokens contained before after support block votes local_votes home framed children parent
    """.split()  # noqa: SIM905
)
_VOTES = [NAMES.index(name) for name in VOTERS]
# Measures of the best candidate that are told to it as well: what looks unlike and leads is often gone.
LIKENESS = ("chars", "header", "tokens", "contained")
_LIKENESS = [NAMES.index(name) for name in LIKENESS]
FINALISTS = 8
_HOPELESS = 11.5  # a score, as far from zero as it is told


def rank(measures: Sequence[Sequence[float]]) -> list[tuple[float, int]]:
    """Returns the likeliest candidates, best first, each with its probability and its place in what was given.

    The probability of the first is how often such a first one is right, seen beside the others: a candidate may look
    good and another as good. None of the others is said to be likelier.
    """
    if not measures:
        return []
    rows = compare(measures)
    scores = [beginning(row) for row in rows]
    finalists = sorted(range(len(rows)), key=lambda place: -scores[place])[:FINALISTS]
    best = sorted(((scores[place] + rest(rows[place]), place) for place in finalists), key=lambda each: -each[0])
    best = best[:MOST_CANDIDATES]
    first = _chance(best[0][0] + trust(describe_best(measures, best)))
    return [(first, best[0][1]), *((min(first, _chance(score)), place) for score, place in best[1:])]


def describe_best(measures: Sequence[Sequence[float]], best: Sequence[tuple[float, int]]) -> list[float]:
    """Returns what tells whether the first of the candidates is right: scores, lead, voters that agree, likeness."""
    told = [max(-_HOPELESS, min(_HOPELESS, score)) for score, _ in best]
    told += [-_HOPELESS] * (MOST_CANDIDATES - len(told))
    first = measures[best[0][1]]
    agree = sum(first[column] >= max(row[column] for row in measures) for column in _VOTES)
    likeness = [first[column] for column in _LIKENESS]
    return [*told, told[0] - told[1], sum(_chance(score) for score, _ in best), float(agree), *likeness]


def compare(measures: Sequence[Sequence[float]]) -> list[list[float]]:
    """Returns the measures of each candidate with those of RELATIVE beside them, and the number of candidates."""
    rows = [list(row) for row in measures]
    columns = list(zip(*measures, strict=True))
    for column in _COLUMNS:
        values = columns[column]
        best = max(values)
        leader = values.index(best)
        second = max((*values[:leader], *values[leader + 1 :]), default=0.0)
        for place, row in enumerate(rows):
            row.append(values[place] - (second if place == leader else best))
    count = log1p(len(measures))
    for row in rows:
        row.append(count)
    return rows


def _chance(score: float) -> float:
    return 1.0 / (1.0 + exp(-max(-30.0, min(30.0, score))))
