"""Calls that become tasks: whose they are, how they end, and what other replicas know of them."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from postil.core import call
from postil.core.call import LOCAL, Question
from postil.core.failure import NotFound, StorageFailed
from postil.core.operation import reads
from postil.core.registry import Registry
from postil.storage.ephemeral import MemoryEphemeralStore
from postil.wire.protocol.task_methods import EXTENSION, LIFETIME
from postil.wire.runtime import tasks
from postil.wire.server import UNITED, Face, Hooks, Server
from tests.core.echo import Counted
from tests.surfaces.gateway.gateways import Named, gateway_of
from tests.wire.http_client import META, Running, request, running
from tests.wire.talk import Talk

KNOWS: dict[str, Any] = {
    **META,
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}, "extensions": {EXTENSION: {}}},
}
FORM = Question("elicitation/create", {"message": "Go on?", "requestedSchema": {"type": "object", "properties": {}}})


class Long:
    """Operations that take long."""

    def __init__(self) -> None:
        self.started = threading.Event()
        self.seen_cancelled = threading.Event()
        self.told: list[str] = []

    @reads("job", task="optional")
    async def job(self, seconds: float = 60) -> Counted:
        """Say how far it is, then wait"""
        call.current().progress(1, 2, "half")
        call.current().when_delivered(lambda: self.told.append("confirmed"), lambda: self.told.append("lost"))
        await asyncio.sleep(seconds)
        return Counted(1)

    @reads("blocking_job", task="optional")
    def blocking(self) -> Counted:
        """Block until it is given up"""
        doing = call.current()
        self.started.set()
        while not doing.cancelled:
            time.sleep(0.01)
        self.seen_cancelled.set()
        doing.check()
        return Counted(0)

    @reads("asking_job", task="optional")
    async def asking(self) -> Counted:
        """Ask, then end"""
        answers = await call.current().ask({"sure": FORM})
        return Counted(len(answers))

    @reads("away_job", task="optional")
    async def away(self) -> Counted:
        """Find the storage away"""
        await asyncio.sleep(0)
        raise StorageFailed("The storage is away", status=503)

    @reads("refused_job", task="optional")
    async def refused(self) -> Counted:
        """Find nothing"""
        await asyncio.sleep(0)
        raise NotFound("There is nothing")

    @reads("broken_job", task="optional")
    async def broken(self) -> Counted:
        """Raise a bug"""
        await asyncio.sleep(0)
        raise ValueError("secret detail")


LONG = Long()


@pytest.fixture
def server() -> Iterator[Running]:
    with running(gateway_of(ways=[Named()], per_minute=0), gitlab=LONG) as server:
        yield server


def ask(server: Running, method: str, who: str = "ann", meta: dict[str, Any] = KNOWS, **params: Any) -> Any:
    answer = server.call(method, {**params, "_meta": meta}, Authorization=f"Bearer {who}").json()
    return answer.get("result") or answer["error"]


def begin(server: Running, name: str = "job", who: str = "ann", **arguments: Any) -> str:
    made = ask(server, "tools/call", who, name=name, arguments=arguments)
    assert made["resultType"] == "task", made
    return made["taskId"]


def wait_for(server: Running, task: str, status: str, who: str = "ann") -> Any:
    """Ask until the task has this status; the test's own timeout bounds it."""
    while True:
        found = ask(server, "tasks/get", who, taskId=task)
        assert "code" not in found, found
        if found["status"] == status:
            return found
        assert found["status"] in ("working", "input_required"), found
        time.sleep(0.02)


def test_a_task_says_how_far_it_is_and_what_came_of_it(server: Running) -> None:
    task = begin(server, seconds=0.3)
    working = ask(server, "tasks/get", taskId=task)
    assert (working["status"], working["statusMessage"]) == ("working", "1 of 2: half")
    done = wait_for(server, task, "completed")
    assert done["result"]["isError"] is False
    assert "error" not in done


