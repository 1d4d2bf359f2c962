"""One session at work: its events become tasks, their outcomes frames. Asks, cancels, settles and closes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Container, Iterable, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from postil.core import call as core_call
from postil.core import codes
from postil.core.call import Caller, Question
from postil.core.failure import Cancelled, Failure
from postil.wire.protocol import events, jsonrpc
from postil.wire.protocol.eras.era import FIRST, Era
from postil.wire.protocol.events import Kind, News, Reply, Work
from postil.wire.protocol.failures import InputRequired, ProtocolFailure, is_temporary
from postil.wire.protocol.session import IN_FLIGHT, Agreed, Session
from postil.wire.runtime.updates import Updates
from postil.wire.runtime.watches import Watches
from postil.wire.runtime.wire_call import STATUS, Outlet, WireCall
from postil.wire.server import Server

if TYPE_CHECKING:
    from concurrent.futures import Future

    from postil.wire.runtime.pool import Share
    from postil.wire.runtime.work import Do
    from postil.wire.runtime.write_order import WriteOrder

TELLING = 10.0
"""Seconds that the end waits for what is being told of deliveries: a write that others hold up for long."""


class Connection(Struct, frozen=True):
    """What a transport's connection is like."""

    caller: Caller
    name: object
    """Tells it from other connections, whose share of the threads is another."""
    direct: bool = False
    """Whether operations are methods too."""
    era: Era = FIRST
    """What is spoken until a handshake agrees on another."""
    push: Callable[[bytes], None] | None = None
    """Where messages go that belong to no request; None where there is no way for them."""
    on_room: Callable[[], None] | None = None
    """Called when a full connection may read on."""
    is_read: Callable[[], bool] | None = None
    """Whether the client has taken all that was written; None where a new frame proves it."""


@cache
def _ways() -> Mapping[Kind, Do]:
    """Returns how each kind of work is done."""
    from postil.wire.runtime.work import DO  # not before the first call: every start would pay for it

    return DO


