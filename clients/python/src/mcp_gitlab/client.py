"""The synchronous client: how one call travels. The methods are in `operations.py`, the rules in `wire.py`."""

from __future__ import annotations

import http.client
import itertools
import time
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from mcp_gitlab.errors import McpGitlabError
from mcp_gitlab.operations import Operations
from mcp_gitlab.outgoing import Outgoing
from mcp_gitlab.results import Result
from mcp_gitlab.wire import LARGEST_ANSWER, Answer, Call, Pending, PendingBatch, Sent, open_envelope

if TYPE_CHECKING:
    import ssl

LONGEST_IDLE = 2.0
"""Seconds after which a kept connection is not trusted to be open any more."""


class McpGitlabClient(Operations[Result]):
    """A synchronous client. Safe to share between threads; keeps as many connections as there are calls at once."""

    def __init__(
        self,
        endpoint: str,
        token: str,
        *,
        timeout: float = 60.0,
        headers: Mapping[str, str] | None = None,
        secret: str | bytes | None = None,
        timestamp: bool = True,
        tls: ssl.SSLContext | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._outgoing = Outgoing(endpoint, token, headers, secret, timestamp=timestamp, tls=tls)
        self._timeout, self._sleep = timeout, sleep
        self._numbers = itertools.count(1)
        self._idle: list[tuple[http.client.HTTPConnection, float]] = []

    def __repr__(self) -> str:
        return f"McpGitlabClient(host={self._outgoing.address.host!r})"

    def call(self, method: str, params: dict[str, Any], *, headers: Mapping[str, str] | None = None) -> Result:
        """Call any method of the server and give its result."""
        return open_envelope(self.request(method=method, params=params, headers=headers))

    def request(
        self,
        request: dict[str, Any] | None = None,
        *,
        method: str = "",
        params: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """Send one request and give the whole envelope; takes `{"method": …, "params": …}` too."""
        asked = request or {"method": method, "params": params}
        pending = Pending(Call(str(asked["method"]), dict(asked.get("params") or {})), next(self._numbers))
        self._settle(pending, headers)
        return pending.envelope

    def batch(
        self, calls: Iterable[Call | tuple[str, Mapping[str, Any]]], *, headers: Mapping[str, str] | None = None
    ) -> list[Result | McpGitlabError]:
        """Send several calls at once and give their answers in order; an error stands in the place of its call."""
        pending = PendingBatch(calls, 1)
        if len(pending):
            self._settle(pending, headers)
        return pending.answers()

    def close(self) -> None:
        """Close the kept connections."""
        while self._idle:
            self._idle.pop()[0].close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _settle(self, pending: Pending | PendingBatch, headers: Mapping[str, str] | None) -> None:
        while (wait := pending.take(self._post(pending.send(), headers))) is not None:
            self._sleep(wait)

    def _post(self, sent: Sent, extra: Mapping[str, str] | None) -> Answer:
        headers = self._outgoing.make_headers(sent.body, extra)
        connection, is_kept = self._connection()
        try:
            connection.request("POST", self._outgoing.address.path, sent.body, headers)
            with connection.getresponse() as response:
                body = response.read(LARGEST_ANSWER + 1)
            if len(body) > LARGEST_ANSWER:
                raise http.client.HTTPException(f"its answer has more than {LARGEST_ANSWER // 2**20} MiB")
        except (OSError, http.client.HTTPException, ValueError) as error:  # ValueError: lengths that are none
            connection.close()
            # A kept connection may have been closed by the server meanwhile. Only a read is asked anew: what became
            # of a write is not known.
            if is_kept and sent.only_reads and isinstance(error, ConnectionError):
                return self._post(sent, extra)
            raise self._outgoing.describe_silence(error, is_known=sent.only_reads) from error
        self._idle.append((connection, time.monotonic()))
        return Answer(response.status, body, response.getheader("Retry-After"))

    def _connection(self) -> tuple[http.client.HTTPConnection, bool]:
        """Return a connection that nobody uses, and whether it was kept from an earlier call."""
        while self._idle:
            try:
                kept, since = self._idle.pop()
            except IndexError:  # another thread was quicker
                break
            if time.monotonic() - since <= LONGEST_IDLE:
                return kept, True
            kept.close()
        address, tls = self._outgoing.address, self._outgoing.tls
        if tls is not None:
            made = http.client.HTTPSConnection(address.host, address.port, timeout=self._timeout, context=tls)
        else:
            made = http.client.HTTPConnection(address.host, address.port, timeout=self._timeout)
        try:
            made.connect()
        except OSError as error:
            raise self._outgoing.describe_silence(error, is_known=True) from error
        return made, False
