"""What is written along with an effect in the state, in one transaction: it is there exactly if the effect is.

Whoever surrounds an effect (idempotency keys, the audit) says what is to join it; every State asks `join` at the end of
a write. Effects outside the state (files, git, GitLab) have no such transaction, and nothing joins them.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from postil.core.ports import Changes

Join: TypeAlias = "Callable[[Changes], None]"

_joining: ContextVar[tuple[Join, ...]] = ContextVar("postil_joining", default=())


@contextmanager
def joining(one: Join) -> Generator[None]:
    """Let this function add its records to every write of the state that is made inside the block."""
    before = _joining.get()
    token = _joining.set((*before, one))
    try:
        yield
    finally:
        _joining.reset(token)


@contextmanager
def alone() -> Generator[None]:
    """Let nothing join the writes inside the block."""
    token = _joining.set(())
    try:
        yield
    finally:
        _joining.reset(token)


def join(changes: Changes) -> None:
    """Add the records that belong to the effect of the call in progress. Every State calls it before it commits."""
    for one in _joining.get():
        one(changes)
