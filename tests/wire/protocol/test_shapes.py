"""What results and failures look like, era by era."""

from __future__ import annotations

import pytest

from tests.wire.talk import Talk

pytestmark = pytest.mark.anyio


ERAS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")


async def test_structured_content_comes_with_the_eras_that_have_it() -> None:
    for version in ERAS:
        talk = Talk()
        await talk.initialize(version)
        result = (await talk.call("echo", {"text": "a"}))["result"]
        assert ("structuredContent" in result) == (version >= "2025-06-18")
        (tool,) = [t for t in (await talk.ask("tools/list"))["result"]["tools"] if t["name"] == "echo"]
        assert ("outputSchema" in tool) == (version >= "2025-06-18")
        assert ("annotations" in tool) == (version >= "2025-03-26")


@pytest.mark.parametrize("version", ERAS)
async def test_a_failure_is_an_error_or_a_result_as_the_era_wants(version: str) -> None:
    talk = Talk()
    await talk.initialize(version)
    error = {"code": -32602, "message": "No cat", "data": {"what": "cat", "suggestion": "Look elsewhere"}}
    answer = await talk.call("fail", {"what": "cat"})
    if version >= "2025-06-18":
        assert answer["result"] == {
            "content": [{"type": "text", "text": "No cat\nLook elsewhere"}],
            "structuredContent": {"error": error},
            "isError": True,
        }
    else:
        assert answer["error"] == error


@pytest.mark.parametrize("version", ERAS)
async def test_faulty_arguments_name_their_path(version: str) -> None:
    talk = Talk()
    await talk.initialize(version)
    answer = await talk.call("echo", {"text": "a", "times": 9})
    error = answer["result"]["structuredContent"]["error"] if "result" in answer else answer["error"]
    assert (error["code"], error["data"]["path"]) == (-32602, "times")
