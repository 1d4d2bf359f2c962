"""The ASGI application: routes, and what stands before them. `wire/transports/http` speaks on `/mcp`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, MutableMapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from postil import __version__
from postil.core import codes, limits
from postil.core.call import Caller
from postil.surfaces.gateway.gateway import Gateway
from postil.surfaces.gateway.quotas import Incoming
from postil.surfaces.gateway.refused import NeedsCredential, Refused, Unavailable
from postil.surfaces.gateway.signatures import Bodiless
from postil.surfaces.gateway.visitor import View, Visitor, tighten
from postil.surfaces.http.cors import Cors, is_preflight
from postil.surfaces.http.endpoints import Endpoints
from postil.surfaces.http.hosts import Hosts, is_by_address
from postil.surfaces.http.metrics import Metrics
from postil.surfaces.http.readiness import Readiness
from postil.surfaces.http.right import CheckedRight
from postil.surfaces.http.seals import SEAL
from postil.surfaces.http.workspaces import Room, Workspaces
from postil.wire.protocol import jsonrpc
from postil.wire.server import Server
from postil.wire.transports.http import body as http_body
from postil.wire.transports.http import headers as http_headers
from postil.wire.transports.http.asked import Asked, Receive, Scope, Send, respond
from postil.wire.transports.http.endpoint import Endpoint, find_id
from postil.wire.transports.http.fair_share import FairShare, TooManyWait
from postil.wire.transports.http.headers import Headers
from postil.wire.transports.http.two_addresses import MESSAGES, STREAM, TwoAddresses
from postil.wire.transports.http.unread import Unread

if TYPE_CHECKING:
    from postil.surfaces.gateway.compose import Route
    from postil.surfaces.http.access_log import AccessLog
    from postil.surfaces.page.site import Site

SPEAKING = frozenset({"/mcp", "/mcp/"})
OLD = frozenset({STREAM, MESSAGES})
LARGEST_BODY = jsonrpc.LARGEST_FRAME
DISCOVERY = ("/.well-known/", "/register", "/authorize", "/token")
"""Where clients look for an authorization server: where there is none, a plain 404 ends the search, a 401 does not."""
BODILESS = frozenset({"GET", "HEAD", "OPTIONS"})
PACKED = "Unsupported Media Type: send the body as it is, without Content-Encoding"
LOGGED = "postil.logged"
"""Where a request carries its line of the access log, if there is one."""
OPEN = frozenset({"/healthz", "/readyz", "/version"})
PROBED = frozenset({"/healthz", "/readyz"})
"""What a load balancer asks by this machine's address, which nobody has to name in the settings."""


