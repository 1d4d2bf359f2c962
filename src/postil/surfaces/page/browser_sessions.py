"""Who sits at which browser: one-time addresses become cookies, and a cookie stands for the credential behind it.

The credential never reaches the browser. It is looked at again on every request, so a key that was revoked ends its
pages too. Cookies know no ports, so each server names its own after the port; and another program on this machine is
the same site, so a cookie alone changes nothing: `site.py` asks for the Origin and the form's token as well.

Where replicas share a store, sessions and addresses are kept there, sealed, and any replica serves any browser.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar

import msgspec
from msgspec import Struct

from postil.core.others.unreadable import UNREADABLE
from postil.surfaces.gateway.refused import Unavailable
from postil.wire.transports.http.headers import Headers

T = TypeVar("T")
INVITATION_LIVES = 24 * 3600.0
IDLE = 12 * 3600.0
RENEW_AFTER = 300.0
"""Seconds after which the use of a session is noted again."""
MOST_SESSIONS = 20
"""Browsers of one person: a further one ends the oldest."""
MOST_INVITATIONS = 16
"""Addresses of one person that were not used yet: a further one ends the oldest."""
MOST_KEPT = 4_000
MOST_SAID = 4
MOST_COOKIES = 8
_MARK = b"1"
"""What is kept of something that is over."""


class Kept(Protocol):
    """Where sessions are kept: in this process, or where replicas share them."""

    async def recall(self, *names: str) -> Sequence[bytes | None] | None:
        """Returns what is kept under each of these names; None when nobody can tell."""
        ...

    async def keep(self, values: Mapping[str, bytes], seconds: float) -> bool:
        """Keep values for at most that long; False when nobody can."""
        ...

    async def forget(self, name: str) -> None:
        """Drop what is kept under this name."""
        ...

    async def first(self, name: str, seconds: float) -> bool:
        """Returns whether this name is new; it stays known for that long."""
        ...


class Seal(Protocol):
    """Closes what others than this installation must not read."""

    def close(self, text: bytes, bound_to: str) -> bytes:
        """Returns the text, sealed."""
        ...

    def open(self, sealed: bytes, bound_to: str) -> bytes:
        """Returns what was sealed; nothing where it is not ours."""
        ...


class BrowserSession(Struct):
    """One browser that was let in."""

    id: str
    bearer: str
    """What stands for it at the gateway."""
    whose: str
    form_token: bytes
    last_used: float
    says: list[str] = []
    """Sentences for its next page."""
    undo: str = ""
    """The address that takes back what the last of them tells."""


class Invitation(Struct, frozen=True):
    """An address that was not used yet."""

    bearer: str
    whose: str
    expires: float


class BrowserSessions:
    """The browsers of a server, and the addresses that let one in."""

    def __init__(
        self, clock: Callable[[], float] = time.time, kept: Kept | None = None, seal: Seal | None = None
    ) -> None:
        self._clock, self._kept, self._seal = clock, kept or InMemory(clock), seal

    # -- addresses ----------------------------------------------------------------------------------------------------

    async def invite(self, bearer: str, whose: str) -> str:
        """Returns a token that lets one browser in, once, as the one whose credential this is."""
        token = secrets.token_urlsafe(24)
        name = f"page:invitation:{_hide(token)}"
        await self._put(name, msgspec.json.encode(Invitation(bearer, whose, self._clock() + INVITATION_LIVES)))
        await self._count(f"page:invitations:{_hide(whose)}", name, MOST_INVITATIONS)
        return token

    async def look_at(self, token: str) -> Invitation | None:
        """Returns what a token that was not used yet would do."""
        name = f"page:invitation:{_hide(token)}"
        made = _decode(await self._get(name), Invitation) if token else None
        return made if made is not None and made.expires > self._clock() else None

    async def redeem(self, token: str) -> BrowserSession | None:
        """Returns a new session for a token that was not used yet."""
        invitation = await self.look_at(token)
        hidden = _hide(token)
        if invitation is None or not await self._kept.first(f"page:redeemed:{hidden}", INVITATION_LIVES):
            return None
        await self._kept.forget(f"page:invitation:{hidden}")
        return await self.open(invitation.bearer, invitation.whose)

    # -- browsers -----------------------------------------------------------------------------------------------------

    async def open(self, bearer: str, whose: str) -> BrowserSession:
        """Returns a new session for a credential that the gateway knows."""
        made = BrowserSession(secrets.token_urlsafe(32), bearer, whose, secrets.token_bytes(16), self._clock())
        await self._write(made)
        await self._count(f"page:sessions:{_hide(whose)}", _name(made.id), MOST_SESSIONS)
        return made

    async def find(self, headers: Headers) -> BrowserSession | None:
        """Returns the session of a request's cookie.

        Another program of this machine can add cookies of the same name, and browsers send those of longer paths first:
        what is not ours is passed over, and of several the last is the one that we gave.
        """
        given = read_cookies(headers, name_cookie(headers))[-MOST_COOKIES:]
        if not given:
            return None
        found = await self._kept.recall(*map(_name, given), *map(_name_end, given))
        if found is None:
            raise Unavailable("Nobody can tell just now who you are: try again in a moment")
        values, ends = found[: len(given)], found[len(given) :]
        for id_, value, end in zip(reversed(given), reversed(values), reversed(ends), strict=True):
            session = self._read(id_, value, end)
            if session is not None:
                if self._clock() - session.last_used > RENEW_AFTER:
                    session.last_used = self._clock()
                    await self._write(session)
                return session
        return None

    async def is_open(self, session: BrowserSession) -> bool:
        """Returns whether this browser is still let in; also where nobody can tell."""
        found = await self._kept.recall(_name(session.id), _name_end(session.id))
        if found is None:
            return True
        known = self._read(session.id, *found)
        if known is not None and self._clock() - known.last_used > RENEW_AFTER:  # a page that is looked at is in use
            known.last_used = self._clock()
            await self._write(known)
        return known is not None

    async def end(self, session: BrowserSession) -> None:
        """Forget a browser. A page of it that is being made may write its session once more: that counts nothing."""
        if not await self._kept.keep({_name_end(session.id): _MARK}, IDLE):
            raise Unavailable("You cannot leave just now: try again in a moment")
        await self._kept.forget(_name(session.id))

    async def say(self, session: BrowserSession, sentence: str, undo: str = "") -> None:
        """Keep a sentence for the browser's next page, and the address that takes back what it tells."""
        if sentence:
            session.says, session.undo = [*session.says, sentence][-MOST_SAID:], undo
            await self._write(session)

    async def take_sentences(self, session: BrowserSession) -> list[str]:
        """Returns the sentences for this page, once."""
        says = session.says
        if says:
            session.says, session.undo = [], ""
            await self._write(session)
        return says

    # -- keeping ------------------------------------------------------------------------------------------------------

    def _read(self, id_: str, value: bytes | None, end: bytes | None) -> BrowserSession | None:
        text = self._unseal(_name(id_), value) if value and not end else b""
        session = _decode(text, BrowserSession)
        return session if session is not None and self._clock() - session.last_used <= IDLE else None

    async def _write(self, session: BrowserSession) -> None:
        await self._put(_name(session.id), msgspec.json.encode(session), IDLE)

    async def _put(self, name: str, text: bytes, seconds: float = INVITATION_LIVES) -> None:
        sealed = self._seal.close(text, name) if self._seal is not None else text
        if not await self._kept.keep({name: sealed}, seconds):
            raise Unavailable("Nobody can be let in just now: try again in a moment")

    async def _get(self, name: str) -> bytes:
        found = await self._kept.recall(name)
        if found is None:
            raise Unavailable("Nobody can tell just now who you are: try again in a moment")
        return self._unseal(name, found[0]) if found[0] else b""

    def _unseal(self, name: str, value: bytes) -> bytes:
        return self._seal.open(value, name) if self._seal is not None else value

    async def _count(self, list_name: str, name: str, most: int) -> None:
        """Note one more of a person's; the oldest beyond the bound end. Two at the same moment may keep one more."""
        names = [*(_decode(await self._get(list_name), list[str]) or ()), name]
        for old in names[:-most]:
            await self._kept.forget(old)
        await self._put(list_name, msgspec.json.encode(names[-most:]))


