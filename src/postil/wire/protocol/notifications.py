"""The notifications that a server sends, as frames; empty where the client does not want to hear it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from postil.core.call import LEVELS, Level
from postil.wire.protocol import jsonrpc
from postil.wire.protocol.events import FLAGS, Work
from postil.wire.protocol.face import tells_changes

if TYPE_CHECKING:
    from postil.core.registry import Listed
    from postil.wire.protocol.face import Face


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
    return jsonrpc.encode_notification("notifications/progress", params)


def log(wanted: Level | None, level: Level, params: Mapping[str, Any]) -> bytes:
    """Returns a log message, for a client that wants this level."""
    if wanted is None or LEVELS.index(level) < LEVELS.index(wanted):
        return b""
    return jsonrpc.encode_notification("notifications/message", {"level": level, **params})


def acknowledge(stream: Work, tasks: Sequence[str] = ()) -> bytes:
    """Returns the first frame of a stream: what it will hear of."""
    flags, uris, _ = stream.arguments
    honoured: dict[str, Any] = dict.fromkeys(sorted(flags), True)
    if uris:
        honoured["resourceSubscriptions"] = uris
    if tasks:
        honoured["taskIds"] = tasks
    params = {"notifications": honoured, "_meta": stream.stamp()}
    return jsonrpc.encode_notification("notifications/subscriptions/acknowledged", params)


def update(uri: str, stream: Work | None = None) -> bytes:
    """Returns that a resource changed, for a subscriber or for a stream."""
    params = {"uri": uri} if stream is None else {"uri": uri, "_meta": stream.stamp()}
    return jsonrpc.encode_notification("notifications/resources/updated", params)


def list_change(what: Listed, face: Face, stream: Work | None = None) -> bytes:
    """Returns that a list changed, where the face declared to say so, or for a stream that asked to hear of it."""
    if stream is not None:
        is_wanted, params = FLAGS[what] in stream.arguments[0], {"_meta": stream.stamp()}
    else:
        is_wanted, params = tells_changes(face, what), {}
    return jsonrpc.encode_notification(f"notifications/{what}/list_changed", params) if is_wanted else b""
