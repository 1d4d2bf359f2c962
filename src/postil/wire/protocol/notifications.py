"""The notifications that a server sends, as frames; empty where the client does not want to hear it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from postil.core.announcer import Announcement
from postil.core.call import LEVELS, Level
from postil.wire.protocol import jsonrpc
from postil.wire.protocol.eras import stateless
from postil.wire.protocol.events import Work
from postil.wire.protocol.face import Face

if TYPE_CHECKING:
    from postil.core.registry import Listed

FLAGS: dict[Listed, str] = {
    "tools": "toolsListChanged",
    "prompts": "promptsListChanged",
    "resources": "resourcesListChanged",
}
"""How a stream of the stateless era asks to hear that a list changed."""


def progress(work: Work, done: float, total: float | None, message: str) -> bytes:
    """Returns how far a request is, for a client that gave a token for it."""
    token = work.meta.get("progressToken")
    if not jsonrpc.is_id(token):
        return b""
    params: dict[str, Any] = {"progressToken": token, "progress": done}
    if total is not None:
        params["total"] = total
    if message and work.era.annotations:
        params["message"] = message
    return jsonrpc.notification("notifications/progress", params)


def log(wanted: Level | None, level: Level, params: Mapping[str, Any]) -> bytes:
    """Returns a log message, for a client that wants this level."""
    if wanted is None or LEVELS.index(level) < LEVELS.index(wanted):
        return b""
    return jsonrpc.notification("notifications/message", {"level": level, **params})


def announcement(wanted: Level | None, said: Announcement) -> bytes:
    """Returns what a part announced, for a client that wants this level."""
    return log(wanted, said.level, {"message": said.message, "data": said.data})


def acknowledged(work: Work) -> bytes:
    """Returns the first frame of a stream: what it will hear of."""
    flags, uris = work.arguments
    honoured: dict[str, Any] = dict.fromkeys(sorted(flags), True)
    if uris:
        honoured["resourceSubscriptions"] = uris
    return jsonrpc.notification(
        "notifications/subscriptions/acknowledged", {"notifications": honoured, "_meta": stamp(work)}
    )


def updated(uri: str, stream: Work | None = None) -> bytes:
    """Returns that a resource changed, for a subscriber or for a stream."""
    params = {"uri": uri} if stream is None else {"uri": uri, "_meta": stamp(stream)}
    return jsonrpc.notification("notifications/resources/updated", params)


def list_changed(what: Listed, face: Face) -> bytes:
    """Returns that a list changed, where the face declared that it would say so."""
    declared = face.capabilities.get(what)
    says_so = isinstance(declared, dict) and cast("dict[str, Any]", declared).get("listChanged")
    return _list_changed(what, {}) if says_so else b""


def list_changed_on(stream: Work, what: Listed) -> bytes:
    """Returns that a list changed, for a stream that asked to hear of it."""
    return _list_changed(what, {"_meta": stamp(stream)}) if FLAGS[what] in stream.arguments[0] else b""


def _list_changed(what: Listed, params: dict[str, Any]) -> bytes:
    return jsonrpc.notification(f"notifications/{what}/list_changed", params)


def stamp(stream: Work) -> dict[str, Any]:
    """Returns the `_meta` that every frame of a stream carries."""
    return {stateless.SUBSCRIPTION: stream.request.id}
