"""A whole session through `wire.protocol` alone, with no event loop, thread or socket to be had.

Run as `python -m tests.wire.protocol.session_alone`: imports of what does I/O are blocked before ours begin.
"""

from __future__ import annotations

import json
import sys
from importlib.abc import MetaPathFinder
from typing import Any, cast

BLOCKED = ("asyncio", "threading", "concurrent", "socket", "selectors", "subprocess")


class Blocked(MetaPathFinder):
    """Refuses the import of everything that does I/O or runs things side by side."""

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> None:
        if fullname.partition(".")[0] in BLOCKED:
            raise ImportError(f"{fullname} is not for the protocol")


class Offered:
    """What is on offer, without a registry: that one guards its groups by a lock."""

    def __init__(self, tools: list[Any]) -> None:
        self.tools = tools
        self.resources: list[Any] = []
        self.templates: list[Any] = []
        self.prompts: dict[str, Any] = {}

    def find(self, name: str) -> Any:
        return next((entry for entry in self.tools if entry.name == name), None)

    def is_tool(self, entry: Any) -> bool:
        return entry in self.tools

    def resource(self, uri: str) -> Any:
        from postil.core.resource import ResourceNotFound

        raise ResourceNotFound("Resource not found", uri=uri)


def frame(method: str, params: dict[str, Any] | None = None, request_id: object = None) -> bytes:
    message = {"jsonrpc": "2.0", "method": method, "params": params or {}}
    return json.dumps(message if request_id is None else {**message, "id": request_id}).encode()


def call(text: str, request_id: object, **params: Any) -> bytes:
    return frame("tools/call", {"name": "say", "arguments": {"text": text}, **params}, request_id)


def main() -> None:
    """Drive the session; an assertion that fails ends the process with 1."""
    import msgspec

    from postil.core.catalogue import OperationEntry
    from postil.core.failure import NotFound
    from postil.wire.protocol.events import Cancelled, Opened, Reply, Work
    from postil.wire.protocol.face import UNITED, Face, Profile
    from postil.wire.protocol.session import Session

    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    described = {"name": "say", "part": "p", "group": "g", "attribute": "say", "effect": "reads", "description": "Say"}
    entry = msgspec.convert({**described, "input_schema": msgspec.Raw(json.dumps(schema).encode())}, OperationEntry)
    profile = Profile(Face("alone", "1", UNITED), cast(Any, Offered([entry])), lambda: b"secret")
    session = Session(profile)

    def read(reply: object) -> Any:
        assert isinstance(reply, Reply), reply
        return json.loads(reply.frame)

    def work(*events: object) -> Work:
        (event,) = events
        assert isinstance(event, Work), event
        return event

    # the handshake, and a list
    reply, opened = session.receive(frame("initialize", {"protocolVersion": "2025-03-26"}, 1))
    assert read(reply)["result"]["serverInfo"] == {"name": "alone", "version": "1"}
    assert isinstance(opened, Opened)
    assert session.receive(frame("notifications/initialized")) == []
    assert [tool["name"] for tool in read(*session.receive(frame("tools/list", {}, 2)))["result"]["tools"]] == ["say"]

    # a call that is answered, and one that fails
    asked = work(*session.receive(call("hello", 3)))
    assert (asked.kind, asked.name, asked.arguments) == ("tool", "say", {"text": "hello"})
    assert read(session.answer(asked, "hello"))["result"]["content"] == [{"type": "text", "text": "hello"}]
    assert session.in_flight == {}
    failed = session.fail(work(*session.receive(call("hello", 3))), NotFound("No such word"))
    assert read(failed)["error"] == {"code": -32602, "message": "No such word"}

    # a call that the client gives up: nothing is sent for it, whatever becomes of the work
    given_up = work(*session.receive(call("never", 4)))
    (cancelled,) = session.receive(frame("notifications/cancelled", {"requestId": 4}))
    assert isinstance(cancelled, Cancelled)
    assert cancelled.work is given_up
    assert session.give_up(given_up) is None
    assert session.in_flight == {}

    # a batch: one answer, in the order of its items, when the last of them is there
    batch = b"[" + b",".join([call("a", 5), frame("ping", {}, 6), call("b", 7)]) + b"]"
    first, second = cast("list[Work]", session.receive(batch))
    assert session.answer(second, "b") is None
    whole = read(session.answer(first, "a"))
    assert [answer["id"] for answer in whole] == [5, 6, 7]

    # a request of the stateless era, in the same session
    prefix = "io.modelcontextprotocol/"
    meta: dict[str, Any] = {prefix + "protocolVersion": "2026-07-28", prefix + "clientCapabilities": {}}
    result = read(session.answer(work(*session.receive(call("now", 8, _meta=meta))), "now"))["result"]
    assert result["resultType"] == "complete"
    assert result["_meta"][prefix + "serverInfo"]["name"] == "alone"

    # what cannot be read is answered too
    assert read(*session.receive(b"{"))["error"]["code"] == -32700
    assert read(*session.receive(frame("shutdown", {}, 9)))["result"] is None
    assert session.ended


if __name__ == "__main__":
    for name in [name for name in sys.modules if name.partition(".")[0] in BLOCKED]:
        del sys.modules[name]
    sys.meta_path.insert(0, Blocked())
    main()
    print("a whole session")
