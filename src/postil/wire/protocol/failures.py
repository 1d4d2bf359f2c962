"""Faults of the protocol itself, and the one way to end a call that is no failure: a question to the client."""

from __future__ import annotations

from collections.abc import Mapping

from postil.core.call import Question
from postil.core.failure import Failure, StorageFailed


class ProtocolFailure(Failure):
    """A fault of the protocol itself: always an error object, never a tool's result."""

    def __init__(self, code: int, message: str, **data: object) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


class InputRequired(Exception):
    """The stateless era's way to ask: the call ends here and comes back with the answers."""

    def __init__(self, questions: Mapping[str, Question]) -> None:
        super().__init__("input required")
        self.questions = questions


def is_temporary(failure: Failure) -> bool:
    """Whether the storage is away for a moment: nothing was changed (503), or that is not known yet (504)."""
    return isinstance(failure, StorageFailed) and failure.data.get("status") in (503, 504)
