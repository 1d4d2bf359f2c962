"""What is kept of a request for as long as it, its session or its task lasts: what somebody asks about, nothing else.

A frame has up to 4 MB, and what it brings beyond that would be held for as long as its sender likes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from postil.wire.protocol.eras import stateless

LONGEST = 1024
"""Characters of a text in `_meta`, and of an idempotency key: longer ones are good for nothing."""
PARAMS = frozenset({"name", "uri", "arguments", "_meta"})
"""What is asked of the params of a call that is at work."""
META = (
    "progressToken", "traceparent", "tracestate", stateless.VERSION, stateless.LOG_LEVEL, stateless.CAPABILITIES,
)  # fmt: skip
VIEWS = stateless.PREFIX + "ui"
TASKS = stateless.PREFIX + "tasks"


def keep_capabilities(given: object) -> dict[str, Any]:
    """Returns what a client can do, as far as it is asked about."""
    if not isinstance(given, dict):
        return {}
    declared = cast("dict[str, object]", given)
    kept: dict[str, Any] = {needed: {} for needed in stateless.NEEDED.values() if needed in declared}
    elicitation = declared.get("elicitation")
    if isinstance(elicitation, dict) and "url" in elicitation:
        kept["elicitation"] = {"url": {}}
    extensions = declared.get("extensions")
    if isinstance(extensions, dict) and extensions:
        from postil.wire.protocol.app_views import knows_views  # few clients have any

        known = {VIEWS: knows_views(declared), TASKS: TASKS in extensions}
        kept["extensions"] = {name: {} for name, is_known in known.items() if is_known}
    return kept


def keep_meta(given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what is asked of the `_meta` of a call that is at work."""
    kept: dict[str, Any] = {}
    for key in META:
        value = given.get(key)
        if isinstance(value, str) and len(value) <= LONGEST:
            kept[key] = value
        elif key == stateless.CAPABILITIES:
            kept[key] = keep_capabilities(value)
        elif isinstance(value, int):
            kept[key] = value
    return kept


def keep_key(given: object) -> str:
    """Returns an idempotency key, or so much of it that it is still refused as too long."""
    return str(given)[:LONGEST] if isinstance(given, str | int | float) else "?" * LONGEST if given else ""


def let_go(params: dict[str, Any]) -> None:
    """Forget the params that nobody asks for once a call is at work: others hold the same table while it lasts."""
    for name in params.keys() - PARAMS:
        del params[name]
