"""Each OAuth user's own GitLab token: given by the person at a page of ours, kept sealed, used for that person alone.

The page's address comes to the person through their client (URL elicitation). Whoever opens it may be another person
whom the first one lured: so the GitLab user behind the token has to be the one that the authorization server says this
is, by `sub` where GitLab itself is that server, else by the claim `oauth.gitlab_claim`. The model and the client never
see the token.
"""

from __future__ import annotations

import asyncio
import base64
import html
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, quote, urlsplit

import msgspec
from msgspec import Struct

from postil.core import codes, limits
from postil.core.call import Caller
from postil.core.failure import Failure
from postil.core.ports import EphemeralStore, State
from postil.surfaces.gateway.access_keys import seal, unseal
from postil.surfaces.gateway.addresses import Addresses
from postil.surfaces.gateway.gitlab_tokens import GitLabTokens, Verified
from postil.surfaces.gateway.refused import Refused, Unavailable
from postil.surfaces.gateway.visitor import fingerprint
from postil.wire.transports.http.asked import Receive, Scope, Send
from postil.wire.transports.http.body import Budget, TooMany, read_body
from postil.wire.transports.http.headers import Headers

if TYPE_CHECKING:
    from postil.settings.model import GitLabSettings, OAuthSettings

PATH = "/connect/gitlab"
SPACE = "gitlab-tokens"
REMEMBERED = 5.0
LIFETIME = 900.0
MOST_KNOWN = 10_000
TRIES = 10
LARGEST_FORM = limits.FORM
MOST_FIELDS = 8
POLICY = b"default-src 'none'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"


class Expected(Struct, frozen=True):
    """Who must stand behind the token: a GitLab user, by number or by name."""

    principal: str
    user_id: str = ""
    username: str = ""

    def is_met_by(self, found: Verified) -> bool:
        """Returns whether this is that user."""
        if self.user_id:
            return str(found.user_id) == self.user_id
        return bool(self.username) and found.username.lower() == self.username.lower()

    def shown(self) -> str:
        """Returns the user, for people."""
        return self.username or f"number {self.user_id}"


class _Request(Struct, frozen=True, array_like=True):
    expected: Expected
    expires: float


class GitLabLinks:
    """The tokens of OAuth users: looked up for their calls, and kept when they give them."""

    def __init__(self, settings: OAuthSettings, gitlab: str, state: State, secret: Callable[[], bytes]) -> None:
        self._settings, self._state, self._secret = settings, state, secret
        self._is_issuer = urlsplit(settings.issuer).netloc.lower() == urlsplit(gitlab).netloc.lower()
        self._known: dict[str, tuple[float, bytes]] = {}
        self._expected: OrderedDict[str, Expected] = OrderedDict()

    async def token_of(self, principal: str, claims: Mapping[str, Any]) -> str:
        """The token that this user gave, or nothing; notes who the user is, in case that a link is asked for."""
        self._expected[principal] = self._expects(principal, claims)
        self._expected.move_to_end(principal)
        while len(self._expected) > MOST_KNOWN:
            self._expected.popitem(last=False)
        expires, sealed = self._known.get(principal, (0.0, b""))
        if expires <= time.monotonic():
            try:
                sealed = await asyncio.to_thread(self._look_up, principal)
            except Failure:  # away: GitLab's operations say what is missing, everything else goes on
                return ""
            if sealed:  # nothing is not remembered: it may be given on another replica in this moment
                if len(self._known) > MOST_KNOWN:
                    self._known.clear()
                self._known[principal] = (time.monotonic() + REMEMBERED, sealed)
        return unseal(sealed, principal, self._secret()) if sealed else ""

    def _expects(self, principal: str, claims: Mapping[str, Any]) -> Expected:
        if self._is_issuer:
            return Expected(principal, user_id=str(claims.get("sub", "")))
        named = claims.get(self._settings.gitlab_claim)
        return Expected(principal, username=named if isinstance(named, str) else "")

    def _look_up(self, principal: str) -> bytes:
        with self._state.reading() as records:
            return records.get(SPACE, fingerprint(principal)) or b""

    def keep(self, principal: str, token: str) -> None:
        """Keep a user's token, sealed and in its place only. Blocks: use a thread."""
        sealed = seal(token, principal, self._secret())
        with self._state.writing() as changes:
            changes.put(SPACE, fingerprint(principal), sealed)
        self._known.pop(principal, None)

    def address_for(self, caller: Caller) -> str:
        """Returns where this caller can give their token; empty where nobody could tell that it is theirs."""
        expected = self._expected.get(caller.principal)
        if expected is None or not (expected.user_id or expected.username):
            return ""
        request = msgspec.json.encode(_Request(expected, time.time() + LIFETIME)).decode()
        sealed = base64.urlsafe_b64encode(seal(request, PATH, self._secret())).decode("ascii")
        parts = urlsplit(self._settings.resource)
        return f"{parts.scheme}://{parts.netloc}{PATH}?request={quote(sealed)}"

    def request(self, sealed: str) -> Expected | None:
        """Returns whose link this is; None when it is forged or too old."""
        try:
            opened = unseal(base64.urlsafe_b64decode(sealed.encode("ascii")), PATH, self._secret())
            request = msgspec.json.decode(opened, type=_Request)
        except (ValueError, RecursionError):
            return None
        return request.expected if request.expires > time.time() else None


