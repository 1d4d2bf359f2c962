"""The access log: one JSON line for each HTTP request, when it has ended. Off unless `http.access_log` names a file.

Nothing that a caller chose is written: names stand there only if they are ours (routes, methods, operations), the
caller as a keyed hash, the request under an id of our own, which its answer carries as `X-Request-Id`. So no token can
get in.
A thread writes; when it cannot keep up, lines are left out, and the next line says how many.
"""

from __future__ import annotations

import os
import stat
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, MutableMapping
from contextlib import suppress
from contextvars import ContextVar
from typing import Any

from msgspec import Struct

from postil.core.failure import Failure
from postil.surfaces.gateway.quotas import Incoming
from postil.wire.protocol import jsonrpc, methods
from postil.wire.protocol.dialects.direct_methods import is_direct
from postil.wire.transports.http.asked import Scope, Send

MOST_WAITING = 10_000
"""Lines that wait to be written."""
MOST_REMEMBERED = 1024
"""Principals whose hash is kept."""
STDERR = "-"
_NEWLINE = ord("\n")
VERBS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
KNOWN = frozenset({*methods.HANDSHAKE, *methods.STATELESS, "initialize"})
NOTIFICATIONS = "notifications/"
DIRECT, UNKNOWN = "direct", "unknown"


class NoAccessLog(Failure):
    """The file of the access log cannot be written."""

    exit_status = 4


class Line(Struct, omit_defaults=True):
    """One request, as it is written."""

    time: str
    request: str
    """Our own id of it."""
    http: str
    """Verb and route."""
    status: int = 0
    method: str = ""
    """Of MCP, or `direct`, `batch`, `unknown`."""
    tool: str = ""
    """The operation, by its own name."""
    calls: dict[str, int] | None = None
    """How the calls of a batch ended."""
    principal: str = ""
    seconds: float = 0.0
    outcome: str = ""
    """`ok`, `failed` (the operation or its arguments), `refused` (before any), `left` (the client went away)."""
    code: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    dropped: int = 0
    """So many lines before this one were not written."""


class Logged:
    """One request in progress."""

    def __init__(self, scope: Scope, send: Send, route: str) -> None:
        verb: str = scope["method"] if scope["method"] in VERBS else "other"
        now = time.time()
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now % 1 * 1000):03d}Z"
        self.line = Line(stamp, os.urandom(8).hex(), f"{verb} {route}")
        self._send = send
        self._begun = time.perf_counter()
        self._ended: dict[str, int] = {}
        self._is_batch = False
        self._asked = 0
        self.principal = ""

    async def send(self, message: MutableMapping[str, Any]) -> None:
        """Pass on what is answered; the id of the request goes with it."""
        if message["type"] == "http.response.start":
            self.line.status = message["status"]
            message["headers"] = [*message["headers"], (b"x-request-id", self.line.request.encode("ascii"))]
        else:
            self.line.bytes_out += len(message.get("body", b""))
        await self._send(message)

    def hear(self, incoming: Incoming, size: int) -> None:
        """Note what was posted."""
        self.line.bytes_in = size
        self._is_batch = isinstance(incoming, list)
        self._asked = count_asked(incoming)
        self.line.method = name_method(incoming)

    def note_call(self, name: str, outcome: str, code: int) -> None:
        """Note that a call of this request has ended."""
        if self._is_batch:
            self._ended[outcome] = self._ended.get(outcome, 0) + 1
        else:
            self.line.tool, self.line.outcome, self.line.code = name, outcome, code

    def finish(self) -> Line:
        """Returns the line of a request that has ended."""
        line = self.line
        line.seconds = round(time.perf_counter() - self._begun, 6)
        if line.status and (unbegun := self._asked - sum(self._ended.values())) > 0:  # no such method, or over a limit
            self._ended["refused"] = self._ended.get("refused", 0) + unbegun
        line.calls = self._ended or None
        if not line.outcome:
            refused = line.status >= 400 or (line.status == 200 and line.method in (DIRECT, UNKNOWN))  # no such method
            line.outcome = "left" if not line.status else "refused" if refused else "ok"
        return line


_current: ContextVar[Logged | None] = ContextVar("postil_access_log", default=None)


