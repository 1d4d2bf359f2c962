"""A client of the engine in this process: frames in, frames out, no transport."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from postil.core.call import LOCAL, Caller
from postil.core.registry import Registry
from postil.wire.runtime.runner import Connection, Runner
from postil.wire.runtime.watches import Watches
from postil.wire.server import UNITED, Face, Server
from tests.core.echo import Echo

META: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Frames:
    """What came back, decoded, in order: the outlet of every request."""

    is_heard = True

    def __init__(self) -> None:
        self.all: list[Any] = []
        self.came = asyncio.Event()
        self.trace: Mapping[str, str] = {}

    def send(self, frame: bytes) -> None:
        self.all.append(msgspec.json.decode(frame))
        self.came.set()

    def answer(self, frame: bytes, code: int) -> None:
        self.send(frame)

    def end(self) -> None: ...

    def tell(self, name: str, value: str) -> None: ...


class Talk:
    """One connection to a server of the echo part, or of any other."""

    def __init__(
        self, server: Server | None = None, *, direct: bool = False, name: str = "test", principal: str = LOCAL
    ) -> None:
        self.part = Echo()
        self.server = server or Server(Registry.of([("echo", self.part)], outputs=True), Face("echo", "1.0.0", UNITED))
        self._out = Frames()
        self.frames = self._out.all
        connection = Connection(Caller(principal, name), name, direct, push=self._out.send)
        self.runner = Runner(self.server, Watches(self.server), connection)

    @property
    def out(self) -> Frames:
        """Where answers go."""
        return self._out

    def send(self, frame: bytes | str | dict[str, Any] | list[Any]) -> bool:
        """Hand over a frame; whether an answer comes."""
        if isinstance(frame, str):
            frame = frame.encode()
        raw = frame if isinstance(frame, bytes) else msgspec.json.encode(frame)
        return self.runner.receive(raw, self._out)

    async def until(self, wanted: Callable[[Any], bool]) -> Any:
        """The first frame that fits, waiting for it if need be."""
        async with asyncio.timeout(15):
            while True:
                for frame in self.frames:
                    if wanted(frame):
                        return frame
                self._out.came.clear()
                await self._out.came.wait()

    async def eventually(self, claim: Callable[[], object]) -> None:
        """Wait until a claim holds that no frame announces."""
        async with asyncio.timeout(15):
            while not claim():  # noqa: ASYNC110 - what happens in a thread sets no event here
                await asyncio.sleep(0.001)

    async def ask(self, method: str, params: dict[str, Any] | None = None, request_id: int | str | None = None) -> Any:
        """Send a request and wait for its answer."""
        request_id = len(self.frames) + 1000 if request_id is None else request_id
        self.send({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params or {}})
        return await self.until(lambda frame: _id_of(frame) == request_id)

    async def stateless(self, method: str, params: dict[str, Any] | None = None, **meta: Any) -> Any:
        """The same in the stateless era."""
        return await self.ask(method, {**(params or {}), "_meta": {**META, **meta}})

    async def initialize(self, version: object = "2025-11-25", **capabilities: Any) -> Any:
        """Shake hands; the result."""
        answer = await self.ask("initialize", {"protocolVersion": version, "capabilities": capabilities})
        return answer["result"]

    async def call(self, tool: str, arguments: dict[str, Any] | None = None, **params: Any) -> Any:
        """Call a tool and wait for the answer."""
        return await self.ask("tools/call", {"name": tool, "arguments": arguments or {}, **params})


def _id_of(frame: Any) -> object:
    return None if isinstance(frame, list) else frame.get("id")
