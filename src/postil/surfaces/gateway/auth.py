"""Whose credential this is. Each mode is a list of ways to know one; the first that knows it decides.

| mode | a bearer is | threat it leaves |
|---|---|---|
| `local` | the token that `serve` printed | whoever reads this terminal or the client's settings is the local user |
| `pat` | a GitLab token, verified at the configured GitLab | this server sees the token of each of its users |
| `key` | an access key of ours, with a GitLab token beside it | a stolen key works until it is revoked |
| `oauth` | a token issued for this server's address | the authorization server decides who is who |
"""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol, TypeAlias

from postil.core.call import Caller
from postil.surfaces.gateway.refused import NeedsCredential
from postil.surfaces.gateway.visitor import Visitor, fingerprint

LONGEST = 4096


Attempt: TypeAlias = Callable[[], Awaitable[None]]
"""Raises Refused where too many wrong credentials came from."""


class Authenticator(Protocol):
    """One way to know a credential."""

    async def identify(self, bearer: str, headers: Mapping[bytes, bytes], attempt: Attempt) -> Visitor | None:
        """Who this is; None when the credential is not of this way. Raises Unavailable when nobody can tell just now.

        Awaits `attempt` before it asks anybody else about a credential that it has not seen to be good.
        """
        ...


class Bearers:
    """The ways of one mode."""

    def __init__(self, ways: Sequence[Authenticator], *, hint: str, challenge: str = 'Bearer realm="postil"') -> None:
        self.ways, self._hint, self._challenge = ways, hint, challenge

    async def identify(self, headers: Mapping[bytes, bytes], attempt: Attempt) -> Visitor:
        """Returns who asks, or NeedsCredential."""
        given = headers.get(b"authorization")
        if given is None:
            raise NeedsCredential(self._hint, self._challenge)
        scheme, _, bearer = given.strip(b" \t").partition(b" ")
        bearer = bearer.strip(b" \t")
        if scheme.lower() != b"bearer" or not bearer or len(bearer) > LONGEST:
            raise WrongCredential(self._hint, self._challenge)
        for way in self.ways:
            visitor = await way.identify(bearer.decode("latin-1"), headers, attempt)
            if visitor is not None:
                return visitor
        said = f"nobody knows this credential: it is wrong, expired or revoked; {self._hint}"
        raise WrongCredential(said, f'{self._challenge}, error="invalid_token"')


class WrongCredential(NeedsCredential):
    """A credential was given, and nobody knows it: such attempts are counted."""


class LocalToken:
    """The token that `serve` printed: its bearer is the local user."""

    def __init__(self, token: str) -> None:
        self._token = token.encode("ascii")
        self._visitor = Visitor(Caller(surface="http"), fingerprint(token))

    async def identify(self, bearer: str, headers: Mapping[bytes, bytes], attempt: Attempt) -> Visitor | None:
        """Returns the local user."""
        return self._visitor if hmac.compare_digest(bearer.encode("latin-1"), self._token) else None
