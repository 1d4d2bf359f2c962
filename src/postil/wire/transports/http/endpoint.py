"""MCP and direct methods over HTTP: one endpoint as raw ASGI, for every era at once.

Decides which era or dialect a request speaks, which status its answer has, and whether the answer becomes a stream. Who
may call, from where and how often is decided before, by the surface.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, TypeAlias

from postil.core import codes
from postil.core.call import Caller
from postil.wire.protocol import jsonrpc
from postil.wire.protocol.dialects import direct_methods
from postil.wire.protocol.eras.era import FIRST, HANDSHAKE, STATELESS
from postil.wire.protocol.failures import ProtocolFailure
from postil.wire.runtime.runner import Connection, Runner
from postil.wire.runtime.watches import Watches
from postil.wire.runtime.wire_call import STATUS
from postil.wire.server import Server
from postil.wire.transports.http import headers as http_headers
from postil.wire.transports.http import sse
from postil.wire.transports.http.asked import JSON, Asked, Receive, Refusal, refuse, respond
from postil.wire.transports.http.event_log import StreamLog
from postil.wire.transports.http.headers import Headers, Mirrored, accepts
from postil.wire.transports.http.opened import Opened
from postil.wire.transports.http.sessions import HttpSession, Sessions
from postil.wire.transports.http.sse import ReplyStream

Incoming: TypeAlias = jsonrpc.Incoming | list[jsonrpc.Incoming]

EVENTS = b"text/event-stream"
MOST_CALLS = 1024
MOST_STREAMS = 4096
STREAMS_OF_ONE = 1024
"""Streams of one caller."""
STATELESS_STATUS = {
    **dict.fromkeys((codes.PARSE_ERROR, codes.INVALID_REQUEST, codes.INVALID_PARAMS, codes.HEADER_MISMATCH), 400),
    **dict.fromkeys((codes.MISSING_CAPABILITY, codes.UNSUPPORTED_VERSION), 400),
    codes.METHOD_NOT_FOUND: 404,
}
NEEDS_SESSION = frozenset({"resources/subscribe", "resources/unsubscribe", "logging/setLevel"})


class Endpoint:
    """Where MCP is spoken: `/mcp`."""

    def __init__(
        self, server: Server, *, ping_every: float = sse.PING_EVERY, opened: Opened | None = None, **bounds: Any
    ) -> None:
        self.server = server
        self.opened = opened or Opened()
        """What is open here and at the other endpoints of this process."""
        self.watches = Watches(server, self.opened.watched)
        self.sessions = Sessions(server, self.watches, opened=self.opened, **bounds)
        self.calls = 0
        self.streams = 0
        self._ping_every = ping_every
        self._closing = False
        self._live: set[Runner] = set()
        self._mirrored: dict[str, tuple[Mirrored, ...]] = {}
        self._stop_hearing = server.registry.on_list_changed(lambda _: self._mirrored.clear())

    # -- POST -----------------------------------------------------------------------------------------------------

    async def post(self, asked: Asked, incoming: Incoming) -> None:
        """Answer what was posted."""
        try:
            if self._closing or self.opened.calls >= MOST_CALLS:
                raise Refusal(503, codes.SERVER_ERROR, "The server is busy: try again in a second")
            if isinstance(incoming, jsonrpc.Request) and http_headers.is_stateless(asked.headers, incoming):
                await self._post_stateless(asked, incoming)
                return
            http_headers.check_version(asked.headers)
            if not isinstance(incoming, jsonrpc.Request):
                await self._post_other(asked, incoming)
            elif direct_methods.is_direct(incoming.method):
                await self._serve(asked, self._alone(asked, direct=True), incoming, ReplyStream(streams=False))
            elif asked.session_id is not None:
                await self._post_in_session(asked, asked.session_id, incoming)
            elif incoming.method == "initialize":
                await self._initialize(asked, incoming)
            elif incoming.method in NEEDS_SESSION:
                raise ProtocolFailure(codes.INVALID_REQUEST, "Invalid Request: this needs a session: initialize first")
            else:
                await self._serve(asked, self._alone(asked), incoming, ReplyStream(streams=False))
        except ProtocolFailure as failure:
            await refuse(asked, failure, find_id(incoming))

    async def _post_stateless(self, asked: Asked, request: jsonrpc.Request) -> None:
        http_headers.check_stateless(asked.headers, request, self._mirrored_by)
        streams = accepts(asked.headers, EVENTS)
        if request.method == "subscriptions/listen":
            if not streams:
                raise Refusal(406, codes.INVALID_REQUEST, "A subscription is answered by text/event-stream")
            self._check_streams(asked)
        runner = Runner(self.server, self.watches, Connection(asked.caller, asked.peer))
        await self._serve(asked, runner, request, ReplyStream(streams=streams), STATELESS_STATUS)

    async def _post_in_session(self, asked: Asked, session_id: str, incoming: Incoming) -> None:
        session = await self._find(asked, session_id)
        takes_both = accepts(asked.headers, JSON) and accepts(asked.headers, EVENTS)
        if isinstance(incoming, jsonrpc.Request | list) and not takes_both:
            raise Refusal(406, codes.INVALID_REQUEST, "Accept must hold application/json and text/event-stream")
        session.requests += 1
        try:
            await self._serve(asked, session.runner, incoming, ReplyStream(streams=True), session=session)
        finally:
            session.requests -= 1
        if session.runner.session.ended:
            await self.sessions.end_everywhere(session)
        else:
            await self.sessions.share(session)

    async def _initialize(self, asked: Asked, request: jsonrpc.Request) -> None:
        session = self.sessions.open(asked.caller)
        if session is None:
            raise Refusal(503, codes.SERVER_ERROR, "Too many sessions are open: try again later")
        reply = ReplyStream(streams=False)
        session.runner.take(request, reply, asked.caller)
        assert reply.answered is not None  # the session answers a handshake at once
        carried = list(asked.carried)
        if not reply.code:
            await self.sessions.keep(session)
            carried.append((http_headers.SESSION, session.id.encode("ascii")))
        await respond(asked.send, 200, reply.answered, carried)

    async def _post_other(self, asked: Asked, incoming: Incoming) -> None:
        """Answer batches, notifications, answers to our questions, and what could not be read."""
        session_id = asked.session_id
        if isinstance(incoming, jsonrpc.Invalid):
            is_mcp = session_id is not None or _speaks_mcp(asked.headers)
            frame = jsonrpc.encode_error(incoming.id, incoming.code, incoming.message, incoming.data)
            await respond(asked.send, 400 if is_mcp else 200, frame, asked.carried)
            return
        if asked.version == STATELESS.version:
            session_id = None  # this era has none
        items = incoming if isinstance(incoming, list) else []
        methods = [item.method for item in items if isinstance(item, jsonrpc.Request | jsonrpc.Notification)]
        if items and asked.version != STATELESS.version and all(map(direct_methods.is_direct, methods)):
            await self._serve(asked, self._alone(asked, direct=True), incoming, ReplyStream(streams=False))
        elif session_id is not None:
            await self._post_in_session(asked, session_id, incoming)
        elif items:
            await self._serve(asked, self._alone(asked), incoming, ReplyStream(streams=False), STATELESS_STATUS)
        elif isinstance(incoming, jsonrpc.Response):
            raise ProtocolFailure(codes.INVALID_REQUEST, "Invalid Request: an answer needs a session")
        else:  # without a session there is nothing that a notification could change
            await respond(asked.send, 202, b"", asked.carried)

    # -- GET and DELETE ---------------------------------------------------------------------------------------------

    async def get(self, asked: Asked) -> None:
        """Open the stream of a session for messages that belong to no request."""
        try:
            session = await self._session_of(asked)
            if not accepts(asked.headers, EVENTS):
                raise Refusal(406, codes.INVALID_REQUEST, "Accept must hold text/event-stream")
            self._check_streams(asked)
        except ProtocolFailure as failure:
            await refuse(asked, failure)
            return
        lost = await session.logs.find(http_headers.get_text(asked.headers, http_headers.LAST_EVENT) or "")
        with self._counted(asked):
            if lost is not None and lost[0].is_call:
                await self._read_again(asked, session, *lost)
            else:
                await self._listen(asked, session, lost)

    async def _listen(self, asked: Asked, session: HttpSession, lost: tuple[StreamLog, int] | None) -> None:
        """Serve the session's own stream; one that was lost goes on behind the last event that its client saw."""
        reply = session.listen(lost[0] if lost is not None and session.logs.is_here(lost[0]) else None)
        self.sessions.follow(session)
        again = b"".join(lost[0].after(lost[1])) if lost is not None else b""
        try:
            await self._stream(asked, reply, at_once=True, session=session, again=again)
        finally:
            if session.stream is reply:
                session.stream = None

    async def _read_again(self, asked: Asked, session: HttpSession, log: StreamLog, place: int) -> None:
        """Serve the rest of a call's stream that its client lost."""
        reader = ReplyStream(streams=True, relays=True)
        log.read_by(reader, place)
        following = None if session.logs.is_here(log) else asyncio.ensure_future(session.logs.follow(log))
        try:
            await self._stream(asked, reader, at_once=True)
        finally:
            if log.writer is not None and not log.writer.is_heard:
                session.leave(log.writer, log.request_ids)
            if following is not None:
                following.cancel()

    async def delete(self, asked: Asked) -> None:
        """End a session."""
        try:
            session = await self._session_of(asked)
        except ProtocolFailure as failure:
            await refuse(asked, failure)
            return
        await self.sessions.end_everywhere(session)
        await respond(asked.send, 204, b"", asked.carried)

    async def _session_of(self, asked: Asked) -> HttpSession:
        session_id = asked.session_id
        if session_id is None or asked.version == STATELESS.version:
            only_post = "Only POST is answered here without a session"
            raise Refusal(405, codes.INVALID_REQUEST, only_post, (b"allow", b"POST"))
        http_headers.check_version(asked.headers)
        return await self._find(asked, session_id)

    async def _find(self, asked: Asked, session_id: str) -> HttpSession:
        session = await self.sessions.find(session_id, asked.caller)
        if session is None:
            raise Refusal(404, codes.SESSION_NOT_FOUND, "Session not found: initialize again")
        return session

    def has_room_for_streams(self, caller: Caller) -> bool:
        """Whether this caller may open one more stream."""
        mine = self.opened.count_streams(caller.principal)
        return self.opened.streams < MOST_STREAMS and mine < STREAMS_OF_ONE and not self._closing

    async def serve_stream(self, asked: Asked, reply: ReplyStream) -> None:
        """Send what a stream gets until its end, or until its client leaves."""
        with self._counted(asked):
            await self._stream(asked, reply, at_once=True)

    @contextmanager
    def _counted(self, asked: Asked) -> Generator[None]:
        """Count a stream while it is open."""
        self.streams += 1
        try:
            with self.opened.stream(asked.caller.principal):
                yield
        finally:
            self.streams -= 1

    def _check_streams(self, asked: Asked) -> None:
        if not self.has_room_for_streams(asked.caller):
            raise Refusal(503, codes.SERVER_ERROR, "Too many streams are open: try again later")

    # -- answering --------------------------------------------------------------------------------------------------

    def _alone(self, asked: Asked, *, direct: bool = False) -> Runner:
        """Returns a session of one request, which ends with the answer."""
        era = HANDSHAKE.get(asked.version or "", FIRST)
        return Runner(self.server, self.watches, Connection(asked.caller, asked.peer, direct, era))

    async def _serve(
        self,
        asked: Asked,
        runner: Runner,
        incoming: Incoming,
        reply: ReplyStream,
        statuses: dict[int, int] | None = None,
        *,
        session: HttpSession | None = None,
    ) -> None:
        """Hand a message to the runner, send what comes back. In a session work goes on when its client leaves."""
        if b"traceparent" in asked.headers:
            reply.trace = http_headers.get_trace(asked.headers)
        reply.right = asked.right
        if not runner.take(incoming, reply, asked.caller, asked.key):
            await respond(asked.send, 202, b"", asked.carried)
            return
        if reply.answered is None:
            await asyncio.sleep(0)  # a call that never waits is over after one turn of the loop
        if reply.answered is None or reply.messages:
            await self._follow(asked, runner, incoming, reply, statuses, session)
        else:
            await _answer(asked, reply, statuses)
        if runner.unconfirmed and session is None:
            await runner.report_delivery(reached=not reply.gone)
        elif runner.unconfirmed and self.sessions.are_shared:
            # The client's next request may be another replica's: it would never confirm this one.
            await runner.report_delivery(reached=not reply.gone, only=jsonrpc.ids_of(incoming))

    async def _follow(
        self,
        asked: Asked,
        runner: Runner,
        incoming: Incoming,
        reply: ReplyStream,
        statuses: dict[int, int] | None,
        session: HttpSession | None,
    ) -> None:
        """Wait for a call that takes its time; upgrade to a stream as soon as there is something to say before it."""
        listens = isinstance(incoming, jsonrpc.Request) and incoming.method == "subscriptions/listen"
        ids = jsonrpc.ids_of(incoming)
        self.calls += not listens
        self.opened.calls += not listens
        if session is None:
            self._live.add(runner)
        try:
            with self._counted(asked) if listens else nullcontext():
                await self._stream(asked, reply, statuses=statuses, session=session, request_ids=ids)
        except asyncio.CancelledError:  # the caller's right is lost
            for request_id in ids:
                runner.cancel(request_id)
            raise
        finally:
            self.calls -= not listens
            self.opened.calls -= not listens
            if session is None:
                self._live.discard(runner)
                for request_id in list(runner.running):
                    runner.cancel(request_id)
            elif not reply.is_heard:
                session.leave(reply, ids)

    async def _stream(
        self,
        asked: Asked,
        reply: ReplyStream,
        *,
        at_once: bool = False,
        statuses: dict[int, int] | None = None,
        session: HttpSession | None = None,
        request_ids: Sequence[jsonrpc.Id] = (),
        again: bytes = b"",
    ) -> None:
        """Send what the reply gets until its answer, its end, or its client leaves."""
        send, started = asked.send, False
        signs = _SignsOfLife(reply, self._ping_every)
        watcher = asyncio.get_running_loop().create_task(_watch(asked.receive, reply))
        try:
            while not reply.gone:
                if not started and (at_once or reply.messages or signs.due):
                    started = True
                    headers = [*sse.HEADERS, *asked.carried]
                    first = await _begin(reply, session, request_ids) + again
                    await send({"type": "http.response.start", "status": 200, "headers": headers})
                    await send({"type": "http.response.body", "body": first, "more_body": True})
                if reply.messages or (signs.due and started):
                    signs.due, events = False, reply.take() or sse.PING
                    await send({"type": "http.response.body", "body": events, "more_body": True})
                elif reply.answered is not None or reply.over:
                    break
                else:
                    await reply.wait()
            if reply.gone:
                return
            if started:
                await send({"type": "http.response.body", "body": reply.take_last(), "more_body": False})
            elif reply.answered is not None:
                await _answer(asked, reply, statuses)
            else:  # given up by the client itself: there is nothing to say
                await respond(send, 202, b"", asked.carried)
        finally:
            signs.stop()
            watcher.cancel()

    def _mirrored_by(self, tool: str) -> tuple[Mirrored, ...]:
        found = self._mirrored.get(tool)
        if found is None:
            entry = self.server.registry.operations.get(tool)
            found = http_headers.find_mirrored(entry.input_schema) if entry is not None else ()
            if entry is not None:
                self._mirrored[tool] = found
        return found

    # -- the end ------------------------------------------------------------------------------------------------------

    @property
    def is_empty(self) -> bool:
        """Whether nothing is open here."""
        return not (self.calls or self.streams or self._live or len(self.sessions))

    def retire(self) -> None:
        """Let go of what others would hold it by. It may still answer who has it."""
        self._stop_hearing()
        self.server.retire()
        self.sessions.retire()

    async def close(self, grace: float) -> None:
        """End: streams get their result, calls in flight `grace` seconds."""
        self._closing = True
        alone = [runner.close(grace) for runner in self._live]
        await asyncio.gather(self.sessions.close(grace), self.server.close_tasks(grace), *alone)
        self.watches.close()


