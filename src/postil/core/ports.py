"""Protocols for what has two implementations on the first day."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol, TypeAlias

from msgspec import Raw, Struct

if TYPE_CHECKING:
    from postil.core.effects.joining import Join


class Keys(Protocol):
    """Idempotency keys: the same key gives the same answer and one effect. Calls block: use a thread."""

    def begin(self, scope: str, key: str, fingerprint: str) -> bytes | None:
        """Returns the stored outcome of this key, or None when the effect is the caller's to make now.

        Waits while another process is at it. The same key with another fingerprint raises Conflict.
        """
        ...

    def marker(self, scope: str, key: str) -> Join:
        """Returns what marks the key in the transaction of an effect in the state. For `joining`."""
        ...

    def finish(self, scope: str, key: str, outcome: bytes) -> None:
        """Keep the outcome: from now on `begin` answers it. Raises no failure: it is kept later if not now."""
        ...

    def abandon(self, scope: str, key: str) -> None:
        """The effect did not happen: the key is free again, now or later. One that is marked stays."""
        ...


class Records(Protocol):
    """What one moment of the state holds: records by key, in spaces that each part names after itself (`inbox/…`)."""

    def get(self, space: str, key: str) -> bytes | None:
        """Returns the value, or None when there is none or it has expired."""
        ...

    def range(self, space: str, after: str = "", limit: int | None = None) -> list[tuple[str, bytes]]:
        """Returns keys and values in the order of keys, beginning behind `after`."""
        ...

    def count(self, space: str) -> int:
        """Returns how many records a space holds."""
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
        """Returns a consistent look at the records."""
        ...

    def writing(self) -> AbstractContextManager[Changes]:
        """Change records: durable when the block ends, nothing changed when it raises."""
        ...

    def version(self) -> int:
        """Returns a number that grows with every write, by any process, and survives restarts."""
        ...

    def wait(self, beyond: int, timeout: float) -> bool:
        """Wait until the version is greater than `beyond`; False when the time is over first."""
        ...

    def on_change(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Call `changed` from some thread after writes, by any process. Returns a function that stops that."""
        ...

    def close(self) -> None:
        """Let go of files and threads."""
        ...


RecordRow: TypeAlias = tuple[str, str, bytes, float | None]
"""Space, key, value, and how many seconds it still lives; None if it does not expire."""
CounterRow: TypeAlias = tuple[str, int]


class Dumpable(Protocol):
    """A state that can be copied as a whole."""

    def dump(self) -> tuple[Sequence[CounterRow], Iterator[RecordRow]]:
        """Returns all counters and records of one moment."""
        ...

    def load(self, counters: Iterable[CounterRow], records: Iterable[RecordRow]) -> None:
        """Replace all counters and records, all or nothing."""
        ...


class Taken(Struct, frozen=True):
    """What a rolling window granted."""

    granted: int
    """How many of those asked for."""
    remaining: int
    reset: float
    """When the oldest leaves the window and the next one is free: seconds since 1970."""


class Entry(Struct, frozen=True):
    """Calls that want to begin: how many of whom, and what bounds them. 0 turns a bound off."""

    who: str
    cost: int
    limit: int
    seconds: float
    at_once: int


class Entered(Struct, frozen=True):
    """Which of these calls may begin."""

    granted: int
    remaining: int
    reset: float
    busy: bool = False
    """None may, since too many of theirs run already; nothing was taken from the window."""
    ticket: str = ""
    """To be given to `leave` when they have ended; empty where nobody counts."""


class EphemeralStore(Protocol):
    """What is true for a moment only, and shared by replicas: rolling windows, calls in flight, names seen once,
    answers kept a while.

    Best effort: contents may vanish at any time; callers must not rely on them. Used on the event loop.
    """

    async def enter(self, entry: Entry) -> Entered:
        """Take places in a rolling window and among the calls in flight, in one step."""
        ...

    def leave(self, who: str, ticket: str) -> None:
        """Calls that began have ended. Returns at once; a process that dies without it is noticed by time."""
        ...

    async def take(self, window: str, cost: int, limit: int, seconds: float) -> Taken:
        """Take up to `cost` places in a rolling window that has `limit` of them."""
        ...

    async def first(self, name: str, seconds: float, whose: str = "") -> bool:
        """Returns whether this name of somebody's is new; it stays known for that long.

        Where room is short, those of who has the most are forgotten.
        """
        ...

    async def recall(self, *names: str) -> Sequence[bytes | None] | None:
        """Returns what is kept under each of these names, of one moment; None when nobody can tell."""
        ...

    async def keep(self, values: Mapping[str, bytes], seconds: float) -> bool:
        """Keep values for at most that long, all in one step; False when nobody can.

        Bounded: older ones make room, and of those kept at one time the shorter-lived before the longer-lived.
        """
        ...

    async def forget(self, name: str) -> None:
        """Drop what is kept under this name."""
        ...


class Delivery(Struct, frozen=True):
    """One event that another system told us, as it came."""

    id: str
    """What the sender calls it; the same when it is sent again."""
    event: str
    project_id: int | None
    project: str
    received: float
    body: Raw


class Deliveries(Protocol):
    """Where deliveries are kept, before they are answered and worked on. Blocks: use a thread."""

    def keep(self, delivery: Delivery) -> bool:
        """Keep it durably; False when it was kept before."""
        ...

    def heard(self, delivery: Delivery) -> None:
        """A new one was kept and answered: time to work on it. Called on the event loop; does not block."""
        ...
