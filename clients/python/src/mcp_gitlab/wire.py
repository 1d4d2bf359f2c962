"""Requests and answers as bytes: pure, shared by the synchronous and the asynchronous client."""

from __future__ import annotations

import json
from typing import Any, cast

from mcp_gitlab.errors import McpGitlabError, from_object
from mcp_gitlab.results import Result

RETRY_DELAYS = (1.0, 2.0, 4.0)
"""Seconds before the three retries of a call that was over a limit: the contract's exponential backoff."""

READS = tuple(f'{{"jsonrpc": "2.0", "method": "{verb}_'.encode() for verb in ("list", "get", "search"))
"""How the request of a method that only reads begins."""


def encoded(method: str, params: dict[str, Any], number: int) -> bytes:
    """One request. Parameters that are None are left out."""
    given = {name: value for name, value in params.items() if value is not None}
    return json.dumps({"jsonrpc": "2.0", "method": method, "params": given, "id": number}).encode()


def decoded(status: int, body: bytes) -> dict[str, Any]:
    """The envelope, whatever the status: refusals are JSON-RPC errors too."""
    try:
        envelope: object = json.loads(body)
    except ValueError:
        envelope = None
    if not isinstance(envelope, dict) or not {"result", "error"} & set(cast("dict[str, Any]", envelope)):
        words = f"The server answered status {status} and no JSON-RPC object: check the endpoint"
        raise McpGitlabError(-32603, words, {"status": status})
    return cast("dict[str, Any]", envelope)


def opened(envelope: dict[str, Any]) -> Result:
    """The result inside an envelope, or its error raised."""
    if "error" in envelope:
        raise from_object(envelope["error"])
    result: object = envelope["result"]
    return Result(cast("dict[str, Any]", result)) if isinstance(result, dict) else Result(value=result)


def delay(attempt: int, envelope: dict[str, Any]) -> float | None:
    """How long to wait before trying again (the first try is 0), or None when this answer stands."""
    error: object = envelope.get("error")
    if error is None or attempt >= len(RETRY_DELAYS) or not from_object(error).is_rate_limited:
        return None
    return RETRY_DELAYS[attempt]
