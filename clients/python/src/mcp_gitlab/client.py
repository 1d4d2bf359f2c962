"""The two clients: how one call travels, with the retries of the contract. The methods are in `operations.py`."""

from __future__ import annotations

import http.client
import itertools
import threading
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
    """A synchronous client. Safe to share between threads; each keeps a connection of its own."""

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
        self._local = threading.local()
        self._open: set[http.client.HTTPConnection] = set()

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
        """Close the connections of all threads."""
        self._local = threading.local()
        while self._open:
            self._open.pop().close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _post(self, body: bytes, *, again: bool = True) -> tuple[int, bytes]:
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self._token}"}
        connection, is_kept = self._connection()
        try:
            connection.request("POST", self._path, body, headers)
            response = connection.getresponse()
            answer = response.status, response.read()
        except (OSError, http.client.HTTPException) as error:
            self._drop()
            # A kept connection may have been closed by the server meanwhile. Only a read is asked anew: what became
            # of a write is not known.
            if again and is_kept and body.startswith(READS):
                return self._post(body, again=False)
            raise McpGitlabError(-32603, f"{self._host} did not answer", {"status": 503}) from error
        self._local.used = time.monotonic()
        return answer

    def _connection(self) -> tuple[http.client.HTTPConnection, bool]:
        if time.monotonic() - getattr(self._local, "used", 0.0) > LONGEST_IDLE:
            self._drop()
        kept: http.client.HTTPConnection | None = getattr(self._local, "connection", None)
        if kept is not None:
            return kept, True
        kind = http.client.HTTPSConnection if self._https else http.client.HTTPConnection
        made = self._local.connection = kind(self._host, self._port, timeout=self._timeout)
        self._open.add(made)
        return made, False

    def _drop(self) -> None:
        """Close this thread's connection."""
        kept: http.client.HTTPConnection | None = getattr(self._local, "connection", None)
        if kept is not None:
            kept.close()
            self._open.discard(kept)
            self._local.connection = None


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

    async def request(self, *, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Send one request and give the whole envelope."""
        import asyncio

        return await asyncio.to_thread(self._client.request, method=method, params=params)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._client.close()