class HttpApp:
    """The application. Composed without a gateway it lets everyone in: only tests do that."""

    def __init__(
        self,
        server: Server,
        *,
        gateway: Gateway | None,
        hosts: Hosts,
        endpoint: Endpoint | None = None,
        routes: Mapping[str, Route] | None = None,
        metrics: Metrics | None = None,
        check_writable: Callable[[], None] | None = None,
        cors: Cors | None = None,
        two_addresses: bool = False,
        page: Site | None = None,
        log: AccessLog | None = None,
        workspaces: Workspaces | None = None,
    ) -> None:
        self.server = server
        self._page = page
        self._cors = cors if cors is not None and cors.origins else None
        self._old = TwoAddresses() if two_addresses else None
        self._speaking = SPEAKING | {STREAM, MESSAGES} if two_addresses else SPEAKING
        self._readiness = Readiness(check_writable)
        self._endpoints = Endpoints(server, endpoint)
        self.endpoint = self._endpoints.find(self._endpoints.whole)
        self.metrics = metrics or Metrics()
        self._workspaces = workspaces
        for room in workspaces.rooms.values() if workspaces is not None else ():
            room.beside = self.endpoint
        self._gateway, self._hosts = gateway, hosts
        self._routes = routes or {}
        self._everyone = Caller(surface="http")
        self._bodies = http_body.Budget(limits.BODIES, limits.BODIES_OF_ONE)
        self._handed_on = http_body.Budget(limits.BODIES, limits.BODIES_OF_ONE)
        """For what comes with a seal: whose it is, is known when it is read. So nobody's own share is used up by it."""
        self._peeked = http_body.Budget(limits.PEEKED, limits.PEEKED)
        self._unread = Unread()
        self._fair = FairShare()
        self._closing = False
        self._log = log
        self._known = self._speaking.union(OPEN, self._routes, ("/metrics",))
        self._last_asked = time.monotonic()

    def idle_for(self) -> float:
        """Returns for how many seconds nobody has asked for anything; 0 while something is open."""
        endpoints = self._list_endpoints()
        if any(endpoint.calls or endpoint.streams for endpoint in endpoints) or (
            self._page and self._page.streams.open
        ):
            self._last_asked = time.monotonic()
        return time.monotonic() - self._last_asked

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.metrics.requests += 1
        self._last_asked = time.monotonic()
        if self._log is None:
            await self._answer(scope, receive, send)
            return
        logged = scope[LOGGED] = self._log.begin(scope, send, self._known)
        try:
            await self._answer(scope, receive, logged.send)
        finally:
            self._log.end(logged)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers: Headers = {}
        try:
            headers = http_headers.read(scope["headers"])
            path: str = scope["path"]
            # What looks after the process knows it by its address alone, and learns nothing that others may not.
            if not self._hosts.admit(headers, scope["scheme"]) and not (path in PROBED and is_by_address(headers)):
                raise Refused(
                    403,
                    "Forbidden: this Host or Origin is not served here; its operator names it in http.allowed_hosts,"
                    " and a proxy in front hands on the Host that the browser sent",
                )
            if http_headers.is_encoded(headers) and scope["method"] not in BODILESS:
                raise Refused(415, PACKED, codes.INVALID_REQUEST, [(b"accept-encoding", b"identity")])
            # The page is for no other origin, whatever is named for tools.
            if self._page is not None and (self._page.owns(path) or self._is_lost(self._page, scope, headers)):
                visitor = (scope.get("client") or ("",))[0]
                await self._page(scope, headers, receive, self._unread.wrap(send, f"page:{visitor}"))
                return
            if self._cors is not None and (origin := self._cors.names(headers)):
                send = self._cors.wrap(send, origin)
                if is_preflight(scope["method"], headers):
                    await self._cors.answer_preflight(headers, send)
                    return
            if path in self._speaking:
                if self._gateway is None:
                    asked = _ask(scope, headers, self._everyone, receive, send)
                    await self._speak(
                        scope["method"], asked, self._endpoints.find(tighten(self._endpoints.whole, headers))
                    )
                else:
                    await self._admit(self._gateway, scope, headers, receive, send)
            elif self._workspaces is not None and (room := self._workspaces.find(path)) is not None:
                await self._visit(self._workspaces, room, scope, headers, receive, send)
            elif path not in self._routes and path.startswith(DISCOVERY):
                raise Refused(404, "Not Found: this server has no such page", codes.INVALID_REQUEST)
            elif path in self._routes:
                await _follow(self._routes[path], scope, headers, receive, send)
            else:
                await self._other(path, headers, scope, send)
        except Refused as refused:
            await self._refuse(refused, scope, headers, receive, send)
        except http_headers.RepeatedHeader as repeated:
            refused = Refused(400, f"Bad Request: {repeated.name} came twice", codes.INVALID_REQUEST)
            await self._refuse(refused, scope, headers, receive, send)
        except http_body.TooLarge as large:
            await self._refuse(_too_large(large), scope, headers, receive, send)
        except http_body.ClientLeft:
            return
        except Exception as bug:  # a bug is logged once, here; uvicorn then answers 500 and goes on
            self.server.report(bug, "the HTTP surface")
            raise

    def _is_lost(self, page: Site, scope: Scope, headers: Headers) -> bool:
        """Returns whether a person's browser asks for an address that nothing has: they are told so by a page."""
        path: str = scope["path"]
        return (
            scope["method"] == "GET"
            and (b"text/html" in headers.get(b"accept", b"") or page.knows(headers))
            and path not in self._known
            and not path.startswith(DISCOVERY)
            and (self._workspaces is None or self._workspaces.find(path) is None)
        )

    # -- /mcp -------------------------------------------------------------------------------------------------------

    async def _admit(self, gateway: Gateway, scope: Scope, headers: Headers, receive: Receive, send: Send) -> None:
        visitor = await gateway.admit(headers, scope.get("client"))
        if LOGGED in scope:
            scope[LOGGED].principal = visitor.caller.principal
        asked = _ask(scope, headers, visitor.caller, receive, send)
        view = tighten(visitor.view, headers)
        self._watch_right(gateway, asked, visitor.view, lambda now: now.view)

        async def find(incoming: Incoming | None) -> Endpoint:  # once the call is counted: a new view costs some time
            return self._endpoints.find(view, visitor.caller.principal)

        await self._enter(gateway, visitor, scope, asked, find)

    async def _visit(
        self, workspaces: Workspaces, room: Room, scope: Scope, headers: Headers, receive: Receive, send: Send
    ) -> None:
        """Speak to one of many workspaces, here or at the replica that serves it. Who is no member finds nothing."""
        gateway, method, path = self._gateway, scope["method"], scope["path"]
        assert gateway is not None  # workspaces are served by gateways alone
        if SEAL in headers:
            await self._take_forwarded(workspaces, room, scope, headers, receive, send)
            return
        visitor = await gateway.admit(headers, scope.get("client"))
        if LOGGED in scope:
            scope[LOGGED].principal = visitor.caller.principal
        view = room.view_for(visitor)
        if view is None:
            await self._other(path, headers, scope, send)
            return
        asked = _ask(scope, headers, visitor.caller, receive, send)
        self._watch_right(gateway, asked, view, room.view_for)

        async def find(incoming: Incoming | None) -> Endpoint | None:
            asked.key = http_headers.get_text(headers, b"idempotency-key") or ""
            return await workspaces.serve(room, view, asked, method, path, incoming)

        await self._enter(gateway, visitor, scope, asked, find)

    async def _take_forwarded(
        self, workspaces: Workspaces, room: Room, scope: Scope, headers: Headers, receive: Receive, send: Send
    ) -> None:
        """Serve what another replica let in and handed on: only its credential is looked at again."""
        gateway, method = self._gateway, scope["method"]
        assert gateway is not None
        sender = f"address:{(scope.get('client') or ('',))[0]}"
        asked = _ask(scope, headers, Caller(sender, surface="http"), receive, send)
        with suppress(Refused, http_body.TooLarge):  # before the seal is seen to be right, nothing is told
            await (self._body(asked, self._handed_on) if method == "POST" else asyncio.sleep(0))
        try:
            turn = workspaces.find_turn(method, scope["path"], asked)
            visitor = await gateway.identify(headers) if turn is not None else None
            view = room.view_for(visitor) if visitor is not None else None
            if visitor is None or view is None or turn is None:
                await self._other(scope["path"], headers, scope, send)
                return
            asked.caller = visitor.caller
            endpoint = await workspaces.serve_here(room, view, asked, turn)
        except Refused as refused:
            refused.is_read, refused.request_id = bool(asked.body), jsonrpc.find_id(asked.body)
            raise
        asked.send = self._unread.wrap(send, visitor.caller.principal)
        self._watch_right(gateway, asked, view, room.view_for)
        if method == "POST":
            incoming = jsonrpc.parse(asked.body)
            await self._while_right(scope, asked, incoming, self._post(asked, incoming, endpoint))
        else:
            await self._while_right(scope, asked, None, self._speak(method, asked, endpoint))

    async def _enter(
        self,
        gateway: Gateway,
        visitor: Visitor,
        scope: Scope,
        asked: Asked,
        find: Callable[[Incoming | None], Awaitable[Endpoint | None]],
    ) -> None:
        """Check and count what a visitor asks, then speak to the endpoint that is found for it, if any."""
        try:
            await self._fair.take(visitor.caller.principal)
        except TooManyWait:
            raise Unavailable("Too many of your requests wait: make fewer at once") from None
        try:
            incoming = await self._checked(gateway, visitor, scope, asked)
        except (Refused, http_body.TooLarge) as fault:
            refused = fault if isinstance(fault, Refused) else _too_large(fault)
            _, left, _ = await gateway.charge(visitor, None)  # every answer to a known token says what is left
            refused.headers = [*refused.headers, *left]
            raise refused from None
        try:
            incoming, asked.carried, ticket = await gateway.charge(visitor, incoming)
        except Refused as refused:
            refused.is_read, refused.request_id = True, find_id(incoming)
            raise
        asked.send = self._unread.wrap(asked.send, visitor.caller.principal)

        async def serve() -> None:
            try:
                endpoint = await find(incoming)
            except Refused as refused:
                refused.is_read, refused.request_id = True, find_id(incoming)
                raise
            if endpoint is not None and incoming is not None:
                await self._post(asked, incoming, endpoint)
            elif endpoint is not None:
                await self._speak(scope["method"], asked, endpoint)

        try:
            await self._while_right(scope, asked, incoming, serve())
        finally:
            gateway.release(visitor, ticket)

    @staticmethod
    def _watch_right(gateway: Gateway, asked: Asked, view: View, find_view: Callable[[Visitor], View | None]) -> None:
        """Let what this request begins be ended when its credential is gone, or allows less."""
        # `asked` holds the right: held by it in turn, each request would stay until Python looks for garbage.
        principal, headers = asked.caller.principal, asked.headers

        def allows(now: Visitor) -> bool:
            seen = find_view(now)
            return now.caller.principal == principal and seen is not None and seen.covers(view)

        asked.right = CheckedRight(lambda: gateway.is_still_known(headers, allows))

    async def _while_right(
        self, scope: Scope, asked: Asked, incoming: Incoming | None, serving: Coroutine[Any, Any, None]
    ) -> None:
        """Serve a request while its caller may be served; then refuse it."""
        task, right = asyncio.current_task(), asked.right
        assert task is not None
        assert isinstance(right, CheckedRight)
        let_go = right.hold(task.cancel)
        try:
            await serving
        except asyncio.CancelledError:
            if not right.lost:
                raise
            gone = NeedsCredential("the credential was revoked, has expired or allows less while its call was served")
            gone.is_read, gone.request_id = True, find_id(incoming)
            with suppress(RuntimeError):  # a stream that has begun just ends
                await self._refuse(gone, scope, asked.headers, asked.receive, asked.send)
        finally:
            let_go()

    async def _checked(self, gateway: Gateway, visitor: Visitor, scope: Scope, asked: Asked) -> Incoming | None:
        """Returns what was posted, if it may be; None where there is no body."""
        if scope["method"] != "POST":
            session = asked.headers.get(http_headers.SESSION, b"")
            await gateway.check_signed(visitor, asked.headers, Bodiless(scope["method"], scope["path"], session))
            return None
        body = await self._body(asked)
        try:
            await gateway.check_signed(visitor, asked.headers, body)
            incoming = jsonrpc.parse(body)
            if LOGGED in scope:
                scope[LOGGED].hear(incoming, len(body))
            gateway.check_scope(visitor, incoming, self.server.registry.operations)
        except Refused as refused:
            refused.is_read, refused.request_id = True, jsonrpc.find_id(body)
            raise
        return incoming

    async def _speak(self, method: str, asked: Asked, endpoint: Endpoint) -> None:
        if method == "POST":
            await self._post(asked, jsonrpc.parse(await self._body(asked)), endpoint)
        elif self._old is not None and asked.path == STREAM and method == "GET":
            await self._old.get(asked, endpoint)
        elif asked.path in OLD:
            allowed = b"GET" if asked.path == STREAM else b"POST"
            raise Refused(405, "Method Not Allowed", codes.INVALID_REQUEST, [(b"allow", allowed)])
        elif method == "GET":
            await endpoint.get(asked)
        elif method == "DELETE":
            await endpoint.delete(asked)
        else:
            raise Refused(405, "Method Not Allowed", codes.INVALID_REQUEST, [(b"allow", b"POST, GET, DELETE")])

    async def _post(self, asked: Asked, incoming: Incoming, endpoint: Endpoint) -> None:
        asked.key = http_headers.get_text(asked.headers, b"idempotency-key") or ""
        asked.body = b""  # it is read: a call that waits need not hold it
        if self._old is not None and asked.path == MESSAGES:
            await self._old.post(asked, endpoint, incoming)
        elif asked.path == STREAM:  # a newer client tries a POST first, and opens the stream when that is refused
            raise Refused(405, "Method Not Allowed", codes.INVALID_REQUEST, [(b"allow", b"GET")])
        else:
            await endpoint.post(asked, incoming)

    async def _body(self, asked: Asked, budget: http_body.Budget | None = None) -> bytes:
        if not http_headers.is_json(asked.headers):
            raise Refused(415, "The body must be application/json", codes.INVALID_REQUEST)
        announced = asked.headers.get(b"content-length", b"")
        size = int(announced) if announced.isdigit() and len(announced) < 8 else LARGEST_BODY
        if size <= http_body.UNCOUNTED:
            asked.body = await http_body.read_body(asked.receive, asked.headers, LARGEST_BODY)
            return asked.body
        try:
            with (budget or self._bodies).hold(asked.caller.principal, asked.headers, LARGEST_BODY):
                receive = asked.receive if size <= http_body.SMALL else self._in_turns(asked)
                asked.body = await http_body.read_body(receive, asked.headers, LARGEST_BODY)
                if size > http_body.SMALL:
                    await self._fair.take(asked.caller.principal)
                return asked.body
        except (http_body.TooMany, TooManyWait):
            raise Unavailable("The server is busy: try again in a second") from None

    def _in_turns(self, asked: Asked) -> Receive:
        """Returns how a large body is read: each piece in a turn of its own."""

        async def receive() -> MutableMapping[str, Any]:
            message = await asked.receive()
            await self._fair.take(asked.caller.principal)
            return message

        return receive

    # -- the other routes -------------------------------------------------------------------------------------------

    async def _other(self, path: str, headers: Headers, scope: Scope, send: Send) -> None:
        is_get = scope["method"] in ("GET", "HEAD")
        if path not in OPEN and self._gateway is not None:
            visitor = await self._gateway.admit(headers, scope.get("client"))
            if LOGGED in scope:
                scope[LOGGED].principal = visitor.caller.principal
            await self._gateway.check_signed(visitor, headers, Bodiless(scope["method"], path))
            if path == "/metrics":
                self._gateway.check_operator(visitor)
        if path not in OPEN and path != "/metrics":
            raise Refused(404, "Not Found", codes.INVALID_REQUEST)
        if not is_get:
            raise Refused(405, "Method Not Allowed", codes.INVALID_REQUEST, [(b"allow", b"GET")])
        if path == "/healthz":
            await respond(send, 200, b'{"status":"ok"}')
        elif path == "/readyz":
            status = b"ending" if self._closing else await self._readiness.ask()
            await respond(send, 200 if status == b"ready" else 503, b'{"status":"%s"}' % status)
        elif path == "/version":
            await respond(send, 200, jsonrpc.encode({"name": self.server.face.name, "version": __version__}))
        else:
            await self._show_metrics(send)

    async def _show_metrics(self, send: Send) -> None:
        endpoints = self._list_endpoints()
        body = self.metrics.text(
            calls=sum(endpoint.calls for endpoint in endpoints),
            streams=sum(endpoint.streams for endpoint in endpoints),
            sessions=sum(len(endpoint.sessions) for endpoint in endpoints),
        )
        kind = (b"content-type", b"text/plain; version=0.0.4; charset=utf-8")
        length = (b"content-length", b"%d" % len(body))
        await send({"type": "http.response.start", "status": 200, "headers": [kind, length]})
        await send({"type": "http.response.body", "body": body, "more_body": False})

    def _list_endpoints(self) -> list[Endpoint]:
        """Returns all that is spoken to, of this workspace and the others."""
        rooms = self._workspaces.rooms.values() if self._workspaces is not None else ()
        return [*self._endpoints.all(), *(each for room in rooms for each in room.endpoints())]

    async def _refuse(self, refused: Refused, scope: Scope, headers: Headers, receive: Receive, send: Send) -> None:
        self.metrics.refused[refused.status] = self.metrics.refused.get(refused.status, 0) + 1
        request_id, unread = refused.request_id, http_body.has_more(headers) and not refused.is_read
        # Who waits for 100 Continue is not invited to send a body that is refused already.
        if scope["method"] == "POST" and not (refused.is_read or refused.begun or b"expect" in headers):
            beginning, is_whole = await http_body.peek(receive, headers, self._peeked)
            request_id = jsonrpc.find_id(beginning) if is_whole else jsonrpc.find_id_at_start(beginning)
            unread = not is_whole
        body = jsonrpc.encode_error(request_id, refused.code, refused.message, refused.data())
        if not unread:
            await respond(send, refused.status, body, refused.headers)
            return
        length = (b"content-length", b"%d" % len(body))
        sent = [(b"content-type", b"application/json"), length, (b"connection", b"close"), *refused.headers]
        await send({"type": "http.response.start", "status": refused.status, "headers": sent})
        await send({"type": "http.response.body", "body": body, "more_body": True})
        await http_body.linger(receive)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def close(self, patience: float) -> None:
        """End streams with their results, give calls in flight some seconds."""
        self._closing = True
        if self._page is not None:
            self._page.close()
        await self._endpoints.close(patience)
        if self._workspaces is not None:
            await self._workspaces.close(patience)


def _too_large(fault: http_body.TooLarge) -> Refused:
    refused = Refused(413, f"A body has at most {LARGEST_BODY // (1024 * 1024)} MiB", codes.INVALID_REQUEST)
    refused.begun = fault.begun
    return refused


async def _follow(route: Route, scope: Scope, headers: Headers, receive: Receive, send: Send) -> None:
    """Serve a route. A refusal after the whole body was read is told at once: nothing more of it can come."""
    watched = http_body.Watched(receive)
    try:
        await route(scope, headers, watched, send)
    except Refused as refused:
        refused.is_read = watched.has_ended
        raise


def _ask(scope: Scope, headers: Headers, caller: Caller, receive: Receive, send: Send) -> Asked:
    asked = Asked(headers, caller, receive, send, scope.get("client"))
    if scope["path"] in OLD:
        asked.path, asked.query = scope["path"], scope["query_string"].decode("latin-1")
    return asked
