"""The call in progress, as an operation sees it that was reached over the wire."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

from postil.core.call import Call, Caller, Level, Question, hold_by
from postil.core.catalogue import OperationEntry
from postil.wire.protocol import notifications
from postil.wire.protocol.eras import stateless
from postil.wire.protocol.events import Work
from postil.wire.runtime.room import OUTSIDE, NeedsRoom, Stay

if TYPE_CHECKING:
    from postil.wire.runtime.runner import Runner

READING = frozenset({"resource", "prompt", "completion"})
"""Kinds of work that change nothing, whatever they ask for."""
STATUS = ":status"
"""Told by a call whose failure has an HTTP status of its own."""


class Outlet(Protocol):
    """Where the frames of one request go."""

    def send(self, frame: bytes) -> None:
        """Take a message that comes before the answer."""
        ...

    def answer(self, frame: bytes, code: int) -> None:
        """Take the answer, with its error code or 0."""
        ...

    def end(self) -> None:
        """Hear that no answer will come."""
        ...

    def tell(self, name: str, value: str) -> None:
        """Take what a call says beside its answer."""
        ...

    @property
    def is_heard(self) -> bool:
        """Whether anybody reads what is sent."""
        ...


class Right(Protocol):
    """What lets a caller in. It is looked at again while anything is open that it allowed."""

    def hold(self, end: Callable[[], object]) -> Callable[[], None]:
        """Call `end` when the right is lost. Returns what says that it need not be."""
        ...


class WireCall(Call):
    """One request at work."""

    stay: Stay = OUTSIDE
    """What it holds of large things."""
    _trace: Mapping[str, str] | None = None

    def __init__(self, runner: Runner, work: Work, out: Outlet, caller: Caller) -> None:
        self.caller = caller  # all that the class above does: a call costs less without asking it
        self.runner = runner
        self.work = work
        self.out = out
        if work.for_person:
            self.person = True

    @property
    def trace(self) -> Mapping[str, str]:
        if self._trace is not None:
            return self._trace
        beside: Mapping[str, str] = getattr(self.out, "trace", {})
        if "traceparent" not in self.work.meta and not beside:
            return {}
        from postil.wire.protocol import trace_context  # few clients name a trace

        self._trace = trace_context.read(self.work.meta) or trace_context.read(beside)
        return self._trace

    @trace.setter
    def trace(self, carrier: Mapping[str, str]) -> None:
        self._trace = carrier

    def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        if self.stay is OUTSIDE or self.stay.is_farther(done):
            self.send(notifications.progress(self.work, done, total, message))

    def log(self, level: Level, data: object, logger: str = "") -> None:
        is_stateless = self.work.era.stateless
        wanted = self.work.meta.get(stateless.LOG_LEVEL) if is_stateless else self.runner.session.log_level
        self.send(notifications.log(wanted, level, {"data": data, "logger": logger} if logger else {"data": data}))

    def tell(self, name: str, value: str) -> None:
        self.runner.on_loop(lambda: self.out.tell(name, value))

    @property
    def is_heard(self) -> bool:
        return self.out.is_heard

    def when_delivered(self, confirmed: Callable[[], None], lost: Callable[[], None]) -> None:
        self.runner.on_loop(lambda: self.runner.note_delivery(self, confirmed, lost))

    async def ask(self, questions: Mapping[str, Question]) -> Mapping[str, object]:
        if self.work.era.stateless:
            return stateless.recall(questions, self.work.answers, self.work.meta)
        return {key: await self.runner.ask(question, self.out) for key, question in questions.items()}

    def send(self, frame: bytes) -> None:
        """Send a frame that belongs to this request, from any thread; an empty one is none."""
        if frame and not self.cancelled:
            self.runner.on_loop(lambda: None if self.cancelled else self.out.send(frame))

    async def in_thread(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Run something that blocks in the bounded pool, with this call as the call in progress."""
        share, pool = self.runner.share, self.runner.server.pool
        if not _begins_again(self.work):
            return await pool.run(share, contextvars.copy_context().run, function, *arguments)
        if self.stay is OUTSIDE:
            self.stay = Stay(pool.room, self.caller.principal)
        while True:
            context = contextvars.copy_context()
            context.run(hold_by, self.stay)
            try:
                return await pool.run(share, context.run, self.stay.work, function, *arguments)
            except NeedsRoom as needed:
                size = needed.size
                needed.__traceback__ = None  # its frames and the call hold each other, until the collector comes
            await self.stay.move(size)

    def waiting(self) -> AbstractContextManager[None]:
        if threading.get_ident() == self.runner.thread:
            return super().waiting()
        return self.runner.server.pool.waiting(self.runner.share)


def _begins_again(work: Work) -> bool:
    """Whether a call may be begun twice: it has no effect."""
    entry = work.entry
    return entry.effect == "reads" if isinstance(entry, OperationEntry) else work.kind in READING