class _SignsOfLife:
    """Wakes a stream now and then. Once stopped it holds nothing: a large answer must not wait for the collector."""

    def __init__(self, reply: ReplyStream, every: float) -> None:
        self._reply, self._every = reply, every
        self.due = False
        self._timer = asyncio.get_running_loop().call_later(every, self._come)

    def _come(self) -> None:
        self.due = self._reply.streams
        self._timer = asyncio.get_running_loop().call_later(self._every, self._come)
        self._reply.wake()

    def stop(self) -> None:
        self._timer.cancel()


async def _begin(reply: ReplyStream, session: HttpSession | None, request_ids: Sequence[jsonrpc.Id]) -> bytes:
    """Let what is sent on a session's stream be kept. Returns what the stream begins with."""
    if session is None:
        return b""
    if reply.log is None:
        reply.log = session.logs.open(is_call=True)
    reply.log.writer, reply.log.request_ids = reply, request_ids
    await session.logs.publish(reply.log)
    return reply.log.prime() if session.primes else b""


def find_id(incoming: Incoming | None) -> jsonrpc.Id | None:
    """Returns the id that a refusal echoes, so that the client's call fails instead of waiting."""
    return incoming.id if isinstance(incoming, jsonrpc.Request | jsonrpc.Invalid) else None


async def _answer(asked: Asked, reply: ReplyStream, statuses: dict[int, int] | None) -> None:
    """Send the answer with its status, and with what the call said beside it."""
    assert reply.answered is not None
    status = statuses.get(reply.code, 200) if statuses and reply.code else 200
    carried, told = asked.carried, reply.told
    if told:
        stated = told.pop(STATUS, "")
        if stated and not reply.answered.startswith(b"["):  # in a batch each item's error says its own
            status = int(stated)
        said = [(name.lower().encode("ascii"), value.encode("ascii", "replace")) for name, value in told.items()]
        carried = [*carried, *said]
    await respond(asked.send, status, reply.answered, carried)


def _speaks_mcp(headers: Headers) -> bool:
    return http_headers.VERSION in headers or EVENTS in headers.get(b"accept", b"")


async def _watch(receive: Receive, reply: ReplyStream) -> None:
    """Notice when the client leaves."""
    while (await receive())["type"] != "http.disconnect":
        pass
    reply.leave()
