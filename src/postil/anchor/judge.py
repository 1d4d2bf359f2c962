"""Weighs the evidence: how likely each candidate is the code that was asked for. Knows no texts, only measures.

The weights are decision trees learnt from human-validated histories (see docs/anchoring.md); trees.py holds them.
"""

from collections.abc import Sequence
from math import exp, log1p

from postil.anchor.model import MOST_CANDIDATES
from postil.anchor.trees import NAMES, again, beginning, gone, rest, trust

# Above SURE the best candidate is taken, below GONE the code is taken to be deleted; between them a person decides.
SURE = 0.72
GONE = 0.015
# A place that was looked at again is taken when it is so likely the right one, if the code is there at all, and the
# code is so unlikely gone; the code is taken to be deleted when that is so likely.
_RIGHT, _THERE, _DELETED = 0.64, 0.09, 0.9
# What the rows beside a row may say of a place (search.describe), and before it whether the next candidate leads back.
# Ends of what was told of real rows, picked one by one such that they seldom agree on a verdict that the real end
# changes. Of 1,597 rows in doubt the longer ones agree about 688, the shorter ones about 441 of the others: the verdict
# is another than the real end's for ten.
BESIDE = (
    (-1.0, -1.0, -1.0, -1.0, 1.0, 1.0, 0.95, 1.0, 0.0),
    (1.0, 1.0, 0.87, 0.0, 0.0, -1.0, 0.01, 20.0, 0.0),
    (1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.98, 0.0, 0.0),
    (1.0, 1.0, 1.0, 0.0, 0.0, -1.0, 0.0, 1.0, 0.04),
    (1.0, 1.0, 0.62, 0.0, 0.5, 1.0, 0.16, 0.0, 0.0),
    (1.0, 1.0, 0.96, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0),
    (1.0, 0.0, 0.57, 20.0, 1.0, 1.0, 0.79, 0.0, 0.0),
    (0.0, -1.0, 0.03, 0.0, 0.0, -1.0, 0.02, 1.0, 0.07),
)
SECOND_AND_BESIDE = (
    (0.06, 0.29, 0.0, 0.5, 1.0, 0.75, 0.0, 0.0, -1.0, 0.31, 8.0, 0.0),
    (0.0, 1.0, 0.0, 0.0, -1.0, 0.0, 2.0, 0.0, -1.0, 0.0, 20.0, 0.0),
    (0.36, 0.89, 0.0, 1.0, 0.5, 0.97, 0.0, 1.0, 1.0, 0.9, 0.0, 0.0),
    (0.95, 0.01, 1.0, 0.5, 1.0, 0.98, 0.0, 0.5, 1.0, 0.37, 7.0, 0.0),
    (0.0, 1.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.5, 0.0, 0.01, 0.0, 0.98),
    (0.15, 0.06, 0.0, 0.0, -1.0, 0.01, 20.0, 0.0, -1.0, 0.21, 20.0, 0.0),
    (0.21, 0.04, 0.0, 0.5, 0.0, 0.56, 20.0, 1.0, 0.0, 0.97, 20.0, 0.0),
)

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


def rank(measures: Sequence[Sequence[float]]) -> tuple[list[tuple[float, int]], list[float]]:
    """Returns the likeliest candidates, best first, each with its probability and its place in what was given.

    The probability of the first is how often such a first one is right, seen beside the others: a candidate may look
    good and another as good. None of the others is said to be likelier. With them comes what was told of the first.
    """
    if not measures:
        return [], []
    rows = compare(measures)
    scores = [beginning(row) for row in rows]
    finalists = sorted(range(len(rows)), key=lambda place: -scores[place])[:FINALISTS]
    best = sorted(((scores[place] + rest(rows[place]), place) for place in finalists), key=lambda each: -each[0])
    best = best[:MOST_CANDIDATES]
    told = describe_best(measures, best)
    score = best[0][0] + trust(told)
    first = _chance(score)
    ranked = [(first, best[0][1]), *((min(first, _chance(score)), place) for score, place in best[1:])]
    return ranked, [*told, max(-_HOPELESS, min(_HOPELESS, score))]


def judge_again(told: Sequence[float]) -> float:
    """Returns how likely the first candidate is, by what `rank` told of it and what was found out about it since.

    `told` is what search.describe says. Two things are asked: whether the code is gone, and if not, whether this is
    its place. That the first is right is as likely as both together, and as often true.
    """
    verdict, chance = _decide(told)
    return _bound(verdict, chance)


def foresee(told: Sequence[float], answers: Sequence[Sequence[float]]) -> float | None:
    """Returns how likely the first candidate is, where what was not asked yet makes no difference, else None.

    `told` is the beginning of what search.describe says, `answers` are ends that it may have.
    """
    foreseen, total = "", 0.0
    for answer in answers:
        verdict, chance = _decide([*told, *answer])
        if foreseen not in ("", verdict):
            return None
        foreseen, total = verdict, total + chance
    return _bound(foreseen, total / len(answers))


def _decide(told: Sequence[float]) -> tuple[str, float]:
    """Returns whether the code is there, gone, or a person decides; and how likely the first candidate is."""
    right, deleted = _chance(told[0] + again(told)), _chance(gone(told) - told[0])
    verdict = "gone" if deleted >= _DELETED else "there" if right >= _RIGHT and deleted <= _THERE else "review"
    return verdict, right * (1.0 - deleted)


def _bound(verdict: str, chance: float) -> float:
    """Returns a chance that says what was decided."""
    if verdict == "review":
        return max(GONE, min(chance, SURE - 0.01))
    return max(chance, SURE) if verdict == "there" else min(chance, GONE / 2)


def describe_best(measures: Sequence[Sequence[float]], best: Sequence[tuple[float, int]]) -> list[float]:
    """Returns what tells whether the first of the candidates is right: scores, lead, voters that agree, likeness."""
    told = [max(-_HOPELESS, min(_HOPELESS, score)) for score, _ in best]
    told += [-_HOPELESS] * (MOST_CANDIDATES - len(told))
    first = measures[best[0][1]]
    columns = list(zip(*measures, strict=True))
    agree = sum(first[column] >= max(columns[column]) for column in _VOTES)
    likeness = [first[column] for column in _LIKENESS]
    return [*told, told[0] - told[1], sum(_chance(score) for score, _ in best), float(agree), *likeness]


def compare(measures: Sequence[Sequence[float]]) -> list[list[float]]:
    """Returns the measures of each candidate with those of RELATIVE beside them, and the number of candidates."""
    columns = list(zip(*measures, strict=True))
    beside: list[Sequence[float]] = []
    level = (0.0,) * len(measures)
    for column in _COLUMNS:
        values = columns[column]
        ordered = sorted(values)
        best, second = ordered[-1], ordered[-2] if len(ordered) > 1 else 0.0
        if best == second == ordered[0]:
            beside.append(level)  # often none is ahead of another
            continue
        ahead = [value - best for value in values]
        ahead[values.index(best)] = best - second
        beside.append(ahead)
    count = log1p(len(measures))
    return [[*row, *ahead, count] for row, ahead in zip(measures, zip(*beside, strict=True), strict=True)]


def _chance(score: float) -> float:
    return 1.0 / (1.0 + exp(-max(-30.0, min(30.0, score))))
