"""Questions to the client in the middle of a call: sent in the handshake eras, carried to and fro in the stateless."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec import Struct

from postil.core import call
from postil.core.call import Question
from postil.core.operation import reads
from postil.core.registry import Registry
from postil.wire.protocol import request_state
from postil.wire.runtime.wire_call import WireCall
from postil.wire.server import UNITED, Face, Server
from tests.wire.talk import META, Talk

pytestmark = pytest.mark.anyio


CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"


class Greeting(Struct, frozen=True):
    """What the user said."""

    text: str


class Curious:
    """A part that asks."""

    @reads("greet")
    async def greet(self, loudly: bool = False) -> Greeting:
        """Ask for a name, then for a wish, and greet"""
        name = await self._answer("name")
        wish = await self._answer("wish")
        return Greeting(f"{name} wants {wish}")

    async def _answer(self, key: str) -> str:
        question = Question("elicitation/create", {"message": key, "requestedSchema": {"type": "object"}})
        answers = await call.current().ask({key: question})
        answer: Any = answers[key]
        return answer["content"]["value"]


def talk() -> Talk:
    return Talk(Server(Registry.of([("curious", Curious())], outputs=True), Face("curious", "1", UNITED)))


def accepted(value: str) -> dict[str, Any]:
    return {"action": "accept", "content": {"value": value}}


async def test_in_the_handshake_eras_the_client_is_sent_a_request() -> None:
    curious = talk()
    await curious.initialize(elicitation={})
    asked = asyncio.ensure_future(curious.call("greet"))
    for key, value in (("name", "Ada"), ("wish", "tea")):
        request = await curious.until(lambda frame, key=key: frame.get("params", {}).get("message") == key)
        assert request["method"] == "elicitation/create"
        curious.send({"jsonrpc": "2.0", "id": request["id"], "result": accepted(value)})
    assert (await asked)["result"]["structuredContent"] == {"text": "Ada wants tea"}


async def test_a_client_that_cannot_be_asked_gets_a_failure_not_a_hang() -> None:
    curious = talk()
    await curious.initialize()
    assert (await curious.call("greet"))["result"]["isError"] is True


async def test_a_client_that_refuses_fails_the_call() -> None:
    curious = talk()
    await curious.initialize(elicitation={})
    asked = asyncio.ensure_future(curious.call("greet"))
    request = await curious.until(lambda frame: frame.get("method") == "elicitation/create")
    curious.send({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -1, "message": "no"}})
    assert (await asked)["result"]["isError"] is True


async def rounds(curious: Talk, **params: Any) -> Any:
    meta: dict[str, Any] = {**META, CAPABILITIES: {"elicitation": {}}}
    return await curious.ask("tools/call", {"name": "greet", "arguments": {}, **params, "_meta": meta})


async def test_in_the_stateless_era_the_call_comes_back_with_its_answers_round_by_round() -> None:
    curious = talk()
    first = (await rounds(curious))["result"]
    assert first["resultType"] == "input_required"
    assert first["inputRequests"]["name"]["method"] == "elicitation/create"
    second = (await rounds(curious, requestState=first["requestState"], inputResponses={"name": accepted("Ada")}))[
        "result"
    ]
    assert list(second["inputRequests"]) == ["wish"]
    third = await rounds(curious, requestState=second["requestState"], inputResponses={"wish": accepted("tea")})
    assert third["result"]["structuredContent"] == {"text": "Ada wants tea"}


async def test_a_missing_answer_is_asked_for_again() -> None:
    curious = talk()
    first = (await rounds(curious))["result"]
    again = (await rounds(curious, requestState=first["requestState"], inputResponses={"other": {}}))["result"]
    assert list(again["inputRequests"]) == ["name"]


async def test_a_client_without_the_capability_is_told_which_one_it_lacks() -> None:
    refused = await talk().stateless("tools/call", {"name": "greet"})
    assert refused["error"]["code"] == -32021
    assert refused["error"]["data"] == {"requiredCapabilities": {"elicitation": {}}}


async def test_a_state_that_was_changed_or_belongs_elsewhere_is_refused() -> None:
    curious = talk()
    state = (await rounds(curious))["result"]["requestState"]
    flipped = state[:60] + ("A" if state[60] != "A" else "B") + state[61:]
    for forged in (flipped, state[:-4], state + "!!", "", 5, state.replace("-", "+") + "="):
        refused = await rounds(curious, requestState=forged)
        assert refused["error"]["code"] == -32602, forged
    elsewhere = await rounds(curious, requestState=state, arguments={"loudly": True})
    assert elsewhere["error"]["code"] == -32602


async def test_a_state_expires(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_state, "LIFETIME", -1.0)
    curious = talk()
    state = (await rounds(curious))["result"]["requestState"]
    assert (await rounds(curious, requestState=state))["error"]["code"] == -32602


async def test_an_answer_that_is_no_object_is_refused() -> None:
    curious = talk()
    refused = (await rounds(curious, inputResponses={"name": 12345}))["error"]
    assert refused["code"] == -32602
    assert refused["data"] == {"path": "inputResponses"}


# ----- the trace of a call -------------------------------------------------------------------------------------------

TRACE = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "tracestate": "a=b"}
OTHER = {"traceparent": "00-11111111111111111111111111111111-b7ad6b7169203331-01"}


class Traced:
    """A part that says which trace its call belongs to."""

    def __init__(self) -> None:
        self.seen: list[dict[str, str]] = []

    @reads("look")
    async def look(self, spans: bool = False) -> str:
        """Note the trace"""
        doing = call.current()
        self.seen.append({**doing.trace})
        if spans:
            assert isinstance(doing, WireCall)
            doing.trace = OTHER
        self.seen.append({**doing.trace})
        return "seen"


async def test_a_call_belongs_to_the_trace_of_its_meta_or_of_its_request() -> None:
    part = Traced()
    traced = Talk(Server(Registry.of([("traced", part)]), Face("traced", "1", UNITED)))

    async def look(meta: dict[str, str], spans: bool = False) -> list[dict[str, str]]:
        part.seen.clear()
        await traced.stateless("tools/call", {"name": "look", "arguments": {"spans": spans}}, **meta)
        return part.seen

    assert await look({}) == [{}, {}]
    assert await look(TRACE) == [TRACE, TRACE]
    assert await look({"traceparent": "nonsense"}) == [{}, {}]
    assert await look(TRACE, spans=True) == [TRACE, OTHER], "what it asks elsewhere is below our own span"
    traced.out.trace = OTHER
    assert await look({}) == [OTHER, OTHER]
    assert await look(TRACE) == [TRACE, TRACE]
