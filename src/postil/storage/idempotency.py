"""Idempotency keys over any State: the same key gives the same answer and one effect, in every process that shares it.

A call first claims its key, durably; then it makes its effect; then it stores its answer. A repeat meanwhile waits for
that answer. If the process dies between claim and answer, nobody can know whether the effect happened, so repeats are
refused with that sentence instead of risking a second effect: at most once. A claim counts as dead when its process is
gone, or, where that cannot be seen (another host), after CLAIM_SECONDS.
"""

from __future__ import annotations

import time

import msgspec

from postil.core.ports import State
from postil.storage.failures import KeyInFlight, KeyInterrupted, KeyReused
from postil.storage.holder import is_alive, this_process

KEPT_SECONDS = 24 * 3600.0
CLAIM_SECONDS = 900.0
WAIT_SECONDS = 60.0
_SPACE = "idempotency"


class _Held(msgspec.Struct, frozen=True):
    fingerprint: str
    holder: str
    claimed: float
    outcome: bytes | None = None


class IdempotencyKeys:
    """The Keys port over a State."""

    def __init__(self, state: State, wait_seconds: float = WAIT_SECONDS) -> None:
        self._state = state
        self._wait_seconds = wait_seconds

    def begin(self, scope: str, key: str, fingerprint: str) -> bytes | None:
        """Returns the stored outcome, or None when the caller has to make the effect now."""
        name = _name(scope, key)
        deadline = time.monotonic() + self._wait_seconds
        while True:
            seen = self._state.version()
            held = self._claim(name, fingerprint)
            if held is None:
                return None
            if held.fingerprint != fingerprint:
                raise KeyReused
            if held.outcome is not None:
                return held.outcome
            if not is_alive(held.holder, held.claimed, CLAIM_SECONDS):
                raise KeyInterrupted
            left = deadline - time.monotonic()
            # Woken by any write, and at least once a second to see whether the holder still lives.
            if left <= 0 or (not self._state.wait(seen, min(left, 1.0)) and left <= 1.0):
                raise KeyInFlight(self._wait_seconds)

    def _claim(self, name: str, fingerprint: str) -> _Held | None:
        """Returns the record that is there already, or None after claiming the key."""
        with self._state.reading() as records:  # the common repeat needs no write
            stored = records.get(_SPACE, name)
        if stored is None:
            with self._state.writing() as changes:
                stored = changes.get(_SPACE, name)
                if stored is None:
                    claim = _Held(fingerprint, this_process(), time.time())
                    changes.put(_SPACE, name, msgspec.json.encode(claim), time.time() + KEPT_SECONDS)
                    return None
        return msgspec.json.decode(stored, type=_Held)

    def finish(self, scope: str, key: str, outcome: bytes) -> None:
        """Keep the outcome for a day: from now on `begin` returns it."""
        name = _name(scope, key)
        with self._state.writing() as changes:
            stored = changes.get(_SPACE, name)
            if stored is None:
                return
            held = msgspec.json.decode(stored, type=_Held)
            done = _Held(held.fingerprint, held.holder, held.claimed, outcome)
            changes.put(_SPACE, name, msgspec.json.encode(done), time.time() + KEPT_SECONDS)

    def abandon(self, scope: str, key: str) -> None:
        """Free the key: the effect did not happen."""
        with self._state.writing() as changes:
            changes.delete(_SPACE, _name(scope, key))


def _name(scope: str, key: str) -> str:
    import hashlib  # only calls with a key pay for it

    return hashlib.sha256(f"{len(scope)}:{scope}{key}".encode("utf-8", "surrogatepass")).hexdigest()
