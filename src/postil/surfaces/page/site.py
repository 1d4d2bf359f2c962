"""The page as one ASGI route: who may see it, what a change needs, and the headers of every answer.

Reading needs the cookie. Changing needs the cookie, an Origin that is this server and the token of a form that this
session was given. Nothing is shown in a frame, kept by a cache, or run that is not our own file.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote

from postil.core import limits
from postil.core.call import LOCAL
from postil.core.failure import Conflict, Failure, InvalidArguments, NotAllowed, NotFound, UnknownOperation
from postil.core.ports import Entry, EphemeralStore
from postil.surfaces.gateway.refused import Refused, Unavailable
from postil.surfaces.gateway.signatures import Bodiless
from postil.surfaces.page import layout, live, sign_in
from postil.surfaces.page.assets import ICON, PREFIX, find_asset
from postil.surfaces.page.browser_sessions import (
    BrowserSession,
    BrowserSessions,
    drop_cookie,
    is_form_of,
    name_cookie,
    read_cookies,
    write_cookie,
)
from postil.surfaces.page.markup import Html, tag
from postil.surfaces.page.page_call import run_for_person
from postil.surfaces.page.refused_form import show_again
from postil.surfaces.page.router import Handler, answer, find_route, has_path
from postil.surfaces.page.views.requested.asked_review import show_cue
from postil.surfaces.page.visit import FORM_TOKEN, Moved, Sent, Shown, Visit, unmask
from postil.wire.protocol import jsonrpc
from postil.wire.runtime.watches import Watches
from postil.wire.transports.http.body import Budget, TooLarge, TooMany, read_body
from postil.wire.transports.http.headers import Headers

if TYPE_CHECKING:
    from collections.abc import Callable

    from postil.surfaces.gateway.gateway import Gateway
    from postil.surfaces.gateway.visitor import View, Visitor
    from postil.wire.server import Server
    from postil.wire.transports.http.asked import Receive, Scope, Send

POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    b"frame-ancestors 'none'; base-uri 'none'"
)
PICTURE_POLICY = b"default-src 'none'; sandbox; frame-ancestors 'none'"
MOST_FIELDS = 100
MOST_VIEWS = 64
BY_SCRIPT = b"x-postil-script"
"""The header by which our script says that it wants a sentence and no page."""
PACKED_FROM = 1_024
RawHeaders = list[tuple[bytes, bytes]]
PREFETCH = (b"sec-purpose", b"purpose", b"x-purpose", b"x-moz")
"""The headers by which browsers say that nobody looks yet."""
STATUS: tuple[tuple[type[Failure], int], ...] = (
    (UnknownOperation, 404), (NotFound, 404), (NotAllowed, 403), (Conflict, 409), (InvalidArguments, 422),
)  # fmt: skip


class Site:
    """The page of one server."""

    def __init__(
        self,
        server: Server,
        gateway: Gateway,
        sessions: BrowserSessions,
        ephemeral: EphemeralStore,
        token: str,
        greet: Callable[[str], None],
    ) -> None:
        """`server` offers what a person may do. Where `token` is given, its bearer is the local user, and `greet` is
        told every new one-time address. `ephemeral` counts the streams of a person."""
        self.sessions, self.streams, self._ephemeral = sessions, live.LiveStreams(), ephemeral
        self._server, self._gateway, self._token, self._greet = server, gateway, token, greet
        self._seen: dict[View, tuple[Server, Watches]] = {}
        self._forms = Budget(limits.FORMS, limits.FORMS)

    def owns(self, path: str) -> bool:
        """Returns whether an address is one of the page's."""
        return path.startswith(PREFIX) or path in ("/live", sign_in.PATH, "/leave", ICON) or has_path(path)

    def knows(self, headers: Headers) -> bool:
        """Returns whether a request may be of a browser that has a session, and not of a program with a token."""
        return b"authorization" not in headers and bool(read_cookies(headers, name_cookie(headers)))

    async def invite(self) -> str:
        """Returns the path and the query of a new one-time address for the local user."""
        return f"{sign_in.PATH}?token={await self.sessions.invite(self._token, LOCAL)}"

    async def __call__(self, scope: Scope, headers: Headers, receive: Receive, send: Send) -> None:
        """Answer one request."""
        path: str = scope["path"]
        asset = find_asset(path)
        try:
            if asset is not None:
                packs = b"gzip" in headers.get(b"accept-encoding", b"")
                content = asset.packed if packs else asset.content
                await _send(send, 200, content, asset.kind.encode(), _asset_headers(packs=packs, forever=path != ICON))
            elif path == sign_in.PATH:
                await self._sign_in(scope, headers, receive, send)
            else:
                await self._serve(scope, headers, receive, send)
        except TooLarge:
            await self._explain(headers, send, 413, "That is too long", "A form holds at most 1 MiB.")
        except Refused as refused:
            if refused.status == 401 and headers.get(BY_SCRIPT) is None:
                await self._show_sign_in(send, 401)
            else:
                message = refused.message.partition(": ")[2] or refused.message
                await self._explain(
                    headers, send, refused.status, _head(refused.status), message, more=[*refused.headers]
                )

    # -- letting in ---------------------------------------------------------------------------------------------------

    async def _sign_in(self, scope: Scope, headers: Headers, receive: Receive, send: Send) -> None:
        if scope["method"] == "GET":
            given = _fields(scope.get("query_string", b"")).get("token", "")
            invitation = await self.sessions.look_at(given)
            if invitation is not None and await self._is_led(headers, invitation.whose):
                await _send_page(send, headers, 200, sign_in.confirm(given, invitation.whose))
            elif given:
                await self._redeem(scope, headers, given, send)
            else:
                await self._show_sign_in(send, 200)
        elif scope["method"] == "POST":
            if b"authorization" in headers:  # a program of this person's, which wants an address to open
                visitor = await self._gateway.admit(headers, scope.get("client"))
                bearer = headers[b"authorization"].partition(b" ")[2].strip().decode("latin-1")
                where = f"{sign_in.PATH}?token={await self.sessions.invite(bearer, visitor.caller.principal)}"
                await _send(send, 200, where.encode(), b"text/plain; charset=utf-8", _private())
                return
            _check_origin(headers)
            try:
                with self._forms.hold((scope.get("client") or ("",))[0], headers, limits.FORM):
                    form = _fields(await read_body(receive, headers, limits.FORM))
            except TooMany:
                raise Unavailable("Too many sign in just now: try again in a second") from None
            if "token" in form:
                await self._redeem(scope, headers, form["token"], send)
                return
            bearer = form.get("credential", "").strip()
            visitor = await self._admit(bearer, scope)
            await self._let_in(scope, headers, await self.sessions.open(bearer, visitor.caller.principal), send)
        else:
            raise Refused(405, "Method Not Allowed", headers=[(b"allow", b"GET, POST")])

    async def _is_led(self, headers: Headers, whose: str) -> bool:
        """Returns whether somebody else may have led this browser here, who would watch what is done as them.

        Addresses that a person typed or a program opened come from no page. Also returns True where it may be no
        browser at all that looks: the address works once, and whoever looks first must not use it up.
        """
        if headers.get(b"sec-fetch-site", b"none") != b"none" or any(name in headers for name in PREFETCH):
            return True
        if whose != LOCAL:  # others' addresses travel by mail and chat, where programs look at them first
            return True
        known = await self.sessions.find(headers)
        return known is not None and known.whose != whose

    async def _redeem(self, scope: Scope, headers: Headers, token: str, send: Send) -> None:
        session = await self.sessions.redeem(token)
        if session is None:
            await self._show_sign_in(send, 403, used=True)
            return
        if session.whose == LOCAL:
            self._greet(await self.invite())
        await self._let_in(scope, headers, session, send)

    async def _let_in(self, scope: Scope, headers: Headers, session: BrowserSession, send: Send) -> None:
        # A proxy in front may speak HTTPS where we do not: the origin of the form says so.
        over_https = scope["scheme"] == "https" or headers.get(b"origin", b"").strip().lower().startswith(b"https:")
        cookie = write_cookie(session, headers, over_https=over_https)
        await _send_page(send, headers, 200, sign_in.lead_in(), [cookie])

    async def _show_sign_in(self, send: Send, status: int, *, used: bool = False) -> None:
        page = sign_in.show(is_local=bool(self._token), used=used)
        await _send_page(send, {}, status, page)

    async def _admit(self, bearer: str, scope: Scope) -> Visitor:
        """Returns who this credential belongs to: asked of the gateway, as for a tool."""
        client = scope.get("client")
        shown = {b"authorization": b"Bearer " + bearer.encode("utf-8", "replace")}
        forwarded = {name: value for name, value in _headers_of(scope).items() if b"forwarded" in name}
        visitor = await self._gateway.admit({**forwarded, **shown}, client)
        await self._gateway.check_signed(visitor, shown, Bodiless("GET", scope["path"]))
        return visitor

    # -- views --------------------------------------------------------------------------------------------------------

    async def _serve(self, scope: Scope, headers: Headers, receive: Receive, send: Send) -> None:
        _check_fetch(headers)
        session = await self.sessions.find(headers)
        if session is None:
            raise Refused(401, "Unauthorized: open the page with `postil open`")
        visitor = await self._admit(session.bearer, scope)
        _, watches = self._narrow(visitor.view)
        path, method = scope["path"], scope["method"]
        if path == "/live":
            await self._stream(scope, headers, session, visitor, watches, receive, send)
            return
        if method == "POST":
            _check_origin(headers)
        elif method not in ("GET", "HEAD"):
            raise Refused(405, "Method Not Allowed", headers=[(b"allow", b"GET, POST")])
        # Before the form is read: what one person sends at the same time is bounded by their calls at the same time.
        _, carried, ticket = await self._gateway.charge(visitor, jsonrpc.Request(1, "page", {}))
        try:
            form = await self._read_form(session, headers, receive) if method == "POST" else {}
            if method == "POST" and path == "/leave":
                await self.sessions.end(session)
                await _send_page(send, headers, 200, sign_in.show(is_local=bool(self._token)), [drop_cookie(headers)])
                return
            found = find_route("GET" if method == "HEAD" else method, path)
            if found is None:
                raise Refused(404, "Not Found: there is no such page")
            await self._answer(scope, headers, session, visitor, form, found, send, carried)
        finally:
            self._gateway.release(visitor, ticket)

    async def _read_form(self, session: BrowserSession, headers: Headers, receive: Receive) -> dict[str, str]:
        form = _fields(await read_body(receive, headers, limits.PAGE_FORM))
        if not is_form_of(session, unmask(form.pop(FORM_TOKEN, ""))):
            raise Refused(403, "Forbidden: this form is not of this session: reload the page and send it again")
        return form

    async def _answer(
        self,
        scope: Scope,
        headers: Headers,
        session: BrowserSession,
        visitor: Visitor,
        form: dict[str, str],
        found: tuple[Handler, dict[str, str]],
        send: Send,
        carried: RawHeaders,
    ) -> None:
        server, watches = self._narrow(visitor.view)
        peer = ":".join(map(str, scope.get("client") or ()))

        async def run(name: str, arguments: Mapping[str, Any]) -> object:
            return await run_for_person(server, watches, visitor.caller, peer, name, arguments)

        def offers(name: str) -> bool:
            return server.registry.find(name) is not None

        visit = Visit(
            scope["path"], _pairs(scope.get("query_string", b"")), form, visitor, run, session.form_token, offers
        )
        try:
            made = await answer(visit, *found)
            await self._send_answer(scope, headers, session, visit, made, send)
        except Failure as failure:
            await self._tell_failure(headers, session, visit, failure, send, carried)

    async def _send_answer(
        self, scope: Scope, headers: Headers, session: BrowserSession, visit: Visit, made: object, send: Send
    ) -> None:
        if isinstance(made, Moved):
            if BY_SCRIPT in headers:
                told = [(b"x-postil-address", _write_address(made.address))]
                if made.undo:
                    told.append((b"x-postil-undo", _write_address(made.undo)))
                await _send(send, 200, made.says.encode(), b"text/plain; charset=utf-8", [*_private(), *told])
            else:
                await self.sessions.say(session, made.says, made.undo)
                await _send(send, 303, b"", b"text/plain", [*_private(), (b"location", _write_address(made.address))])
        elif isinstance(made, Sent):
            policy = (b"content-security-policy", PICTURE_POLICY)
            await _send(send, 200, made.content, made.kind.encode("ascii"), [policy, *_private(policy=False)])
        elif isinstance(made, Shown):
            page = (
                made.body.encode("utf-8", "backslashreplace")
                if made.is_part
                else await self._frame(headers, session, visit, made, await show_cue(visit))
            )
            await _send_page(send, headers, made.status, page, is_head=scope["method"] == "HEAD")

    async def _frame(
        self, headers: Headers, session: BrowserSession, visit: Visit, shown: Shown, cue: Html | None = None
    ) -> bytes:
        undo = session.undo  # which goes with the sentences
        says = await self.sessions.take_sentences(session)
        theme = next(iter(read_cookies(headers, "postil-theme")), "")
        return layout.frame(
            shown.title,
            shown.body,
            place=shown.place,
            says=says,
            undo=undo,
            offers=visit.offers,
            serves=has_path,
            theme=theme if theme in ("light", "dark") else "",
            form_token=visit.form_token(),
            cue=cue,
        )

    async def _tell_failure(
        self, headers: Headers, session: BrowserSession, visit: Visit, failure: Failure, send: Send, carried: RawHeaders
    ) -> None:
        status = next((status for kind, status in STATUS if isinstance(failure, kind)), 500)
        if BY_SCRIPT in headers:
            text = failure.text().encode("utf-8", "backslashreplace")
            await _send(send, status, text, b"text/plain; charset=utf-8", [*_private(), *carried])
            return
        body = layout.explain("That did not work", failure.message, failure.advice, show_again(visit))
        page = await self._frame(headers, session, visit, Shown("That did not work", body))
        await _send_page(send, headers, status, page)

    async def _stream(
        self,
        scope: Scope,
        headers: Headers,
        session: BrowserSession,
        visitor: Visitor,
        watches: Watches,
        receive: Receive,
        send: Send,
    ) -> None:
        if self.streams.open >= live.MOST_STREAMS:
            raise Unavailable("Too many pages are open at this server: close some, or wait")
        who = f"page:streams:{visitor.caller.principal}"
        entered = await self._ephemeral.enter(Entry(who, 1, 0, 60.0, live.MOST_OF_ONE))
        if entered.busy:
            said = f"You have {live.MOST_OF_ONE} pages open, which is the most that follow what happens: close one"
            raise Refused(429, said, headers=[(b"retry-after", b"10")])
        try:
            if BY_SCRIPT in headers:  # a page whose stream was refused asks why
                await _send(send, 204, b"", b"text/plain", _private())
                return
            await self._follow(scope, session, watches, receive, send)
        finally:
            self._ephemeral.leave(who, entered.ticket)

    async def _follow(
        self, scope: Scope, session: BrowserSession, watches: Watches, receive: Receive, send: Send
    ) -> None:
        asked = _fields(scope.get("query_string", b"")).get("of", "").split()
        shown = {b"authorization": b"Bearer " + session.bearer.encode("utf-8", "replace")}

        async def is_known() -> bool:
            return await self.sessions.is_open(session) and await self._gateway.is_still_known(shown)

        await self.streams.serve(asked[: len(live.SUBJECTS)], watches, is_known, receive, send)

    def _narrow(self, view: View) -> tuple[Server, Watches]:
        """Returns the server that offers what this person may see."""
        known = self._seen.get(view)
        if known is None:
            if len(self._seen) >= MOST_VIEWS:
                raise Unavailable("Too many different views are in use")
            narrow = self._server.narrow(self._server.registry.narrowed(view.shows))
            known = self._seen[view] = narrow, Watches(narrow)
        return known

    async def _explain(
        self, headers: Headers, send: Send, status: int, heading: str, message: str, more: RawHeaders | None = None
    ) -> None:
        if BY_SCRIPT in headers:
            await _send(send, status, message.encode(), b"text/plain; charset=utf-8", [*_private(), *(more or [])])
            return
        page = layout.frame(
            heading, layout.explain(heading, message, "", tag("p", tag("a", "To the first page", href="/")))
        )
        await _send_page(send, headers, status, page, more)

    def close(self) -> None:
        """End what is open."""
        self.streams.close()
        for _, watches in self._seen.values():
            watches.close()


