"""What a client hears beside its answers: resources, lists, streams."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from postil.core import call
from postil.core.call import Caller
from postil.core.failure import Failure
from postil.core.group import Announcement, announcer
from postil.core.operation import reads
from postil.core.registry import Registry
from postil.core.resource import resource
from postil.wire.protocol.task_methods import EXTENSION, MOST_HEARD, Task
from postil.wire.runtime.runner import Connection, Runner
from postil.wire.runtime.tasks import TaskCall, Tasks
from postil.wire.server import UNITED, Face, Server
from tests.core.echo import Counted, Echo
from tests.wire.talk import META, Talk

pytestmark = pytest.mark.anyio


async def test_a_subscription_hears_of_changes_until_it_ends() -> None:
    talk = Talk()
    assert (await talk.ask("resources/subscribe", {"uri": "echo://note"}))["result"] == {}
    await talk.call("note", {"text": "second"})
    note = await talk.until(lambda frame: frame.get("method") == "notifications/resources/updated")
    assert note["params"] == {"uri": "echo://note"}
    await talk.ask("resources/unsubscribe", {"uri": "echo://note"})
    await talk.eventually(lambda: not talk.part.changed)
    talk.frames.clear()
    await talk.call("note", {"text": "third"})
    assert [frame for frame in talk.frames if "method" in frame] == []


async def test_a_listen_stream_acknowledges_first_tells_changes_and_ends_gracefully() -> None:
    talk = Talk()
    wanted = {"resourceSubscriptions": ["echo://note", "echo://nothing"], "toolsListChanged": True}
    params = {"notifications": wanted, "_meta": META}
    talk.send({"jsonrpc": "2.0", "id": "s", "method": "subscriptions/listen", "params": params})
    acknowledged = await talk.until(lambda frame: "method" in frame)
    assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
    assert acknowledged["params"]["notifications"] == {
        "toolsListChanged": True,
        "resourceSubscriptions": ["echo://note"],
    }
    stamp = {"io.modelcontextprotocol/subscriptionId": "s"}
    assert acknowledged["params"]["_meta"] == stamp
    await talk.eventually(lambda: talk.part.changed)
    await talk.stateless("tools/call", {"name": "note", "arguments": {"text": "new"}})
    updated = await talk.until(lambda frame: frame.get("method") == "notifications/resources/updated")
    assert updated["params"] == {"uri": "echo://note", "_meta": stamp}
    talk.server.registry.list_changed("tools")
    changed = await talk.until(lambda frame: frame.get("method") == "notifications/tools/list_changed")
    assert changed["params"] == {"_meta": stamp}
    talk.server.registry.list_changed("prompts")
    await talk.runner.close(1)
    ended = await talk.until(lambda frame: frame.get("id") == "s")
    assert ended["result"]["resultType"] == "complete"
    assert ended["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == "s"
    assert "notifications/prompts/list_changed" not in [frame.get("method") for frame in talk.frames]


async def test_a_first_update_is_sent_only_where_something_may_have_changed_before() -> None:
    first, later = Talk(), Talk()
    await first.runner.updates.add_existing(["echo://note", "echo://nothing"])
    assert first.frames == []
    await later.runner.updates.change_to(["echo://note"])
    assert [frame["params"] for frame in later.frames] == [{"uri": "echo://note"}]


async def test_a_listen_stream_that_is_just_beginning_ends_gracefully_too() -> None:
    talk = Talk()
    params = {"notifications": {"resourceSubscriptions": ["echo://note"]}, "_meta": META}
    talk.send({"jsonrpc": "2.0", "id": "s", "method": "subscriptions/listen", "params": params})
    await talk.until(lambda frame: "method" in frame)
    await talk.runner.close(5)
    assert talk.frames[-1]["result"]["resultType"] == "complete"


async def test_a_handshake_client_hears_that_a_list_changed_where_that_was_declared() -> None:
    talk = Talk()
    await talk.initialize()
    talk.server.registry.list_changed("tools")
    talk.server.registry.list_changed("prompts")
    await talk.until(lambda frame: frame.get("method") == "notifications/tools/list_changed")
    await talk.ask("ping")
    assert "notifications/prompts/list_changed" not in [frame.get("method") for frame in talk.frames]


async def test_a_stream_acknowledges_only_what_it_will_send() -> None:
    face = Face("echo", "1", {"tools": {}, "resources": {"subscribe": True}})
    talk = Talk(Server(Registry.of([("echo", Echo())]), face))
    wanted = {"toolsListChanged": True, "resourceSubscriptions": ["echo://note", "echo://nothing"]}
    params = {"notifications": wanted, "_meta": META}
    talk.send({"jsonrpc": "2.0", "id": "s", "method": "subscriptions/listen", "params": params})
    first = await talk.until(lambda frame: "method" in frame)
    assert first["params"]["notifications"] == {"resourceSubscriptions": ["echo://note"]}
    await talk.runner.close(1)


class Guarded:
    """A resource that only some may read."""

    def __init__(self) -> None:
        self.watched: list[str] = []

    @resource("guarded://{room}", name="A room", watch="watch", allow="check")
    def read_room(self, room: str) -> str:
        """What is in a room"""
        return room

    async def check(self, room: str) -> None:
        if room == "closed":
            raise Failure("This room is closed to you")

    def watch(self, uri: str, changed: Callable[[], None]) -> Callable[[], None]:
        self.watched.append(uri)
        return lambda: None


async def test_who_may_not_read_a_resource_may_not_watch_it() -> None:
    part = Guarded()
    talk = Talk(Server(Registry.of([("guarded", part)]), Face("guarded", "1", UNITED)))
    refused = await talk.ask("resources/subscribe", {"uri": "guarded://closed"})
    assert refused["error"]["message"] == "This room is closed to you"
    assert (await talk.ask("resources/subscribe", {"uri": "guarded://open"}))["result"] == {}
    assert part.watched == ["guarded://open"]


async def test_a_stream_leaves_out_what_its_caller_may_not_read() -> None:
    part = Guarded()
    talk = Talk(Server(Registry.of([("guarded", part)]), Face("guarded", "1", UNITED)))
    wanted = {"resourceSubscriptions": ["guarded://closed", "guarded://open"]}
    params = {"notifications": wanted, "_meta": META}
    talk.send({"jsonrpc": "2.0", "id": "s", "method": "subscriptions/listen", "params": params})
    await talk.eventually(lambda: part.watched == ["guarded://open"])
    await talk.runner.close(1)


class Job:
    """Something that takes long."""

    def __init__(self) -> None:
        self.may_go_on = asyncio.Event()

    @reads("job", task="optional")
    async def job(self) -> Counted:
        """Wait until it may end"""
        await self.may_go_on.wait()
        call.current().progress(1, 2, "half")
        return Counted(1)


KNOWS: dict[str, Any] = {**META, "io.modelcontextprotocol/clientCapabilities": {"extensions": {EXTENSION: {}}}}


def listening(tasks: object, meta: dict[str, Any]) -> dict[str, Any]:
    params = {"notifications": {"taskIds": tasks}, "_meta": meta}
    return {"jsonrpc": "2.0", "id": "s", "method": "subscriptions/listen", "params": params}


async def test_a_stream_hears_how_a_task_is_and_what_came_of_it() -> None:
    job = Job()
    talk = Talk(Server(Registry.of([("job", job)]), Face("job", "1", UNITED, extensions={EXTENSION: {}})))
    begun = await talk.stateless("tools/call", {"name": "job", "arguments": {}}, **KNOWS)
    task = begun["result"]["taskId"]
    talk.send(listening([task, "nosuch", 5, task], KNOWS))
    acknowledged = await talk.until(lambda frame: frame.get("method") == "notifications/subscriptions/acknowledged")
    assert acknowledged["params"]["notifications"] == {"taskIds": [task]}
    first = await talk.until(lambda frame: frame.get("method") == "notifications/tasks")
    assert (first["params"]["taskId"], first["params"]["status"]) == (task, "working")
    assert first["params"]["_meta"] == {"io.modelcontextprotocol/subscriptionId": "s"}
    job.may_go_on.set()
    last = await talk.until(lambda frame: frame.get("params", {}).get("status") == "completed")
    polled = await talk.stateless("tasks/get", {"taskId": task}, **KNOWS)
    told = {name: value for name, value in last["params"].items() if name != "_meta"}
    assert {name: polled["result"][name] for name in told} == told
    assert told["result"]["content"]


async def test_a_stream_hears_of_no_task_of_another_and_who_knows_none_is_told_what_is_missing() -> None:
    job = Job()
    server = Server(Registry.of([("job", job)]), Face("job", "1", UNITED, extensions={EXTENSION: {}}))
    other = Talk(server, principal="bob")
    task = (await other.stateless("tools/call", {"name": "job", "arguments": {}}, **KNOWS))["result"]["taskId"]
    talk = Talk(server)
    talk.send(listening([task], KNOWS))
    acknowledged = await talk.until(lambda frame: frame.get("method") == "notifications/subscriptions/acknowledged")
    assert acknowledged["params"]["notifications"] == {}
    job.may_go_on.set()
    other.send(listening([task], KNOWS))
    await other.until(lambda frame: frame.get("params", {}).get("status") == "completed")
    assert [frame for frame in talk.frames if frame.get("method") == "notifications/tasks"] == []
    refused = Talk(server)
    refused.send(listening([task], META))
    assert (await refused.until(lambda frame: "error" in frame))["error"]["code"] == -32021


async def begin_watched(heard: list[str], *, listens: bool) -> tuple[Tasks, TaskCall]:
    server = Server(Registry.of([("job", Job())]), Face("job", "1", UNITED, extensions={EXTENSION: {}}))
    begun = await Talk(server).stateless("tools/call", {"name": "job", "arguments": {}}, **KNOWS)
    task = begun["result"]["taskId"]

    def listener(told: Task) -> bool:
        heard.append(told.message)
        return listens

    server.tasks.watch([task], listener)
    return server.tasks, server.tasks._calls[task]  # pyright: ignore[reportPrivateUsage]


async def test_a_task_that_says_much_is_told_of_once_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[str] = []
    tasks, call = await begin_watched(heard, listens=True)
    now = [call.task.updated]
    monkeypatch.setattr("postil.wire.runtime.tasks.time", SimpleNamespace(time=lambda: now[0]))
    for number in range(9):
        tasks.change(call, message=str(number))
        now[0] += 0.5
    assert heard[1:] == ["0", "2", "4", "6", "8"]


@pytest.mark.parametrize("listens", [True, False])
async def test_what_a_listener_could_not_tell_its_client_is_not_delivered(listens: bool) -> None:
    tasks, call = await begin_watched([], listens=listens)
    call.delivery.append((lambda: None, lambda: None))
    tasks.change(call, status="completed")
    assert (not call.delivery) is listens


@pytest.mark.parametrize("wrong", [5, "x", {"a": 1}, [None], ["x" * 5000]])
async def test_what_is_no_list_of_tasks_is_heard_of_as_none(wrong: object) -> None:
    talk = Talk(Server(Registry.of([("job", Job())]), Face("job", "1", UNITED, extensions={EXTENSION: {}})))
    talk.send(listening(wrong, KNOWS))
    acknowledged = await talk.until(lambda frame: "method" in frame)
    assert acknowledged["params"]["notifications"] == {}


async def test_a_stream_hears_of_a_bounded_number_of_tasks() -> None:
    job = Job()
    job.may_go_on.set()
    talk = Talk(Server(Registry.of([("job", job)]), Face("job", "1", UNITED, extensions={EXTENSION: {}})))
    tasks = [
        (await talk.stateless("tools/call", {"name": "job", "arguments": {}}, **KNOWS))["result"]["taskId"]
        for _ in range(MOST_HEARD + 4)
    ]
    talk.send(listening(tasks, KNOWS))
    acknowledged = await talk.until(lambda frame: frame.get("method") == "notifications/subscriptions/acknowledged")
    assert acknowledged["params"]["notifications"] == {"taskIds": tasks[:MOST_HEARD]}


class Herald:
    """A part that announces."""

    def __init__(self) -> None:
        self.tells: list[Callable[[Announcement], None]] = []
        self.ended = 0
        self.may_begin = threading.Event()

    @announcer("herald")
    def announce(self, tell: Callable[[Announcement], None]) -> Callable[[], None]:
        self.tells.append(tell)
        assert self.may_begin.wait(20)

        def stop() -> None:
            self.ended += 1

        return stop


def herald() -> tuple[Talk, Herald]:
    part = Herald()
    return Talk(Server(Registry.of([("herald", part)]), Face("herald", "1", UNITED))), part


async def test_announcements_are_heard_from_the_level_that_was_asked_for_until_the_end() -> None:
    talk, part = herald()
    part.may_begin.set()
    await talk.initialize()
    for _ in range(2):
        await talk.ask("logging/setLevel", {"level": "warning"})
    await talk.eventually(lambda: part.tells)
    await talk.eventually(lambda: vars(talk.runner.updates)["_stop_announcements"].__name__ == "stop")
    part.tells[0](Announcement("info", "not this", {}))
    part.tells[0](Announcement("error", "but this", {"a": 1}))
    said = await talk.until(lambda frame: "method" in frame)
    assert said["params"] == {"level": "error", "message": "but this", "data": {"a": 1}}
    await talk.runner.close(0)
    assert (len(part.tells), part.ended) == (1, 1), "it was asked for once, and stopped"


async def test_who_leaves_while_announcements_begin_leaves_nothing_behind() -> None:
    talk, part = herald()
    await talk.ask("logging/setLevel", {"level": "info"})
    await talk.eventually(lambda: part.tells)
    talk.runner.updates.close()
    part.may_begin.set()
    await talk.eventually(lambda: part.ended == 1)


async def test_a_connection_without_a_way_for_them_hears_no_announcements() -> None:
    talk, part = herald()
    part.may_begin.set()
    quiet = Runner(talk.server, talk.runner.watches, Connection(Caller("local", "quiet"), "quiet"))
    quiet.updates.hear_announcements()
    talk.runner.updates.hear_announcements()
    await talk.eventually(lambda: part.tells)
    assert vars(quiet.updates)["_stop_announcements"] is None