class Runner:
    """Runs what one client asks for."""

    def __init__(self, server: Server, watches: Watches, connection: Connection) -> None:
        self.server = server
        self.watches = watches
        self.connection = connection
        self.session = Session(
            server.profile, connection.era, principal=connection.caller.principal, direct=connection.direct
        )
        self.loop = asyncio.get_running_loop()
        self.thread = threading.get_ident()
        """The loop's."""
        self.running: dict[jsonrpc.Id, tuple[WireCall, asyncio.Task[None]]] = {}
        """The calls in flight. A call does not know its task: they would keep each other alive."""
        self.unconfirmed: list[tuple[WireCall, Callable[[], None], Callable[[], None]]] = []
        self._left: set[WireCall] = set()
        """Calls in flight whose client has gone for good."""
        self._telling: set[Future[Any]] = set()
        """What is being told of deliveries: the end waits for it, or what was confirmed would be forgotten."""
        self._questions: dict[jsonrpc.Id, asyncio.Future[Any]] = {}
        self._is_deaf = False
        """Whether the client has said its last word: nothing that it is asked will be answered."""
        self._updates: Updates | None = None
        self._share: Share | None = None
        self._order: WriteOrder | None = None

    @property
    def order(self) -> WriteOrder:
        """The order of the calls that write; made on first need."""
        if self._order is None:
            from postil.wire.runtime.write_order import WriteOrder  # not before the first call

            self._order = WriteOrder()
        return self._order

    @property
    def updates(self) -> Updates:
        """What the client hears beside its answers; made on first need."""
        if self._updates is None:
            self._updates = Updates(self, self.connection.push)
        return self._updates

    @property
    def share(self) -> Share:
        """Whose share of the threads the calls take."""
        if self._share is None:
            like = self.connection
            self._share = f"principal {like.caller.principal}", f"connection {like.name}"
        return self._share

    # -- events of the session ----------------------------------------------------------------------------------------

    def receive(self, frame: bytes, out: Outlet) -> bool:
        """Take one frame. Returns whether exactly one answer has come or will come through `out`."""
        return self.take(jsonrpc.parse(frame), out, self.connection.caller)

    def take(
        self, incoming: jsonrpc.Incoming | list[jsonrpc.Incoming], out: Outlet, caller: Caller, key: str = ""
    ) -> bool:
        """Take what a transport has already parsed. Returns whether one answer has come or will come."""
        if self.unconfirmed and (self.connection.is_read is None or self.connection.is_read()):
            self._confirm_delivered()
        is_answered = False
        for event in self.session.take(incoming, key):
            if isinstance(event, Work):
                call = WireCall(self, event, out, caller)
                # By its class: the loop's own way spends a tenth of a call on names and factories.
                self.running[event.request.id] = call, asyncio.Task(self._do(call), loop=self.loop, name="call")
                is_answered = True
            elif isinstance(event, Reply):
                out.answer(event.frame, event.code)
                is_answered = True
            else:
                self._hear(event)
        return is_answered

    def _hear(self, news: News) -> None:
        if isinstance(news, events.Cancelled):
            self.cancel(news.work.request.id)
        elif isinstance(news, events.Answered):
            self._take_answer(news)
        elif isinstance(news, events.Opened):
            self.updates.hear_lists()
        elif isinstance(news, events.LevelSet):
            self.updates.hear_announcements()
        elif isinstance(news, events.Unsubscribed):
            self.updates.remove(news.uri)
        else:
            self.server.report(news.error, news.method)

    async def _do(self, call: WireCall) -> None:
        """Do the work of a request, then send its answer."""
        core_call.enter(call)
        work, session = call.work, self.session
        try:
            do, trace = _ways()[work.kind], self.server.hooks.trace
            value = await (do(call) if trace is None else trace(call, do))
            if call.stay.size:  # what is made of it takes long, too
                reply = session.end(work, await call.in_thread(session.make_reply, work, value))
            else:
                reply = session.answer(work, value)
        except InputRequired as needed:
            reply = session.require_input(work, needed.questions)
        except Failure as failure:
            if is_temporary(failure):
                call.out.tell(STATUS, str(failure.data["status"]))
                call.out.tell("Retry-After", "1")
                failure.data.setdefault("retry_after", 1)  # an item of a batch has no headers of its own
            reply = session.fail(work, failure)
        except asyncio.CancelledError:
            self._drop(call)
            raise
        except Exception as bug:  # noqa: BLE001 - the top of the surface: a bug is logged and the server goes on
            self.server.report(bug, work.request.method)
            reply = session.fail(work, ProtocolFailure(codes.INTERNAL_ERROR, "Internal error"))
        finally:
            if call.stay.size:
                call.stay.leave()
        self._end(call, reply)

    def _end(self, call: WireCall, reply: Reply | None) -> None:
        del self.running[call.work.request.id]
        if call in self._left:
            self._left.discard(call)
            self._lose(call)
        if len(self.running) == IN_FLIGHT - 1 and self.connection.on_room is not None:
            self.connection.on_room()
        if reply is not None:
            call.out.answer(reply.frame, reply.code)
        elif call.work.is_over:
            call.out.end()

    def on_loop(self, act: Callable[[], None]) -> None:
        """Do something on the loop, from any thread."""
        if threading.get_ident() == self.thread:
            act()
        else:
            self.loop.call_soon_threadsafe(act)

    def cancel(self, request_id: jsonrpc.Id) -> None:
        """Give up a request: nothing more is sent for it, and what it was about to hand over is lost at once."""
        for call in self.find_calls((request_id,)):
            self._lose(call)
            # Only once: a second time would break off what it does to end.
            if request_id in self.running and not call.cancelled:
                call.cancelled, call.work.cancelled = True, call not in self._left
                task = self.running[request_id][1]
                task.cancel()
                # A task cancelled before its first step never runs its own clean-up.
                task.add_done_callback(partial(self._drop, call))

    def _drop(self, call: WireCall, _: object = None) -> None:
        if self.session.in_flight.get(call.work.request.id) is call.work:
            call.cancelled = True
            self._lose(call)
            is_told = call in self._left and not call.work.cancelled
            self._end(call, self.session.fail(call.work, _lost()) if is_told else self.session.give_up(call.work))

    def find_calls(self, request_ids: Container[jsonrpc.Id]) -> list[WireCall]:
        """Returns the calls of these requests that are in flight, or whose answers are not known to have arrived."""
        known = [*(call for call, _ in self.running.values()), *(call for call, _, _ in self.unconfirmed)]
        return [call for call in dict.fromkeys(known) if call.work.request.id in request_ids]

    def leave(self, calls: Iterable[WireCall]) -> None:
        """Hear that the client of these calls has gone for good: what only waits ends, what works is finished.

        Whoever still comes back is told that a wait has ended. What their answers hand over is lost.
        """
        for call in calls:
            request_id = call.work.request.id
            if self.running.get(request_id, (None,))[0] is not call:
                self._lose(call)
                continue
            self._left.add(call)
            if call.work.entry is not None and call.work.entry.waits:
                self.cancel(request_id)

    # -- questions to the client --------------------------------------------------------------------------------------

    async def ask(self, question: Question, out: Outlet) -> object:
        """Send the client a request and wait for its answer."""
        if self._is_deaf:
            raise _gone()
        request_id, frame = self.session.ask(question)
        waiting = self._questions[request_id] = self.loop.create_future()
        try:
            out.send(frame)
            return await waiting
        finally:
            del self._questions[request_id]

    def _take_answer(self, answered: events.Answered) -> None:
        waiting = self._questions.get(answered.id)
        if waiting is None or waiting.done():
            return
        if answered.error is not None and answered.error is not jsonrpc.UNSET:
            waiting.set_exception(Failure(f"The client refused: {str(answered.error)[:200]}"))
        else:
            waiting.set_result(answered.result)

    # -- going on elsewhere -------------------------------------------------------------------------------------------

    def save(self) -> Agreed:
        """Returns what was agreed so far."""
        subscribed = self._updates.uris if self._updates is not None else ()
        return self.session.save(tuple(sorted(subscribed)))

    async def resume(self, agreed: Agreed) -> None:
        """Go on with what this client agreed on, and asked to hear, elsewhere."""
        self.session.resume(agreed)
        self.updates.hear_lists()
        if agreed.level is not None and agreed.level != self.session.log_level:
            self.session.log_level = agreed.level
            self.updates.hear_announcements()
        await self.updates.change_to(agreed.subscribed)

    # -- what answers hand over ---------------------------------------------------------------------------------------

    def note_delivery(self, call: WireCall, confirmed: Callable[[], None], lost: Callable[[], None]) -> None:
        """Keep what to do when the answer is known to have arrived, or not to."""
        if call.cancelled:  # it was in a thread when it was given up
            self._tell(lost)
        else:
            self.unconfirmed.append((call, confirmed, lost))

    def _lose(self, call: WireCall) -> None:
        """Give back what a call was about to hand over."""
        for entry in [each for each in self.unconfirmed if each[0] is call]:
            self.unconfirmed.remove(entry)
            self._tell(entry[2])

    def _tell(self, what: Callable[[], None]) -> None:
        telling = self.server.pool.submit(what)
        self._telling.add(telling)
        telling.add_done_callback(self._telling.discard)

    def _confirm_delivered(self) -> None:
        """Confirm what was answered before a frame that has arrived: the client has read it."""
        answered = [entry for entry in self.unconfirmed if entry[0].work.request.id not in self.running]
        for entry in answered:
            self.unconfirmed.remove(entry)
            self._tell(entry[1])

    async def report_delivery(self, *, reached: bool, only: Container[jsonrpc.Id] | None = None) -> None:
        """Tell of every unconfirmed answer, or of those to these requests, whether it reached the client."""
        due = [entry for entry in self.unconfirmed if only is None or entry[0].work.request.id in only]
        self.unconfirmed = [entry for entry in self.unconfirmed if entry not in due]
        for _, confirmed, lost in due:
            await asyncio.wrap_future(self.server.pool.submit(confirmed if reached else lost))

    async def finish(self, grace: float, longest: float, stop: asyncio.Future[int]) -> None:
        """Let the calls in flight end after the client's last word, unless `stop` comes before.

        Work gets `longest` seconds; what only waits for others gets `grace`, and is given up then.
        """
        if self._updates is not None:
            self._updates.closing.set()
        self._is_deaf = True
        for question in self._questions.values():
            if not question.done():
                question.set_exception(_gone())
        await self._wait_for_all(grace, stop)
        for request_id, (call, _) in list(self.running.items()):
            if call.work.entry is not None and call.work.entry.waits and not stop.done():
                self.cancel(request_id)
        await self._wait_for_all(longest - grace, stop)

    async def _wait_for_all(self, seconds: float, stop: asyncio.Future[int]) -> None:
        """Wait until every call in flight has ended, `stop` came, or the time is over."""
        if not self.running or stop.done():
            return
        ended = self.loop.create_task(asyncio.wait([task for _, task in self.running.values()]))
        await asyncio.wait([stop, ended], timeout=max(seconds, 0.0), return_when=asyncio.FIRST_COMPLETED)
        ended.cancel()

    async def close(self, grace: float) -> None:
        """End: streams close gracefully, calls in flight get `grace` seconds and are then given up."""
        if self._updates is not None:
            self._updates.closing.set()
        if self.running:
            await asyncio.wait([task for _, task in self.running.values()], timeout=grace)
        for request_id in list(self.running):
            self.cancel(request_id)
        if self._telling:
            await asyncio.wait([asyncio.wrap_future(each) for each in tuple(self._telling)], timeout=TELLING)
        if self._updates is not None:
            self._updates.close()


def _lost() -> Failure:
    return Cancelled("The connection was lost while this call waited", advice="Nothing was taken: call it again")


def _gone() -> Failure:
    return Failure("The client has ended its input and cannot be asked", advice="Give the answer as an argument")