def test_its_id_is_worth_nothing_to_others(server: Running) -> None:
    task = begin(server)
    unknown = ask(server, "tasks/get", "ann", taskId="nosuch")
    assert unknown["code"] == -32602
    for method in ("tasks/get", "tasks/cancel", "tasks/update"):
        assert ask(server, method, "bob", taskId=task, inputResponses={}) == unknown
    assert ask(server, "tasks/get", taskId=task)["status"] == "working"  # bob's wish to end it changed nothing
    ask(server, "tasks/cancel", taskId=task)


@pytest.mark.parametrize("wrong", [5, None, ["x"], "x" * 5000, "\u0000", "é"])
def test_ids_of_any_kind_are_answered(server: Running, wrong: Any) -> None:
    body = request("tasks/get", {"taskId": wrong, "_meta": KNOWS})
    named = wrong.encode("utf-8").decode("latin-1") if isinstance(wrong, str) and wrong.isprintable() else "x"
    answer = server.post(
        body,
        Mcp_Method="tasks/get",
        Mcp_Name=named[:4000],
        MCP_Protocol_Version="2026-07-28",
        Authorization="Bearer ann",
    )
    assert answer.json()["error"]["code"] in (-32602, -32020)


def test_a_task_is_given_up(server: Running) -> None:
    task = begin(server)
    ack = ask(server, "tasks/cancel", taskId=task)
    assert ack["resultType"] == "complete"
    assert "status" not in ack
    assert wait_for(server, task, "cancelled")["status"] == "cancelled"
    assert ask(server, "tasks/cancel", taskId=task)["resultType"] == "complete"


def test_a_task_that_blocks_hears_that_it_was_given_up(server: Running) -> None:
    task = begin(server, "blocking_job")
    assert LONG.started.wait(30)
    ask(server, "tasks/cancel", taskId=task)
    wait_for(server, task, "cancelled")
    assert LONG.seen_cancelled.wait(30)


def test_a_bug_is_told_in_general_words(server: Running) -> None:
    task = begin(server, "broken_job")
    ended = wait_for(server, task, "completed")
    assert ended["result"]["isError"] is True
    assert "secret detail" not in str(ended)
    assert len(server.bugs) == 1
    server.bugs.clear()


def test_too_many_tasks_of_one_are_refused_and_others_go_on(server: Running) -> None:
    mine = [begin(server) for _ in range(tasks.MOST_RUNNING)]
    refused = ask(server, "tools/call", name="job", arguments={})
    assert refused["code"] == -32000
    other = begin(server, who="bob", seconds=0)
    wait_for(server, other, "completed", "bob")
    for task in mine:
        ask(server, "tasks/cancel", taskId=task)
    begin(server, seconds=0)


def test_answers_of_others_are_not_taken(server: Running) -> None:
    task = begin(server, "asking_job")
    (key,) = wait_for(server, task, "input_required")["inputRequests"]
    yes: dict[str, Any] = {key: {"action": "accept", "content": {}}}
    assert ask(server, "tasks/update", "bob", taskId=task, inputResponses=yes)["code"] == -32602
    assert ask(server, "tasks/update", taskId=task, inputResponses={"other": {}})["resultType"] == "complete"
    assert ask(server, "tasks/update", taskId=task, inputResponses=[1])["code"] == -32602
    assert ask(server, "tasks/get", taskId=task)["status"] == "input_required"
    ask(server, "tasks/update", taskId=task, inputResponses=yes)
    wait_for(server, task, "completed")


def test_without_the_extension_it_is_an_ordinary_call(server: Running) -> None:
    answer = ask(server, "tools/call", meta=META, name="job", arguments={"seconds": 0})
    assert answer["resultType"] == "complete"
    assert answer["content"]
    assert ask(server, "tasks/get", meta=META, taskId="x")["code"] == -32021


