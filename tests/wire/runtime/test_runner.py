"""Requests at work: bugs, cancelling, batches that lose an item, answers that are confirmed or lost."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest

from postil.core import call
from postil.core.call import Caller, Question
from postil.core.failure import Failure
from postil.core.operation import reads
from postil.core.registry import Registry
from postil.wire.protocol.session import Agreed
from postil.wire.runtime.runner import Connection, Runner
from postil.wire.runtime.watches import Watches
from postil.wire.server import UNITED, Face, Server
from tests.wire.talk import Talk

pytestmark = pytest.mark.anyio


async def test_a_bug_is_answered_in_general_words_and_logged_in_full(capsys: pytest.CaptureFixture[str]) -> None:
    answer = await Talk().call("break")
    assert answer["error"] == {"code": -32603, "message": "Internal error"}
    assert "secret detail" in capsys.readouterr().err


async def test_a_cancelled_request_is_never_answered() -> None:
    talk = Talk()
    talk.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "sleep"}})
    talk.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
    await talk.ask("ping")
    await talk.eventually(lambda: not talk.runner.running)
    assert [frame["id"] for frame in talk.frames] == [1000]


def sleeping(number: int) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": "sleep"}}


def giving_up(number: int) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}}


@pytest.mark.parametrize("inside", [True, False])
async def test_of_a_batch_what_was_not_given_up_is_answered(inside: bool) -> None:
    talk = Talk()
    await talk.initialize("2025-03-26")
    quick = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "count"}}
    talk.send([sleeping(1), quick, sleeping(3), *([giving_up(1), giving_up(3)] if inside else [])])
    if not inside:
        await talk.eventually(lambda: set(talk.runner.running) == {1, 3})
        talk.send(giving_up(1))
        talk.send(giving_up(3))
    answers = await talk.until(lambda frame: isinstance(frame, list))
    assert [answer["id"] for answer in answers] == [2]


async def test_a_batch_that_was_given_up_whole_is_not_answered() -> None:
    talk = Talk()
    await talk.initialize("2025-03-26")
    talk.frames.clear()
    talk.send([sleeping(1), sleeping(2), giving_up(2), giving_up(1)])
    await talk.ask("ping")
    await talk.eventually(lambda: not talk.runner.running)
    assert [frame["id"] for frame in talk.frames] == [1000]


async def test_an_answer_is_confirmed_by_the_next_frame_and_lost_by_a_broken_end() -> None:
    talk, heard = Talk(), list[str]()

    def settling(name: str) -> None:
        call.current().when_delivered(lambda: heard.append(f"{name} confirmed"), lambda: heard.append(f"{name} lost"))

    talk.part.forgotten = settling
    await talk.call("forget", {"name": "first"})
    assert heard == []
    await talk.ask("ping")
    await talk.eventually(lambda: heard)
    await talk.call("forget", {"name": "second"})
    await talk.runner.report_delivery(reached=False)
    assert heard == ["first confirmed", "second lost"]


async def test_each_answer_is_told_of_once_though_some_are_told_of_before_others() -> None:
    talk, heard = Talk(), list[str]()

    def settling(name: str) -> None:
        call.current().when_delivered(lambda: heard.append(f"{name} confirmed"), lambda: heard.append(f"{name} lost"))

    talk.part.forgotten = settling
    params = {"name": "forget", "arguments": {"name": "first"}}
    talk.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    talk.send(
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {**params, "arguments": {"name": "second"}}}
    )
    await talk.eventually(lambda: len(talk.frames) == 2)
    await talk.runner.report_delivery(reached=True, only={1})
    assert heard == ["first confirmed"]
    await talk.runner.report_delivery(reached=False)
    await talk.runner.report_delivery(reached=False)
    assert heard == ["first confirmed", "second lost"]


async def test_after_the_last_word_work_is_finished_and_what_only_waits_is_given_up() -> None:
    talk, begun, may_end = Talk(), threading.Event(), threading.Event()

    def work(_: str) -> None:
        begun.set()
        assert may_end.wait(20)

    talk.part.forgotten = work
    talk.send(sleeping(1))
    talk.send({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "forget"}})
    await talk.eventually(begun.is_set)
    stop: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    finishing = asyncio.create_task(talk.runner.finish(0.0, 30.0, stop))
    await talk.eventually(lambda: 1 not in talk.runner.running)
    assert 2 in talk.runner.running  # the grace is over, the work is not
    may_end.set()
    await finishing
    assert [frame["id"] for frame in talk.frames] == [2]


async def test_work_is_finished_no_longer_than_the_longest_or_until_it_is_stopped() -> None:
    for longest, stops in ((0.0, False), (30.0, True)):
        talk, begun, may_end = Talk(), threading.Event(), threading.Event()

        def work(_: str, begun: threading.Event = begun, may_end: threading.Event = may_end) -> None:
            begun.set()
            assert may_end.wait(20)

        talk.part.forgotten = work
        talk.send({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "forget"}})
        await talk.eventually(begun.is_set)
        stop: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        if stops:
            stop.set_result(143)
        await talk.runner.finish(0.0, longest, stop)
        assert 2 in talk.runner.running
        may_end.set()
        await talk.eventually(lambda talk=talk: not talk.runner.running)


async def test_after_its_last_word_a_client_is_asked_nothing() -> None:
    talk = Talk()
    await talk.initialize(roots={})
    stop: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    await talk.runner.finish(0.0, 0.0, stop)
    with pytest.raises(Failure, match="has ended its input"):
        await talk.runner.ask(Question("roots/list"), talk.out)


async def test_what_a_client_was_asked_before_its_last_word_is_not_waited_for() -> None:
    talk = Talk()
    await talk.initialize(roots={})
    asking = asyncio.create_task(talk.runner.ask(Question("roots/list"), talk.out))
    asked = await talk.until(lambda frame: frame.get("method") == "roots/list")
    again = asyncio.create_task(talk.runner.ask(Question("roots/list"), talk.out))
    await talk.until(lambda frame: frame.get("method") == "roots/list" and frame["id"] != asked["id"])
    talk.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": []}})
    stop: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    await talk.runner.finish(0.0, 0.0, stop)
    assert await asking == {"roots": []}, "it has answered this one"
    with pytest.raises(Failure, match="has ended its input"):
        await asyncio.wait_for(again, 30)


class Fickle:
    """An operation that ends as if it had been given up."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    @reads("vanish")
    async def vanish(self) -> str:
        """Promise an answer, and give oneself up"""
        call.current().when_delivered(lambda: self.heard.append("confirmed"), lambda: self.heard.append("lost"))
        raise asyncio.CancelledError


