"""Contract 002: MCP as Zed first spoke it. Each request of the document gets the response it shows."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from msgspec import Meta

from postil.core import call
from postil.core.answer import Answer
from postil.core.operation import reads
from postil.core.prompt import prompt
from postil.core.registry import Registry
from postil.core.resource import resource
from postil.wire.server import UNITED, Face, Server
from tests.wire.talk import Talk

pytestmark = pytest.mark.anyio


class Output(Answer, frozen=True):
    """A result with a text."""

    def for_model(self) -> str:
        return "Tool execution result"


class Example:
    """The example server of the document."""

    @reads("exampleTool")
    async def tool(self, key: str) -> Output:
        """An example"""
        call.current().progress(50.0, 100.0, "half")
        return Output()

    @prompt("examplePrompt")
    async def example(self, arg1: Annotated[str, Meta(description="Description of arg1")]) -> str:
        """An example"""
        return "Generated prompt text"

    @resource("template://example/{param}", name="Example Template")
    async def template(self, param: str) -> str:
        """Description of the template"""
        return param

    @resource("https://example.com/resource", name="Example")
    async def content(self) -> str:
        return "Resource content"


EXAMPLES: list[tuple[dict[str, Any], Any]] = [
    (
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": 1,
                "capabilities": {"experimental": {}, "sampling": {}},
                "clientInfo": {"name": "Zed", "version": "1.0.0"},
            },
        },
        {
            "protocolVersion": 1,
            "capabilities": {
                "experimental": {},
                "logging": {},
                "prompts": {},
                "resources": {"subscribe": True},
                "tools": {},
            },
            "serverInfo": {"name": "ExampleServer", "version": "1.0.0"},
        },
    ),
    (
        {"jsonrpc": "2.0", "id": 2, "method": "prompts/list", "params": {}},
        {
            "prompts": [
                {
                    "name": "examplePrompt",
                    "arguments": [{"name": "arg1", "description": "Description of arg1", "required": True}],
                }
            ]
        },
    ),
    (
        {
            "jsonrpc": "2.0",
            "id": 3,
            "method": "prompts/get",
            "params": {"name": "examplePrompt", "arguments": {"arg1": "value1"}},
        },
        {"prompt": "Generated prompt text"},
    ),
    (
        {"jsonrpc": "2.0", "id": 4, "method": "resources/list", "params": {}},
        {
            "resourceTemplates": [
                {
                    "uriTemplate": "template://example/{param}",
                    "name": "Example Template",
                    "description": "Description of the template",
                }
            ],
            "resources": [{"uri": "https://example.com/resource", "mimeType": "text/plain"}],
        },
    ),
    (
        {"jsonrpc": "2.0", "id": 5, "method": "resources/read", "params": {"uri": "https://example.com/resource"}},
        {
            "contents": [
                {
                    "uri": "https://example.com/resource",
                    "mimeType": "text/plain",
                    "contentType": "text",
                    "text": "Resource content",
                }
            ]
        },
    ),
    (
        {"jsonrpc": "2.0", "id": 6, "method": "resources/subscribe", "params": {"uri": "https://example.com/resource"}},
        None,
    ),
    (
        {
            "jsonrpc": "2.0",
            "id": 7,
            "method": "resources/unsubscribe",
            "params": {"uri": "https://example.com/resource"},
        },
        None,
    ),
    (
        {
            "jsonrpc": "2.0",
            "id": 8,
            "method": "tools/call",
            "params": {"name": "exampleTool", "arguments": {"key": "value"}},
        },
        {"output": "Tool execution result"},
    ),
    ({"jsonrpc": "2.0", "id": 9, "method": "logging/setLevel", "params": {"level": "info"}}, None),
    ({"jsonrpc": "2.0", "id": 10, "method": "shutdown"}, None),
]


def zed() -> Talk:
    return Talk(Server(Registry.of([("example", Example())]), Face("ExampleServer", "1.0.0", UNITED)))


async def test_every_example_of_the_document_is_answered_as_it_shows() -> None:
    talk = zed()
    for request, expected in EXAMPLES:
        talk.send(request)
        answer = await talk.until(lambda frame, wanted=request["id"]: frame.get("id") == wanted)
        assert answer == {"jsonrpc": "2.0", "id": request["id"], "result": expected}
        if request["method"] == "initialize":
            talk.send({"jsonrpc": "2.0", "method": "notifications/initialized", "params": {}})


async def test_progress_looks_as_the_document_shows() -> None:
    talk = zed()
    talk.send(EXAMPLES[0][0])
    arguments = {"name": "exampleTool", "arguments": {"key": "v"}, "_meta": {"progressToken": "operation1"}}
    await talk.ask("tools/call", arguments)
    (progress,) = [frame for frame in talk.frames if frame.get("method") == "notifications/progress"]
    assert progress == {
        "jsonrpc": "2.0",
        "method": "notifications/progress",
        "params": {"progressToken": "operation1", "progress": 50.0, "total": 100.0},
    }


async def test_errors_are_objects_with_the_id_of_the_request() -> None:
    talk = zed()
    talk.send(EXAMPLES[0][0])
    assert (await talk.ask("tools/call", {"name": "nope"}))["error"]["code"] == -32601
    assert (await talk.ask("prompts/get", {"name": "nope"}))["error"]["code"] == -32602
    talk.send(b"{")
    assert talk.frames[-1]["id"] is None
    assert talk.frames[-1]["error"]["code"] == -32700


async def test_true_is_not_the_integer_one() -> None:
    assert (await zed().initialize(True))["protocolVersion"] == "2025-11-25"