class InMemory:
    """Sessions of one process: bounded, and gone with it."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._held: OrderedDict[str, tuple[float, bytes]] = OrderedDict()
        self._over: OrderedDict[str, float] = OrderedDict()
        """What is over, apart: who comes and leaves often ends nobody else's session."""

    async def recall(self, *names: str) -> Sequence[bytes | None]:
        """Returns what is kept under each of these names."""
        return [self._find(name) for name in names]

    def _find(self, name: str) -> bytes | None:
        if self._over.get(name, 0.0) > self._clock():
            return _MARK
        expires, value = self._held.get(name, (0.0, b""))
        if expires <= self._clock():
            self._held.pop(name, None)
            return None
        self._held.move_to_end(name)
        return value

    async def keep(self, values: Mapping[str, bytes], seconds: float) -> bool:
        """Keep values; what was longest unused makes room."""
        for name, value in values.items():
            if value == _MARK:
                self._over[name] = self._clock() + seconds
            else:
                self._held[name] = self._clock() + seconds, value
                self._held.move_to_end(name)
        for held in (self._held, self._over):
            while len(held) > MOST_KEPT:
                held.popitem(last=False)
        return True

    async def forget(self, name: str) -> None:
        """Drop what is kept under this name."""
        self._held.pop(name, None)

    async def first(self, name: str, seconds: float) -> bool:
        """Returns whether this name is new."""
        is_new = self._find(name) is None
        await self.keep({name: _MARK}, seconds)
        return is_new


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


def read_cookies(headers: Headers, name: str) -> list[str]:
    """Returns the values of all cookies of one name, as they came."""
    pieces = headers.get(b"cookie", b"").decode("latin-1").replace(",", ";").split(";")
    pairs = (piece.strip().partition("=") for piece in pieces)
    return [value for key, _, value in pairs if key == name]


def _decode(text: bytes, kind: type[T]) -> T | None:
    """Returns what is kept; nothing where another version kept it."""
    try:
        return msgspec.json.decode(text, type=kind) if text else None
    except UNREADABLE:
        return None


def _name(id_: str) -> str:
    return f"page:session:{_hide(id_)}"


def _name_end(id_: str) -> str:
    return f"page:ended:{_hide(id_)}"


def _hide(token: str) -> str:
    """Returns what a token is kept by: looking it up tells nothing about the tokens that are near."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()
