"""Idempotency keys over any State: the same key gives the same answer and one effect, in every process that shares it.

A call first claims its key, durably; then it makes its effect; then it stores its answer. A repeat meanwhile waits for
that answer. An effect in the state marks the key in its own transaction, so whether it happened is known even if the
process dies right after. Where the effect is elsewhere and the process dies between claim and answer, nobody can know;
repeats are refused with that sentence instead of risking a second effect: at most once.

A claim counts as dead when its process is gone, and in any case after CLAIM_SECONDS. An answer that cannot be stored is
tried again in the background, and repeats in the same process get it at once.
"""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING

import msgspec

from postil.core import call
from postil.core.effects.joining import alone
from postil.core.failure import Failure
from postil.core.ports import State
from postil.storage.failures import KeyEffected, KeyInFlight, KeyInterrupted, KeyReused, StateAway, StateUnclear
from postil.storage.holder import is_alive, this_process
from postil.storage.later import LATER

if TYPE_CHECKING:
    from collections.abc import Callable

    from postil.core.effects.joining import Join
    from postil.core.ports import Changes

KEPT_SECONDS = 24 * 3600.0
CLAIM_SECONDS = 900.0
WAIT_SECONDS = 60.0
_SPACE = "idempotency"


class _Held(msgspec.Struct, frozen=True):
    fingerprint: str
    holder: str
    claimed: float
    outcome: bytes | None = None
    claim: str = ""
    """The name of this claim: nobody else ends it."""
    effected: bool = False
    """Whether an effect in the state was committed together with this mark."""
    fence: str = ""
    """What the effect is bound to: under another fence it can be committed no more."""


class _Mine(msgspec.Struct):
    """A claim of this process."""

    claim: str
    fingerprint: str
    outcome: bytes | None = None
    """The answer, while it waits to be stored."""


_claims: set[str] = set()
"""The claims that calls of this process hold. A claim of this process that is missing here is held by no call."""


