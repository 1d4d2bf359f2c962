"""Where requests go and what is on them: the endpoint, the caller's headers, the token, the signature."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from mcp_gitlab.errors import McpGitlabError

if TYPE_CHECKING:
    import ssl

OURS = frozenset(
    {
        *("authorization", "connection", "content-length", "content-type", "host", "transfer-encoding"),
        *("x-mcp-nonce", "x-mcp-signature", "x-mcp-timestamp"),
    }
)
"""Headers that the client writes itself."""
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")


class Address(NamedTuple):
    """An endpoint, taken apart."""

    is_https: bool
    host: str
    port: int
    path: str

    @property
    def named(self) -> str:
        """What stands in `Host`."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.is_https else 80) else f"{host}:{self.port}"


class Outgoing:
    """What every request of one client has in common."""

    def __init__(
        self,
        endpoint: str,
        token: str,
        headers: Mapping[str, str] | None,
        secret: str | bytes | None,
        *,
        timestamp: bool,
        tls: ssl.SSLContext | None,
    ) -> None:
        parts = urlsplit(endpoint)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"endpoint must be an http or https address, not {endpoint!r}")
        if parts.username is not None or parts.password is not None:
            raise ValueError("endpoint must not hold a user or a password: give the token as `token`")
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        if not path.isascii() or re.search(r"[\x00-\x20\x7f]", path):
            raise ValueError(f"endpoint must be percent-encoded, not {endpoint!r}")
        is_https = parts.scheme == "https"
        self.address = Address(is_https, parts.hostname, parts.port or (443 if is_https else 80), path)
        self._fixed = {"Content-Type": "application/json", **check_headers({"Authorization": f"Bearer {token}"}, ())}
        self._headers = check_headers(headers or {})
        self._secret = secret.encode() if isinstance(secret, str) else secret
        self._timestamp = timestamp
        self._tls = tls

    @property
    def tls(self) -> ssl.SSLContext | None:
        """How the server's certificate is checked; None without https."""
        if self.address.is_https and self._tls is None:
            import ssl  # only https pays for it

            self._tls = ssl.create_default_context()
        return self._tls if self.address.is_https else None

    def make_headers(self, body: bytes, extra: Mapping[str, str] | None) -> dict[str, str]:
        """Return the headers of one request: signed anew each time, so that a retry is no replay."""
        added = check_headers(extra) if extra else {}
        made = {**self._headers, **added, **self._fixed}
        return {**made, **sign(self._secret, body, timestamp=self._timestamp)} if self._secret else made

    def describe_silence(self, error: Exception, *, is_known: bool) -> McpGitlabError:
        """Return the error for a request that got no answer. `is_known`: nothing can have come of it."""
        why = getattr(error, "strerror", None) or str(error) or type(error).__name__
        data = {"status": 503} if is_known else {"status": 503, "outcome": "unknown"}
        return McpGitlabError(-32603, f"{self.address.host} did not answer ({why})", data)


def sign(secret: bytes, body: bytes, *, timestamp: bool) -> dict[str, str]:
    """Return the headers that sign a body: with a time and a nonce, or in the contract's form, over the body alone."""
    import hmac  # only signing pays for it
    import secrets

    if not timestamp:
        return {"X-MCP-Signature": f"sha256={hmac.digest(secret, body, 'sha256').hex()}"}
    now, nonce = str(int(time.time())), secrets.token_hex(16)
    signed = hmac.digest(secret, f"{now}.{nonce}.".encode() + body, "sha256").hex()
    return {"X-MCP-Timestamp": now, "X-MCP-Nonce": nonce, "X-MCP-Signature": f"sha256={signed}"}


def check_headers(headers: Mapping[str, str], ours: frozenset[str] | tuple[()] = OURS) -> dict[str, str]:
    """Return the headers; ValueError where one cannot be sent, or is the client's own to write."""
    for name, value in headers.items():
        if not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
            raise ValueError(f"the header {name!r} holds characters that a header cannot have")
        if name.lower() in ours:
            raise ValueError(f"the header {name} is written by the client itself")
    return dict(headers)
