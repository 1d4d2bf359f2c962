"""The session as a state machine: what it takes, what it refuses, how batches are answered."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from postil.core.call import Question
from postil.core.failure import Failure, NotFound, StorageFailed
from postil.core.invoke import LONGEST_KEY
from postil.core.registry import Registry
from postil.wire.protocol import jsonrpc
from postil.wire.protocol.events import Answered, Bug, Cancelled, Reply, Work
from postil.wire.protocol.face import UNITED, Face, Profile
from postil.wire.protocol.session import IN_FLIGHT, Agreed, Session
from tests.core.echo import Echo
from tests.wire.talk import META, Talk

pytestmark = pytest.mark.anyio


ERAS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")


async def test_ping_shutdown_and_unknown_methods() -> None:
    talk = Talk()
    assert (await talk.ask("ping"))["result"] == {}
    assert (await talk.ask("nope/nope"))["error"] == {"code": -32601, "message": "Method not found"}
    assert (await talk.ask("shutdown"))["result"] is None
    assert talk.runner.session.ended


@pytest.mark.parametrize(
    ("asked", "meant"),
    [("tool/list", "tools/list"), ("tools/calls", "tools/call"), ("resource/read", "resources/read")],
)
async def test_an_unknown_method_is_told_the_nearest_one(asked: str, meant: str) -> None:
    refused = (await Talk().ask(asked))["error"]
    assert refused == {
        "code": -32601,
        "message": "Method not found",
        "data": {"suggestion": f"Did you mean {meant}?"},
    }


async def test_both_spellings_of_initialized_are_silent() -> None:
    talk = Talk()
    for method in ("initialized", "notifications/initialized", "notifications/unheard-of"):
        assert talk.send({"jsonrpc": "2.0", "method": method}) is False
    assert talk.frames == []


async def test_batches_exist_only_where_the_era_has_them() -> None:
    batch: list[Any] = [
        {"jsonrpc": "2.0", "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "count"}},
        7,
    ]
    for version in ERAS:
        talk = Talk()
        await talk.initialize(version)
        talk.frames.clear()
        talk.send(batch)
        if version == "2025-03-26":
            answers = await talk.until(lambda frame: isinstance(frame, list))
            assert [answer["id"] for answer in answers] == [1, 2, None]
        else:
            assert talk.frames[0]["error"]["code"] == -32600


async def test_a_batch_of_notifications_is_not_answered() -> None:
    talk = Talk()
    await talk.initialize("2025-03-26")
    talk.frames.clear()
    assert talk.send([{"jsonrpc": "2.0", "method": "notifications/initialized"}]) is False
    assert talk.frames == []


async def test_an_id_still_in_use_is_refused() -> None:
    talk = Talk()
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "sleep"}}
    talk.send(call)
    talk.send(call)
    assert talk.frames[0]["error"]["code"] == -32600
    await talk.runner.close(0)


async def test_more_calls_than_fit_are_refused() -> None:
    talk = Talk()
    for number in range(IN_FLIGHT + 1):
        talk.send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": "sleep"}})
    assert len(talk.runner.session.in_flight) == IN_FLIGHT
    assert talk.frames[0]["id"] == IN_FLIGHT
    assert talk.frames[0]["error"]["code"] == -32000
    await talk.runner.close(0)


def alone(**given: Any) -> Session:
    registry = Registry.of([("echo", Echo())])
    return Session(Profile(Face("echo", "1", UNITED), registry, lambda: b"s" * 32), **given)


def request(method: str, request_id: object, **params: Any) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})


def note(method: str, **params: Any) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", "method": method, "params": params})


def read(event: object) -> Any:
    assert isinstance(event, Reply)
    return msgspec.json.decode(event.frame)


def started(session: Session, frame: bytes, key: str = "") -> Work:
    (work,) = session.receive(frame, key)
    assert isinstance(work, Work)
    return work


def with_batches(**given: Any) -> Session:
    session = alone(**given)
    session.receive(request("initialize", 0, protocolVersion="2025-03-26"))
    return session


def test_a_handshake_inside_a_batch_is_refused_and_changes_nothing() -> None:
    session = with_batches()
    batch = b"[" + request("initialize", 1, protocolVersion="2025-11-25") + b"," + request("ping", 2) + b"]"
    (refused,) = session.receive(batch)
    assert read(refused)["error"]["code"] == -32600
    assert session.era.version == "2025-03-26"
    # direct methods have batches in every era: the handshake is none of them
    (refused,) = alone(direct=True).receive(batch)
    assert read(refused)["error"]["code"] == -32600


def test_a_batch_of_direct_methods_may_hold_no_method_of_mcp() -> None:
    session = alone(direct=True)
    count, ping = request("count", 1), request("ping", 2)
    assert all(isinstance(event, Work) for event in session.receive(b"[" + count + b"]"))
    (refused,) = session.receive(b"[" + count + b"," + ping + b"]")
    assert read(refused)["error"]["code"] == -32600


def test_a_request_is_answered_once_and_then_its_id_is_free() -> None:
    session = alone()
    work = started(session, request("tools/call", 1, name="count"))
    (refused,) = session.receive(request("ping", 1))
    assert read(refused)["error"]["message"].endswith("still in use")
    assert read(session.answer(work, "done"))["id"] == 1
    assert read(*session.receive(request("ping", 1)))["result"] == {}


def test_what_was_given_up_is_not_answered_however_its_work_ends() -> None:
    def given_up(session: Session) -> Work:
        work = started(session, request("tools/call", 1, name="count"))
        assert session.receive(note("notifications/cancelled", requestId=1)) == [Cancelled(work)]
        return work

    session = alone()
    assert session.answer(given_up(session), "x") is None
    assert session.fail(given_up(session), Failure("x")) is None
    assert session.give_up(given_up(session)) is None
    assert session.in_flight == {}


@pytest.mark.parametrize("request_id", [2, "1", None, True, [1]])
def test_giving_up_what_is_not_in_flight_is_no_news(request_id: object) -> None:
    session = alone()
    started(session, request("tools/call", 1, name="count"))
    assert session.receive(note("notifications/cancelled", requestId=request_id)) == []


def test_the_room_for_calls_is_full_at_its_limit_and_not_before() -> None:
    session = alone()
    for number in range(IN_FLIGHT - 1):
        started(session, request("tools/call", number, name="count"))
    assert len(session.in_flight) < IN_FLIGHT
    last = started(session, request("tools/call", "last", name="count"))
    assert len(session.in_flight) == IN_FLIGHT
    assert read(*session.receive(request("tools/call", "more", name="count")))["error"]["code"] == -32000
    session.give_up(last)
    assert len(session.in_flight) < IN_FLIGHT


def test_the_idempotency_key_of_a_header_counts_the_items_of_a_batch() -> None:
    session = with_batches()
    meta = {"postil/idempotencyKey": "own"}
    items = [request("tools/call", 1, name="count"), request("tools/call", 2, name="count", _meta=meta)]
    first, second = session.receive(b"[" + b",".join(items) + b"]", "k")
    assert isinstance(first, Work)
    assert isinstance(second, Work)
    assert (first.key, second.key) == ("k#0", "own")
    assert started(session, request("tools/call", 3, name="count"), "k").key == "k"
    assert started(session, request("tools/call", 4, name="count")).key == ""


def test_the_longest_idempotency_key_is_one_for_a_batch_as_for_a_call() -> None:
    session = with_batches()
    items = [request("tools/call", n, name="count") for n in range(12)]
    names: list[list[str]] = []
    for key in ("x" * LONGEST_KEY, "x" * (LONGEST_KEY - 1) + "y", "x" * (LONGEST_KEY + 1)):
        works = session.receive(b"[" + b",".join(items) + b"]", key)
        names.append([work.key for work in works if isinstance(work, Work)])
        session.in_flight.clear()
    assert len({*names[0], *names[1]}) == 24, "each item of each batch has a key of its own"
    assert max(map(len, names[0] + names[1])) <= LONGEST_KEY
    assert min(map(len, names[2])) > LONGEST_KEY, "what is refused alone is refused here"


def test_a_bug_in_a_method_is_answered_in_general_words_and_told() -> None:
    session = alone()

    def broken(session: Session, request: object, era: object) -> object:
        raise ZeroDivisionError

    session.methods = {"broken/method": broken}
    reply, bug = session.receive(request("broken/method", 1))
    assert read(reply)["error"] == {"code": -32603, "message": "Internal error"}
    assert isinstance(bug, Bug)
    assert (type(bug.error), bug.method) == (ZeroDivisionError, "broken/method")


def test_what_was_agreed_elsewhere_is_gone_on_with() -> None:
    session = with_batches()
    session.receive(request("logging/setLevel", 1, level="info"))
    agreed = session.save(("echo://note",))
    assert agreed == Agreed("2025-03-26", False, {}, "info", ("echo://note",))
    other = alone()
    other.resume(msgspec.json.decode(msgspec.json.encode(agreed), type=Agreed))
    assert other.era is session.era
    draft = alone()
    draft.receive(request("initialize", 0, protocolVersion=1))
    other.resume(draft.save(()))
    assert other.methods is draft.methods


def test_a_question_is_asked_only_of_a_client_that_can_answer_it() -> None:
    session = alone()
    with pytest.raises(Failure, match="elicitation"):
        session.ask(Question("elicitation/create", {}))
    session.receive(request("initialize", 0, protocolVersion="2025-11-25", capabilities={"elicitation": {}}))
    (first, frame), (second, _) = session.ask(Question("elicitation/create", {"a": 1})), session.ask(Question("x/y"))
    assert first != second
    assert msgspec.json.decode(frame) == {
        "jsonrpc": "2.0", "id": first, "method": "elicitation/create", "params": {"a": 1},
    }  # fmt: skip
    answer = b'{"jsonrpc":"2.0","id":"%s","result":{}}' % str(first).encode()
    (answered,) = session.receive(answer)
    assert isinstance(answered, Answered)
    assert (answered.id, answered.result) == (first, {})


def test_a_second_handshake_begins_anew() -> None:
    session = alone()
    session.receive(request("initialize", 1, protocolVersion=1, capabilities={}))
    session.receive(request("logging/setLevel", 2, level="debug"))
    (answer, _) = session.receive(request("initialize", 3, protocolVersion="2025-11-25", capabilities={}))
    assert read(answer)["result"]["protocolVersion"] == "2025-11-25"
    assert session.log_level is None
    listed = read(session.receive(request("prompts/list", 4))[0])["result"]["prompts"]
    assert all("description" in each for each in listed)  # not the draft's shape


@pytest.mark.parametrize(
    ("frame", "direct", "works"),
    [
        (request("tools/call", 1, name="count"), False, True),
        (request("subscriptions/listen", 1), False, True),
        (request("ping", 1), False, False),
        (request("count", 1), False, False),
        (request("count", 1), True, True),
        (b"[" + request("ping", 1) + b"]", False, True),
        (note("notifications/cancelled", requestId=1), True, False),
    ],
)
def test_only_what_the_protocol_cannot_answer_itself_is_work(frame: bytes, direct: bool, works: bool) -> None:
    assert alone(direct=direct).makes_work(jsonrpc.parse(frame)) is works


def test_who_has_not_spoken_yet_speaks_no_draft() -> None:
    assert alone().save(()) == Agreed("2024-11-05", False, {})


def test_only_the_first_answer_without_a_session_introduces_the_server_to_people() -> None:
    face = Face("echo", "1", UNITED, title="The Echo")
    session = Session(Profile(face, Registry.of([("echo", Echo())]), lambda: b"s" * 32))
    for method, title in (("server/discover", "The Echo"), ("tools/list", None)):
        answer = read(*session.receive(request(method, 1, _meta=META)))["result"]
        assert answer["_meta"]["io.modelcontextprotocol/serverInfo"].get("title") == title


def test_advice_in_an_error_object_names_tools_too() -> None:
    session = alone()
    work = started(session, request("tools/call", 1, name="count"))
    refused = read(session.fail(work, Failure("Too loud", advice="Use `postil echo say`")))
    assert refused["error"]["data"]["suggestion"] == "Use `echo`"


def test_what_is_away_for_a_moment_is_an_error_and_no_result_of_a_tool() -> None:
    session = alone()
    session.receive(request("initialize", 0, protocolVersion="2025-11-25"))
    for failure, key in ((StorageFailed("Away", status=503), "error"), (NotFound("No such thing"), "result")):
        work = started(session, request("tools/call", 1, name="count"))
        assert key in read(session.fail(work, failure))


@pytest.mark.parametrize(("asked", "is_draft"), [(1, True), (True, False), (1.0, False), ("1", False), (2, False)])
def test_only_the_number_one_is_the_first_draft(asked: object, is_draft: bool) -> None:
    session = alone()
    answer = read(session.receive(request("initialize", 0, protocolVersion=asked))[0])["result"]
    assert session.is_draft is is_draft
    assert (answer["protocolVersion"] == 1) is is_draft
