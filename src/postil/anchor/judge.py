"""Weighs the evidence: how likely each candidate is the code that was asked for. Knows no texts, only measures."""

from collections.abc import Sequence
from math import exp

# Above SURE the best candidate is taken, below GONE the code is taken to be deleted; between them a person decides.
SURE = 0.80
GONE = 0.15

_WEIGHTS = {
    "exact": 1.5,
    "chars": 4.0,
    "header": 2.0,
    "before": 1.5,
    "after": 1.5,
    "diffed": 1.5,
    "first": 1.0,
    "votes": 1.0,
    "inside": 1.0,
    "distance": -0.3,
    "block": 2.0,
    "parent": 0.7,
    "home": 0.7,
    "taken": -3.0,
    "opening": 0.7,
    "support": 1.0,
}
_BIAS = -9.0


def weigh(names: Sequence[str], measures: Sequence[Sequence[float]]) -> list[float]:
    """The probability of each candidate, from its measures."""
    weights = [_WEIGHTS.get(name, 0.0) for name in names]
    odds = [exp(_BIAS + sum(w * x for w, x in zip(weights, row, strict=True))) for row in measures]
    total = 1.0 + sum(odds)
    return [each / total for each in odds]
