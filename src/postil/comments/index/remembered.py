"""What the cache answered, until it is written to by whatever process: whoever asks again is answered from memory.

Not here: what is asked, and when (`cache.py`).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

MOST_ROWS, MOST_QUESTIONS, MOST_BYTES = 200, 64, 1024 * 1024
"""What is remembered: the longest of answers, how many, and how much they are together."""
ROW = 100
"""What a row is reckoned to have, where nobody says."""


def read_moment(db: sqlite3.Connection) -> object:
    """Returns what differs after every change of a cache: by other connections, by this one, or by another file."""
    return db.execute("PRAGMA data_version").fetchone(), db.total_changes, db


class Remembered:
    """Answers of one cache."""

    def __init__(self) -> None:
        self._moment: object = None
        self._answers: dict[tuple[object, ...], Sequence[Any]] = {}
        self._size = 0
        self.left_out = 0
        """How many answers were too long: what is made of one is too long as well."""

    def find(self, db: sqlite3.Connection, asked: tuple[object, ...], *, look: bool = True) -> Sequence[Any] | None:
        """Returns the answer to a question; None where nobody asked it since the cache was last written to.

        Whether it was need not be looked at again while one moment is read.
        """
        if look and (moment := read_moment(db)) != self._moment:
            self._moment = moment
            self._forget()
        return self._answers.get(asked)

    def keep(self, asked: tuple[object, ...], answer: Sequence[Any], size: int = 0) -> None:
        """Remember the answer to a question that was just looked for, unless it is long."""
        size = size or ROW * len(answer)
        size += sum(len(each) for each in asked if isinstance(each, (str, bytes)))
        if not self.count(size if len(answer) <= MOST_ROWS else MOST_BYTES):
            return
        if len(self._answers) >= MOST_QUESTIONS or self._size + size > MOST_BYTES:
            self._forget()
        self._answers[asked] = answer
        self._size += size

    def count(self, size: int) -> bool:
        """Note that so many bytes were read. Returns whether what is made of them may be remembered."""
        is_short = size <= MOST_BYTES // 4
        self.left_out += not is_short
        return is_short

    def __len__(self) -> int:
        return len(self._answers)

    def _forget(self) -> None:
        self._answers, self._size = {}, 0
