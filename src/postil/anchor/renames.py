"""What rows declare, and what those names are called now: a declaration that was renamed is known by its uses."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING

from postil.anchor.page import LONGEST_KEY, Page, find_word
from postil.anchor.side_by_side.alike_rows import find_lost_words

if TYPE_CHECKING:
    from postil.anchor.side_by_side.alignment import Alignment

# A type or a keyword, then the name it introduces. Not a grammar: good enough to tell a declaration from a use.
_DECLARED = re.compile(
    r"([\w$]+)(?:<[^=;<>]*(?:<[^=;<>]*>[^=;<>]*)?>)?(?:\[\])?\??[\s*&]+([A-Za-z_$][\w$]*)\s*(?=[=;:,)({]|$|in\b|of\b)"
)
_WORD = re.compile(r"[A-Za-z_$][\w$]*")
_NO_TYPE = frozenset(
    """
    return throw throws new else import package case goto delete typeof await yield in of instanceof extends implements
    as is not and or from del raise assert global nonlocal lambda print async if while for switch catch with when unless
    until elif except do try using break continue default use where
    """.split()  # noqa: SIM905 - words, not a list to read one by one
)
_USES = 16  # rows that use a name that are asked what it is called now


class Renames:
    """The names of two versions of a file."""

    def __init__(self, old: Page, new: Page, aligned: Alignment) -> None:
        self.old, self.new, self.aligned = old, new, aligned
        self._declared: dict[tuple[bool, int], list[str]] = {}
        self._votes: dict[tuple[str, int], Counter[str]] = {}

    def list_declared(self, page: Page, row: int) -> list[str]:
        """Returns the names that a row declares, in order."""
        name = (page is self.old, row)
        found = self._declared.get(name)
        if found is None:
            text = page.rows[row][:LONGEST_KEY]
            found = self._declared[name] = [name for of, name in _DECLARED.findall(text) if of not in _NO_TYPE]
        return found

    def share_kept(self, row: int, at: int) -> float:
        """Returns the share of the names an old row declares that a new row declares too; -1 where it declares none."""
        mine = self.list_declared(self.old, row)
        if not mine:
            return -1.0
        text = self.new.rows[at]
        if not any(name in text for name in mine):
            return 0.0  # sooner known than what it declares
        theirs = self.list_declared(self.new, at)
        return sum(name in theirs for name in mine) / len(mine)

    def share_followed(self, row: int, at: int) -> float:
        """Returns the share of the uses of what an old row declares that now use what the new row declares."""
        mine = self.list_declared(self.old, row)
        if not mine:
            return -1.0
        votes = self._ask_uses(mine[0], row)
        total, text = votes[""], self.new.rows[at]
        if not total:
            return -1.0
        if not any(name in text for name in votes if name):
            return 0.0
        return max((votes[name] for name in self.list_declared(self.new, at)), default=0) / total

    def is_renamed(self, words: Iterable[str], row: int, at: int) -> bool:
        """Returns whether most uses of one of some words of an old row now use a word that came to the new row."""
        came = [word for word in self.new.tokens(at) if _WORD.match(word) and word not in self.old.tokens(row)]
        asked = (self._ask_uses(word, row) for word in words if _WORD.fullmatch(word)) if came else ()
        return any(2 * max(map(votes.__getitem__, came)) > votes[""] for votes in asked)

    def is_another_entry(self, row: int, page: Page, at: int) -> bool:
        """Returns whether a row of several alike lost what told it from them, and not because that was renamed."""
        lost = find_lost_words(self.old, row, page, at)
        return bool(lost) and not (page is self.new and self.is_renamed(lost, row, at))

    def find_candidates(self, row: int, expected: int) -> list[int]:
        """Returns new rows that declare what the name of an old row is probably called now."""
        mine = self.list_declared(self.old, row)
        if not mine:
            return []
        votes = self._ask_uses(mine[0], row)
        likely = [name for name, count in votes.items() if name and 4 * count >= votes[""]]
        names = sorted(likely, key=lambda name: (-votes[name], name))[:2]
        rows = [(abs(at - expected), at, name) for name in names for at in find_word(self.new, name)]
        found = (at for _, at, name in sorted(rows) if name in self.list_declared(self.new, at))
        return list(islice(found, 3))

    def _ask_uses(self, name: str, row: int) -> Counter[str]:
        """Returns what stands now where a name stood: votes for words, and under "" how many rows voted."""
        head = self.old.frames[row]
        found = self._votes.get((name, head))
        if found is not None:
            return found
        found = self._votes[name, head] = Counter()
        uses = [use for use in find_word(self.old, name) if use != row and (head < 0 or self.old.frames[use] == head)]
        for use in sorted(uses, key=lambda use: abs(use - row))[:_USES]:
            if self.aligned.forward[use] >= 0:
                found[name] += 1
            else:
                drift = self.aligned.drift(use)
                if drift is None:
                    continue
                words = set(self.new.tokens(drift.most))
                if name in words:
                    found[name] += 1
                else:
                    found.update(word for word in words.difference(self.old.tokens(use)) if _WORD.match(word))
            found[""] += 1
        return found
