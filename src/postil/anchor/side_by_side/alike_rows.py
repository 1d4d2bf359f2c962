"""Rows that are like the rows beside them: entries of a table, imports, members. Which of them one is, its words tell.

Of such a row the marks and most words say nothing, since every other one has them. Where all words that told it from
them are gone, what stands in its place is another entry, however alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import takewhile
from typing import TYPE_CHECKING

from rapidfuzz.distance import Indel

if TYPE_CHECKING:
    from postil.anchor.page import Page

_NEAR = 4  # rows on each side that may be alike
_FEWEST = 2  # of them
_MOST_WORDS = 16  # of a row that are looked for
_SHAPED = 0.8  # of the marks and words of a row, each word as good as another
_RENAMED = 0.7  # of the characters of a word that was spelled otherwise
_LONG = 8  # characters of a word that got some more in between
_SHORTEST = 3  # characters of a word that says something: `if` and `elif` do not tell rows apart
_WORD = re.compile(r"[^\W\d]")
_similar = Indel.normalized_similarity


def find_lost_words(old: Page, row: int, new: Page, at: int) -> set[str]:
    """Returns the words that told an old row from others like it, where a new row has none of them; else nothing."""
    now, mine = ({token for token in tokens if _is_word(token)} for tokens in (new.tokens(at), old.tokens(row)))
    beside = () if now <= mine else _list_alike(old, row)
    if len(beside) < _FEWEST:
        return set()
    others = [set(filter(_is_word, old.tokens(each))) for each in beside]
    telling = mine.difference(*others) or mine.difference(set[str].intersection(*others))
    spelled = {word for word in telling if _WORD.search(word)}
    named = sorted({word for word in spelled if len(word) >= _SHORTEST} or telling - spelled)[:_MOST_WORDS]
    beside_it = set[str]().union(*others)
    return set() if any(_is_left(word, now, beside_it) for word in named) else set(named)


def _list_alike(page: Page, row: int) -> list[int]:
    """Lists the rows near a row that are like it, under the same head."""
    shape, indents = _shape(page, row), page.indents
    above = range(row - 1, max(0, row - _NEAR) - 1, -1)
    below = range(row + 1, min(len(page), row + _NEAR + 1))
    near = (each for way in (above, below) for each in takewhile(lambda other: indents[other] >= indents[row], way))
    return [each for each in near if indents[each] == indents[row] and _similar(shape, _shape(page, each)) >= _SHAPED]


def _shape(page: Page, row: int) -> str:
    return "".join("w" if _is_word(token) else token for token in page.tokens(row))


def _is_word(token: str) -> bool:
    return token[0].isalnum() or token[0] == "_"


def _is_left(word: str, now: Iterable[str], others: Iterable[str]) -> bool:
    """Returns whether a word stands there, or one that it is more like than any of the others, or that it grew to."""
    if word in now or (len(word) > _LONG and any(_is_grown(word, each) for each in now)):
        return True
    likeness = max((_compare(word, each) for each in now), default=0.0)
    return likeness >= _RENAMED and likeness > max((_compare(word, each) for each in others), default=0.0)


def _is_grown(word: str, other: str) -> bool:
    """Returns whether a word only got some characters more."""
    return Indel.distance(word, other) == len(other) - len(word) and _similar(word, other) >= _RENAMED


def _compare(word: str, other: str) -> float:
    """Returns how alike two words are: wholly, where one of them is a part of the other."""
    shorter, longer = sorted((word.lower(), other.lower()), key=len)
    return 1.0 if len(shorter) >= _SHORTEST and shorter in longer else _similar(word, other)
