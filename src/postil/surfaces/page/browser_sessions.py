"""Who sits at which browser: one-time addresses become cookies, and a cookie stands for the credential behind it.

The credential never reaches the browser. It is looked at again on every request, so a key that was revoked ends its
pages too. Cookies know no ports, so each server names its own after the port; and another program on this machine is
the same site, so a cookie alone changes nothing: `site.py` asks for the Origin and the form's token as well.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable

from msgspec import Struct

from postil.wire.transports.http.headers import Headers

INVITATION_LIVES = 24 * 3600.0
IDLE = 12 * 3600.0
MOST_SESSIONS = 1_000
MOST_INVITATIONS = 64
MOST_SAID = 4


class BrowserSession(Struct):
    """One browser that was let in."""

    id: str
    bearer: str
    """What stands for it at the gateway."""
    form_token: bytes
    last_used: float
    says: list[str]
    """Sentences for its next page."""


class BrowserSessions:
    """The browsers of one process, and the addresses that let one in."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._by_name: OrderedDict[str, BrowserSession] = OrderedDict()
        self._invitations: OrderedDict[str, tuple[float, str]] = OrderedDict()
        self.last_seen = clock()
        """When a browser last asked for something."""

    def invite(self, bearer: str) -> str:
        """Returns a token that lets one browser in, once, as the one whose credential this is."""
        token = secrets.token_urlsafe(24)
        self._invitations[_hide(token)] = self._clock() + INVITATION_LIVES, bearer
        while len(self._invitations) > MOST_INVITATIONS:
            self._invitations.popitem(last=False)
        return token

    def redeem(self, token: str) -> BrowserSession | None:
        """Returns a new session for a token that was not used yet."""
        expires, bearer = self._invitations.pop(_hide(token), (0.0, ""))
        return self.open(bearer) if bearer and expires > self._clock() else None

    def open(self, bearer: str) -> BrowserSession:
        """Returns a new session for a credential that the gateway knows."""
        made = BrowserSession(secrets.token_urlsafe(32), bearer, secrets.token_bytes(16), self._clock(), [])
        self._by_name[_hide(made.id)] = made
        while len(self._by_name) > MOST_SESSIONS:
            self._by_name.popitem(last=False)
        return made

    def find(self, headers: Headers) -> BrowserSession | None:
        """Returns the session of a request's cookie."""
        name = _hide(read_cookie(headers, name_cookie(headers)))
        found = self._by_name.get(name)
        now = self._clock()
        if found is None or now - found.last_used > IDLE:
            self._by_name.pop(name, None)
            return None
        found.last_used = self.last_seen = now
        self._by_name.move_to_end(name)
        return found

    def touch(self) -> float:
        """Note that a page is open. Returns the time."""
        self.last_seen = self._clock()
        return self.last_seen

    def is_open(self, session: BrowserSession) -> bool:
        """Returns whether this browser is still let in."""
        return _hide(session.id) in self._by_name

    def end(self, session: BrowserSession) -> None:
        """Forget a browser."""
        self._by_name.pop(_hide(session.id), None)

    def say(self, session: BrowserSession, sentence: str) -> None:
        """Keep a sentence for the browser's next page."""
        if sentence:
            session.says[:] = [*session.says, sentence][-MOST_SAID:]


def is_form_of(session: BrowserSession, token: bytes) -> bool:
    """Returns whether a form came from a page that this session was given."""
    return hmac.compare_digest(session.form_token, token)


def write_cookie(session: BrowserSession, headers: Headers, *, over_https: bool) -> tuple[bytes, bytes]:
    """Returns the header that gives a browser its cookie."""
    secure = "; Secure" if over_https else ""
    said = f"{name_cookie(headers)}={session.id}; Path=/; HttpOnly; SameSite=Strict; Max-Age={int(IDLE)}{secure}"
    return b"set-cookie", said.encode("ascii")


def drop_cookie(headers: Headers) -> tuple[bytes, bytes]:
    """Returns the header that takes the cookie away."""
    return b"set-cookie", f"{name_cookie(headers)}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0".encode("ascii")


def name_cookie(headers: Headers) -> str:
    """Returns the name of this server's cookie: by the port that the browser knows it by."""
    port = headers.get(b"host", b"").decode("latin-1").rpartition(":")[2]
    return f"postil-{port}" if port.isdigit() else "postil"


def read_cookie(headers: Headers, name: str) -> str:
    """Returns the value of one cookie; empty without it."""
    for piece in headers.get(b"cookie", b"").decode("latin-1").replace(",", ";").split(";"):
        key, _, value = piece.strip().partition("=")
        if key == name:
            return value
    return ""


def _hide(token: str) -> str:
    """Returns what a token is kept by: looking it up tells nothing about the tokens that are near."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()