class AccessLog:
    """Where requests are written down."""

    def __init__(self, path: str, key: bytes) -> None:
        self._path, self._key = path, key
        self._names: dict[str, str] = {}
        self._lines: deque[Line] = deque()
        self._refused = 0
        """Lines that found no place to wait, since the last that did."""
        self._dropped = self._told = 0
        """Lines that could not be written, and how many of them a later line tells. Each is counted by one thread."""
        self._is_torn = False
        """Whether a pipe has half a line of ours."""
        self._waiting = threading.Event()
        self._closing = False
        if path != STDERR:
            try:
                os.close(self._open())
            except OSError as error:
                raise NoAccessLog(
                    f"The access log {path} cannot be written: {error.strerror}",
                    advice="Name a file in a folder of the server's user as http.access_log, or - for stderr",
                ) from error
        self._writer = threading.Thread(target=self._write, name="access log", daemon=True)
        self._writer.start()

    def begin(self, scope: Scope, send: Send, routes: Collection[str]) -> Logged:
        """Note that a request has begun. What calls it makes is noted with it."""
        route = scope["path"] if scope["path"] in routes else "other"
        logged = Logged(scope, send, route)
        _current.set(logged)
        return logged

    def end(self, logged: Logged) -> None:
        """Write down a request that has ended."""
        line = logged.finish()
        if logged.principal:
            line.principal = self.hash(logged.principal)
        if len(self._lines) >= MOST_WAITING:
            self._refused += 1
            return
        dropped = self._dropped
        line.dropped = self._refused + dropped - self._told
        self._refused, self._told = 0, dropped
        self._lines.append(line)
        self._waiting.set()

    def hash(self, principal: str) -> str:
        """Returns the name of a principal that only who has the server's secret can tell."""
        known = self._names.get(principal)
        if known is None:
            import hmac

            known = hmac.digest(self._key, principal.encode("utf-8", "surrogateescape"), "sha256").hex()[:16]
            if len(self._names) >= MOST_REMEMBERED:
                self._names.pop(next(iter(self._names)))
            self._names[principal] = known
        return known

    def close(self, patience: float = 2.0) -> None:
        """Write what waits, for some seconds at most."""
        self._closing = True
        self._waiting.set()
        self._writer.join(patience)

    def _open(self) -> int:
        how = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK
        return os.open(self._path, how, 0o600)

    def _write(self) -> None:
        encode = jsonrpc.encode
        while not (self._closing and not self._lines):
            self._waiting.wait()
            self._waiting.clear()
            taken = [self._lines.popleft() for _ in range(len(self._lines))]
            if not taken:
                continue
            raw = b"".join(encode(line) + b"\n" for line in taken)
            # Opened for each piece: after a rotation the next lines go to the new file.
            try:
                file = 2 if self._path == STDERR else self._open()
            except OSError:
                self._dropped += len(taken)
                continue
            try:
                if self._has_half_a_line(file):
                    raw = b"\n" + raw
                written = write_all(file, raw)
            except OSError:  # a disk that fails, or a stderr that is closed
                written = 0
            finally:
                if file != 2:
                    os.close(file)
            if written:
                self._is_torn = raw[written - 1] != _NEWLINE
            self._dropped += min(len(taken), raw.count(b"\n", written))

    def _has_half_a_line(self, file: int) -> bool:
        """Returns whether the log ends in half a line: a full disk left it, or a process that died."""
        about = os.fstat(file)
        if self._path == STDERR or not stat.S_ISREG(about.st_mode):
            return self._is_torn
        if not about.st_size:
            return False
        try:
            reader = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError:  # a log that its writer may not read
            return self._is_torn
        try:
            return os.pread(reader, 1, about.st_size - 1) not in (b"\n", b"")
        finally:
            os.close(reader)


def note_call(name: str, outcome: str, code: int) -> None:
    """Note how a call ended, with the request that made it."""
    logged = _current.get()
    if logged is not None:
        logged.note_call(name, outcome, code)


def name_method(incoming: Incoming) -> str:
    """Returns what was asked for, in our own words."""
    if isinstance(incoming, list):
        return "batch"
    if isinstance(incoming, jsonrpc.Response):
        return "response"
    if isinstance(incoming, jsonrpc.Invalid):
        return UNKNOWN
    method = incoming.method
    if method in KNOWN:
        return method
    if method.startswith(NOTIFICATIONS):
        return "notification"
    return DIRECT if is_direct(method) else UNKNOWN


def count_asked(incoming: Incoming) -> int:
    """Returns how many items of a batch ask for a call, or for nothing that there is; 0 where it is no batch."""
    if not isinstance(incoming, list):
        return 0
    calls = (DIRECT, "tools/call", UNKNOWN)
    return sum(name_method(item) in calls and not isinstance(item, jsonrpc.Notification) for item in incoming)


def write_all(file: int, raw: bytes, write: Callable[[int, bytes], int] = os.write) -> int:
    """Write all of it, also where a pipe takes only some at once. Returns how many bytes could be written."""
    done = 0
    with suppress(OSError):
        while done < len(raw):
            done += write(file, raw[done:])
    return done
