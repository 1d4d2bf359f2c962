"""Weighs the evidence: how likely each candidate is the code that was asked for. Knows no texts, only measures.

The weights are decision trees learnt from human-validated histories (see docs/anchoring.md); weights/trees.py holds
them.
"""

from collections.abc import Sequence
from math import exp, log1p
from typing import NamedTuple

from postil.anchor.model import MOST_CANDIDATES
from postil.anchor.weights.forest import Forest
from postil.anchor.weights.trees import AGAIN, BEGINNING, CANDIDATES, GONE_AGAIN, NAMES, TRUST

# Above SURE the best candidate is taken, below GONE the code is taken to be deleted; between them a person decides.
SURE = 0.72
GONE = 0.015
# A place that was looked at again is taken when it is so likely the right one, if the code is there at all, and the
# code is so unlikely gone; the code is taken to be deleted when that is so likely.
_RIGHT, _THERE, _DELETED = 0.64, 0.104, 0.9

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


class Weights(NamedTuple):
    """The trees that judge: what candidates are worth, the first ones of those, and what corrects the likeliest."""

    candidates: Forest
    beginning: Forest
    trust: Forest
    again: Forest
    gone: Forest


_candidates = Forest(CANDIDATES)
weights = Weights(_candidates, _candidates.begin(*BEGINNING), Forest(TRUST), Forest(AGAIN), Forest(GONE_AGAIN))


def rank(columns: Sequence[Sequence[float]]) -> tuple[list[tuple[float, int]], list[float]]:
    """Returns the likeliest candidates, best first, each with its probability and its place in what was given.

    `columns` has for each measure those of all candidates. The probability of the first is how often such a first one
    is right, seen beside the others: a candidate may look good and another as good. None of the others is said to be
    likelier. With them comes what was told of the first.
    """
    if not columns:
        return [], []
    left = weights.candidates.narrow_all(compare(columns))
    scores = [weights.beginning.add(each) for each in left]
    finalists = sorted(range(len(left)), key=lambda place: -scores[place])[:FINALISTS]
    best = sorted(((weights.candidates.add(left[place]), place) for place in finalists), key=lambda each: -each[0])
    best = best[:MOST_CANDIDATES]
    told = describe_best(columns, best)
    score = best[0][0] + weights.trust.add(weights.trust.narrow(told))
    first = _chance(score)
    ranked = [(first, best[0][1]), *((min(first, _chance(score)), place) for score, place in best[1:])]
    return ranked, [*told, max(-_HOPELESS, min(_HOPELESS, score))]


def judge_again(told: Sequence[float]) -> float:
    """Returns how likely the first candidate is, by what `rank` told of it and what was found out about it since.

    `told` is what search.describe says. Two things are asked: whether the code is gone, and if not, whether this is
    its place. That the first is right is as likely as both together, and as often true.
    """
    verdict, chance = _decide(told[0], weights.again.narrow(told), weights.gone.narrow(told))
    return _bound(verdict, chance)


def _decide(score: float, again: int, gone: int) -> tuple[str, float]:
    """Returns whether the code is there, gone, or a person decides; and how likely the first candidate is.

    Of what is told that is the score of the first candidate, and the leaves that it leaves to both judges.
    """
    right, deleted = _chance(score + weights.again.add(again)), _chance(weights.gone.add(gone) - score)
    verdict = "gone" if deleted >= _DELETED else "there" if right >= _RIGHT and deleted <= _THERE else "review"
    return verdict, right * (1.0 - deleted)


def _bound(verdict: str, chance: float) -> float:
    """Returns a chance that says what was decided."""
    if verdict == "review":
        return max(GONE, min(chance, SURE - 0.01))
    return max(chance, SURE) if verdict == "there" else min(chance, GONE / 2)


def describe_best(columns: Sequence[Sequence[float]], best: Sequence[tuple[float, int]]) -> list[float]:
    """Returns what tells whether the first of the candidates is right: scores, lead, voters that agree, likeness."""
    told = [max(-_HOPELESS, min(_HOPELESS, score)) for score, _ in best]
    told += [-_HOPELESS] * (MOST_CANDIDATES - len(told))
    first = best[0][1]
    agree = sum(columns[column][first] >= max(columns[column]) for column in _VOTES)
    likeness = [columns[column][first] for column in _LIKENESS]
    return [*told, told[0] - told[1], sum(_chance(score) for score, _ in best), float(agree), *likeness]


def compare(columns: Sequence[Sequence[float]]) -> list[Sequence[float]]:
    """Returns the measures of all candidates with those of RELATIVE beside them, and the number of candidates."""
    count = len(columns[0])
    beside: list[Sequence[float]] = []
    level = (0.0,) * count
    for column in _COLUMNS:
        values = columns[column]
        ordered = sorted(values)
        best, second = ordered[-1], ordered[-2] if count > 1 else 0.0
        if best == second == ordered[0]:
            beside.append(level)  # often none is ahead of another
            continue
        ahead = [value - best for value in values]
        ahead[values.index(best)] = best - second
        beside.append(ahead)
    return [*columns, *beside, (log1p(count),) * count]


def _chance(score: float) -> float:
    return 1.0 / (1.0 + exp(-max(-30.0, min(30.0, score))))
