"""Protocols for what has two implementations on the first day."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol


class Keys(Protocol):
    """Idempotency keys: the same key gives the same answer and one effect. Calls block: use a thread."""

    def begin(self, scope: str, key: str, fingerprint: str) -> bytes | None:
        """The stored outcome of this key, or None when the effect is the caller's to make now.

        Waits while another process is at it. The same key with another fingerprint raises Conflict.
        """
        ...

    def finish(self, scope: str, key: str, outcome: bytes) -> None:
        """Keep the outcome: from now on `begin` answers it."""
        ...

    def abandon(self, scope: str, key: str) -> None:
        """The effect did not happen: the key is free again."""
        ...


class Records(Protocol):
    """What one moment of the state holds: records by key, in spaces that each part names after itself (`inbox/…`)."""

    def get(self, space: str, key: str) -> bytes | None:
        """The value, or None when there is none or it has expired."""
        ...

    def range(self, space: str, after: str = "", limit: int | None = None) -> list[tuple[str, bytes]]:
        """Keys and values in the order of keys, beginning behind `after`."""
        ...

    def count(self, space: str) -> int:
        """How many records a space holds."""
        ...


class Changes(Records, Protocol):
    """A write in progress: it sees its own changes; all of them happen, durably, or none."""

    def put(self, space: str, key: str, value: bytes, expires: float | None = None) -> None:
        """Keep a value, until the given time (seconds since 1970) if there is one."""
        ...

    def delete(self, space: str, key: str) -> None:
        """Forget a value; one that is not there is no fault."""
        ...

    def next(self, counter: str) -> int:
        """1, 2, 3 …: a number that this counter never gave before, in any process."""
        ...


class State(Protocol):
    """The state database: small records of many parts, shared by processes. Thread-safe; calls block.

    Writes are one after another over all processes, so what a write read is still true when it commits. Keep them
    short: no waiting, no git, no network inside.
    """

    def reading(self) -> AbstractContextManager[Records]:
        """A consistent look at the records."""
        ...

    def writing(self) -> AbstractContextManager[Changes]:
        """Change records: durable when the block ends, nothing changed when it raises."""
        ...

    def version(self) -> int:
        """A number that grows with every write, by whichever process, and survives restarts."""
        ...

    def wait(self, beyond: int, timeout: float) -> bool:
        """Wait until the version is greater than `beyond`; False when the time is over first."""
        ...

    def on_change(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Call `changed` from some thread after writes, by whichever process, until the returned function is called."""
        ...

    def close(self) -> None:
        """Let go of files and threads."""
        ...
