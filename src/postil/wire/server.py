"""What a server is on the wire: its face, its registry, and what all of its connections share."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from msgspec import Struct, structs

from postil.core.call import Caller
from postil.core.catalogue import OperationEntry
from postil.core.registry import Registry
from postil.wire.protocol.face import UNITED, Face, Profile

if TYPE_CHECKING:
    import asyncio

    from postil.core.effects.witness import Witness
    from postil.core.ports import EphemeralStore, Keys
    from postil.wire.protocol.url_elicitation import Page
    from postil.wire.runtime.latency import Histogram
    from postil.wire.runtime.pool import Pool
    from postil.wire.runtime.tasks import Tasks
    from postil.wire.runtime.wire_call import WireCall
    from postil.wire.runtime.work import Do

__all__ = ["UNITED", "Face", "Hooks", "Server"]


def report(bug: BaseException, where: str) -> None:
    """Log a bug in full, once, where people look: stderr."""
    import traceback  # bugs only

    lines = "".join(traceback.format_exception(bug))
    sys.stderr.write(f"postil: bug in {where}\n{lines}")


class Hooks(Struct, frozen=True):
    """What a surface adds to a server: who hears of writes and bugs, and what replicas share."""

    witness: Witness | None = None
    """Writes down what is changed; what it cannot write down is not begun."""
    page_for: Callable[[Caller, str], Page | None] | None = None
    """Returns the page where a caller can give what a failure wants; None where that is impossible."""
    shared: EphemeralStore | None = None
    """Where replicas share sessions; None where there is one process."""
    trace: Callable[[WireCall, Do], Coroutine[Any, Any, object]] | None = None
    """Does the work of a call inside a span; None where nobody traces."""
    report: Callable[[BaseException, str], None] = report
    note_call: Callable[[str, str, int], None] | None = None
    """Hears how each call of an operation ended: its name, `ok` or `failed`, the code of its error."""
    around: Callable[[OperationEntry], AbstractContextManager[None]] | None = None
    """What surrounds the effect of every write; None where effects count by themselves."""


class Server:
    """A registry with a face, shared by all connections of this process."""

    def __init__(
        self,
        registry: Registry,
        face: Face,
        *,
        keys: Callable[[], Keys] | None = None,
        secret: Callable[[], bytes] | None = None,
        hooks: Hooks | None = None,
    ) -> None:
        self.registry = registry
        self.face = face
        self.hooks = hooks or Hooks()
        self.report = self.hooks.report
        self.profile = self._profile()
        self.calls: dict[tuple[str, str], Histogram] = {}
        """How often each operation was called, how that ended and how long it took, for the metrics."""
        self.going: dict[tuple[str, str, str], asyncio.Future[None]] = {}
        """The calls at work under an idempotency key, by principal, operation and key: repeats wait for them."""
        self._make_keys = keys
        self._make_secret = secret or (lambda: os.urandom(32))
        self._keys: Keys | None = None
        self._secret = b""
        self._pool: Pool | None = None
        self._tasks: Tasks | None = None

    def _profile(self) -> Profile:
        profile = Profile(self.face, self.registry, lambda: self.secret)
        self._stop_hearing = self.registry.on_list_changed(lambda _: profile.pages.clear())
        return profile

    def note_call(self, name: str, outcome: str, code: int, seconds: float) -> None:
        """Count a call of an operation that has ended."""
        try:
            known = self.calls[name, outcome]
        except KeyError:
            from postil.wire.runtime.latency import Histogram  # not before the first call

            known = self.calls[name, outcome] = Histogram()
        known.note(seconds)
        if self.hooks.note_call is not None:
            self.hooks.note_call(name, outcome, code)

    @property
    def keys(self) -> Keys | None:
        """The idempotency keys, opened on first need."""
        if self._keys is None and self._make_keys is not None:
            self._keys = self._make_keys()
        return self._keys

    @property
    def secret(self) -> bytes:
        """The key that seals `requestState`, made on first need."""
        self._secret = self._secret or self._make_secret()
        return self._secret

    @property
    def pool(self) -> Pool:
        """The threads for what blocks, shared fairly."""
        if self._pool is None:
            from postil.wire.runtime.pool import Pool  # a server that only lists never needs it

            self._pool = Pool()
        return self._pool

    @property
    def tasks(self) -> Tasks:
        """Calls that were answered with a task and go on."""
        if self._tasks is None:
            from postil.wire.runtime.tasks import Tasks  # few clients know of tasks

            self._tasks = Tasks(self)
        return self._tasks

    def work_beside(self, other: Server) -> None:
        """Take threads, and room for large things, of another server of this process. To be called before it serves."""
        self._pool = other.pool

    def retire(self) -> None:
        """Let the registry go on without it. It may still answer who has it."""
        self._stop_hearing()

    async def close_tasks(self, grace: float) -> None:
        """End the tasks, if there were any."""
        if self._tasks is not None:
            await self._tasks.close(grace)

    def with_hooks(self, hooks: Hooks) -> Server:
        """Returns a server that is this one with these hooks. To be called before it serves."""
        return Server(self.registry, self.face, keys=self._make_keys, secret=self._make_secret, hooks=hooks)

    def with_website(self, address: str) -> Server:
        """Returns a server that is this one and names this address to its clients. To be called before it serves."""
        face = structs.replace(self.face, website=address)
        return Server(self.registry, face, keys=self._make_keys, secret=self._make_secret, hooks=self.hooks)

    def narrow(self, registry: Registry) -> Server:
        """Returns a server beside this one that offers less; threads, keys and the secret are the same."""
        narrow = Server(registry, self.face, keys=self._make_keys, secret=lambda: self.secret, hooks=self.hooks)
        narrow._pool, narrow._tasks, narrow.calls = self.pool, self.tasks, self.calls
        return narrow
