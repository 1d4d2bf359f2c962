"""A job's log that is too long to be held: read once from its beginning, kept is what was asked for. Pure.

Every log works with `logs.py` alone up to the bound of an answer of GitLab; this is for those beyond it.
"""

from __future__ import annotations

from collections import deque

from postil.core.others.untrusted import clean
from postil.gitlab.fitting import Window, choose_tail, choose_window
from postil.gitlab.instance.logs import clean_log, find_in_log

KEPT = 4 * 1024 * 1024
"""Bytes of a log that are kept at once."""
MOST_FOUND = 2_000
"""Lines with the searched words, and their neighbours, that are kept."""
END = b"|"
LONGEST_LINE = 64 * 1024
"""Bytes of one line that are searched."""


class LongLog:
    """What is kept of a log while it passes by."""

    def __init__(self, token: str, wanted: tuple[int, int | None] | None = None, words: str | None = None) -> None:
        self._token, self._wanted, self._words = token, wanted, words
        self._kept: deque[bytes] = deque()
        self._size = 0
        self._first = 1
        """The number of the first kept line."""
        self._half = b""
        self.total = 0
        self.hits = 0
        self.found: list[str] = []

    def feed(self, chunk: bytes) -> None:
        """Take the next piece."""
        block, newline, self._half = (self._half + chunk).rpartition(b"\n")
        if not newline:
            self._half = self._half[:LONGEST_LINE]  # the middle of an endless line is nobody's to read
            return
        self._take(block + newline)

    def finish(self) -> None:
        """The log has ended."""
        if self._half:
            self._take(self._half + b"\n")
            self._half = b""

    def _take(self, block: bytes) -> None:
        lines = block.count(b"\n")
        if self._words is not None:
            self._search(block, self._words)
        elif self._wanted is not None:
            self._keep_range(block, *self._wanted)
        else:
            self._keep_end(block)
        self.total += lines

    def _search(self, block: bytes, words: str) -> None:
        found, hits = find_in_log(clean(clean_log(block, self._token)), words)
        self.hits += hits
        room = MOST_FOUND - len(self.found)
        self.found += [_renumber(line, self.total) for line in found[:room]]

    def _keep_range(self, block: bytes, first: int, last: int | None) -> None:
        lines = block.split(b"\n")[:-1]
        here = lines[max(0, first - 1 - self.total) : None if last is None else max(0, last - self.total)]
        for line in here:
            if self._size > KEPT:
                return
            self._kept.append(line + b"\n")
            self._size += len(line) + 1

    def _keep_end(self, block: bytes) -> None:
        self._kept.append(block)
        self._size += len(block)
        while self._size - len(self._kept[0]) >= KEPT:
            left = self._kept.popleft()
            self._size -= len(left)
            self._first += left.count(b"\n")

    def choose(self, tail: int, room: int) -> Window:
        """Return the wanted lines, or the last ones, as many as there is room for, under their own numbers."""
        raw = b"".join(self._kept)
        if self._wanted is None:
            window = choose_tail(clean(clean_log(raw, self._token)), tail, room)
            before = self._first - 1
        else:
            text = clean_log(raw + END, self._token)[: -len(END)]  # an empty line in the middle of a log is one
            window = choose_window(clean(text), (1, None), room) if raw else Window("", 1, 0, 0)
            before = self._wanted[0] - 1
        return Window(window.text, window.first + before, window.last + before, self.total, window.is_cut)


def _renumber(line: str, before: int) -> str:
    number = line[: len(line) - len(line.lstrip("0123456789"))]
    return f"{int(number) + before}{line[len(number) :]}" if number else line
