"""The threads in which operations run that block, shared fairly: nobody's slow calls stop the others.

A connection and a principal have at most their share of the slots; what goes beyond waits for its turn, connection by
connection. The threads share one interpreter, so a principal with many calls at work would slow down every call of the
others: while somebody else calls too, a principal has one slot, and one more beside a call that takes long. An
operation that only waits (for a lock, for a remote) gives its slot back meanwhile: `Call.waiting`.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Generator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from typing import Any, TypeAlias

from postil.wire.runtime.room import Room
from postil.wire.runtime.thread_pool import ThreadPool

MOST = 24
"""Operations at work at once."""
OF_PRINCIPAL = 16
"""Slots of a principal that calls alone."""
OF_SEVERAL = 2
"""Slots of a principal while others call, too; the second only beside a call that takes long."""
LONG = 0.1
"""Seconds after which a call takes long: it must not stop its own principal's quick ones."""
RECENT = 60.0
"""Seconds after a principal's call in which others count as not alone."""
OF_CONNECTION = 8
MOST_WAITING = 24
"""Threads that may wait without a slot; those beyond keep theirs."""
WAITING_OF_PRINCIPAL = 12
THREADS = MOST + MOST_WAITING + 8
"""Eight more than operations can take: watches and acknowledgements never stand behind them."""
Share: TypeAlias = tuple[str, str]
"""Whose slots a call takes: a principal's and a connection's, under names that cannot be the same."""


