"""One connection: frames in, frames out. Requests in flight, cancellation, subscriptions, questions to the client.

Does no I/O: a transport hands frames to `receive` and gets frames through the `out` it passes along.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Container, Coroutine
from types import CoroutineType
from typing import Any, NamedTuple, cast

from msgspec import Struct

from postil.core import call, codes
from postil.core.announcer import Announcement
from postil.core.call import LEVELS, Caller, Level, Question
from postil.core.failure import Failure, InternalError
from postil.core.registry import Listed
from postil.wire.protocol import jsonrpc, methods
from postil.wire.protocol.dialects import direct_methods, zed_draft
from postil.wire.protocol.eras import handshake, stateless
from postil.wire.protocol.eras.handshake import Era
from postil.wire.protocol.eras.stateless import ProtocolFailure
from postil.wire.protocol.request import Exchange, InputRequired, Out
from postil.wire.runtime.watches import MOST_WATCHES, Watches
from postil.wire.runtime.write_order import Turns
from postil.wire.server import IN_FLIGHT, Server

LIST_CHANGED: dict[Listed, str] = {
    "tools": "toolsListChanged",
    "prompts": "promptsListChanged",
    "resources": "resourcesListChanged",
}


class Spoken(Struct, frozen=True, array_like=True):
    """What a handshake agreed on and the client asked to hear: enough for another process to go on with it."""

    version: str
    draft: bool
    capabilities: dict[str, Any]
    level: Level | None = None
    subscribed: tuple[str, ...] = ()


class Running(NamedTuple):
    """A request at work."""

    exchange: Exchange
    work: Coroutine[Any, Any, object]
    task: asyncio.Task[None]


class Session:
    """What one client and this server have said to each other so far."""

    def __init__(
        self,
        server: Server,
        watches: Watches,
        *,
        caller: Caller,
        push: Out | None = None,
        direct: bool = False,
        on_room: Callable[[], None] | None = None,
        is_read: Callable[[], bool] | None = None,
    ) -> None:
        self.server = server
        self.watches = watches
        self.loop = asyncio.get_running_loop()
        self.push = push
        """Where messages go that belong to no request; None when there is nowhere."""
        self.direct = direct
        self.caller = caller
        self.era: Era = handshake.FIRST
        self.methods = methods.HANDSHAKE
        self.client_capabilities: dict[str, Any] = {}
        self.log_level: Level | None = None
        self.ended = False
        self.in_flight: dict[jsonrpc.Id, Running] = {}
        self.unsettled: list[tuple[Exchange, Callable[[], None], Callable[[], None]]] = []
        self.turns = Turns()
        self._on_room = on_room
        self._is_read = is_read
        self._subscribed: set[str] = set()
        self._questions: dict[jsonrpc.Id, asyncio.Future[Any]] = {}
        self._asked = 0
        self._closing = asyncio.Event()
        self._stop_announcements: Callable[[], None] | None = None
        self._stop_lists: Callable[[], None] | None = None

    @property
    def full(self) -> bool:
        """Whether no more requests should be read for now."""
        return len(self.in_flight) >= IN_FLIGHT

    # -- frames in ------------------------------------------------------------------------------------------------

    def receive(self, frame: bytes, out: Out, *, caller: Caller | None = None, key: str = "") -> bool:
        """Take one frame. True when exactly one answer has come or will come through `out`."""
        return self.take(jsonrpc.parse(frame), out, caller=caller, key=key)

    def take(
        self,
        incoming: jsonrpc.Incoming | list[jsonrpc.Incoming],
        out: Out,
        *,
        caller: Caller | None = None,
        key: str = "",
        told: dict[str, str] | None = None,
    ) -> bool:
        """Take what a transport has already parsed. True when one answer has come or will come through `out`.

        `told` gets what the calls say beside their answers, where the transport has a place for it.
        """
        if self.unsettled and (self._is_read is None or self._is_read()):
            self._confirm_settled()
        if isinstance(incoming, list):
            return self._batch(incoming, out, caller or self.caller, key, told)
        return self._take(incoming, out, caller or self.caller, key, told)

    def _take(
        self, incoming: jsonrpc.Incoming, out: Out, caller: Caller, key: str, told: dict[str, str] | None
    ) -> bool:
        if isinstance(incoming, jsonrpc.Request):
            self._request(Exchange(self, incoming, out, caller, key, told))
            return True
        if isinstance(incoming, jsonrpc.Notification):
            self._notification(incoming)
            return False
        if isinstance(incoming, jsonrpc.Response):
            self._response(incoming)
            return False
        out(jsonrpc.refusal(incoming.id, incoming.code, incoming.message, incoming.data), True, incoming.code)
        return True

    def _batch(
        self, items: list[jsonrpc.Incoming], out: Out, caller: Caller, key: str, told: dict[str, str] | None
    ) -> bool:
        requests = [item for item in items if isinstance(item, jsonrpc.Request)]
        allowed = self.era.batches or (
            self.direct and all(direct_methods.is_direct(request.method) for request in requests)
        )
        if not allowed or any(request.method == "initialize" for request in requests):
            refused = "Invalid Request: this protocol version has no batches"
            out(jsonrpc.refusal(None, codes.INVALID_REQUEST, refused), True, codes.INVALID_REQUEST)
            return True
        wanted = sum(not isinstance(item, jsonrpc.Notification | jsonrpc.Response) for item in items)
        answers: dict[int, bytes] = {}
        given_up = 0

        def send_if_whole() -> None:
            if answers and len(answers) + given_up == wanted:
                out(b"[" + b",".join(answers[at] for at in sorted(answers)) + b"]", True, 0)

        def collect(position: int) -> Out:
            def add(frame: bytes, is_answer: bool, code: int) -> None:
                if not is_answer:
                    out(frame, False, 0)
                    return
                answers[position] = frame
                send_if_whole()

            return add

        def ended(task: asyncio.Task[None]) -> None:
            nonlocal given_up
            if task.cancelled():  # never answered: the others must not wait for it
                given_up += 1
                send_if_whole()

        for position, item in enumerate(items):
            self._take(item, collect(position), caller, f"{key}#{position}" if key else "", told)
            running = self.in_flight.get(item.id) if isinstance(item, jsonrpc.Request) else None
            if running is not None and running.exchange.request is item:
                running.task.add_done_callback(ended)
        return wanted > 0

    def _request(self, exchange: Exchange) -> None:
        request = exchange.request
        try:
            if request.id in self.in_flight:
                raise ProtocolFailure(codes.INVALID_REQUEST, "Invalid Request: this id is still in use")
            if self.full:
                raise ProtocolFailure(codes.SERVER_ERROR, f"Too many calls in flight: at most {IN_FLIGHT}")
            answer = self._handler(exchange)(exchange)
        except Failure as failure:
            exchange.fail(failure)
            return
        except Exception as bug:  # noqa: BLE001 - the top of the surface: a bug is logged and the server goes on
            self.server.report(bug, request.method)
            exchange.fail(InternalError("Internal error"))
            return
        if type(answer) is CoroutineType:
            work = cast("Coroutine[Any, Any, object]", answer)
            task = self.loop.create_task(self._finish(exchange, work))
            self.in_flight[request.id] = Running(exchange, work, task)
        else:
            exchange.succeed(self._enveloped(exchange, answer))

    def _handler(self, exchange: Exchange) -> methods.Handler:
        method = exchange.request.method
        if exchange.era.stateless:
            stateless.check_meta(exchange.meta)
            table = methods.STATELESS
        elif method == "initialize":
            return self._initialize
        elif self.direct and direct_methods.is_direct(method):
            return direct_methods.call
        else:
            table = self.methods
        handler = table.get(method)
        if handler is None or not self._face_has(method):
            raise ProtocolFailure(codes.METHOD_NOT_FOUND, "Method not found")
        return handler

    def _face_has(self, method: str) -> bool:
        capability = methods.CAPABILITY.get(method[: method.find("/") + 1])
        return capability is None or capability in self.server.face.capabilities

    async def _finish(self, exchange: Exchange, work: Coroutine[Any, Any, object]) -> None:
        call.enter(exchange)
        failure: Failure | None = None
        answer: object = None
        try:
            if exchange.era.stateless:
                exchange.remember(_name(exchange))
            answer = self._enveloped(exchange, await work)
        except InputRequired as needed:
            answer = exchange.input_required(_name(exchange), needed)
        except Failure as expected:
            failure = expected
        except asyncio.CancelledError:
            exchange.cancelled = True
            raise
        except Exception as bug:  # noqa: BLE001 - the top of the surface: a bug is logged and the server goes on
            self.server.report(bug, exchange.request.method)
            failure = InternalError("Internal error")
        finally:
            work.close()
            was_full = self.full
            self.in_flight.pop(exchange.request.id, None)
            if was_full and self._on_room is not None:
                self._on_room()
        if failure is not None:
            exchange.fail(failure)
        else:
            exchange.succeed(answer)

    def _enveloped(self, exchange: Exchange, answer: object) -> object:
        if not exchange.era.stateless:
            return answer
        return stateless.complete(cast("dict[str, Any]", answer), exchange.request.method, self.server.info)

    # -- handshake ------------------------------------------------------------------------------------------------

    def _initialize(self, exchange: Exchange) -> object:
        face, asked = self.server.face, exchange.params.get("protocolVersion")
        capabilities = exchange.params.get("capabilities")
        self.client_capabilities = cast("dict[str, Any]", capabilities) if isinstance(capabilities, dict) else {}
        if self._stop_lists is None:
            self._stop_lists = self.server.registry.on_list_changed(self._list_changed)
        if type(asked) is int and asked == zed_draft.VERSION:
            self.methods = zed_draft.METHODS
            return zed_draft.initialized(face)
        version, self.era = handshake.negotiate(asked, only_first=face.contract)
        answer = {"protocolVersion": version, "capabilities": face.capabilities, "serverInfo": self.server.info}
        return {**answer, "instructions": face.instructions} if face.instructions else answer

    # -- notifications and answers from the client -------------------------------------------------------------------

    def _notification(self, note: jsonrpc.Notification) -> None:
        if note.method == "notifications/cancelled":
            request_id = note.params.get("requestId")
            if jsonrpc.is_id(request_id):
                self.cancel(cast(jsonrpc.Id, request_id))

    def cancel(self, request_id: jsonrpc.Id) -> None:
        """Give up a request: nothing more is sent for it."""
        running = self.in_flight.get(request_id)
        if running is None:
            return
        running.exchange.cancelled = True
        running.task.cancel()
        # A task cancelled before its first step never runs its own clean-up.
        running.task.add_done_callback(lambda _: self._forget(request_id, running))

    def _forget(self, request_id: jsonrpc.Id, running: Running) -> None:
        running.work.close()
        if self.in_flight.get(request_id) is running:
            del self.in_flight[request_id]

    def _response(self, response: jsonrpc.Response) -> None:
        waiting = self._questions.pop(response.id, None)
        if waiting is None or waiting.done():
            return
        if response.error is not None and response.error is not jsonrpc.UNSET:
            waiting.set_exception(Failure(f"The client refused: {str(response.error)[:200]}"))
        else:
            waiting.set_result(response.result)

    async def ask(self, question: Question, out: Out) -> object:
        """Send the client a request and wait for its answer."""
        needed = stateless.NEEDED.get(question.method)
        if needed and needed not in self.client_capabilities:
            raise Failure(f"The client cannot be asked for {needed}", advice="Give the answer as an argument")
        self._asked += 1
        request_id = f"postil-{self._asked}"
        waiting = self._questions[request_id] = self.loop.create_future()
        try:
            out(jsonrpc.request(request_id, question.method, dict(question.params)), False, 0)
            return await waiting
        finally:
            self._questions.pop(request_id, None)

    def spoken(self) -> Spoken:
        """What was agreed so far."""
        draft = self.methods is zed_draft.METHODS
        return Spoken(
            self.era.version, draft, self.client_capabilities, self.log_level, tuple(sorted(self._subscribed))
        )

    async def resume(self, spoken: Spoken) -> None:
        """Go on with what this client agreed on, and asked to hear, elsewhere."""
        self.era = handshake.HANDSHAKE.get(spoken.version, handshake.FIRST)
        self.methods = zed_draft.METHODS if spoken.draft else methods.HANDSHAKE
        self.client_capabilities = spoken.capabilities
        if self._stop_lists is None:
            self._stop_lists = self.server.registry.on_list_changed(self._list_changed)
        if spoken.level is not None and spoken.level != self.log_level:
            self.log_from(spoken.level)
        for uri in self._subscribed - set(spoken.subscribed):
            self.unsubscribe(uri)
        for uri in set(spoken.subscribed) - self._subscribed:
            try:
                await self.subscribe(uri)
            except Failure:
                continue  # gone meanwhile: it never changes
            self._updated(uri)  # it may have changed since it was asked for: an update is only a cue

    # -- what the client wants to hear ---------------------------------------------------------------------------------

    def log_from(self, level: Level) -> None:
        """Send log messages of this level and above, and what the parts announce."""
        self.log_level = level
        if self._stop_announcements is None and self.push is not None:
            self._stop_announcements = _nothing
            self.server.pool.submit(self._start_announcements)

    def _start_announcements(self) -> None:
        stop = self.server.registry.announce(lambda said: self._soon(self._announced, said))
        self._soon(self._keep_announcements, stop)

    def _keep_announcements(self, stop: Callable[[], None]) -> None:
        if self._closing.is_set():
            stop()
        else:
            self._stop_announcements = stop

    def _announced(self, said: Announcement) -> None:
        level = self.log_level
        if level is not None and LEVELS.index(said.level) >= LEVELS.index(level):
            self._push("notifications/message", {"level": said.level, "message": said.message, "data": said.data})

    async def subscribe(self, uri: str) -> None:
        """Push an update after each change of this resource."""
        if uri in self._subscribed:
            return
        if len(self._subscribed) >= MOST_WATCHES:
            raise Failure("Too many subscriptions", advice="Unsubscribe from some resources first")
        self._subscribed.add(uri)
        await self.watches.add(uri, self._updated)

    def unsubscribe(self, uri: str) -> None:
        """Stop pushing them."""
        if uri in self._subscribed:
            self._subscribed.discard(uri)
            self.watches.remove(uri, self._updated)

    def _updated(self, uri: str) -> None:
        self._push("notifications/resources/updated", {"uri": uri})

    def _list_changed(self, what: Listed) -> None:
        declared = self.server.face.capabilities.get(what)
        if isinstance(declared, dict) and cast("dict[str, Any]", declared).get("listChanged"):
            self._soon(self._push, f"notifications/{what}/list_changed", {})

    def _push(self, method: str, params: dict[str, Any]) -> None:
        if self.push is not None and not self._closing.is_set():
            self.push(jsonrpc.notification(method, params), False, 0)

    def _soon(self, act: Callable[..., None], *arguments: Any) -> None:
        self.loop.call_soon_threadsafe(act, *arguments)

    async def listen(self, exchange: Exchange, wanted: dict[str, Any]) -> object:
        """Serve one stream of the stateless era until the client leaves or the server ends it gracefully."""
        meta = {stateless.SUBSCRIPTION: exchange.request.id}
        flags = {flag for flag in LIST_CHANGED.values() if wanted.get(flag) is True}
        uris = [uri for uri in wanted.get("resourceSubscriptions") or () if isinstance(uri, str)][:MOST_WATCHES]
        honoured: dict[str, Any] = dict.fromkeys(sorted(flags), True)
        watched: list[str] = []

        def updated(uri: str) -> None:
            exchange.notify("notifications/resources/updated", {"uri": uri, "_meta": meta})

        def list_changed(what: Listed) -> None:
            if LIST_CHANGED[what] in flags:
                exchange.notify(f"notifications/{what}/list_changed", {"_meta": meta})

        if uris:
            honoured["resourceSubscriptions"] = uris
        # The acknowledgement is the stream's first frame: it is queued before any watch can speak.
        exchange.notify("notifications/subscriptions/acknowledged", {"notifications": honoured, "_meta": meta})
        stop_lists = self.server.registry.on_list_changed(list_changed)
        try:
            for uri in uris:
                try:
                    await self.watches.add(uri, updated)
                    watched.append(uri)
                except Failure:
                    continue  # a resource that does not exist never changes
            await self._closing.wait()
        finally:
            stop_lists()
            for uri in watched:
                self.watches.remove(uri, updated)
        return {"_meta": meta}

    # -- the end ------------------------------------------------------------------------------------------------------

    def _confirm_settled(self) -> None:
        """A frame arrived: what was answered before it has reached the client."""
        answered = [entry for entry in self.unsettled if entry[0].request.id not in self.in_flight]
        for entry in answered:
            self.unsettled.remove(entry)
            exchange, confirmed, lost = entry
            self.server.pool.submit(lost if exchange.cancelled else confirmed)

    async def close(self, *, patience: float) -> None:
        """End: streams close gracefully, calls in flight get `patience` seconds and are then given up."""
        self._closing.set()
        if self.in_flight:
            await asyncio.wait([running.task for running in self.in_flight.values()], timeout=patience)
        for request_id in list(self.in_flight):
            self.cancel(request_id)
        for uri in list(self._subscribed):
            self.unsubscribe(uri)
        for stop in (self._stop_announcements, self._stop_lists):
            if stop is not None:
                stop()

    async def settle(self, *, reached: bool, only: Container[jsonrpc.Id] | None = None) -> None:
        """Say of every answer not yet settled, or of those to these requests, whether it reached the client."""
        due = [entry for entry in self.unsettled if only is None or entry[0].request.id in only]
        self.unsettled = [entry for entry in self.unsettled if entry not in due]
        for exchange, confirmed, lost in due:
            has_it = reached and not exchange.cancelled  # a call that was given up is never answered
            await self.loop.run_in_executor(self.server.pool, confirmed if has_it else lost)


def _name(exchange: Exchange) -> str:
    return str(exchange.params.get("name") or exchange.params.get("uri") or "")


def _nothing() -> None:
    return
