"""What this process last read of a state that cannot be reached now: shown, with its age, instead of a failure.

Only whole answers to the same questions, and only for some minutes. Answers about a space are forgotten when this
process writes to it, because they would be wrong.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Iterable
from typing import TypeAlias

from postil.core import call
from postil.core.failure import Failure

Question: TypeAlias = tuple[str, str, str, int | None]
"""The kind of question, the space, the key (or what to begin behind) and the limit."""
Answer: TypeAlias = "bytes | list[tuple[str, bytes]] | int | None"
LONGEST = 600.0
LARGEST = 2 * 1024 * 1024
MOST_BYTES = 16 * 1024 * 1024
OVERHEAD = 300


class LastSeen:
    """The answers of the last minutes, bounded. Used by many threads."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._answers: OrderedDict[Question, tuple[float, int, Answer]] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def note(self, question: Question, answer: Answer) -> None:
        """Remember an answer that was just read."""
        if isinstance(answer, list):
            size = OVERHEAD + sum(len(key) + len(value) + OVERHEAD for key, value in answer)
        else:
            size = OVERHEAD + (len(answer) if isinstance(answer, bytes) else 0)
        with self._lock:
            self._drop(question)
            if size > LARGEST:
                return
            self._answers[question] = (time.monotonic(), size, answer)
            self._size += size
            while self._size > self._most_bytes:
                self._drop(next(iter(self._answers)))

    def forget(self, spaces: Iterable[str]) -> None:
        """Forget the answers about these spaces, because they were written to."""
        written = set(spaces)
        with self._lock:
            for question in [question for question in self._answers if question[1] in written]:
                self._drop(question)

    def find(self, question: Question) -> tuple[float, Answer] | None:
        """Returns the age of the answer and the answer, or None if it is unknown or too old."""
        with self._lock:
            found = self._answers.get(question)
        if found is None or (age := time.monotonic() - found[0]) >= LONGEST:
            return None
        return age, found[2]

    def _drop(self, question: Question) -> None:
        _, size, _ = self._answers.pop(question, (0.0, 0, None))
        self._size -= size


class StaleRecords:
    """The Records port over what was last seen."""

    def __init__(self, seen: LastSeen, away: Failure) -> None:
        self._seen, self._away = seen, away
        self._age = -1.0

    def get(self, space: str, key: str) -> bytes | None:
        found = self._answer(("get", space, key, None))
        assert found is None or isinstance(found, bytes)
        return found

    def range(self, space: str, after: str = "", limit: int | None = None) -> list[tuple[str, bytes]]:
        found = self._answer(("range", space, after, limit))
        assert isinstance(found, list)
        return found

    def count(self, space: str) -> int:
        question: Question = ("count", space, "", None)
        if self._seen.find(question) is None:
            return len(self.range(space))
        found = self._answer(question)
        assert isinstance(found, int)
        return found

    def _answer(self, question: Question) -> Answer:
        found = self._seen.find(question)
        if found is None:
            raise self._away
        self._age = max(self._age, found[0])
        return found[1]

    def report_age(self) -> None:
        """Tell the caller how old the oldest answer was."""
        if self._age >= 0:
            call.current().tell("X-Postil-Stale", f"{self._age:.0f}")
            call.current().log("warning", f"The shared state is away: this was read {self._age:.0f} seconds ago")