class IdempotencyKeys:
    """The Keys port over a State."""

    def __init__(
        self, state: State, wait_seconds: float = WAIT_SECONDS, fence: Callable[[str], str] = lambda scope: ""
    ) -> None:
        self._state = state
        self._fence = fence
        """Returns what effects of a scope are bound to: a claim under an earlier fence is void. Empty: nothing."""
        self._wait_seconds = wait_seconds
        self._mine: dict[str, _Mine] = {}
        self._lock = threading.Lock()

    def begin(self, scope: str, key: str, fingerprint: str) -> bytes | None:
        """Returns the stored outcome, or None when the caller has to make the effect now."""
        name, fence = _name(scope, key), self._fence(scope)
        deadline = time.monotonic() + self._wait_seconds
        while True:
            mine = self._mine.get(name)
            if mine is not None and mine.outcome is not None and mine.fingerprint == fingerprint:
                return mine.outcome
            seen = self._state.version()
            held = self._claim(name, fingerprint, fence)
            if held is None:
                return None
            if held.fingerprint != fingerprint:
                raise KeyReused
            if held.outcome is not None:
                return held.outcome
            if not _may_run(held):
                raise KeyEffected if held.effected else KeyInterrupted
            left = deadline - time.monotonic()
            # Woken by any write, and at least once a second to see whether the holder still lives.
            with call.current().waiting():
                news = left > 0 and self._state.wait(seen, min(left, 1.0))
            if not news and left <= 1.0:
                raise KeyInFlight(self._wait_seconds)

    def _claim(self, name: str, fingerprint: str, fence: str) -> _Held | None:
        """Returns the record that is there already, or None after claiming the key."""
        with self._state.reading() as records:  # the common repeat needs no write
            stored = records.get(_SPACE, name)
        if stored is not None:
            held = _decode(stored)
            if not _is_void(held, fence):
                return held
        claim = _Held(fingerprint, this_process(), time.time(), claim=os.urandom(12).hex(), fence=fence)
        with self._lock:
            if name in self._mine:
                return claim  # another call of this process is just claiming it: wait for that one
            self._mine[name] = _Mine(claim.claim, fingerprint)
            _claims.add(claim.claim)
        try:
            with alone(), self._state.writing() as changes:
                stored = changes.get(_SPACE, name)
                held = None if stored is None else _decode(stored)
                if held is not None and _is_void(held, fence):
                    held = None
                if held is None:
                    changes.put(_SPACE, name, msgspec.json.encode(claim), time.time() + KEPT_SECONDS)
        except StateUnclear as unclear:  # the claim may be there; the effect was not begun
            self._end_claim(name, None)
            raise StateAway(unclear.message) from unclear
        except BaseException:
            self._release(name)
            raise
        if held is not None:
            self._release(name)
        return held

    def marker(self, scope: str, key: str) -> Join:
        """Returns what joins the effect's own write, where it is in the state: a mark that it happened."""
        name = _name(scope, key)
        mine = self._mine.get(name)

        def mark(changes: Changes) -> None:
            held = self._held(changes, name, mine)
            if held is not None and not held.effected:
                self._put(changes, name, msgspec.structs.replace(held, effected=True))

        return mark

    def finish(self, scope: str, key: str, outcome: bytes) -> None:
        """Keep the outcome for a day: from now on `begin` returns it. It is stored later where that fails now."""
        self._end_claim(_name(scope, key), outcome)

    def abandon(self, scope: str, key: str) -> None:
        """Free the key, unless the effect was committed all the same. It is freed later where that fails now."""
        self._end_claim(_name(scope, key), None)

    def _end_claim(self, name: str, outcome: bytes | None) -> None:
        """End a claim, now or later: the effect and its answer are known, so its caller hears of no fault here."""
        mine = self._mine.get(name)
        if mine is not None:
            mine.outcome = outcome
        if outcome is None:
            self._release(name)  # a repeat in this process may begin at once

        def end() -> None:
            with alone(), self._state.writing() as changes:
                held = self._held(changes, name, mine)
                if held is None:
                    pass  # expired meanwhile, or never claimed
                elif outcome is not None:
                    self._put(changes, name, msgspec.structs.replace(held, outcome=outcome))
                elif held.effected:
                    self._put(changes, name, msgspec.structs.replace(held, holder=""))  # done, without an answer
                else:
                    changes.delete(_SPACE, name)
            if outcome is not None:
                self._release(name)

        try:
            end()
        except Failure:
            LATER.add(end, KEPT_SECONDS)

    def _held(self, changes: Changes, name: str, mine: _Mine | None) -> _Held | None:
        """Returns the claim as it is stored, if it is still the one of this call."""
        stored = changes.get(_SPACE, name)
        held = None if stored is None else _decode(stored)
        if held is None or held.outcome is not None or (mine is not None and held.claim != mine.claim):
            return None
        return held

    def _put(self, changes: Changes, name: str, held: _Held) -> None:
        changes.put(_SPACE, name, msgspec.json.encode(held), time.time() + KEPT_SECONDS)

    def _release(self, name: str) -> None:
        with self._lock:
            mine = self._mine.pop(name, None)
            if mine is not None:
                _claims.discard(mine.claim)


def _decode(stored: bytes) -> _Held:
    """Returns a record. Raises KeyInterrupted for one that cannot be read: nobody knows what it said."""
    try:
        return msgspec.json.decode(stored, type=_Held)
    except (ValueError, RecursionError):
        raise KeyInterrupted from None


def _may_run(held: _Held) -> bool:
    """Returns whether the call that made this claim may still be at work."""
    if not held.holder or abs(time.time() - held.claimed) >= CLAIM_SECONDS:
        return False
    return is_alive(held.holder, held.claimed, CLAIM_SECONDS)


def _is_void(held: _Held, fence: str) -> bool:
    """Returns whether the effect of a claim was not made, and never will be.

    Its fence is an earlier one; or this process made the claim, and no call holds it any more.
    """
    if held.outcome is not None or held.effected:
        return False
    if held.fence and fence and held.fence != fence:
        return True
    return bool(held.claim) and held.claim not in _claims and held.holder == this_process()


def _name(scope: str, key: str) -> str:
    import hashlib  # only calls with a key pay for it

    return hashlib.sha256(f"{len(scope)}:{scope}{key}".encode("utf-8", "surrogatepass")).hexdigest()
