"""HTTP as 2024-11-05 had it: a stream at one address (`/sse`) that names another (`/messages`), where requests are
posted. Their answers come on the stream. Deprecated since 2025-03-26, and served only where the settings say so.

A session is its stream: it lives in this process, and ends with it.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from postil.core import codes, limits
from postil.wire.protocol import jsonrpc
from postil.wire.transports.http import sse
from postil.wire.transports.http.asked import Refusal, refuse, respond
from postil.wire.transports.http.sse import ReplyStream

if TYPE_CHECKING:
    from collections.abc import Callable

    from postil.wire.runtime.runner import Runner
    from postil.wire.runtime.wire_call import Right
    from postil.wire.transports.http.asked import Asked
    from postil.wire.transports.http.endpoint import Endpoint, Incoming
    from postil.wire.transports.http.sessions import HttpSession

STREAM, MESSAGES = "/sse", "/messages"
MOST_UNREAD = 1024
"""Answers that may wait for a client that does not read its stream."""
MOST_BYTES = limits.ANSWERS_OF_ONE
"""The same in bytes."""


class OneStream:
    """Where everything goes that a client of this transport hears."""

    def __init__(self, reply: ReplyStream) -> None:
        self._reply = reply

    @property
    def is_heard(self) -> bool:
        """Whether the stream is still read."""
        return not self._reply.gone

    def send(self, frame: bytes) -> None:
        """Send a message that comes before an answer."""
        self._reply.relay(sse.encode_event(frame))

    def answer(self, frame: bytes, code: int) -> None:
        """Send an answer."""
        self._reply.relay(sse.encode_event(frame))

    def end(self) -> None:
        """Hear that no answer will come: the stream says nothing of it."""

    def tell(self, name: str, value: str) -> None:
        """Hear what a call says beside its answer: there is no place for it."""


class TwoAddresses:
    """The old transport, over the sessions of an endpoint."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[HttpSession, ReplyStream]] = {}

    async def get(self, asked: Asked, endpoint: Endpoint) -> None:
        """Open a session: its stream begins with the address for its messages."""
        session = endpoint.sessions.open(asked.caller) if endpoint.has_room_for_streams(asked.caller) else None
        if session is None:
            await refuse(asked, Refusal(503, codes.SERVER_ERROR, "Too many sessions are open: try again later"))
            return
        reply = ReplyStream(streams=True, relays=True)
        outlet = OneStream(reply)
        session.speak_on(reply, outlet.send)
        self._open[session.id] = session, reply
        endpoint.sessions.add(session)
        reply.relay(f"event: endpoint\ndata: {MESSAGES}?sessionId={session.id}\n\n".encode("ascii"))
        try:
            await endpoint.serve_stream(asked, reply)
        finally:
            del self._open[session.id]
            endpoint.sessions.end(session)

    async def post(self, asked: Asked, endpoint: Endpoint, incoming: Incoming) -> None:
        """Take a message; its answer goes to the stream."""
        given = parse_qs(asked.query, max_num_fields=8).get("sessionId", [""])
        session, reply = self._open.get(given[0], (None, None))
        request_id = incoming.id if isinstance(incoming, jsonrpc.Request | jsonrpc.Invalid) else None
        is_whose = session is not None and session.principal == asked.caller.principal
        # What this credential, or this request, may not see or change, its session may not either.
        if session is None or reply is None or not is_whose or session.runner.server is not endpoint.server:
            gone = Refusal(404, codes.SESSION_NOT_FOUND, f"Session not found: open {STREAM} again")
            await refuse(asked, gone, request_id)
        elif len(reply.messages) >= MOST_UNREAD or sum(map(len, reply.messages)) > MOST_BYTES:
            await refuse(asked, Refusal(503, codes.SERVER_ERROR, "Read your stream first"), request_id)
        else:
            session.runner.take(incoming, OneStream(reply), asked.caller, asked.key)
            if asked.right is not None:
                _hold(asked.right, session.runner, incoming)
            await respond(asked.send, 202, b"", asked.carried)


def _hold(right: Right, runner: Runner, incoming: Incoming) -> None:
    """Let what was posted end with the right of who posted it: the stream may have been opened with another."""
    for call in runner.find_calls(jsonrpc.ids_of(incoming)):
        request_id = call.work.request.id
        if request_id in runner.running:
            let_go = right.hold(partial(runner.cancel, request_id))
            runner.running[request_id][1].add_done_callback(partial(_drop, let_go))


def _drop(let_go: Callable[[], None], _: object) -> None:
    let_go()
