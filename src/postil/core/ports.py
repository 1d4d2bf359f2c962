"""Protocols for what has two implementations on the first day."""

from __future__ import annotations

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