async def test_an_answer_that_never_came_was_not_delivered() -> None:
    part = Fickle()
    talk = Talk(Server(Registry.of([("fickle", part)]), Face("fickle", "1", UNITED)))
    talk.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "vanish"}})
    await talk.eventually(lambda: not talk.runner.running)
    await talk.ask("ping")
    await talk.eventually(lambda: part.heard)
    assert part.heard == ["lost"]
    assert [frame["id"] for frame in talk.frames] == [1000]


async def test_an_answer_that_was_not_read_yet_is_not_confirmed_by_the_next_frame() -> None:
    is_read, heard, talk = [False], list[str](), Talk()

    def settling(_: str) -> None:
        call.current().when_delivered(lambda: heard.append("confirmed"), lambda: heard.append("lost"))

    talk.part.forgotten = settling
    like = Connection(Caller("local", "slow"), "slow", is_read=lambda: is_read[0])
    talk.runner = Runner(talk.server, Watches(talk.server), like)
    await talk.call("forget")
    await talk.ask("ping")
    assert len(talk.runner.unconfirmed) == 1
    is_read[0] = True
    await talk.ask("ping")
    await talk.eventually(lambda: heard == ["confirmed"])


async def test_the_end_waits_for_what_is_told_of_deliveries() -> None:
    told, may_end, talk = threading.Event(), threading.Event(), Talk()

    def tell() -> None:
        told.set()
        assert may_end.wait(20)

    talk.part.forgotten = lambda _: call.current().when_delivered(tell, tell)
    await talk.call("forget")
    await talk.ask("ping")
    await talk.eventually(told.is_set)
    closing = asyncio.create_task(talk.runner.close(0))
    for _ in range(10):
        await asyncio.sleep(0)
    assert not closing.done()
    may_end.set()
    await asyncio.wait_for(closing, 20)


async def test_work_in_a_thread_hears_that_it_was_given_up() -> None:
    begun, heard, talk = threading.Event(), threading.Event(), Talk()

    def work(_: str) -> None:
        doing = call.current()
        begun.set()
        for _number in range(20_000):
            if doing.cancelled:
                heard.set()
                return
            time.sleep(0.001)

    talk.part.forgotten = work
    talk.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "forget"}})
    await talk.eventually(begun.is_set)
    talk.send(giving_up(1))
    await talk.eventually(heard.is_set)


async def test_an_answer_to_nothing_that_was_asked_changes_nothing() -> None:
    talk = Talk()
    await talk.initialize(roots={})
    answers: list[dict[str, Any]] = [{"result": {}}, {"error": {"code": 1, "message": "x"}}]
    for answer in answers:
        assert talk.send({"jsonrpc": "2.0", "id": "nobody", **answer}) is False
    asking = asyncio.create_task(talk.runner.ask(Question("roots/list"), talk.out))
    asked = await talk.until(lambda frame: frame.get("method") == "roots/list")
    for roots in (["first"], ["second"]):
        talk.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": roots}})
    assert await asyncio.wait_for(asking, 20) == {"roots": ["first"]}
    assert (await talk.ask("ping"))["result"] == {}


async def test_a_connection_goes_on_with_what_was_agreed_elsewhere() -> None:
    talk = Talk()
    await talk.runner.resume(Agreed("2025-11-25", False, {"roots": {}}, "info", ("echo://note",)))
    session = talk.runner.session
    assert (session.era.version, session.capabilities, session.log_level) == ("2025-11-25", {"roots": {}}, "info")
    updated = await talk.until(lambda frame: frame.get("method") == "notifications/resources/updated")
    assert updated["params"] == {"uri": "echo://note"}, "it may have changed since it was asked for"
    assert vars(talk.runner.updates)["_stop_announcements"] is not None
    assert talk.runner.save() == Agreed("2025-11-25", False, {"roots": {}}, "info", ("echo://note",))
    await talk.runner.resume(Agreed("2025-11-25", False, {}, None, ()))
    assert talk.runner.session.log_level == "info", "who set a level hears on"
    await talk.eventually(lambda: not talk.part.changed)
    await talk.runner.close(0)


async def test_who_set_no_level_elsewhere_hears_no_announcements() -> None:
    talk = Talk()
    await talk.runner.resume(Agreed("2025-11-25", False, {}))
    assert vars(talk.runner.updates)["_stop_announcements"] is None
