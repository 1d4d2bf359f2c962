"""Which operations become tasks, and which servers know of tasks at all."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import msgspec
import pytest

from postil.app import read_catalogue
from postil.contracts import CONTRACTS, united
from postil.core import call
from postil.core.call import Question
from postil.core.operation import reads
from postil.core.registry import Registry
from postil.wire.protocol import jsonrpc
from postil.wire.protocol.eras.stateless import CAPABILITIES
from postil.wire.protocol.face import Profile
from postil.wire.protocol.session import Session
from postil.wire.protocol.task_methods import EXTENSION, knows_tasks
from postil.wire.server import UNITED, Face, Server
from tests.wire.http_client import META, request
from tests.wire.talk import Talk


def test_what_takes_long_becomes_a_task() -> None:
    long = {entry.name for entry in read_catalogue().operations if entry.task and not entry.same_as}
    assert long == {
        "inbox_wait",
        "request_review",
        "wait_pipeline",
        "comments_relocate",
        "issue_sync",
        "issue_verify",
        "issue_gc",
    }


def test_the_united_server_offers_tasks_and_the_contracts_do_not() -> None:
    assert EXTENSION in united().extensions
    assert not any(contract.face.extensions for contract in CONTRACTS.values())
    session = Session(Profile(CONTRACTS["tracker"].face, Registry.of([]), lambda: b""))
    knows: dict[str, Any] = {**META, "io.modelcontextprotocol/clientCapabilities": {"extensions": {EXTENSION: {}}}}
    (reply,) = session.take(parse(request("tasks/get", {"taskId": "x", "_meta": knows})))
    assert getattr(reply, "code", 0) == -32601


def parse(message: object) -> jsonrpc.Incoming | list[jsonrpc.Incoming]:
    return jsonrpc.parse(msgspec.json.encode(message))


@pytest.mark.parametrize("capabilities", [None, [], "x", {}, {"extensions": None}, {"extensions": [EXTENSION]}])
def test_only_a_plain_word_counts(capabilities: object) -> None:
    assert not knows_tasks(capabilities)


class Long:
    """Operations that may become tasks."""

    def __init__(self) -> None:
        self.go = asyncio.Event()

    @reads("dig", task="optional")
    async def dig(self) -> str:
        """Dig until told"""
        await self.go.wait()
        return "dug"

    @reads("drill", task="required")
    async def drill(self) -> str:
        """Drill"""
        return "drilled"

    @reads("plan", task="after_questions")
    async def plan(self, asks: bool) -> str:
        """Ask first"""
        said = await call.current().ask({"sure": FORM}) if asks else "nothing"
        await self.go.wait() if asks else None
        return f"answered {said}"


FORM = Question("elicitation/create", {"message": "Go on?", "requestedSchema": {"type": "object", "properties": {}}})
KNOWS: dict[str, Any] = {CAPABILITIES: {"elicitation": {}, "extensions": {EXTENSION: {}}}}


def long_talk(*, offered: bool = True) -> tuple[Talk, Long]:
    part = Long()
    face = Face("long", "1", UNITED, extensions={EXTENSION: {}} if offered else {})
    return Talk(Server(Registry.of([("long", part)]), face)), part


async def ended(talk: Talk, task_id: str) -> dict[str, Any]:
    """Ask until the task has ended."""
    async with asyncio.timeout(20):
        while True:
            found = (await talk.stateless("tasks/get", {"taskId": task_id}, **KNOWS))["result"]
            if found["status"] not in ("working", "input_required"):
                return found
            await asyncio.sleep(0.001)


@pytest.mark.anyio
async def test_a_task_is_answered_at_once_and_ends_with_the_result_of_its_tool() -> None:
    talk, part = long_talk()
    made = (await talk.stateless("tools/call", {"name": "dig"}, **KNOWS))["result"]
    assert (made["resultType"], made["status"]) == ("task", "working")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", made["createdAt"])
    assert (made["ttlMs"], made["pollIntervalMs"]) == (3_600_000, 1000)
    part.go.set()
    found = await ended(talk, made["taskId"])
    assert (found["status"], found["result"]["content"]) == ("completed", [{"type": "text", "text": "dug"}])


@pytest.mark.anyio
async def test_what_must_be_a_task_is_refused_to_a_client_that_knows_of_none() -> None:
    talk, _ = long_talk()
    refused = (await talk.stateless("tools/call", {"name": "drill"}))["error"]
    assert (refused["code"], refused["data"]) == (-32021, {"requiredCapabilities": {"extensions": {EXTENSION: {}}}})


@pytest.mark.anyio
async def test_a_server_without_tasks_calls_what_takes_long_like_anything_else() -> None:
    talk, part = long_talk(offered=False)
    part.go.set()
    for name, said in (("dig", "dug"), ("drill", "drilled")):
        result = (await talk.stateless("tools/call", {"name": name}, **KNOWS))["result"]
        assert (result["resultType"], result["content"][0]["text"]) == ("complete", said)
    heard = talk.stateless("subscriptions/listen", {"notifications": {"taskIds": ["x"]}})
    listening = asyncio.ensure_future(heard)
    first = await talk.until(lambda frame: "method" in frame)
    assert first["method"] == "notifications/subscriptions/acknowledged"
    listening.cancel()


@pytest.mark.anyio
async def test_a_call_that_asks_first_becomes_a_task_with_its_answers() -> None:
    talk, part = long_talk()
    plan = {"name": "plan", "arguments": {"asks": True}}
    asked = (await talk.stateless("tools/call", plan, **KNOWS))["result"]
    assert asked["resultType"] == "input_required"
    again = {**plan, "inputResponses": {"sure": {"action": "accept"}}, "requestState": asked["requestState"]}
    made = (await talk.stateless("tools/call", again, **KNOWS))["result"]
    assert made["resultType"] == "task"
    part.go.set()
    found = await ended(talk, made["taskId"])
    assert found["result"]["content"][0]["text"] == "answered {'sure': {'action': 'accept'}}"


@pytest.mark.anyio
async def test_a_call_that_ends_before_it_becomes_a_task_is_answered_itself() -> None:
    talk, _ = long_talk()
    result = (await talk.stateless("tools/call", {"name": "plan", "arguments": {"asks": False}}, **KNOWS))["result"]
    assert (result["resultType"], result["content"][0]["text"]) == ("complete", "answered nothing")


@pytest.mark.anyio
@pytest.mark.parametrize("answers", [None, [], "x", {"sure": "yes"}, {"sure": None}])
async def test_answers_to_a_task_are_one_object_for_each_question(answers: object) -> None:
    talk, _ = long_talk()
    refused = (await talk.stateless("tasks/update", {"taskId": "x", "inputResponses": answers}, **KNOWS))["error"]
    assert (refused["code"], refused["data"]["path"]) == (-32602, "inputResponses")
