"""What the surfaces ask of the composition root, without knowing it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from postil.core.catalogue import OperationEntry
    from postil.core.effects.witness import Audit
    from postil.core.ports import Deliveries, EphemeralStore, Keys, State
    from postil.core.registry import Registry
    from postil.settings.model import Settings
    from postil.wire.server import Hooks, Server


class StateOperations(Protocol):
    """What keeps the state well, for operators."""

    def require_durable(self) -> None:
        """Raises where the shared state may lose what was acknowledged, and nobody accepted that."""
        ...

    def check_ephemeral(self) -> None:
        """Raises where a Redis for what may vanish is named and does not answer. Blocks."""
        ...

    def tell_outages(self, tell: Callable[[str], None]) -> None:
        """Call `tell` with a sentence when a shared store goes, and when it is back."""
        ...

    def check_writable(self) -> None:
        """Raises where a write to the state would fail now. Blocks: use a thread."""
        ...

    def save_backup(self, path: str) -> tuple[int, float]:
        """Write a backup of the state and the secret. Returns how many records it holds, and when it was made."""
        ...

    def restore_backup(self, path: str, *, force: bool) -> tuple[int, float]:
        """Replace the state and the secret by a backup. Returns as `save_backup` does."""
        ...

    def finish_writes(self, seconds: float) -> None:
        """Wait until what follows acknowledged writes is stored, at most so long."""
        ...

    def remove_leftovers(self) -> object:
        """Remove what killed writers left in the workspace, beside the start of a server."""
        ...

    def audit(self) -> Audit:
        """Returns the audit in the state database."""
        ...


class ServedWorkspace(Protocol):
    """One of many workspaces."""

    name: str

    @property
    def current(self) -> Server | None:
        """Its server, if this process serves it now and is ready. Does not block."""
        ...

    @property
    def turn(self) -> int:
        """The number of the turn in which this process serves it; 0 where it has none. Does not block."""
        ...

    def find(self) -> Server | tuple[str, int]:
        """Returns its server, or the address of the replica that serves it and the number of its turn.

        Blocks; raises a Failure.
        """
        ...

    def close(self) -> None:
        """Let another replica serve it."""
        ...


class Composition(Protocol):
    """One composed Postil, as `postil.app` makes it."""

    settings: Settings

    @property
    def is_shared(self) -> bool:
        """Whether other replicas see the same state."""
        ...

    @property
    def state_operations(self) -> StateOperations:
        """What keeps the state well."""
        ...

    def registry(self, parts: Iterable[str] = (), *, brought: bool = False) -> Registry:
        """Returns what the settings leave visible of these parts; of all by default.

        Callers may have `brought` a GitLab token of their own.
        """
        ...

    def tools(self) -> Sequence[OperationEntry]:
        """Returns what assistants are offered."""
        ...

    def parts_with(self, word: str) -> Sequence[str]:
        """Returns the parts that have commands with this first word."""
        ...

    def state_database(self) -> State:
        """Returns the state database, opened on first use."""
        ...

    def counts(self) -> dict[str, float]:
        """Returns what the parts count, for the metrics."""
        ...

    def deliveries(self) -> Deliveries:
        """Returns where events from outside are kept. Asking for it begins the work on those that are kept already."""
        ...

    def ephemeral(self) -> EphemeralStore:
        """Returns what is shared for a moment only: limits, nonces, kept answers."""
        ...

    def keys(self) -> Keys:
        """Returns the idempotency keys of the state database."""
        ...

    def workspaces(self, hooks: Hooks, address: str) -> Mapping[str, ServedWorkspace]:
        """Returns the workspaces of the settings by name. `address`: where other replicas reach this one."""
        ...

    def server(self, contract: str = "", *, over_http: bool = False) -> Server:
        """Returns the united server, or the face of one old contract."""
        ...


class Compose(Protocol):
    """How a composition is made; also says which parts there are."""

    def __call__(self, settings: Settings) -> Composition: ...
