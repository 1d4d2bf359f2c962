"""What is searched for, and searching many texts for it at once: RE2, linear in the text, over one run of bytes.

Patterns are case-insensitive unless they say `(?-i)`. What RE2 does not take (look-around, back-references) is refused;
there is no other engine behind it. Where the bytes come from is text_file.py's business.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import partial
from typing import TYPE_CHECKING

from postil.comments.failures import PatternRefused
from postil.comments.search.regex import Linear, Meter, NotAPattern, compile_linear, search_one, spans

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from postil.comments.search.regex import Bytes

LONGEST_PATTERN = 4000
END = b"\xff"
"""No UTF-8 text holds this byte and nothing but `\\C` matches it, so no match reaches from one text into the next."""
GAP = b"\n" + END + b"\n"
"""Between two texts: `^` and `$` are the edges of lines there."""
DENSE = 2_000
"""From so many matches on it pays to look for a plain text in the lowered bytes; a match of RE2 costs a call."""
PIECE = 1 << 18
"""Bytes that are lowered at once, at least: a million comments are 87 MB."""
SHORTEST_PIECE = 3
"""Letters of a piece of a word that is worth looking for."""
_OPERATORS = re.compile(r"[\\^$.|?*+()\[\]{}]")
# What a run of texts cannot tell: bytes instead of characters, `^` taken back to the edges of the whole, quotations.
_ALONE = re.compile(r"\\[CQ]|\(\?[a-zA-Z]*-[a-zA-Z]*m")
# RE2 looks for one word at four times the speed at which it looks for any of several, or for one that begins with a
# letter that is the small form of another one, too: the long s and the sign of Kelvin are the only such of ASCII.
_FEW_WORDS = re.compile(r"[A-Za-z0-9_ ]+(?:\|[A-Za-z0-9_ ]+){0,2}")
_ALTERNATIVES = re.compile(r"[A-Za-z0-9_ |]*")
_FOLDED = re.compile("[sSkK]")
_ODD = ("\u017f".encode(), "\u212a".encode())
_EDGES = {"A": "^", "z": "$"}
_FROM_THE_START = re.compile(r"\^[\w ]")
# Patterns that cannot match the end of a line, so that a match never touches the gap between texts.
_IN_LINE = re.compile(r"(?:(?!\(\?(?!:|i\)|-i\)))[\w \-.,:;=/|*+?()]|\\[wdb.]|\[[\w\- ]+\]|\{\d+,?\d*\})*")


class Letters:
    """A plain text that very many texts of a run have: counted now, and found when somebody asks for them."""

    def __init__(self, letters: bytes, run: Bytes) -> None:
        self._letters, self._run = letters, run
        # Our own pattern, and one that cannot go back: an empty group makes no object of what it finds.
        having = re.compile(re.escape(letters) + b"[^" + END + b"]*()")
        self.count = sum(len(having.findall(piece)) for _, piece in _lower_pieces(run))

    def within(self, start: int, end: int) -> bool:
        """Whether they are between two offsets."""
        return self._letters in self._run[start:end].lower()

    def ends(self) -> Iterator[int]:
        """Yields where the texts end that have them, in order."""
        letters = self._letters
        for start, piece in _lower_pieces(self._run):
            find, at = piece.find, 0
            while (at := find(letters, at)) >= 0:
                at = find(END, at)
                yield start + at


def _lower_pieces(run: Bytes) -> Iterator[tuple[int, bytes]]:
    """Yields a run in small letters, in pieces of whole texts with where each begins: never all of it at once."""
    start, size = 0, len(run)
    while start < size:
        stop = run.find(END, min(start + PIECE, size)) + 1 or size
        yield start, run[start:stop].lower()
        start = stop


class Pattern:
    """A compiled pattern, or a plain text when `plain`. A pattern without any operator is a plain text, too."""

    def __init__(self, query: str, *, plain: bool = False) -> None:
        if len(query) > LONGEST_PATTERN:
            raise PatternRefused(query, f"it is longer than {LONGEST_PATTERN} characters")
        self._plain = plain or not _OPERATORS.search(query)
        self._query = query
        self._alone = not self._plain and _ALONE.search(query) is not None
        # Inside a text of several lines `^` and `$` mean another thing than in a run of texts.
        self._anchored = not self._plain and any(edge in query for edge in ("^", "$", r"\A", r"\z"))
        self._one = _compile(query, "(?:%s)", literal=self._plain)
        self._meter = Meter(query)
        self._compiled: dict[tuple[str, str, bool], Linear] = {}
        self._has_match = search_one(self._one, self._meter)

    def matches(self, text: bytes) -> bool:
        """Whether one text has a match."""
        return self._has_match(text)

    @property
    def letters(self) -> bytes:
        """The plain text in small letters, if it is one of ASCII in a single line; else nothing."""
        if not self._plain or not self._query.isascii() or "\n" in self._query:
            return b""
        return self._query.lower().encode()

    def ends(self, run: Bytes, known: Sequence[int]) -> list[int] | Letters | None:
        """Where the texts of a run that match end, in order; None when all of them match, Letters when very many do.

        A run is a GAP's last byte and then texts, each with a GAP behind it. `known` is where each text ends.
        """
        if self.matches(b"") and not self._anchored and not (r"\B" in self._query or r"\b" in self._query):
            return None  # what is found in nothing, with no edge around it, is found everywhere
        if self._alone:
            return self._ends_one_by_one(run)
        if self._is_few_words() and (found := self._ends_of_words(run, known)) is not None:
            return found
        return self._ends_at_once(run, known)

    def _ends_at_once(self, run: Bytes, known: Sequence[int]) -> list[int] | Letters:
        """By one pass over the whole run, that goes on behind a text as soon as it has a match.

        A match that touches the edge of a text took the newline there for its own: that text is asked by itself, and so
        is one of several lines when the pattern speaks of edges.
        """
        first, anchored = spans(self._over_lines(), self._meter, END), self._anchored
        found: list[int] = []
        at = 0
        while True:
            start, stop = first(run, at)
            end = run.find(END, stop) if start >= 0 else -1
            if end < 0:  # no match, or only of what is behind the last text
                return found
            edges = stop >= end or start == 0 or run[start - 1] == END[0]
            if not edges and not anchored:
                found.append(end)
            else:
                text = run[run.rfind(END, 0, start) + 2 : end - 1]
                if (not edges and b"\n" not in text) or self.matches(text):
                    found.append(end)
            at = end + 1
            if len(found) == DENSE and bisect_left(known, at) < 3 * DENSE:
                if self.letters and not (_FOLDED.search(self._query) and any(run.find(odd) >= 0 for odd in _ODD)):
                    return Letters(self.letters, run)
                if not anchored and _IN_LINE.fullmatch(self._query):
                    return found + self._ends_of_many(run, known, at)

    def _is_few_words(self) -> bool:
        """Whether it pays to look for each word by itself."""
        query = self._query
        if (
            not _FEW_WORDS.fullmatch(query)
            or not ("|" in query or _FOLDED.match(query))
            or (self._plain and "|" in query)
        ):
            return False
        return all(max(map(len, _FOLDED.split(word))) >= SHORTEST_PIECE for word in query.split("|"))

    def _ends_of_words(self, run: Bytes, known: Sequence[int]) -> list[int] | None:
        """Returns the same for a few words, of each of which the plainest piece is looked for by itself.

        A text that has a piece is asked by itself. None when very many have one.
        """
        found: set[int] = set()
        small = run[:].lower() if len(run) <= PIECE else b""
        for word in self._query.split("|"):
            piece = max(_FOLDED.split(word), key=len)
            find, at, seen = self._make_finder(piece, run, small), 0, 0
            while (start := find(at)) >= 0:
                at, seen = run.find(END, start), seen + 1
                if at in found or piece == word or self.matches(run[run.rfind(END, 0, start) + 2 : at - 1]):
                    found.add(at)
                if seen == DENSE and bisect_left(known, at) < 3 * DENSE:
                    return None
        return sorted(found)

    def _make_finder(self, piece: str, run: Bytes, small: bytes) -> Callable[[int], int]:
        """Returns what finds a piece of a word from an offset on; `small` is a short run in small letters."""
        if small:
            return partial(small.find, piece.lower().encode())
        first = spans(self._compile(piece, "", literal=True), self._meter, END)
        return lambda at: first(run, at)[0]

    def _ends_of_many(self, run: Bytes, known: Sequence[int], at: int) -> list[int]:
        """Returns the rest where most texts match: texts in a row that all match are one match."""
        first = spans(self._compile(self._query, "(?s:(?:.*?(?:(?-s)%s).*\\C)+)"), self._meter, END)
        found: list[int] = []
        while True:
            start, at = first(run, at)
            if start < 0:
                return found
            found += known[bisect_left(known, start) : bisect_left(known, at)]

    def _ends_one_by_one(self, run: Bytes) -> list[int]:
        found: list[int] = []
        start = 1
        while start < len(run):
            end = run.find(END, start)
            if self.matches(run[start : end - 1]):
                found.append(end)
            start = end + 2
        return found

    def _over_lines(self) -> Linear:
        if self._plain:
            return self._one
        # `\A` and `\z` are edges of lines, too; a text with a match there is asked by itself.
        query = re.sub(r"\\(.)", lambda seen: _EDGES.get(seen[1], seen[0]), self._query, flags=re.DOTALL)
        if _FROM_THE_START.match(query) and "|" not in query:
            # The newline before a text can be looked for, an edge cannot; a match there is asked for by itself anyway.
            return self._compile(query[1:], "(?m:\n(?:%s))")
        return self._compile(query, "(?m:%s)")

    def _compile(self, query: str, frame: str, *, literal: bool = False) -> Linear:
        """Returns what is asked of every run, made once."""
        asked = query, frame, literal
        if asked not in self._compiled:
            self._compiled[asked] = _compile(query, frame, literal=literal)
        return self._compiled[asked]


def _compile(query: str, frame: str, *, literal: bool = False) -> Linear:
    try:
        if literal or not _ALTERNATIVES.fullmatch(query):  # by itself first: `)(` must not become `(?:)()`
            alone = compile_linear(query, ignore_case=True, literal=literal)
            if literal:
                return alone
        return compile_linear(frame % query, ignore_case=True)
    except NotAPattern as fault:
        raise PatternRefused(query, str(fault)) from None