class ConnectPage:
    """The page where a person gives their token."""

    def __init__(self, links: GitLabLinks, gitlab: GitLabSettings, store: EphemeralStore, addresses: Addresses) -> None:
        self._links, self._gitlab, self._ephemeral, self._addresses = links, gitlab.url, store, addresses
        self._tokens = GitLabTokens(gitlab.url, trust=gitlab.trust, proxy=gitlab.proxy)
        self._forms = Budget(limits.FORMS, limits.FORMS)

    async def __call__(self, scope: Scope, headers: Headers, receive: Receive, send: Send) -> None:
        """Show the form, or take it."""
        self._addresses.check(scope.get("client"), headers)
        if scope["method"] in ("GET", "HEAD"):
            given = _fields(scope.get("query_string", b""))
            await _show(send, *self._form(given.get("request", "")))
        elif scope["method"] == "POST":
            try:
                with self._forms.hold((scope.get("client") or ("",))[0], headers, LARGEST_FORM):
                    form = _fields(await read_body(receive, headers, LARGEST_FORM))
            except TooMany:
                raise Unavailable("Too many forms at once: send it again") from None
            await _show(send, *await self._take(form))
        else:
            raise Refused(405, "Method Not Allowed", codes.INVALID_REQUEST, [(b"allow", b"GET, POST")])

    def _form(self, sealed: str, said: str = "", status: int = 200) -> tuple[int, str]:
        expected = self._links.request(sealed)
        if expected is None:
            return 400, "<p>This link is not valid any more. Ask your assistant again: it gets a new one.</p>"
        where, who = html.escape(self._gitlab), html.escape(expected.shown())
        return status, (
            (f"<p><strong>{html.escape(said)}</strong></p>" if said else "")
            + f"<p>Postil will act at {where} as the GitLab user <strong>{who}</strong> for the account "
            f"<code>{html.escape(expected.principal)}</code>. Go on only if you asked for this yourself.</p>"
            f"<p>Make a personal access token there (Preferences, Access tokens) with the scope <code>api</code>, or "
            f"<code>read_api</code> to read only, and give it here. It is kept encrypted and sent to {where} alone.</p>"
            f'<form method="post" action="{PATH}"><input type="hidden" name="request" value="{html.escape(sealed)}">'
            '<label>Token <input type="password" name="token" autocomplete="off" required></label> '
            "<button>Connect</button></form>"
        )

    async def _take(self, given: Mapping[str, str]) -> tuple[int, str]:
        sealed, token = given.get("request", ""), given.get("token", "").strip()
        expected = self._links.request(sealed)
        if expected is None:
            return self._form(sealed)
        taken = await self._ephemeral.take(f"connect:{fingerprint(expected.principal)}", 1, TRIES, 60.0)
        if not taken.granted:
            return 429, "<p>Too many tries: wait a minute.</p>"
        found = await self._tokens.verified(token)
        if found is None:
            return self._form(sealed, "GitLab does not know this token.", 403)
        if not expected.is_met_by(found):
            return self._form(sealed, f"This token is not one of the GitLab user {expected.shown()}.", 403)
        try:
            await asyncio.to_thread(self._links.keep, expected.principal, token)
        except Failure:
            raise Unavailable("The token could not be kept: try again", 5) from None
        return 200, f"<p>Connected as {html.escape(expected.shown())}. You can close this page.</p>"


def _fields(encoded: bytes) -> dict[str, str]:
    try:
        read = parse_qs(encoded.decode("latin-1"), max_num_fields=MOST_FIELDS)
    except ValueError:
        raise Refused(400, "Bad Request: the form has too many fields", codes.INVALID_REQUEST) from None
    return {name: values[0] for name, values in read.items()}


async def _show(send: Send, status: int, content: str) -> None:
    title = "<title>Postil: connect GitLab</title>"
    body = (
        f'<!doctype html><html lang="en"><meta charset="utf-8">{title}<h1>Connect GitLab</h1>{content}</html>'.encode()
    )
    headers = [
        (b"content-type", b"text/html; charset=utf-8"),
        (b"content-length", b"%d" % len(body)),
        (b"content-security-policy", POLICY),
        (b"cache-control", b"no-store"),
        (b"x-content-type-options", b"nosniff"),
        (b"referrer-policy", b"same-origin"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})