def test_handshake_versions_know_no_tasks(server: Running) -> None:
    session = server.initialize("2025-11-25", Authorization="Bearer ann")
    params = {"name": "job", "arguments": {"seconds": 0}, "task": {"ttl": 1000}}
    answer = server.in_session(session, request("tools/call", params), Authorization="Bearer ann").json()
    assert answer["result"]["content"]
    asked = server.in_session(session, request("tasks/get", {"taskId": "x"}), Authorization="Bearer ann").json()
    assert asked["error"]["code"] == -32601


def test_what_was_taken_is_confirmed_when_it_is_fetched() -> None:
    long = Long()
    with running(gitlab=long) as server:
        fetched, dropped = begin(server, seconds=0), begin(server)
        wait_for(server, fetched, "completed")
        while "confirmed" not in long.told:
            time.sleep(0.01)
        ask(server, "tasks/cancel", taskId=dropped)
        while "lost" not in long.told:
            time.sleep(0.01)
        assert sorted(long.told) == ["confirmed", "lost"]


def test_another_replica_knows_ends_and_answers_it() -> None:
    store = MemoryEphemeralStore()
    gates = [gateway_of(ways=[Named()], per_minute=0) for _ in range(2)]
    with running(gates[0], gitlab=Long(), shared=store) as one, running(gates[1], gitlab=Long(), shared=store) as two:
        quick, slow, asking = begin(one, seconds=0.2), begin(one), begin(one, "asking_job")
        assert wait_for(two, quick, "completed")["result"]["content"]
        assert ask(two, "tasks/get", "bob", taskId=slow)["code"] == -32602
        assert ask(two, "tasks/cancel", "bob", taskId=slow)["code"] == -32602
        ask(two, "tasks/cancel", taskId=slow)
        wait_for(two, slow, "cancelled")
        assert ask(one, "tasks/get", taskId=slow)["status"] == "cancelled"
        (key,) = wait_for(two, asking, "input_required")["inputRequests"]
        ask(two, "tasks/update", taskId=asking, inputResponses={key: {"action": "accept"}})
        wait_for(two, asking, "completed")


@pytest.mark.parametrize("damage", [b"[1,", b'{"id":"\xff"}', b'{"answers":{"\xff":1}}'])
def test_what_cannot_be_read_of_another_replica_is_an_unknown_task_and_no_wish(damage: bytes) -> None:
    store = MemoryEphemeralStore()
    gates = [gateway_of(ways=[Named()], per_minute=0) for _ in range(2)]
    with running(gates[0], gitlab=Long(), shared=store) as one, running(gates[1], gitlab=Long(), shared=store) as two:

        def spoil(task: str, kind: str) -> None:
            keeping = store.keep({tasks.name_in_store(task, kind): damage}, 60)
            asyncio.run_coroutine_threadsafe(keeping, one.loop).result(10)

        task = begin(one)
        spoil(task, "wanted")
        ask(two, "tasks/cancel", taskId=task)
        wait_for(two, task, "cancelled")
        spoil(task, "task")
        assert ask(two, "tasks/get", taskId=task)["code"] == -32602


def test_what_no_task_asked_for_is_not_kept_for_another_replica() -> None:
    """Every answer was: one task took as much of the shared store as its client cared to send."""
    store = MemoryEphemeralStore()
    gates = [gateway_of(ways=[Named()], per_minute=0) for _ in range(2)]
    with running(gates[0], gitlab=Long(), shared=store) as one, running(gates[1], gitlab=Long(), shared=store) as two:
        asking = begin(one, "asking_job")
        wait_for(two, asking, "input_required")
        for number in range(3):
            ask(two, "tasks/update", taskId=asking, inputResponses={f"never-{number}": "x" * 100_000})
        kept = asyncio.run_coroutine_threadsafe(store.recall(tasks.name_in_store(asking, "wanted")), two.loop).result(
            10
        )
        assert kept == [None]
        ask(two, "tasks/cancel", taskId=asking)


