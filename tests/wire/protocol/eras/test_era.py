"""Which era a client gets, and which codes it hears in it."""

from __future__ import annotations

import pytest

from postil.core.registry import Registry
from postil.wire.server import Face, Server
from tests.core.echo import Echo
from tests.wire.talk import Talk

pytestmark = pytest.mark.anyio


ERAS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")


@pytest.mark.parametrize("version", ERAS)
async def test_a_known_version_is_answered_with_itself(version: str) -> None:
    assert (await Talk().initialize(version))["protocolVersion"] == version


@pytest.mark.parametrize(
    ("asked", "answered"),
    [("2023-01-01", "2025-11-25"), ("", "2025-11-25"), (None, "2025-11-25"), ("1.0.0", "1.0.0"), (2, "2025-11-25")],
)
async def test_an_unknown_version_is_answered_with_the_newest(asked: object, answered: str) -> None:
    assert (await Talk().initialize(asked))["protocolVersion"] == answered


async def test_a_contract_face_speaks_the_first_era_to_everyone() -> None:
    face = Face("old", "1.0.0", {"tools": {}}, contract=True)
    talk = Talk(Server(Registry.of([("echo", Echo())]), face))
    assert (await talk.initialize("2025-11-25"))["protocolVersion"] == "2024-11-05"
    assert (await talk.ask("resources/list"))["error"]["code"] == -32601
    assert (await talk.ask("prompts/list"))["error"]["code"] == -32601
    assert (await talk.ask("logging/setLevel", {"level": "info"}))["result"] == {}


async def test_a_request_before_any_handshake_is_served_in_first_era_shapes() -> None:
    answer = await Talk().call("echo", {"text": "a"})
    assert answer["result"] == {"content": [{"type": "text", "text": '{"text":"a","times":1}'}], "isError": False}


async def test_an_unknown_tool_has_the_code_of_its_era() -> None:
    for version, code in (("2024-11-05", -32601), ("2025-03-26", -32602), ("2025-11-25", -32602)):
        talk = Talk()
        await talk.initialize(version)
        assert (await talk.call("nope"))["error"]["code"] == code


async def test_an_unknown_resource_has_the_code_of_its_era() -> None:
    talk = Talk()
    for method in ("resources/read", "resources/subscribe"):
        answer = await talk.ask(method, {"uri": "echo://nothing"})
        assert answer["error"] == {"code": -32002, "message": "Resource not found", "data": {"uri": "echo://nothing"}}
    assert (await talk.stateless("resources/read", {"uri": "echo://nothing"}))["error"]["code"] == -32602
