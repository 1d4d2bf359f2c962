"""Zed's first draft of MCP, chosen by the integer `protocolVersion: 1`: the same methods in older shapes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, cast

from postil.core.content import Block, Document, Message
from postil.wire.protocol import methods, shapes
from postil.wire.protocol.eras.era import ZED_DRAFT, Era
from postil.wire.protocol.events import Done, Shape, Work
from postil.wire.protocol.jsonrpc import Request
from postil.wire.protocol.methods import Handler

if TYPE_CHECKING:
    from postil.wire.protocol.face import Face, Profile
    from postil.wire.protocol.session import Session

CAPABILITIES = {"experimental": {}, "logging": {}, "prompts": {}, "resources": {"subscribe": True}, "tools": {}}


def answer_initialize(face: Face) -> dict[str, Any]:
    """Returns the answer to `initialize`. A face without a capability does not claim it."""
    offered = {key: value for key, value in CAPABILITIES.items() if key in ("experimental", "logging") or
               key in face.capabilities}  # fmt: skip
    return {"protocolVersion": ZED_DRAFT, "capabilities": offered, "serverInfo": face.info()}


def list_prompts(session: Session, request: Request, era: Era) -> object:
    """Returns the prompts with their arguments, and no descriptions of their own."""
    return {
        "prompts": [
            {
                "name": entry.name,
                "arguments": [
                    {"name": each.name, "description": each.description, "required": bool(each.required)}
                    for each in entry.arguments
                ],
            }
            for entry in session.profile.registry.prompts.values()
        ]
    }


def list_resources(session: Session, request: Request, era: Era) -> object:
    """Returns templates and resources in one answer."""
    offered = session.profile.registry
    return {
        "resourceTemplates": [
            {"uriTemplate": entry.uri, "name": entry.name, "description": entry.description}
            for entry in offered.templates
        ],
        "resources": [{"uri": entry.uri, "mimeType": entry.mime_type} for entry in offered.resources],
    }


def _prompt_text(profile: Profile, work: Work, value: Sequence[Message]) -> object:
    return {"prompt": _text(message.content for message in value)}


def _output(profile: Profile, work: Work, value: object) -> object:
    return {"output": _text(shapes.make_blocks(value, work.era))}


def _text(blocks: Iterable[Block]) -> str:
    return "\n\n".join(getattr(block, "text", "") or getattr(block, "uri", "") for block in blocks)


def _contents(profile: Profile, work: Work, value: Document) -> object:
    kind = {"contentType": "text", "text": value.text}
    if value.blob is not None:
        kind = {"contentType": "blob", "blob": value.blob}
    return {"contents": [{"uri": value.uri, "mimeType": value.mime_type, **kind}]}


def _null(profile: Profile, work: Work, value: object) -> None:
    return None


def _shaped(handler: Handler, shape: Shape) -> Handler:
    """Returns the same method, with its answer in another shape."""

    def handle(session: Session, request: Request, era: Era) -> Work:
        work = cast(Work, handler(session, request, era))
        work.shape = shape
        return work

    return handle


def _null_after(handler: Handler) -> Handler:
    def handle(session: Session, request: Request, era: Era) -> Done:
        return Done(None, cast(Done, handler(session, request, era)).news)

    return handle


METHODS: dict[str, Handler] = {
    **methods.HANDSHAKE,
    "prompts/list": list_prompts,
    "prompts/get": _shaped(methods.get_prompt, _prompt_text),
    "tools/call": _shaped(methods.call_tool, _output),
    "resources/list": list_resources,
    "resources/read": _shaped(methods.read_resource, _contents),
    "resources/subscribe": _shaped(methods.subscribe, _null),
    "resources/unsubscribe": _null_after(methods.unsubscribe),
    "logging/setLevel": _null_after(methods.set_level),
}
