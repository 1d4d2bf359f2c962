"""The two clients: how one call travels, with the retries of the contract. The methods are in `operations.py`."""

from __future__ import annotations

import http.client
import itertools
import time
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from mcp_gitlab.errors import McpGitlabError
from mcp_gitlab.operations import Operations
from mcp_gitlab.results import Result
from mcp_gitlab.wire import READS, decoded, delay, encoded, opened

LONGEST_IDLE = 2.0
"""Seconds after which a kept connection is not trusted to be open any more."""


class McpGitlabClient(Operations[Result]):
    """A synchronous client. Safe to share between threads; keeps as many connections as there are calls at once."""

    def __init__(
        self, endpoint: str, token: str, *, timeout: float = 60.0, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        parts = urlsplit(endpoint)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"endpoint must be an http or https address, not {endpoint!r}")
        self._https = parts.scheme == "https"
        self._host, self._port = parts.hostname, parts.port
        self._path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._token, self._timeout, self._sleep = token, timeout, sleep
        self._numbers = itertools.count(1)
        self._idle: list[tuple[http.client.HTTPConnection, float]] = []

    def __repr__(self) -> str:
        return f"McpGitlabClient(host={self._host!r})"

    def call(self, method: str, params: dict[str, Any]) -> Result:
        """Call any method of the server and give its result."""
        return opened(self.request(method=method, params=params))

    def request(self, request: dict[str, Any] | None = None, *, method: str = "", params: Any = None) -> dict[str, Any]:
        """Send one request and give the whole envelope; takes `{"method": …, "params": …}` too."""
        asked = request or {"method": method, "params": params}
        body = encoded(str(asked["method"]), dict(asked.get("params") or {}), next(self._numbers))
        for attempt in itertools.count():
            envelope = decoded(*self._post(body))
            wait = delay(attempt, envelope)
            if wait is None:
                return envelope
            self._sleep(wait)
        raise AssertionError("the last attempt returns")

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

    def _post(self, body: bytes) -> tuple[int, bytes]:
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self._token}"}
        only_reads = body.startswith(READS)
        connection, is_kept = self._connection()
        try:
            connection.request("POST", self._path, body, headers)
            response = connection.getresponse()
            answer = response.status, response.read()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            # A kept connection may have been closed by the server meanwhile. Only a read is asked anew: what became
            # of a write is not known.
            if is_kept and only_reads and not isinstance(error, TimeoutError):
                return self._post(body)
            raise self._unanswered(error, {} if only_reads else {"outcome": "unknown"}) from error
        self._idle.append((connection, time.monotonic()))
        return answer

    def _connection(self) -> tuple[http.client.HTTPConnection, bool]:
        """A connection that nobody uses, and whether it was kept from an earlier call."""
        while self._idle:
            try:
                kept, since = self._idle.pop()
            except IndexError:  # another thread was quicker
                break
            if time.monotonic() - since <= LONGEST_IDLE:
                return kept, True
            kept.close()
        kind = http.client.HTTPSConnection if self._https else http.client.HTTPConnection
        made = kind(self._host, self._port, timeout=self._timeout)
        try:
            made.connect()
        except OSError as error:
            raise self._unanswered(error, {}) from error
        return made, False

    def _unanswered(self, error: Exception, data: dict[str, Any]) -> McpGitlabError:
        why = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return McpGitlabError(-32603, f"{self._host} did not answer ({why})", {"status": 503, **data})


class AsyncMcpGitlabClient(Operations[Awaitable[Result]]):
    """An asynchronous client: the same methods, awaited. Each call runs in a worker thread of the event loop."""

    def __init__(self, endpoint: str, token: str, *, timeout: float = 60.0) -> None:
        self._client = McpGitlabClient(endpoint, token, timeout=timeout)

    def __repr__(self) -> str:
        return f"Async{self._client!r}"

    def call(self, method: str, params: dict[str, Any]) -> Awaitable[Result]:
        """Call any method of the server and give its result."""
        return self._call(method, params)

    async def _call(self, method: str, params: dict[str, Any]) -> Result:
        import asyncio  # the synchronous client does not pay for it

        return await asyncio.to_thread(self._client.call, method, params)

    async def request(
        self, request: dict[str, Any] | None = None, *, method: str = "", params: Any = None
    ) -> dict[str, Any]:
        """Send one request and give the whole envelope; takes `{"method": …, "params": …}` too."""
        import asyncio

        return await asyncio.to_thread(self._client.request, request, method=method, params=params)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._client.close()