def _write_address(address: str) -> bytes:
    """Returns an address as a header holds it: what a person typed in it ends no line."""
    return quote(address, safe="/?&=#%:;,+~!$'()*@").encode("ascii")


def _head(status: int) -> str:
    return {403: "Not allowed", 404: "Not found", 405: "Not possible"}.get(status, "Not now")


def _headers_of(scope: Scope) -> dict[bytes, bytes]:
    return dict(scope["headers"])


def _fields(encoded: bytes) -> dict[str, str]:
    """Returns the fields of a form or a query; of several of one name the last."""
    return dict(_pairs(encoded))


def _pairs(encoded: bytes) -> list[tuple[str, str]]:
    try:
        pairs = parse_qsl(encoded.decode("ascii"), keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="strict")
    except ValueError:
        raise Refused(400, "Bad Request: the form or the address is not what a browser sends") from None
    return [(name, value.replace("\r\n", "\n")) for name, value in pairs]


def _check_origin(headers: Headers) -> None:
    """Refuse a change that no page of ours sent: not even an origin that is named for tools may change anything here.

    By the host alone: a proxy in front may speak HTTPS where we do not.
    """
    origin = headers.get(b"origin", b"").strip().lower().partition(b"://")[2]
    site = headers.get(b"sec-fetch-site", b"same-origin")
    if not origin or origin != headers.get(b"host", b"").strip().lower() or site != b"same-origin":
        raise Refused(403, "Forbidden: a change has to come from this page")


