"""A commit whose answer was lost: it is asked for by its name until somebody knows, or called unknown."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from postil.core.failure import Failure
from postil.storage.failures import StateUnclear

T = TypeVar("T")
PAUSE = 0.1


def ask_until_known(ask: Callable[[], T], seconds: float, is_answer: Callable[[Failure], bool] = lambda _: False) -> T:
    """Returns what `ask` returns, asked again after each failure; one that is an answer is raised.

    Raises StateUnclear when the time is over and nobody could tell.
    """
    deadline = time.monotonic() + seconds
    while True:
        try:
            return ask()
        except Failure as failure:
            if is_answer(failure):
                raise
            if time.monotonic() > deadline:
                raise StateUnclear(failure.message) from failure
        time.sleep(PAUSE)