def test_the_end_of_the_server_ends_its_tasks() -> None:
    store = MemoryEphemeralStore()
    with running(gitlab=Long(), shared=store) as one:
        task = begin(one)
        asyncio.run_coroutine_threadsafe(one.server.close_tasks(0), one.loop).result(10)
        failed = ask(one, "tasks/get", taskId=task)
        assert failed["status"] == "failed"
        assert failed["error"]["message"] == "The server ended before the task did"


# ----- without a connection -------------------------------------------------------------------------------------------

NAMED = {"io.modelcontextprotocol/clientCapabilities": KNOWS["io.modelcontextprotocol/clientCapabilities"]}


def inside() -> tuple[Talk, Long, Server]:
    long = Long()
    server = Server(Registry.of([("long", long)]), Face("long", "1", UNITED, extensions={EXTENSION: {}}))
    return Talk(server), long, server


async def begin_inside(talk: Talk, name: str = "job", **arguments: Any) -> Any:
    answer = await talk.stateless("tools/call", {"name": name, "arguments": arguments}, **NAMED)
    return answer["result"]["taskId"] if "result" in answer else answer["error"]


async def until_it_is(talk: Talk, task: str, status: str) -> Any:
    async with asyncio.timeout(30):
        while True:
            found = (await talk.stateless("tasks/get", {"taskId": task}, **NAMED))["result"]
            if found["status"] == status:
                return found
            await asyncio.sleep(0.001)


@pytest.mark.anyio
async def test_tasks_that_have_ended_are_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "MOST_OF_ONE", 2)
    monkeypatch.setattr(tasks, "MOST", 3)
    talk, _, server = inside()
    others = [Talk(server, principal=name) for name in ("bob", "eve")]
    for number in range(2):
        await until_it_is(talk, await begin_inside(talk, seconds=0), "completed")
        assert len(vars(server.tasks)["_calls"]) == number + 1
    assert "kept for an hour" in (await begin_inside(talk, seconds=0))["message"]
    assert isinstance(await begin_inside(others[0], seconds=0), str), "of another principal there are few"
    assert "kept for an hour" in (await begin_inside(others[1], seconds=0))["message"], "of all together there are many"


@pytest.mark.anyio
async def test_a_task_that_has_ended_keeps_nothing_of_its_request() -> None:
    talk, _, server = inside()
    for status, seconds in (("completed", 0), ("cancelled", 60)):
        task = await begin_inside(talk, seconds=seconds)
        if status == "cancelled":
            await talk.stateless("tasks/cancel", {"taskId": task}, **NAMED)
        await until_it_is(talk, task, status)
        work = vars(server.tasks)["_calls"][task].work
        assert (work.request.params, work.arguments, dict(work.meta)) == ({}, None, {})


@pytest.mark.anyio
async def test_a_task_that_nobody_asked_for_in_its_time_was_not_delivered() -> None:
    talk, long, server = inside()
    task = await begin_inside(talk, seconds=0)
    await talk.eventually(lambda: vars(server.tasks)["_calls"][task].task.is_over)
    server.tasks._forget(task)  # pyright: ignore[reportPrivateUsage]
    server.tasks._forget(task)  # pyright: ignore[reportPrivateUsage]
    await talk.eventually(lambda: long.told == ["lost"])
    refused = (await talk.stateless("tasks/get", {"taskId": task}, **NAMED))["error"]
    assert "Unknown task" in refused["message"]


@pytest.mark.anyio
async def test_a_task_that_was_given_up_ends_and_was_not_delivered() -> None:
    talk, long, server = inside()
    task = await begin_inside(talk)
    await talk.eventually(lambda: vars(server.tasks)["_calls"][task].delivery)
    running = vars(server.tasks)["_running"][task]
    for _ in range(2):
        assert "result" in await talk.stateless("tasks/cancel", {"taskId": task}, **NAMED)
    await asyncio.wait_for(asyncio.wait([running]), 30)
    assert running.cancelled()
    await until_it_is(talk, task, "cancelled")
    await talk.eventually(lambda: long.told == ["lost"])
    assert task not in vars(server.tasks)["_running"]