def _check_fetch(headers: Headers) -> None:
    """Refuse what another page of this machine embeds or fetches: only a person may come here from elsewhere."""
    site = headers.get(b"sec-fetch-site", b"same-origin")
    if site not in (b"same-origin", b"none") and headers.get(b"sec-fetch-mode") != b"navigate":
        raise Refused(403, "Forbidden: only this page may ask for that")
    if site not in (b"same-origin", b"none") and headers.get(b"sec-fetch-dest") != b"document":
        raise Refused(403, "Forbidden: this page is shown in no other")


def _private(*, policy: bool = True) -> RawHeaders:
    """Returns the headers of everything that is for one person."""
    common = [
        (b"cache-control", b"no-store"),
        (b"x-content-type-options", b"nosniff"),
        (b"x-frame-options", b"DENY"),
        (b"referrer-policy", b"same-origin"),
        (b"cross-origin-resource-policy", b"same-origin"),
        (b"cross-origin-opener-policy", b"same-origin"),
    ]
    return [(b"content-security-policy", POLICY), *common] if policy else common


def _asset_headers(*, packs: bool, forever: bool) -> RawHeaders:
    packed = [(b"content-encoding", b"gzip")] if packs else []
    return [
        *packed,
        (b"vary", b"accept-encoding"),
        (b"cache-control", b"public, max-age=31536000, immutable" if forever else b"public, max-age=3600"),
        (b"x-content-type-options", b"nosniff"),
        (b"cross-origin-resource-policy", b"same-origin"),
        (b"content-security-policy", PICTURE_POLICY),
    ]


async def _send_page(
    send: Send, headers: Headers, status: int, page: bytes, more: RawHeaders | None = None, *, is_head: bool = False
) -> None:
    given = [*_private(), (b"vary", b"accept-encoding"), *(more or [])]
    if len(page) >= PACKED_FROM and b"gzip" in headers.get(b"accept-encoding", b""):
        packer = zlib.compressobj(4, zlib.DEFLATED, 31)
        page = packer.compress(page) + packer.flush()
        given.append((b"content-encoding", b"gzip"))
    await _send(send, status, b"" if is_head else page, b"text/html; charset=utf-8", given, length=len(page))


async def _send(
    send: Send, status: int, body: bytes, kind: bytes, headers: RawHeaders, *, length: int | None = None
) -> None:
    size = (b"content-length", b"%d" % (len(body) if length is None else length))
    await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", kind), size, *headers]})
    await send({"type": "http.response.body", "body": body, "more_body": False})
