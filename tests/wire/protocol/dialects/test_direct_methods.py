"""Operations as JSON-RPC methods."""

from __future__ import annotations

from typing import Any

import pytest

from postil.core.failure import Failure, InvalidArguments, NotFound
from postil.wire.protocol.dialects.direct_methods import describe
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


async def test_wrong_arguments_have_one_form_whoever_found_the_fault() -> None:
    talk = Talk(direct=True)
    wrong: list[dict[str, Any]] = [{"by": "many"}, {"nope": 1}, {"by": []}]
    for params in wrong:
        error = (await talk.ask("count", params))["error"]
        assert (error["code"], error["message"], error["data"]["status"]) == (-32602, "Invalid params", 400)
        assert error["data"]["message"]
        assert not error["data"]["message"].startswith("Invalid params")


def test_what_does_not_exist_is_a_404_and_other_failures_keep_their_words() -> None:
    assert describe(NotFound("There is no x", advice="Look", path="x")) == (
        "Invalid params",
        {"status": 404, "message": "There is no x", "path": "x", "suggestion": "Look"},
    )
    assert describe(Failure("It broke", status=503)) == ("It broke", {"status": 503, "message": "It broke"})
    assert describe(Failure("It broke")) == ("It broke", {})
    own = InvalidArguments("Invalid params: a is odd", path="a", status=400, message="a is odd")
    assert describe(own) == ("Invalid params", {"status": 400, "message": "a is odd", "path": "a"})
