"""A small HTTP client over raw sockets, and a real server to speak to: what the tests of the transport use."""

from __future__ import annotations

import asyncio
import json
import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from msgspec import Struct

from postil.core.effects.witness import Witness
from postil.core.ports import EphemeralStore, Keys
from postil.core.registry import Registry
from postil.surfaces.gateway.gateway import Gateway
from postil.surfaces.http.access_log import AccessLog, note_call
from postil.surfaces.http.app import HttpApp
from postil.surfaces.http.cors import Cors
from postil.surfaces.http.serve import hosts_for, listen
from postil.surfaces.http.server import HttpServer
from postil.wire.protocol.task_methods import EXTENSION
from postil.wire.server import UNITED, Face, Hooks, Server
from postil.wire.transports.http.endpoint import Endpoint
from postil.wire.transports.http.headers import NAMED_BY
from tests.core.echo import Echo

STATELESS = "2026-07-28"
META: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": STATELESS,
    "io.modelcontextprotocol/clientCapabilities": {},
}
BOTH = "application/json, text/event-stream"


class Answer(Struct):
    """What came back: status, headers by lower-case name, and the whole body."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class Connection:
    """One TCP connection."""

    def __init__(self, port: int, timeout: float = 10) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout)
        self.port = port
        self._buffer = b""

    def close(self) -> None:
        self.socket.close()

    def send(self, raw: bytes) -> None:
        self.socket.sendall(raw)

    def ask(self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None) -> None:
        given = {"Host": f"127.0.0.1:{self.port}", **(headers or {})}
        if body or method == "POST":
            given.setdefault("Content-Length", str(len(body)))
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in given.items())]
        self.send("\r\n".join(lines).encode() + b"\r\n\r\n" + body)

    def head(self) -> tuple[int, dict[str, str]]:
        raw = self.until(b"\r\n\r\n")
        first, *lines = raw.decode("latin-1").strip().split("\r\n")
        named = (line.split(": ", 1) for line in lines)
        return int(first.split()[1]), {name.lower(): value for name, value in named}

    def answer(self, method: str = "POST") -> Answer:
        status, headers = self.head()
        if method == "HEAD" or status in (204, 304):
            return Answer(status, headers, b"")
        if "content-length" in headers:
            return Answer(status, headers, self.exactly(int(headers["content-length"])))
        body = b"".join(self.chunks())
        return Answer(status, headers, body)

    def chunks(self) -> Iterator[bytes]:
        while size := int(self.until(b"\r\n"), 16):
            yield self.exactly(size)
            self.exactly(2)
        self.exactly(2)

    def events(self) -> Iterator[dict[str, Any]]:
        """The messages of a stream, comments left out."""
        text = b""
        for chunk in self.chunks():
            text += chunk
            while b"\n\n" in text:
                one, text = text.split(b"\n\n", 1)
                data = [line[6:] for line in one.split(b"\n") if line.startswith(b"data: ")]
                if b"".join(data):
                    yield json.loads(b"".join(data))

    def ids(self) -> Iterator[tuple[str, dict[str, Any] | None]]:
        """The events of a stream with their ids; None is an event without data."""
        text = b""
        for chunk in self.chunks():
            text += chunk
            while b"\n\n" in text:
                one, text = text.split(b"\n\n", 1)
                fields = dict(line.split(b": ", 1) for line in one.split(b"\n") if not line.startswith(b":"))
                if b"data" in fields:
                    yield fields.get(b"id", b"").decode(), json.loads(fields[b"data"]) if fields[b"data"] else None

    def until(self, mark: bytes) -> bytes:
        while mark not in self._buffer:
            self._more()
        found, self._buffer = self._buffer.split(mark, 1)
        return found + mark

    def exactly(self, size: int) -> bytes:
        while len(self._buffer) < size:
            self._more()
        found, self._buffer = self._buffer[:size], self._buffer[size:]
        return found

    def can_be_read(self, timeout: float = 0.2) -> bool:
        """Whether something comes, or the end, within a moment."""
        return bool(select.select([self.socket], [], [], timeout)[0])

    def is_closed(self) -> bool:
        """Wait until the server closes the connection."""
        try:
            while True:
                if not self.socket.recv(65536):
                    return True
        except ConnectionError:
            return True
        except TimeoutError:
            return False

    def _more(self) -> None:
        data = self.socket.recv(65536)
        if not data:
            raise ConnectionError(f"closed after {self._buffer!r}")
        self._buffer += data


class Running:
    """A real server with the echo part, in a thread with its own event loop."""

    def __init__(
        self,
        gateway: Gateway | None = None,
        gitlab: object = None,
        routes: Any = None,
        witness: Witness | None = None,
        keys: Callable[[], Keys] | None = None,
        shared: EphemeralStore | None = None,
        cors_origins: Sequence[str] = (),
        two_addresses: bool = False,
        log: AccessLog | None = None,
        trace: Any = None,
        more: Sequence[tuple[str, object]] = (),
        **endpoint: Any,
    ) -> None:
        self._cors, self._two_addresses = Cors(cors_origins), two_addresses
        self.echo = Echo()
        parts: list[tuple[str, object]] = [("echo", self.echo), *more]
        self.registry = Registry.of([*parts, ("gitlab", gitlab)] if gitlab else parts, outputs=True)
        self.bugs: list[BaseException] = []
        hooks = Hooks(
            witness=witness,
            shared=shared,
            trace=trace,
            report=lambda bug, where: self.bugs.append(bug),
            note_call=note_call if log is not None else None,
        )
        self._log = log
        self.server = Server(
            self.registry, Face("echo", "1.0.0", UNITED, extensions={EXTENSION: {}}), keys=keys, hooks=hooks
        )
        self.listener = listen("127.0.0.1", 0)
        self.port: int = self.listener.getsockname()[1]
        self._gateway, self._endpoint, self._routes = gateway, endpoint, routes
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._main()), daemon=True)

    async def _main(self) -> None:
        self.endpoint = Endpoint(self.server, **self._endpoint)
        self.app = HttpApp(
            self.server,
            gateway=self._gateway,
            hosts=hosts_for("127.0.0.1", (), self._cors.origins),
            endpoint=self.endpoint,
            routes=self._routes,
            cors=self._cors,
            two_addresses=self._two_addresses,
            log=self._log,
        )
        self.loop = asyncio.get_running_loop()
        self.running = HttpServer(self.app)
        task = asyncio.ensure_future(self.running.serve(sockets=[self.listener]))
        await self.running.ready.wait()
        self._ready.set()
        await task

    def start(self) -> None:
        self._thread.start()
        assert self._ready.wait(10)

    def stop(self) -> None:
        self.loop.call_soon_threadsafe(self.running.end)
        self._thread.join(10)
        assert not self._thread.is_alive()

    def connect(self, timeout: float = 10) -> Connection:
        return Connection(self.port, timeout)

    def ask(self, method: str, path: str, body: bytes = b"", **headers: str) -> Answer:
        connection = self.connect()
        try:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.ask(method, path, body, {"Connection": "close", **named})
            return connection.answer(method)
        finally:
            connection.close()

    def post(self, message: object, **headers: str) -> Answer:
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        return self.ask("POST", "/mcp", body, **{"Content_Type": "application/json", **headers})

    def call(self, method: str, params: dict[str, Any] | None = None, request_id: Any = 1, **headers: str) -> Answer:
        """A request of the stateless era, with the headers it needs."""
        given = {"MCP_Protocol_Version": STATELESS, "Mcp_Method": method, "Accept": BOTH}
        params = params or {}
        name = params.get("name") or params.get("uri") or params.get("taskId")
        if method in NAMED_BY and isinstance(name, str):
            given["Mcp_Name"] = name
        return self.post(request(method, {"_meta": META, **params}, request_id), **{**given, **headers})

    def initialize(self, version: str = "2025-11-25", **headers: str) -> str:
        """The id of a new session."""
        params = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        answer = self.post(request("initialize", params), Accept=BOTH, **headers)
        assert answer.status == 200, answer
        return answer.headers["mcp-session-id"]

    def in_session(self, session: str, message: object, **headers: str) -> Answer:
        return self.post(message, **{"Mcp_Session_Id": session, "Accept": BOTH, **headers})


def request(method: str, params: dict[str, Any] | None = None, request_id: Any = 1) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params or {}}


@contextmanager
def running(gateway: Gateway | None = None, gitlab: object = None, **given: Any) -> Generator[Running]:
    """A server that is ended when the test is over."""
    server = Running(gateway, gitlab, **given)
    server.start()
    try:
        yield server
    finally:
        server.stop()
    assert not server.bugs, server.bugs


@contextmanager
def process() -> Generator[tuple[subprocess.Popen[bytes], int]]:
    command = [sys.executable, "-m", "tests.wire.http_echo_server"]
    started = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert started.stdout
    try:
        port = int(started.stdout.readline())
        yield started, port
    finally:
        started.kill()
        started.communicate()


def until(true: Callable[[], bool]) -> None:
    """Wait until something is so, at most five seconds."""
    end = time.monotonic() + 5
    while not true():
        assert time.monotonic() < end
        time.sleep(0.005)
