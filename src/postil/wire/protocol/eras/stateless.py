"""The stateless era, 2026-07-28: every request carries its version and the client's capabilities in `_meta`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from postil.core import codes
from postil.core.call import LEVELS, Question
from postil.wire.protocol.eras.era import STATELESS
from postil.wire.protocol.failures import InputRequired, ProtocolFailure

PREFIX = "io.modelcontextprotocol/"
VERSION = PREFIX + "protocolVersion"
CAPABILITIES = PREFIX + "clientCapabilities"
LOG_LEVEL = PREFIX + "logLevel"
SERVER_INFO = PREFIX + "serverInfo"

CACHED = frozenset({
    "server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read",
})  # fmt: skip
"""Methods whose results must say how long they stay true."""

NEEDED = {
    "elicitation/create": "elicitation",
    "sampling/createMessage": "sampling",
    "roots/list": "roots",
}
"""The client capability behind each question a server may put."""


def check_meta(meta: Mapping[str, Any]) -> None:
    """Refuse a request whose `_meta` lacks what the era demands, or names a version that is not served."""
    version = meta.get(VERSION)
    if not isinstance(version, str):
        raise ProtocolFailure(codes.INVALID_PARAMS, f"Invalid params: _meta needs {VERSION}")
    if version != STATELESS.version:
        raise ProtocolFailure(
            codes.UNSUPPORTED_VERSION,
            "Unsupported protocol version",
            supported=[STATELESS.version],
            requested=version[:64],
        )
    if not isinstance(meta.get(CAPABILITIES), dict):
        raise ProtocolFailure(codes.INVALID_PARAMS, f"Invalid params: _meta needs {CAPABILITIES}")
    level = meta.get(LOG_LEVEL)
    if level is not None and level not in LEVELS:
        raise ProtocolFailure(codes.INVALID_PARAMS, f"Invalid params: {LOG_LEVEL} must be one of {', '.join(LEVELS)}")


def check_capability(method: str, meta: Mapping[str, Any]) -> None:
    """Refuse to ask a client what it did not say it can answer."""
    needed = NEEDED.get(method, "")
    if needed and needed not in cast("dict[str, Any]", meta.get(CAPABILITIES) or {}):
        raise ProtocolFailure(
            codes.MISSING_CAPABILITY, f"The client lacks the capability {needed!r}", requiredCapabilities={needed: {}}
        )


def recall(
    questions: Mapping[str, Question], answers: Mapping[str, Any], meta: Mapping[str, Any]
) -> Mapping[str, object]:
    """Returns the answers that a call brought along. Raises InputRequired for those that it lacks."""
    for question in questions.values():
        check_capability(question.method, meta)
    missing = {key: question for key, question in questions.items() if key not in answers}
    if missing:
        raise InputRequired(missing)
    return {key: answers[key] for key in questions}


def complete(result: dict[str, Any], method: str, server_info: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a result in this era's envelope."""
    result.setdefault("resultType", "complete")
    if method in CACHED:
        # Lists differ by what a caller may see and data by the minute; so: private, and to be asked again soon.
        result.setdefault("ttlMs", 0 if method == "resources/read" else 60_000)
        result.setdefault("cacheScope", "private")
    result["_meta"] = {**result.get("_meta", {}), SERVER_INFO: server_info}
    return result
