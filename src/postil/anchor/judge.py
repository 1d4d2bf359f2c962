"""Weighs the evidence: how likely each candidate is the code that was asked for. Knows no texts, only measures.

The weights are decision trees learnt from human-validated histories (see docs/anchoring.md); trees.py holds them.
"""

from collections.abc import Sequence
from math import exp, log1p

from postil.anchor.trees import NAMES, beginning, rest

# Above SURE the best candidate is taken, below GONE the code is taken to be deleted; between them a person decides.
SURE = 0.80
GONE = 0.03

# Measures that are also seen beside those of the other candidates: by how much each is ahead of the best other one.
RELATIVE = (
    "chars header tokens contained before after block support home votes local_votes children framed".split()  # noqa: SIM905
)
_COLUMNS = [NAMES.index(name) for name in RELATIVE]
_FINALISTS = 5


def weigh(measures: Sequence[Sequence[float]]) -> list[float]:
    """The probability of each candidate, from its measures and those of the others."""
    if not measures:
        return []
    rows = compare(measures)
    scores = [beginning(row) for row in rows]
    finalists = sorted(range(len(rows)), key=lambda place: -scores[place])[:_FINALISTS]
    for place in finalists:
        scores[place] += rest(rows[place])
    # The others cannot win any more; they keep what they have, and not more than the last finalist.
    least = min(scores[place] for place in finalists)
    return [_chance(score if place in finalists else min(score, least)) for place, score in enumerate(scores)]


def compare(measures: Sequence[Sequence[float]]) -> list[list[float]]:
    """The measures of each candidate with those of RELATIVE beside them, and the number of candidates."""
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
