"""What is kept of a request while it, its session or its task lasts."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from postil.wire.protocol import kept
from postil.wire.protocol.app_views import EXTENSION, MIME_TYPE, knows_views
from postil.wire.protocol.events import Work
from postil.wire.protocol.methods import LONGEST_URI, PAGE
from postil.wire.protocol.task_methods import knows_tasks
from tests.wire.talk import META, Talk

pytestmark = pytest.mark.anyio
GIANT = "x" * 100_000


@pytest.mark.parametrize(
    "declared",
    [
        {"elicitation": {"url": {"a": GIANT}, GIANT: 1}, "experimental": {"a": GIANT}, GIANT: {}},
        {"extensions": {EXTENSION: {"mimeTypes": [MIME_TYPE, GIANT]}, GIANT: {}}},
        {"roots": {"listChanged": GIANT}, "sampling": GIANT},
    ],
)
async def test_a_session_keeps_of_a_handshake_only_what_is_asked_about(declared: dict[str, Any]) -> None:
    talk = Talk()
    await talk.ask("initialize", {"capabilities": declared, "clientInfo": {"name": GIANT, "version": GIANT}})
    session = talk.runner.session
    assert len(repr(session.capabilities)) < 200
    assert session.capabilities.keys() == declared.keys() & {"elicitation", "extensions", "roots", "sampling"}
    assert knows_views(session.capabilities) == knows_views(declared)


def test_what_a_client_can_do_is_the_same_after_it_was_kept() -> None:
    declared: dict[str, Any] = {
        "elicitation": {"form": {}, "url": {}},
        "extensions": {EXTENSION: {"mimeTypes": [MIME_TYPE]}, kept.TASKS: {"x": 1}},
    }
    once = kept.keep_capabilities(declared)
    assert kept.keep_capabilities(once) == once
    assert knows_views(once)
    assert knows_tasks(once)
    assert not knows_views(kept.keep_capabilities({"extensions": {EXTENSION: {"mimeTypes": ["text/plain"]}}}))
    assert kept.keep_capabilities([GIANT]) == {}


async def test_a_call_at_work_keeps_of_its_request_only_what_is_asked_about() -> None:
    talk = Talk()
    meta = {**META, kept.TASKS: GIANT, "progressToken": "p", "tracestate": GIANT, "postil/idempotencyKey": GIANT}
    params: dict[str, Any] = {"name": "count", "arguments": {}, "junk": GIANT, "inputResponses": {}, "_meta": meta}
    incoming = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    work = talk.runner.session.receive(json.dumps(incoming).encode())[0]
    assert isinstance(work, Work)
    assert work.request.params == {"name": "count", "arguments": {}, "_meta": work.meta}
    assert work.meta == {**META, "progressToken": "p"}
    assert len(work.key) == kept.LONGEST


async def test_a_giant_address_is_no_resource() -> None:
    talk = Talk()
    for method in ("resources/read", "resources/subscribe", "resources/unsubscribe"):
        refused = (await talk.ask(method, {"uri": "echo://" + "x" * LONGEST_URI}))["error"]
        assert refused["message"] == f"The address of a resource has at most {LONGEST_URI} characters"


async def test_a_page_from_a_place_of_the_callers_own_is_not_kept() -> None:
    talk = Talk()
    for place in (1, 2):
        await talk.ask("tools/list", {"cursor": base64.urlsafe_b64encode(b"%d" % place).decode()})
    await talk.ask("tools/list")
    assert {start % PAGE for _, _, start in talk.runner.session.profile.pages} == {0}
