"""A delivery: something another system told us, kept before it is answered and worked on after."""

from __future__ import annotations

from typing import Protocol

from msgspec import Raw, Struct


class Delivery(Struct, frozen=True):
    """One event as it came."""

    id: str
    """What the sender calls it; the same when it is sent again."""
    event: str
    project_id: int | None
    project: str
    received: float
    body: Raw


class Deliveries(Protocol):
    """Where deliveries are kept. Blocks: use a thread."""

    def keep(self, delivery: Delivery) -> bool:
        """Keep it durably; False when it was kept before."""
        ...

    def heard(self, delivery: Delivery) -> None:
        """A new one was kept and answered: time to work on it. Called on the event loop; does not block."""
        ...
