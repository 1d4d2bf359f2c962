"""One HTTP request that was let in, and how it is answered or refused."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from typing import Any, TypeAlias

from msgspec import Struct

from postil.core.call import Caller
from postil.wire.protocol import jsonrpc
from postil.wire.protocol.failures import ProtocolFailure
from postil.wire.runtime.wire_call import Right
from postil.wire.transports.http import headers as http_headers
from postil.wire.transports.http.headers import Headers

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
RawHeaders: TypeAlias = Sequence[tuple[bytes, bytes]]

JSON = b"application/json"


class Asked(Struct):
    """One HTTP request that was let in: who asks, its headers, and the headers that its answer carries."""

    headers: Headers
    caller: Caller
    receive: Receive
    send: Send
    peer: object = None
    """The other end of its connection."""
    key: str = ""
    """The idempotency key of its header."""
    body: bytes = b""
    """What was posted, as it came."""
    carried: RawHeaders = ()
    path: str = ""
    """Its address, where that is one of the first version's two."""
    query: str = ""
    right: Right | None = None
    """What lets the caller in, looked at again while anything is open that this request began."""

    @property
    def session_id(self) -> str | None:
        """The session that its header names."""
        return http_headers.get_text(self.headers, http_headers.SESSION)

    @property
    def version(self) -> str | None:
        """The protocol version that its header names."""
        return http_headers.get_text(self.headers, http_headers.VERSION)


class Refusal(ProtocolFailure):
    """A request that is refused with an HTTP status of its own."""

    def __init__(self, status: int, code: int, message: str, *headers: tuple[bytes, bytes]) -> None:
        super().__init__(code, message)
        self.status = status
        self.headers: RawHeaders = headers
        self.data = {"status": status, "message": message}
        if status == 503:
            self.data["retry_after"] = 1
            self.headers = [*headers, (b"retry-after", b"1")]


async def refuse(asked: Asked, failure: ProtocolFailure, request_id: jsonrpc.Id | None = None) -> None:
    """Answer with a failure of the protocol, and its HTTP status."""
    status, headers = (failure.status, failure.headers) if isinstance(failure, Refusal) else (400, ())
    frame = jsonrpc.encode_error(request_id, failure.code, failure.message, failure.details())
    await respond(asked.send, status, frame, [*asked.carried, *headers])


async def respond(send: Send, status: int, body: bytes, headers: RawHeaders = ()) -> None:
    """Send a whole answer."""
    if body:
        sent = [(b"content-type", JSON), (b"content-length", b"%d" % len(body)), *headers]
    else:
        sent = [(b"content-length", b"0"), *headers] if status != 204 else [*headers]
    await send({"type": "http.response.start", "status": status, "headers": sent})
    await send({"type": "http.response.body", "body": body, "more_body": False})
