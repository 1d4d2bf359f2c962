"""Postil over HTTP: the routes, who is let in, and the running of it. What is spoken on `/mcp` is `wire/http.py`'s."""

from __future__ import annotations

import hmac
import os
import secrets
import socket
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, NoReturn, Protocol

from postil import __version__
from postil.core.call import Caller
from postil.core.failure import Failure
from postil.surfaces.http_hosts import LOOPBACK, Hosts, is_loopback, split_address
from postil.wire import http_body, http_headers, jsonrpc
from postil.wire.http import Asked, Endpoint, RawHeaders, Receive, Scope, Send, respond
from postil.wire.http_headers import Headers
from postil.wire.server import Server

if TYPE_CHECKING:
    from postil.settings import Settings

LARGEST_BODY = jsonrpc.LARGEST_FRAME
MOST_BODIES = 64 * LARGEST_BODY
"""Bytes of announced bodies that may be on their way at once."""
SMALL_BODY = 64 * 1024


class Refused(Exception):
    """A request that is not let in."""

    def __init__(self, status: int, message: str, code: int = -32000, headers: RawHeaders = ()) -> None:
        super().__init__(message)
        self.status, self.message, self.code, self.headers = status, message, code, headers


class Door(Protocol):
    """Who is let in."""

    async def admit(self, headers: Headers, scope: Scope) -> Caller:
        """Who this is, or Refused."""
        ...


class TokenDoor:
    """Lets in whoever brings the token that `serve` printed."""

    def __init__(self, token: str) -> None:
        self._expected = b"Bearer " + token.encode("ascii")
        self._caller = Caller(surface="http")

    async def admit(self, headers: Headers, scope: Scope) -> Caller:
        """The local user."""
        given = headers.get(b"authorization", b"").strip(b" \t")
        if not hmac.compare_digest(given, self._expected):
            raise Refused(
                401, "Unauthorized: give the token that `postil serve` printed as a bearer", headers=CHALLENGE
            )
        return self._caller


CHALLENGE = [(b"www-authenticate", b'Bearer realm="postil"')]


class HttpApp:
    """The ASGI application. Composed without a door it lets everyone in: only tests do that."""

    def __init__(self, server: Server, *, door: Door | None, hosts: Hosts, endpoint: Endpoint | None = None) -> None:
        self.server = server
        self.endpoint = endpoint or Endpoint(server)
        self._door = door
        self._hosts = hosts
        self._everyone = Caller(surface="http")
        self._bodies = 0
        self._requests = 0
        self._refused: dict[int, int] = {}
        self._closing = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._requests += 1
        headers: Headers = {}
        try:
            headers = http_headers.read(scope["headers"])
            if not self._hosts.admit(headers, scope["scheme"]):
                raise Refused(403, "Forbidden: this Host or Origin is not served here")
            path: str = scope["path"]
            if path == "/mcp":
                caller = await self._door.admit(headers, scope) if self._door is not None else self._everyone
                await self._mcp(scope["method"], Asked(headers, caller, receive, send))
            else:
                await self._other(path, headers, scope, send)
        except Refused as refused:
            await self._refuse(refused, send, receive if has_body(headers) else None)
        except http_headers.RepeatedHeader as repeated:
            await self._refuse(Refused(400, f"Bad Request: {repeated.name} came twice", -32600), send)
        except http_body.TooLarge:
            limit = LARGEST_BODY // (1024 * 1024)
            await self._refuse(Refused(413, f"A body has at most {limit} MiB", -32600), send, receive)
        except http_body.ClientLeft:
            return
        except Exception as bug:  # a bug is logged once, here; uvicorn then answers 500 and goes on
            self.server.report(bug, "the HTTP surface")
            raise

    async def _mcp(self, method: str, asked: Asked) -> None:
        headers = asked.headers
        if method == "POST":
            if not http_headers.is_json(headers):
                raise Refused(415, "The body must be application/json", -32600)
            asked.key = http_headers.text(headers, b"idempotency-key") or ""
            await self.endpoint.post(asked, jsonrpc.parse(await self._body(asked)))
        elif method == "GET":
            await self.endpoint.get(asked)
        elif method == "DELETE":
            await self.endpoint.delete(asked)
        else:
            raise Refused(405, "Method Not Allowed", -32600, [(b"allow", b"POST, GET, DELETE")])

    async def _body(self, asked: Asked) -> bytes:
        announced = asked.headers.get(b"content-length", b"")
        size = int(announced) if announced.isdigit() and len(announced) < 8 else LARGEST_BODY
        if size <= SMALL_BODY:
            return await http_body.read_body(asked.receive, asked.headers, LARGEST_BODY)
        if self._bodies + size > MOST_BODIES:
            raise Refused(503, "The server is busy: try again in a second", headers=[(b"retry-after", b"1")])
        self._bodies += size
        try:
            return await http_body.read_body(asked.receive, asked.headers, LARGEST_BODY)
        finally:
            self._bodies -= size

    async def _other(self, path: str, headers: Headers, scope: Scope, send: Send) -> None:
        get = scope["method"] in ("GET", "HEAD")
        if path in ("/healthz", "/readyz", "/version") and not get:
            raise Refused(405, "Method Not Allowed", -32600, [(b"allow", b"GET")])
        if path == "/healthz":
            await respond(send, 200, b'{"status":"ok"}')
        elif path == "/readyz":
            ready = not self._closing
            await respond(send, 200 if ready else 503, b'{"status":"ready"}' if ready else b'{"status":"ending"}')
        elif path == "/version":
            await respond(send, 200, jsonrpc.encode({"name": self.server.face.name, "version": __version__}))
        else:
            if self._door is not None:
                await self._door.admit(headers, scope)
            if path != "/metrics":
                raise Refused(404, "Not Found", -32600)
            if not get:
                raise Refused(405, "Method Not Allowed", -32600, [(b"allow", b"GET")])
            body = self._metrics()
            kind = (b"content-type", b"text/plain; version=0.0.4; charset=utf-8")
            length = (b"content-length", b"%d" % len(body))
            await send({"type": "http.response.start", "status": 200, "headers": [kind, length]})
            await send({"type": "http.response.body", "body": body, "more_body": False})

    def _metrics(self) -> bytes:
        lines = [
            "# TYPE postil_http_requests_total counter",
            f"postil_http_requests_total {self._requests}",
            "# TYPE postil_http_refused_total counter",
            *(f'postil_http_refused_total{{status="{status}"}} {count}' for status, count in self._refused.items()),
            "# TYPE postil_http_calls gauge",
            f"postil_http_calls {self.endpoint.calls}",
            "# TYPE postil_http_streams gauge",
            f"postil_http_streams {self.endpoint.streams}",
            "# TYPE postil_http_sessions gauge",
            f"postil_http_sessions {len(self.endpoint.sessions)}",
        ]
        return ("\n".join(lines) + "\n").encode("ascii")

    async def _refuse(self, refused: Refused, send: Send, unread: Receive | None = None) -> None:
        self._refused[refused.status] = self._refused.get(refused.status, 0) + 1
        body = jsonrpc.refusal(None, refused.code, refused.message, {"status": refused.status})
        if unread is None:
            await respond(send, refused.status, body, refused.headers)
            return
        length = (b"content-length", b"%d" % len(body))
        headers = [(b"content-type", b"application/json"), length, (b"connection", b"close"), *refused.headers]
        await send({"type": "http.response.start", "status": refused.status, "headers": headers})
        await send({"type": "http.response.body", "body": body, "more_body": True})
        await http_body.linger(unread)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def close(self, patience: float) -> None:
        """End streams with their results, give calls in flight some seconds."""
        self._closing = True
        await self.endpoint.close(patience)


