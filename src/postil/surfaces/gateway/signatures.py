"""Signed requests: `X-MCP-Signature: sha256=<hex>` over the raw body, as the contract's snippet makes it.

With `X-MCP-Timestamp` (and `X-MCP-Nonce`) the signature covers `timestamp.nonce.body` instead, so that a request that
somebody recorded is of no use later. A request without a body (the stream of a session, its end, the metrics) signs
`METHOD path session-id` in the body's place, and always with a time: there the contract has no form of its own, and
without it every such request would have the same signature for ever. Several secrets may be active at once: that is
how one is replaced by another.
"""

from __future__ import annotations

import hmac
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from postil.surfaces.gateway.refused import NeedsCredential

Policy: TypeAlias = Literal["off", "optional", "required"]
First: TypeAlias = Callable[[str, float, str], Awaitable[bool]]
"""Whether a name of somebody's is seen for the first time within some seconds, by any replica."""

SKEW = 300.0


class Bodiless(Struct, frozen=True):
    """A request that is its method, its path and its session alone."""

    method: str
    path: str
    session: bytes = b""

    def line(self) -> bytes:
        """Returns what is signed in the body's place."""
        return f"{self.method} {self.path} ".encode("utf-8", "surrogateescape") + self.session.strip(b" \t")


Content: TypeAlias = bytes | Bodiless

LONGEST_NONCE = 128
HEADER, TIMESTAMP, NONCE, KEY_ID = b"x-mcp-signature", b"x-mcp-timestamp", b"x-mcp-nonce", b"x-mcp-key-id"


class Signatures:
    """Which requests must be signed, and by what."""

    def __init__(self, policy: Policy, secrets: Sequence[bytes], first: First, *, fresh: bool | None = None) -> None:
        self.policy: Policy = policy if secrets else "off"
        self._secrets = {key_id(secret): secret for secret in secrets}
        self._first = first
        # Without a time it can be replayed for ever. That is the contract's form: taken where signing is a choice.
        self._fresh = policy == "required" if fresh is None else fresh

    async def check(
        self, headers: Mapping[bytes, bytes], content: Content, *, demanded: bool = False, whose: str = ""
    ) -> None:
        """Refuse a request whose signature is wrong, or missing where the server or the caller's key demands one.

        A nonce is `whose` own: one caller's choice never refuses another's request.
        """
        given = headers.get(HEADER)
        if not demanded and (self.policy == "off" or (given is None and self.policy == "optional")):
            return
        if given is None:
            who = "this key" if demanded else "this server"
            raise NeedsCredential(f"{who} takes signed requests only: add X-MCP-Signature")
        bodiless = isinstance(content, Bodiless)
        body = content.line() if isinstance(content, Bodiless) else content
        signed = _signed(headers, body, required=demanded or self._fresh or bodiless)
        if not self._is_ours(given.strip(b" \t"), signed, headers.get(KEY_ID)):
            raise NeedsCredential(
                f"X-MCP-Signature does not fit this {'request' if bodiless else 'body'}{_tell_form(headers)}"
            )
        if TIMESTAMP in headers:
            # The signature itself is the nonce where none was given: the same request twice is a replay either way.
            name = (headers.get(NONCE, b"").strip(b" \t") or given.strip(b" \t")).decode("latin-1")
            if not await self._first(f"nonce:{name}", 2 * SKEW, whose):
                raise NeedsCredential("this signed request was made before")

    def _is_ours(self, given: bytes, signed: bytes, named: bytes | None) -> bool:
        if named is not None:
            secret = self._secrets.get(named.strip(b" \t").decode("latin-1"))
            secrets = [secret] if secret is not None else []
        else:
            secrets = list(self._secrets.values())
        matches = [hmac.compare_digest(given, signature(secret, signed)) for secret in secrets]
        return any(matches)  # all are compared, so that the time does not tell which one it was


def signature(secret: bytes, payload: bytes) -> bytes:
    """Returns the header's value for this payload."""
    return b"sha256=" + hmac.digest(secret, payload, "sha256").hex().encode("ascii")


def key_id(secret: bytes) -> str:
    """Returns the name of a secret, for `X-MCP-Key-Id`: says nothing about it."""
    import hashlib

    return hashlib.sha256(b"postil key id\n" + secret).hexdigest()[:16]


def _tell_form(headers: Mapping[bytes, bytes]) -> str:
    if TIMESTAMP not in headers:
        return ""
    nonce = "<X-MCP-Nonce>" if headers.get(NONCE, b"").strip(b" \t") else ""
    return f": with X-MCP-Timestamp it is the HMAC-SHA256 of <X-MCP-Timestamp>.{nonce}.<body>"


def _signed(headers: Mapping[bytes, bytes], body: bytes, *, required: bool) -> bytes:
    stamp = headers.get(TIMESTAMP)
    if stamp is None:
        if required:
            raise NeedsCredential("a signed request needs X-MCP-Timestamp here")
        return body
    stamp, nonce = stamp.strip(b" \t"), headers.get(NONCE, b"").strip(b" \t")
    if not stamp.isdigit() or len(stamp) > 12 or abs(int(stamp) - time.time()) > SKEW:
        raise NeedsCredential("X-MCP-Timestamp is not within five minutes of now, in seconds since 1970")
    if len(nonce) > LONGEST_NONCE:
        raise NeedsCredential(f"X-MCP-Nonce has more than {LONGEST_NONCE} bytes")
    return b".".join((stamp, nonce, body))
