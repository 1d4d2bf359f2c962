"""Which pages of other sites a browser may let speak to this server: those that the settings name, and no others.

Off by default. No origin is named by a pattern, `null` (files, sandboxed frames) never is, and no cookie counts: a
page needs a bearer as everybody does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, MutableMapping
from typing import Any

from postil.core import codes
from postil.core.failure import Failure
from postil.wire.transports.http.asked import Send, respond

_ORIGIN = re.compile(r"https?://(\[[0-9a-f:.]+\]|[a-z0-9.-]+)(:\d{1,5})?")
_HEADER_NAME = re.compile(rb"[a-z0-9-]{1,64}")
ASKED = frozenset({
    b"accept", b"authorization", b"baggage", b"content-type", b"idempotency-key", b"last-event-id", b"mcp-method",
    b"mcp-name", b"mcp-protocol-version", b"mcp-session-id", b"traceparent", b"tracestate", b"x-mcp-readonly",
    b"x-mcp-toolsets",
})  # fmt: skip
"""Headers that a page may send; those of arguments (`Mcp-Param-…`) too."""
SHOWN = b"Mcp-Session-Id, Retry-After, WWW-Authenticate, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset"
MOST_HEADERS = 64


class BadOrigin(Failure):
    """An origin in the settings that cannot be one."""

    code = codes.INVALID_PARAMS
    exit_status = 2


class Cors:
    """The named origins."""

    def __init__(self, origins: Iterable[str] = ()) -> None:
        self.origins = tuple(origin.lower().rstrip("/") for origin in origins)
        for origin in self.origins:
            if not _ORIGIN.fullmatch(origin):
                raise BadOrigin(
                    f"http.cors_origins names {origin!r}, which is no origin",
                    advice="Name each as browsers do, without a path: https://app.example.org; never `*` or `null`",
                )
        self._known = frozenset(origin.encode("ascii") for origin in self.origins)

    def names(self, headers: Mapping[bytes, bytes]) -> bytes:
        """Returns the request's origin if it is a named one, else nothing."""
        origin = headers.get(b"origin", b"").strip(b" \t")
        return origin if origin.lower() in self._known else b""

    def wrap(self, send: Send, origin: bytes) -> Send:
        """Returns a way to answer that lets a page of this origin read the answer."""

        async def send_shown(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [
                    *message["headers"],
                    (b"access-control-allow-origin", origin),
                    (b"access-control-expose-headers", SHOWN),
                    (b"vary", b"Origin"),
                ]
            await send(message)

        return send_shown

    async def answer_preflight(self, headers: Mapping[bytes, bytes], send: Send) -> None:
        """Say what a page may ask; `send` names its origin."""
        asked = [name.strip() for name in headers.get(b"access-control-request-headers", b"").lower().split(b",")]
        known = [name for name in asked[:MOST_HEADERS] if name in ASKED or _is_argument(name)]
        allowed = [
            (b"access-control-allow-methods", b"POST, GET, DELETE"),
            (b"access-control-allow-headers", b", ".join(known)),
            (b"access-control-max-age", b"600"),
        ]
        await respond(send, 204, b"", allowed)


def is_preflight(method: str, headers: Mapping[bytes, bytes]) -> bool:
    """Returns whether a browser asks what a page may ask."""
    return method == "OPTIONS" and b"access-control-request-method" in headers


def _is_argument(name: bytes) -> bool:
    return name.startswith(b"mcp-param-") and _HEADER_NAME.fullmatch(name) is not None
