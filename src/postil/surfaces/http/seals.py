"""Seals: what says that a replica let this very request in, and handed it on to the turn that serves its workspace.

A seal is for one request of one caller, for one turn of the workspace, and counts once: what somebody recorded on the
way between two replicas is of no use, neither here, nor at the replica that serves the workspace next, nor after a
restart, which begins another turn.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import time

from postil.surfaces.gateway.visitor import READ_ONLY, TOOLSETS
from postil.wire.transports.http.headers import LAST_EVENT, SESSION, VERSION, Headers

SEAL = b"x-postil-forwarded"
SKEW = 300.0
"""Seconds by which the clocks of two replicas may differ."""
MOST = 100_000
"""Seals that are remembered."""
_SEALED = (b"authorization", b"private-token", b"idempotency-key", SESSION, VERSION, LAST_EVENT, READ_ONLY, TOOLSETS)
"""Headers that say who asks for what."""


class Seals:
    """Makes seals, and takes each of them once. Memory is bounded: see `_remember`."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._seen: dict[bytes, tuple[float, int]] = {}
        """When each seal came by this clock, and the time that it says; the oldest first."""
        self._floor = 0
        """A seal that says this time or an earlier one may be one that was forgotten."""

    def make(self, turn: int, method: str, path: str, headers: Headers, body: bytes) -> bytes:
        """Returns what says that this very request was let in here, for a turn of the workspace."""
        said = b"%d %d %s" % (time.time(), turn, os.urandom(16).hex().encode())
        return said + b" " + self._digest(said, method, path, headers, body)

    def take(self, method: str, path: str, headers: Headers, body: bytes) -> int | None:
        """Returns the turn for which a replica that shares our secret let this request in, just now and not before."""
        said, _, digest = headers.get(SEAL, b"").rpartition(b" ")
        if len(said) > 80 or not hmac.compare_digest(digest, self._digest(said, method, path, headers, body)):
            return None
        made, turn, _ = said.split(b" ")
        now = time.time()
        if abs(now - int(made)) > SKEW or not self._remember(digest, int(made), now):
            return None
        return int(turn)

    def _remember(self, digest: bytes, made: int, now: float) -> bool:
        """Returns whether this seal is new.

        Where so many come that some are forgotten before their time, those that are as old count for nothing: rather
        than take a seal twice, this refuses a replica whose clock is behind.
        """
        seen = self._seen
        while seen and next(iter(seen.values()))[0] + 2 * SKEW < now:
            del seen[next(iter(seen))]
        if digest in seen or made <= self._floor:
            return False
        seen[digest] = now, made
        if len(seen) > MOST:
            first = next(iter(seen))
            self._floor = max(self._floor, seen.pop(first)[1])
        return True

    def _digest(self, said: bytes, method: str, path: str, headers: Headers, body: bytes) -> bytes:
        parts = (said, method.encode(), path.encode(), body, *(headers.get(name, b"") for name in _SEALED))
        hashed = b"".join(hashlib.sha256(part).digest() for part in parts)
        return hmac.digest(self._key, hashed, "sha256").hex().encode()
