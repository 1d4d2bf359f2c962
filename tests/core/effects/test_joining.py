"""What belongs to an effect is written in the effect's own transaction, over every state."""

import pytest

from postil.core.effects.joining import alone, join, joining
from postil.core.ports import Changes, State
from tests.storage.states import postgres, redis, state

__all__ = ["postgres", "redis", "state"]  # fixtures


def mark(changes: Changes) -> None:
    changes.put("marks", "one", b"made")


def marks(state: State) -> list[tuple[str, bytes]]:
    with state.reading() as records:
        return records.range("marks")


def test_a_mark_is_there_exactly_if_the_effect_is(state: State) -> None:
    def fail() -> None:
        with joining(mark), state.writing() as changes:
            changes.put("s", "k", b"v")
            raise LookupError

    with pytest.raises(LookupError):
        fail()
    assert marks(state) == []
    with joining(mark), state.writing() as changes:
        changes.put("s", "k", b"v")
    assert marks(state) == [("one", b"made")]


def test_nothing_joins_outside_the_block_or_alone(state: State) -> None:
    with joining(mark):
        with alone(), state.writing() as changes:
            changes.put("s", "k", b"v")
        assert marks(state) == []
    with state.writing() as changes:
        changes.put("s", "k", b"w")
        join(changes)
    assert marks(state) == []