@pytest.mark.anyio
async def test_a_task_that_fails_for_a_moment_has_failed_and_one_that_is_refused_has_an_answer() -> None:
    talk, _, _ = inside()
    failed = await until_it_is(talk, await begin_inside(talk, "away_job"), "failed")
    assert (failed["error"]["code"], failed["error"]["data"]["status"]) == (-32603, 503)
    refused = await until_it_is(talk, await begin_inside(talk, "refused_job"), "completed")
    assert refused["result"]["isError"] is True


@pytest.mark.anyio
async def test_a_bug_around_the_work_of_a_task_ends_it_and_is_reported() -> None:
    bugs: list[str] = []

    def note_call(name: str, outcome: str, code: int) -> None:
        raise ValueError("secret detail")

    hooks = Hooks(note_call=note_call, report=lambda bug, where: bugs.append(f"{where}: {bug}"))
    face = Face("long", "1", UNITED, extensions={EXTENSION: {}})
    talk = Talk(Server(Registry.of([("long", Long())]), face, hooks=hooks))
    failed = await until_it_is(talk, await begin_inside(talk, seconds=0), "failed")
    assert (failed["error"], bugs) == ({"code": -32603, "message": "Internal error"}, ["job: secret detail"])


@pytest.mark.anyio
async def test_a_task_that_has_ended_stays_as_it_is_and_is_forgotten_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    talk, _, server = inside()
    task = await begin_inside(talk)
    doing, later = vars(server.tasks)["_calls"][task], list[Any]()

    def call_later(*given: object) -> None:
        later.append(given)

    monkeypatch.setattr(doing.runner, "loop", SimpleNamespace(call_later=call_later))
    server.tasks.change(doing, status="failed", message="over")
    server.tasks.change(doing, status="completed", message="again")
    assert (doing.task.status, doing.task.message) == ("failed", "over")
    ((seconds, forget, named),) = later
    assert (60 <= seconds <= LIFETIME, named) == (True, task)
    forget(named)
    assert task not in vars(server.tasks)["_calls"]


@pytest.mark.anyio
async def test_at_the_end_tasks_have_a_moment_to_end_by_themselves() -> None:
    talk, _, server = inside()
    task = await begin_inside(talk, seconds=0.05)
    await server.tasks.close(30)
    assert (await until_it_is(talk, task, "completed"))["result"]["content"]


class SlowStore(MemoryEphemeralStore):
    """A store that keeps nothing before it may."""

    def __init__(self) -> None:
        super().__init__()
        self.may_keep = asyncio.Event()
        self.may_keep.set()

    async def keep(self, values: Mapping[str, bytes], seconds: float) -> bool:
        await self.may_keep.wait()
        return await super().keep(values, seconds)


@pytest.mark.anyio
async def test_at_the_end_other_replicas_are_told_what_became_of_tasks() -> None:
    store, long = SlowStore(), Long()
    face = Face("long", "1", UNITED, extensions={EXTENSION: {}})
    server = Server(Registry.of([("long", long)]), face, hooks=Hooks(shared=store))
    talk = Talk(server)
    task = await begin_inside(talk)
    store.may_keep.clear()
    await server.tasks.cancel(task, LOCAL)
    closing = asyncio.create_task(server.tasks.close(30))
    for _ in range(10):
        await asyncio.sleep(0)
    assert not closing.done()
    store.may_keep.set()
    await asyncio.wait_for(closing, 40)
    kept = await store.recall(tasks.name_in_store(task))
    assert b'"cancelled"' in b"".join(each or b"" for each in kept or ())
