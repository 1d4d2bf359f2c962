"""Operations as JSON-RPC methods."""

from __future__ import annotations

import pytest

from tests.wire.talk import Talk

pytestmark = pytest.mark.anyio


async def test_direct_methods_answer_the_plain_result_single_and_in_order() -> None:
    talk = Talk(direct=True)
    assert (await talk.ask("count", {"by": 2}))["result"] == {"counted": 2}
    assert (await talk.ask("nope"))["error"]["code"] == -32601
    talk.send([
        {"jsonrpc": "2.0", "id": "a", "method": "wait", "params": {"steps": 3}},
        {"jsonrpc": "2.0", "id": "b", "method": "fail"},
        {"jsonrpc": "2.0", "id": "c", "method": "echo", "params": {"text": "x"}},
    ])  # fmt: skip
    answers = await talk.until(lambda frame: isinstance(frame, list))
    assert [answer["id"] for answer in answers] == ["a", "b", "c"]
    assert answers[1]["error"]["data"]["suggestion"] == "Look elsewhere"


async def test_operations_are_no_methods_where_direct_calls_are_off() -> None:
    assert (await Talk().ask("count"))["error"]["code"] == -32601
