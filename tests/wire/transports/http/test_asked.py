"""How a request is refused: with its status, and the headers that belong to it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import MutableMapping
from typing import Any

import pytest

from postil.core.call import Caller
from postil.wire.protocol.failures import ProtocolFailure
from postil.wire.transports.http.asked import Asked, Refusal, refuse, respond


async def nothing() -> MutableMapping[str, Any]:
    return {"type": "http.disconnect"}


@pytest.mark.parametrize(
    ("failure", "status", "named"),
    [
        (ProtocolFailure(-32600, "no"), 400, {}),
        (Refusal(404, -32600, "no"), 404, {}),
        (Refusal(503, -32000, "later"), 503, {b"retry-after": b"1"}),
        (Refusal(405, -32600, "no", (b"allow", b"POST")), 405, {b"allow": b"POST"}),
    ],
)
def test_a_refusal_has_its_status_and_headers(failure: ProtocolFailure, status: int, named: dict[bytes, bytes]) -> None:
    sent: list[MutableMapping[str, Any]] = []

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    asyncio.run(refuse(Asked({}, Caller(), nothing, send), failure, 7))
    assert sent[0]["status"] == status
    assert named.items() <= dict(sent[0]["headers"]).items()
    assert json.loads(sent[1]["body"])["id"] == 7


def test_an_answer_without_content_has_no_length() -> None:
    sent: list[MutableMapping[str, Any]] = []

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    asyncio.run(respond(send, 204, b""))
    assert sent[0]["headers"] == []