class RecentCallers:
    """The two principals that called last, which is enough to know whether somebody is alone."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._called: dict[str, float] = {}
        """When they called last."""

    def note(self, principal: str) -> None:
        """Hear that this principal calls."""
        self._called.pop(principal, None)
        self._called[principal] = self._clock()
        if len(self._called) > 2:
            del self._called[next(iter(self._called))]

    def is_alone(self, principal: str) -> bool:
        """Returns whether nobody else has called of late."""
        if len(self._called) == 1 and principal in self._called:
            return True
        since = self._clock() - RECENT
        return all(name == principal or at < since for name, at in self._called.items())


class Pool:
    """The slots and threads of one process. Calls begin on its event loop and end in any thread."""

    def __init__(
        self,
        most: int = MOST,
        of_principal: int = OF_PRINCIPAL,
        of_connection: int = OF_CONNECTION,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most, self._of_principal, self._of_connection = most, of_principal, of_connection
        self._callers = RecentCallers(clock)
        self._threads = ThreadPool(THREADS)
        self.room = Room()
        self._lock = threading.Lock()
        self._clock = clock
        self._taken: dict[str, int] = {}
        self._begun: dict[str, float] = {}
        """When the last call began that a principal has a slot for."""
        self._looking = False
        self._running = 0
        self._waiting: Counter[str] = Counter()
        self._queues: dict[Share, deque[asyncio.Future[None]]] = {}

    @property
    def at_work(self) -> int:
        """How many operations hold a slot."""
        return self._running

    def submit(self, function: Callable[..., object], *arguments: object) -> Future[Any]:
        """Run a small thing of the server's own, beside all operations."""
        done: Future[Any] = Future()
        self._threads.begin(_fulfil, done, function, arguments)
        return done

    async def run(self, share: Share, function: Callable[..., Any], *arguments: Any) -> Any:
        """Run something that blocks in a thread, as soon as its share allows."""
        await self._enter(share)
        outcome: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        try:
            self._threads.begin(self._work, share, outcome, function, arguments)
        except BaseException:
            self._leave(share)
            raise
        try:
            return await outcome
        finally:
            del outcome  # else a fault holds this frame, and this frame the fault: see `_work`

    def _work(
        self, share: Share, outcome: asyncio.Future[Any], function: Callable[..., Any], given: tuple[Any, ...]
    ) -> None:
        """Run it in this thread, whose the slot is: a caller who gives up leaves a thread behind that works on."""
        value, fault = None, None
        try:
            value = function(*given)
        except BaseException as raised:  # noqa: BLE001 - it is raised where the call is waited for
            fault = raised
        self._leave(share)
        try:
            with suppress(RuntimeError):  # the loop has ended: nobody waits any more
                outcome.get_loop().call_soon_threadsafe(_tell, outcome, value, fault)
        finally:
            # A fault holds the frames that it came through, and with them what the call was given.
            del outcome, fault

    @contextmanager
    def waiting(self, share: Share) -> Generator[None]:
        """Give the slot of this thread back while it only waits."""
        principal = share[0]
        with self._lock:
            gives = self._waiting.total() < MOST_WAITING and self._waiting[principal] < WAITING_OF_PRINCIPAL
            if gives:
                self._waiting[principal] += 1
        if not gives:
            yield
            return
        self._leave(share)
        try:
            yield
        finally:
            with self._lock:
                self._waiting[principal] -= 1
                if not self._waiting[principal]:
                    del self._waiting[principal]
                self._count(share, 1)  # at once, though it may be one too many: it holds what others wait for

    async def _enter(self, share: Share) -> None:
        with self._lock:
            self._callers.note(share[0])
            if self._has_room(share) and share not in self._queues:
                self._count(share, 1)
                return
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._queues.setdefault(share, deque()).append(turn)
            self._look_later()
        try:
            await turn
        except asyncio.CancelledError:
            with self._lock:
                queue = self._queues.get(share)
                if queue is not None and turn in queue:
                    queue.remove(turn)
                    if not queue:
                        del self._queues[share]
                    raise
            self._leave(share)  # its turn had come
            raise

    def _leave(self, share: Share) -> None:
        with self._lock:
            self._count(share, -1)
            self._give_slots()

    def _give_slots(self) -> None:
        while self._queues and (due := self._next()) is not None:
            self._count(due, 1)
            queue = self._queues.pop(due)
            turn = queue.popleft()
            if queue:
                self._queues[due] = queue  # behind the others
            turn.get_loop().call_soon_threadsafe(_begin, turn)

    def _look_later(self) -> None:
        """See to it that those who wait beside a call that takes long get their slot though no other call ends."""
        if not self._looking:
            self._looking = True
            asyncio.get_running_loop().call_later(LONG, self._look_again)

    def _look_again(self) -> None:
        with self._lock:
            self._looking = False
            self._give_slots()
            if self._queues:
                self._look_later()

    def _next(self) -> Share | None:
        """Returns whose turn it is among those that wait and have room."""
        if self._running >= self._most:
            return None
        return next((share for share in self._queues if self._has_room(share)), None)

    def _has_room(self, share: Share) -> bool:
        principal, connection = share
        return (
            self._running < self._most
            and self._taken.get(principal, 0) < self._share_of(principal)
            and self._taken.get(connection, 0) < self._of_connection
        )

    def _share_of(self, principal: str) -> int:
        if self._callers.is_alone(principal):
            return self._of_principal
        takes_long = self._clock() - self._begun.get(principal, 0.0) >= LONG
        return min(OF_SEVERAL if takes_long else 1, self._of_principal)

    def _count(self, share: Share, change: int) -> None:
        self._running += change
        taken = self._taken
        for name in share:
            taken[name] = left = taken.get(name, 0) + change
            if not left:
                del taken[name]
        principal = share[0]
        if change > 0:
            self._begun[principal] = self._clock()
        elif principal not in taken:
            self._begun.pop(principal, None)


def _fulfil(done: Future[Any], function: Callable[..., object], arguments: tuple[Any, ...]) -> None:
    if not done.set_running_or_notify_cancel():
        return
    try:
        value = function(*arguments)
    except BaseException as fault:  # noqa: BLE001 - it is raised where the future is asked
        done.set_exception(fault)
        del done  # which the fault holds with this frame
    else:
        done.set_result(value)


def _tell(outcome: asyncio.Future[Any], value: object, fault: BaseException | None) -> None:
    if outcome.done():
        return
    if fault is None:
        outcome.set_result(value)
    elif isinstance(fault, StopIteration):  # which no future takes
        outcome.set_exception(RuntimeError(f"StopIteration was raised: {fault.value!r}"))
    else:
        outcome.set_exception(fault)


def _begin(turn: asyncio.Future[None]) -> None:
    if not turn.done():
        turn.set_result(None)
