"""What the workspaces of one gateway share, each in a room of its own: idempotency keys and the audit."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from postil.storage.idempotency import IdempotencyKeys

if TYPE_CHECKING:
    from postil.core.call import Caller
    from postil.core.effects.joining import Join
    from postil.core.effects.witness import Opened, Witness
    from postil.core.ports import State


class WorkspaceKeys:
    """The Keys port for one workspace: the same key in another one is another key."""

    def __init__(self, state: State, name: str, fence: Callable[[str], str]) -> None:
        self._keys = IdempotencyKeys(state, fence=lambda scope: fence(scope.rpartition("\n")[2]))
        self._name = name

    def begin(self, scope: str, key: str, fingerprint: str) -> bytes | None:
        """Returns the stored outcome, or None when the caller has to make the effect now."""
        return self._keys.begin(self._within(scope), key, fingerprint)

    def marker(self, scope: str, key: str) -> Join:
        """Returns what marks the key in the transaction of an effect in the state."""
        return self._keys.marker(self._within(scope), key)

    def finish(self, scope: str, key: str, outcome: bytes) -> None:
        """Keep the outcome."""
        self._keys.finish(self._within(scope), key, outcome)

    def abandon(self, scope: str, key: str) -> None:
        """Free the key, unless the effect was committed."""
        self._keys.abandon(self._within(scope), key)

    def _within(self, scope: str) -> str:
        return f"workspace {self._name}\n{scope}"


class WorkspaceWitness:
    """The audit's hand in one workspace: operations are written down with its name."""

    def __init__(self, audit: Witness, name: str) -> None:
        self._audit, self._name = audit, name

    def open(self, caller: Caller, operation: str, arguments: object) -> Opened:
        """Note what is about to be changed."""
        return self._audit.open(caller, f"{self._name}/{operation}", arguments)
