"""Running an operation: decode, guard against a second effect, run on the loop or in a thread.

Every surface calls through here, so an operation behaves the same on all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from postil.core import call
from postil.core.effects.joining import joining
from postil.core.failure import Conflict, Failure, InvalidArguments
from postil.core.operation import Operation
from postil.core.others.unreadable import UNREADABLE

if TYPE_CHECKING:
    from postil.core.ports import Keys

LONGEST_KEY = 256
_DOUBT = b"!"  # no JSON begins with it
_Doubtful: TypeAlias = tuple[int, str, str, dict[str, Any]]
"""Code, sentence, advice and facts of a failure."""


def once(operation: Operation, arguments: object, key: str, keys: Keys, run: Callable[[], object]) -> object:
    """Run a write under an idempotency key: a repeated key answers what the first call answered. Blocks."""
    scope, fingerprint = claim(operation, arguments, key)
    stored = keys.begin(scope, key, fingerprint)
    if stored is not None:
        return recall(operation, stored)
    try:
        with joining(keys.marker(scope, key)):
            result = run()
    except Exception as fault:
        give_up(keys, scope, key, fault)
        raise
    keys.finish(scope, key, msgspec.json.encode(result))
    return result


def give_up(keys: Keys, scope: str, key: str, fault: Exception) -> None:
    """After a failed write: free its key, or keep the failure where the effect may have happened all the same.

    Where only the state knows (`in_state`), the key is freed too: its mark says whether the effect happened.
    """
    if isinstance(fault, Failure) and fault.doubtful and not fault.in_state:
        keys.finish(scope, key, _DOUBT + msgspec.json.encode([fault.code, fault.message, fault.advice, fault.data]))
    else:
        keys.abandon(scope, key)


def claim(operation: Operation, arguments: object, key: str) -> tuple[str, str]:
    """Returns the scope of a key (who and what) and the fingerprint of its arguments."""
    if not 0 < len(key) <= LONGEST_KEY:
        raise InvalidArguments(f"An idempotency key has 1 to {LONGEST_KEY} characters", path="idempotency_key")
    import hashlib  # only calls with a key pay for it

    scope = f"{call.current().caller.principal}\n{operation.mark.name}"
    return scope, hashlib.sha256(msgspec.json.encode(arguments, order="deterministic")).hexdigest()


def recall(operation: Operation, stored: bytes) -> object:
    """Returns the stored outcome as the operation's own result type; a doubtful failure is raised again.

    Raises Conflict for one that cannot be read: of another version, or damaged.
    """
    try:
        if not stored.startswith(_DOUBT):
            return msgspec.json.decode(stored, type=operation.result or Any)
        code, message, advice, data = msgspec.json.decode(stored[len(_DOUBT) :], type=_Doubtful)
    except UNREADABLE:
        raise Conflict(
            "The first call with this idempotency key ended, and what it answered cannot be read any more",
            advice="Look whether the effect is there; if it is not, call again with a new key",
        ) from None
    again = Failure(message, advice=advice, **data)
    again.code = code
    raise again
