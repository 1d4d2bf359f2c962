"""How deep a text nests, judged before a grammar sees it.

Grammars and queries are native code: deep nesting makes queries quadratic, and the YAML scanner writes past its buffer
at 256 levels. Nobody writes so deep; a text that does is compared line by line, as one without a grammar.
"""

from __future__ import annotations

from itertools import accumulate

DEEPEST = 200
_STEP = {**dict.fromkeys("([{", 1), **dict.fromkeys(")]}", -1)}
# What may stand before the first word of a line of YAML, each opening a level of its own.
_YAML_MARKS = " \t-?:"


def is_too_deep(text: str, language: str) -> bool:
    """Whether the text may nest deeper than DEEPEST; at worst an ordinary text with very odd lines is said to."""
    brackets = [_STEP[char] for char in text if char in _STEP] if _count(text) > DEEPEST else []
    if brackets and max(accumulate(brackets)) > DEEPEST:
        return True
    marks = _YAML_MARKS if language == "yaml" else " \t"
    # A level takes at least one column, so only lines that begin far to the right can be deep.
    widths = [len(line) - len(line.lstrip(marks)) for line in text.split("\n")]
    if max(widths) <= DEEPEST:
        return False
    return language == "yaml" or _count_levels(widths) > DEEPEST


def _count(text: str) -> int:
    return text.count("(") + text.count("[") + text.count("{")


def _count_levels(widths: list[int]) -> int:
    deepest, open_ = 0, [0]
    for width in widths:
        while open_[-1] > width:
            open_.pop()
        if width > open_[-1]:
            open_.append(width)
            deepest = max(deepest, len(open_))
    return deepest
