"""The shell over the echo part: what `postil` does with any part, without one of the real ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextvars import copy_context

from postil.core.catalogue import OperationEntry
from postil.core.ports import Deliveries, EphemeralStore, Keys, State
from postil.core.registry import Registry
from postil.settings.model import Settings
from postil.state_operations import StateOperations
from postil.storage.ephemeral import MemoryEphemeralStore
from postil.storage.idempotency import IdempotencyKeys
from postil.storage.memory import MemoryState
from postil.surfaces.composition import ServedWorkspace
from postil.surfaces.shell.run import run
from postil.wire.server import UNITED, Face, Hooks, Server
from tests.core.echo import Echo


class EchoApp:
    """A composition of one part, living as long as the test wants."""

    def __init__(self) -> None:
        self.settings = Settings()
        self.echo = Echo()
        self.state = MemoryState()

    def __call__(self, settings: Settings) -> EchoApp:
        self.settings = settings
        return self

    @property
    def is_shared(self) -> bool:
        return False

    @property
    def state_operations(self) -> StateOperations:
        return StateOperations(self.settings, self.state_database)

    def counts(self) -> dict[str, float]:
        return {}

    def workspaces(self, hooks: Hooks, address: str) -> Mapping[str, ServedWorkspace]:
        return {}

    def registry(self, parts: Iterable[str] = (), *, brought: bool = False) -> Registry:
        return Registry.of([("echo", self.echo)], self.settings.offer())

    def tools(self) -> Sequence[OperationEntry]:
        return self.registry().tools

    def parts_with(self, word: str) -> Sequence[str]:
        return ()

    def server(self, contract: str = "", *, over_http: bool = False) -> Server:
        return Server(self.registry(), Face("echo", "1", UNITED), keys=self.keys)

    def state_database(self) -> State:
        return self.state

    def deliveries(self) -> Deliveries:
        raise NotImplementedError

    def ephemeral(self) -> EphemeralStore:
        return MemoryEphemeralStore()

    def keys(self) -> Keys:
        return IdempotencyKeys(self.state)


def postil(*words: str, app: EchoApp | None = None) -> int:
    """Run one command line in this process; the exit status. Leaves no call behind for other tests."""
    return copy_context().run(run, list(words), "postil", app or EchoApp())
