"""One GitLab instance over HTTP: a pool, a token, retries of reads, no cookies, no foreign redirects.

The only module of this part that speaks HTTP. It knows routes as encoded paths and answers as bytes; what they mean is
said in `convert.py`. Failures of the transport are translated here and nowhere else.
"""

from __future__ import annotations

import asyncio
import os
import socket
import time
import zlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

import msgspec
from msgspec import Struct

from postil.core import call, limits
from postil.gitlab.failures import (
    AnswerTooLarge,
    GitLabFailure,
    GitLabUnreachable,
    NotOffered,
    UnknownOutcome,
    read_refusal,
)
from postil.gitlab.instance.records import parse
from postil.gitlab.instance.retries import choose_pause, read_retry_after

if TYPE_CHECKING:
    from http.cookiejar import CookieJar
    from ssl import SSLContext

    import httpx2

Query: TypeAlias = Mapping[str, str | int | bool | None]
Sleep: TypeAlias = Callable[[float], Awaitable[None]]
Trust: TypeAlias = "Callable[[], SSLContext | bool]"


class Unpacker(Protocol):
    """zlib's decompressor, whose own type has no public name."""

    @property
    def unconsumed_tail(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


LARGEST_ANSWER = limits.GITLAB_ANSWER
LONGEST_STREAM = limits.GITLAB_STREAM
LARGE = 1024 * 1024
"""Bytes of an answer beyond which one is read at a time."""
LONGEST_TURN = 5.0
"""Seconds after which the next large answer is read beside one that comes slowly."""
UNREAD = 256 * 1024
"""Bytes that the system keeps of what is not read yet: an event loop takes all of them into memory at once."""
PACKED = ("", "identity", "gzip")
"""How answers may be packed: anything else was not asked for, and could be unpacked without a bound."""
UNPACKED = 1024 * 1024
"""Bytes that are unpacked at once."""
DEADLINE = 60.0
"""Seconds that one answer may take to its last byte, and that a read may take in all before it is asked again."""


def trust_everyone() -> bool:
    """Return that the HTTP client's own authorities are trusted."""
    return True


class Reply(Struct, frozen=True):
    """A successful answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> object:
        """Return the answer's JSON, or None when it is none: after a write GitLab's verdict is the status alone."""
        return parse(self.body)

    def unreadable(self) -> GitLabFailure:
        """Return the failure for a success that is not JSON: a sign-in page, or half an answer."""
        advice = "Check that GITLAB_URL is the address of GitLab itself."
        return GitLabFailure(502, "GitLab's answer could not be read", advice=advice, upstream_status=self.status)


class Instance:
    """The configured GitLab. Safe to share by every caller: each request brings its own token."""

    def __init__(
        self,
        url: str,
        *,
        read_only: bool = False,
        timeout: float = 30.0,
        trust: Trust = trust_everyone,
        proxy: str = "",
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self.url = url.rstrip("/")
        self.api = f"{self.url}/api/v4/"
        self._read_only = read_only
        self._timeout, self._trust, self._sleep, self._proxy = timeout, trust, sleep, proxy
        self._client: httpx2.AsyncClient | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._large = asyncio.Lock()
        """Who has it reads a large answer."""
        self.answers: dict[int, int] = {}
        """How often GitLab answered with which status; 0 where it did not answer."""

    async def get(self, path: str, query: Query | None = None, *, token: str, etag: str = "") -> Reply:
        """Read a route, asking again when GitLab is busy. With an `etag`, 304 may be the answer's status."""
        headers = {"if-none-match": etag} if etag else None
        started, attempt = time.monotonic(), 1
        while True:
            reply: Reply | None = None
            try:
                reply = await self._read_once(self.api + path, query, token, headers)
                return _check_status(reply, token)
            except GitLabFailure as failure:
                if reply is None and not isinstance(failure, GitLabUnreachable):
                    raise  # too late, too large or led elsewhere: asking again would end so too
                wait = choose_pause(attempt, failure.status, read_retry_after(reply.headers) if reply else None)
                if wait is None or time.monotonic() - started + wait > DEADLINE:
                    raise
            await self._sleep(wait)
            attempt += 1

    async def stream(self, path: str, feed: Callable[[bytes], None], *, token: str) -> None:
        """Read a route of any length up to `LONGEST_STREAM` once, handing its bytes on as they come."""
        import httpx2

        client = self._get_client()
        request = client.build_request("GET", self.api + path, headers={"authorization": f"Bearer {token}"})
        try:
            async with asyncio.timeout(DEADLINE):
                response = await client.send(request, stream=True)
                try:
                    if response.status_code != 200:
                        body = await _read_bounded(response, self._large)
                        _check_status(Reply(response.status_code, dict(response.headers), body), token)
                    async for piece in _unpack(response, LONGEST_STREAM):
                        feed(piece)
                finally:
                    await response.aclose()
        except (httpx2.TransportError, TimeoutError) as error:
            self._count(0)
            advice = "Try again, or look at it in GitLab."
            raise GitLabFailure(
                504, f"The log broke off while it was read: {type(error).__name__}", advice=advice
            ) from None
        self._count(200)

    async def send(self, method: Literal["POST", "PUT", "DELETE"], path: str, body: object, *, token: str) -> Reply:
        """Write, once. What GitLab accepted is a success, whatever its body looks like."""
        if self._read_only:
            raise NotOffered("This server is read-only")
        try:
            reply = await self._send_once(method, self.api + path, None, token, None, msgspec.json.encode(body))
        except _Unanswered as error:
            raise UnknownOutcome(504, str(error)) from None
        if reply.status in (502, 503, 504) and "retry-after" not in reply.headers:
            raise UnknownOutcome(reply.status, "GitLab's front did not hand on an answer")
        return _check_status(reply, token)

    async def ask_graphql(self, query: str, *, token: str) -> object:
        """Ask a GraphQL query. Never a mutation, so a read-only server may."""
        try:
            body = msgspec.json.encode({"query": query})
            reply = await self._send_once("POST", f"{self.url}/api/graphql", None, token, None, body)
        except _Unanswered as error:
            raise GitLabFailure(504, str(error)) from None
        return _check_status(reply, token).json()

    async def pause(self, seconds: float) -> None:
        """Wait before something is asked again."""
        await self._sleep(seconds)

    async def close(self) -> None:
        """Close the pool."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def _read_once(self, url: str, query: Query | None, token: str, headers: Mapping[str, str] | None) -> Reply:
        """Read once, following one redirect if it stays on this instance."""
        try:
            reply = await self._send_once("GET", url, query, token, headers)
            target = reply.headers.get("location", "")
            if reply.status in (301, 302, 307, 308) and target:
                url = self._check_redirect(url, target, reply.status)
                reply = await self._send_once("GET", url, None, token, headers)
        except _Unanswered as error:
            if error.is_late:
                raise GitLabFailure(504, str(error), advice="Try again, or ask for a smaller page.") from None
            raise GitLabUnreachable(self.url, str(error), self._proxy) from None
        return reply

    def _check_redirect(self, url: str, target: str, status: int) -> str:
        """Return the redirect's target if it is under this instance's API: anywhere else the token must not go."""
        from urllib.parse import urljoin  # redirects are rare

        joined = urljoin(url, target)
        if joined.startswith(self.api) and ".." not in joined and "\\" not in joined:
            return joined
        advice = "It was not followed. If GitLab has a new address, set GITLAB_URL to it."
        raise GitLabFailure(status, "GitLab redirected to another address", advice=advice)

    async def _send_once(
        self,
        method: Literal["GET", "POST", "PUT", "DELETE"],
        url: str,
        query: Query | None,
        token: str,
        headers: Mapping[str, str] | None,
        body: bytes | None = None,
    ) -> Reply:
        from urllib.parse import quote, urlencode

        import httpx2  # 60 ms that only a call to GitLab pays

        client = self._get_client()
        signed = {"authorization": f"Bearer {token}"} if token else {}
        sent = {**signed, **call.current().trace, **(headers or {})}
        if body is not None:
            sent["content-type"] = "application/json"
        if query and (asked := {name: _encode(value) for name, value in query.items() if value is not None}):
            url = f"{url}?{urlencode(asked, quote_via=quote)}"  # the client would parse the address a second time
        try:
            request = client.build_request(method, url, headers=sent, content=body)
            end = asyncio.get_running_loop().time() + DEADLINE  # a byte now and then is in time for the pool
            async with asyncio.timeout_at(end):
                response = await client.send(request, stream=True)
            try:
                async with asyncio.timeout_at(end):
                    content = await _read_bounded(response, self._large)
            except (httpx2.TransportError, httpx2.DecodingError, TimeoutError, GitLabFailure):
                if body is None or not response.is_success:
                    raise
                content = b""  # the write is done, its status says so; only the words about it are lost
            finally:
                await response.aclose()
            self._count(response.status_code)
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout) as error:
            self._count(0)
            raise GitLabUnreachable(self.url, _find_reason(error), self._proxy) from None
        except (httpx2.TimeoutException, TimeoutError):
            self._count(0)
            raise _Unanswered("GitLab did not answer in time", is_late=True) from None
        except httpx2.UnsupportedProtocol:
            self._count(0)
            raise GitLabUnreachable(self.url, "it is no address of the web", self._proxy) from None
        except (httpx2.TransportError, httpx2.DecodingError):
            self._count(0)
            raise _Unanswered("the connection broke off") from None
        return Reply(response.status_code, dict(response.headers), content)

    def _count(self, status: int) -> None:
        self.answers[status] = self.answers.get(status, 0) + 1

    def _get_client(self) -> httpx2.AsyncClient:
        """Return the pool of the running event loop; a new loop (each command of the shell has one) gets a new pool."""
        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:
            self._client, self._loop, self._large = self.open_client(), loop, asyncio.Lock()
        return self._client

    def open_client(self, transport: httpx2.AsyncBaseTransport | None = None) -> httpx2.AsyncClient:
        """Return a new pool; tests give a `transport` of their own."""
        import httpx2

        from postil.core.startup import give_asyncio_tls

        give_asyncio_tls()  # a server on stdio left it out
        secured = self._trust() if self.url.startswith("https:") else False
        return httpx2.AsyncClient(
            transport=transport
            or httpx2.AsyncHTTPTransport(
                verify=secured,
                trust_env=False,  # only settings.py reads the environment
                limits=httpx2.Limits(max_connections=100, max_keepalive_connections=20),
                proxy=self._proxy or None,
                socket_options=[(socket.SOL_SOCKET, socket.SO_RCVBUF, UNREAD)],
            ),
            timeout=httpx2.Timeout(self._timeout, connect=5.0),
            follow_redirects=False,
            cookies=_make_forgetful_jar(),
            trust_env=False,
            headers={"user-agent": "postil", "accept": "application/json", "accept-encoding": "gzip"},
        )


class _Unanswered(Exception):
    """The request was sent, at least in part, and no answer came: not in time, or the connection ended."""

    def __init__(self, said: str, *, is_late: bool = False) -> None:
        super().__init__(said)
        self.is_late = is_late


def _check_status(reply: Reply, token: str) -> Reply:
    if reply.status < 300 or reply.status == 304:
        return reply
    if reply.status < 400:
        advice = "The project may have moved: look it up and use its id."
        raise GitLabFailure(reply.status, "GitLab redirected the request", advice=advice)
    raise read_refusal(reply.status, reply.body, reply.headers, token)


def _find_reason(error: BaseException) -> str:
    """Return why there is no connection, in the words of the system: only the innermost cause knows it."""
    seen: BaseException | None = error
    reason = "no connection within the time allowed"
    while seen is not None:
        if isinstance(seen, OSError) and seen.strerror:
            number = seen.errno or 0
            reason = os.strerror(number) if number > 1 else seen.strerror  # resolvers and TLS number theirs otherwise
        seen = seen.__cause__ or seen.__context__
    return reason


async def _read_bounded(response: httpx2.Response, large: asyncio.Lock) -> bytes:
    """Return an answer. Of those beyond a size one is read at a time, and the others wait for it."""
    held = bytearray()
    pieces = _unpack(response, LARGEST_ANSWER)
    async for piece in pieces:
        held += piece
        if len(held) > LARGE:
            break
    else:
        return bytes(held)
    async with _take_turn(large):
        async for piece in pieces:
            held += piece
        return bytes(held)


@asynccontextmanager
async def _take_turn(large: asyncio.Lock) -> AsyncGenerator[None]:
    """Hold the lock, but only so long as others may be made to wait."""
    await large.acquire()
    mine = [large.release]

    def end() -> None:
        while mine:
            mine.pop()()

    over = asyncio.get_running_loop().call_later(LONGEST_TURN, end)
    try:
        yield
    finally:
        over.cancel()
        end()


async def _unpack(response: httpx2.Response, most: int) -> AsyncGenerator[bytes]:
    """Yield what an answer holds, never more than `most` bytes of it, and never much of it at once."""
    packed = response.headers.get("content-encoding", "").strip().lower()
    if packed not in PACKED:
        raise GitLabFailure(502, "GitLab's answer is packed in a way that was not asked for")
    unpacker = zlib.decompressobj(16 + zlib.MAX_WBITS) if packed == "gzip" else None
    size = 0
    async for raw in response.aiter_raw():
        chunk = raw
        while chunk:
            piece = chunk if unpacker is None else _unpack_some(unpacker, chunk)
            chunk = b"" if unpacker is None else unpacker.unconsumed_tail
            size += len(piece)
            if size > most:
                raise AnswerTooLarge(most)
            if piece:
                yield piece
    if unpacker is not None and size and not unpacker.eof:
        raise GitLabFailure(502, "GitLab's answer broke off")


def _unpack_some(unpacker: Unpacker, packed: bytes) -> bytes:
    try:
        return unpacker.decompress(packed, UNPACKED)
    except zlib.error:
        raise GitLabFailure(502, "GitLab's answer could not be unpacked") from None


def _encode(value: str | int | bool | None) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _make_forgetful_jar() -> CookieJar:
    """Return a cookie jar that keeps nothing: GitLab's session cookie of one caller must not speak for another."""
    from http.cookiejar import CookieJar  # comes with httpx2 anyway

    class Forgetful(CookieJar):
        def extract_cookies(self, response: object, request: object) -> None:
            """Nothing is kept."""

        def add_cookie_header(self, request: object) -> None:
            """Nothing is sent."""

    return Forgetful()