def has_body(headers: Headers) -> bool:
    """Whether the client is sending more than what is read along with the head."""
    length = headers.get(b"content-length", b"")
    return b"transfer-encoding" in headers or (length.isdigit() and int(length) > SMALL_BODY)


class CannotListen(Failure):
    """The address cannot be listened on."""

    exit_status = 4


def listen(host: str, port: int) -> socket.socket:
    """A bound socket, so that the port is known before anyone can connect."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(2048)
    except OSError as error:
        listener.close()
        raise CannotListen(
            f"Cannot listen on {host}:{port}: {error.strerror}", advice="Choose another address with --http HOST:PORT"
        ) from error
    return listener


def hosts_for(host: str, names: Iterable[str], origins: Iterable[str]) -> Hosts:
    """The names a server bound to this address answers to."""
    own = f"[{host}]" if ":" in host else host
    return Hosts([*LOOPBACK, own, *names], origins)


def run(server: Server, settings: Settings) -> NoReturn:
    """Serve over HTTP until a signal ends it; then the process ends, with 128 and the signal's number."""
    http = settings.http
    try:
        host, port = split_address(http.address)
    except ValueError as wrong:
        raise CannotListen(f"Cannot listen: {wrong}", advice="Give --http HOST:PORT") from None
    if not is_loopback(host) and not http.auth:
        raise CannotListen(
            f"Will not listen on {host}, beyond this machine, without a named way to authenticate",
            advice="Add --auth pat, key or oauth, or listen on 127.0.0.1",
        )
    token = secrets.token_urlsafe(24)
    listener = listen(host, port)
    shown = f"[{host}]" if ":" in host else host
    where = f"http://{shown}:{listener.getsockname()[1]}/mcp"
    sys.stderr.write(f"postil: serving {where}\npostil: token {token}\n")
    sys.stderr.flush()
    serve(server, TokenDoor(token), hosts_for(host, http.allowed_hosts, http.allowed_origins), listener)


def serve(server: Server, door: Door | None, hosts: Hosts, listener: socket.socket) -> NoReturn:
    """Serve on a bound socket until a signal ends it; then the process ends."""
    import uvloop  # with the server, only where HTTP is served

    from postil.surfaces.http_server import HttpServer, raise_file_limit

    raise_file_limit()

    async def main() -> int:
        running = HttpServer(HttpApp(server, door=door, hosts=hosts))
        await running.serve(sockets=[listener])
        return 128 + running.ended_by if running.ended_by else 0

    status = uvloop.run(main())
    sys.stderr.flush()
    os._exit(status)  # a thread that never ends must not keep the process alive
