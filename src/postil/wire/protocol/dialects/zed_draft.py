"""Zed's first draft of MCP, chosen by the integer `protocolVersion: 1`: the same methods in older shapes."""

from __future__ import annotations

from typing import Any

from postil.wire.protocol import methods, shapes
from postil.wire.protocol.methods import Handler
from postil.wire.protocol.request import Exchange
from postil.wire.server import Face

VERSION = 1
CAPABILITIES = {"experimental": {}, "logging": {}, "prompts": {}, "resources": {"subscribe": True}, "tools": {}}


def initialized(face: Face) -> dict[str, Any]:
    """The answer to `initialize`. A face without a capability does not claim it."""
    offered = {key: value for key, value in CAPABILITIES.items() if key in ("experimental", "logging") or
               key in face.capabilities}  # fmt: skip
    return {"protocolVersion": VERSION, "capabilities": offered, "serverInfo": face.info()}


def list_prompts(exchange: Exchange) -> object:
    """Prompts with their arguments, and no descriptions of their own."""
    return {
        "prompts": [
            {
                "name": entry.name,
                "arguments": [
                    {"name": each.name, "description": each.description, "required": bool(each.required)}
                    for each in entry.arguments
                ],
            }
            for entry in exchange.server.registry.prompts.values()
        ]
    }


async def _prompt_text(exchange: Exchange) -> object:
    written = await methods.written_prompt(exchange)
    return {"prompt": "\n\n".join(shapes.text_of(message.content.text) for message in written)}


async def _output(exchange: Exchange) -> object:
    called = await methods.call_tool(exchange)
    return {
        "output": "\n\n".join(getattr(block, "text", "") or getattr(block, "uri", "") for block in called["content"])
    }


def list_resources(exchange: Exchange) -> object:
    """Templates and resources in one answer."""
    registry = exchange.server.registry
    return {
        "resourceTemplates": [
            {"uriTemplate": entry.uri, "name": entry.name, "description": entry.description}
            for entry in registry.templates
        ],
        "resources": [{"uri": entry.uri, "mimeType": entry.mime_type} for entry in registry.resources],
    }


async def _contents(exchange: Exchange) -> object:
    (document,) = (await methods.read_resource(exchange))["contents"]
    kind = {"contentType": "text", "text": document.text}
    if document.blob is not None:
        kind = {"contentType": "blob", "blob": document.blob}
    return {"contents": [{"uri": document.uri, "mimeType": document.mime_type, **kind}]}


async def _null_after_subscribing(exchange: Exchange) -> object:
    await methods.subscribe(exchange)


def _null_after(handler: Handler) -> Handler:
    def answer(exchange: Exchange) -> object:
        handler(exchange)

    return answer


METHODS: dict[str, Handler] = {
    **methods.HANDSHAKE,
    "prompts/list": list_prompts,
    "prompts/get": _prompt_text,
    "tools/call": _output,
    "resources/list": list_resources,
    "resources/read": _contents,
    "resources/subscribe": _null_after_subscribing,
    "resources/unsubscribe": _null_after(methods.unsubscribe),
    "logging/setLevel": _null_after(methods.set_level),
}
