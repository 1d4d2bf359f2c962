"""A wait over HTTP ends with its caller's right and its connection, in every era; it is given no message after."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct, structs

from postil.core import call
from postil.core.call import Call, Caller
from postil.inbox.operations import for_assistants
from postil.inbox.operations.for_assistants import AssistantTools
from postil.inbox.operations.for_people import PeopleTools
from postil.inbox.part import Inbox
from postil.storage.memory import MemoryState
from postil.surfaces.gateway.visitor import View, Visitor
from postil.surfaces.http import right
from postil.wire.protocol.task_methods import EXTENSION
from postil.wire.transports.http import sessions
from postil.workspace.repository import find_repository
from tests.surfaces.gateway.gateways import gateway_of
from tests.wire.http_client import BOTH, META, STATELESS, Connection, Running, request, until
from tests.workspace.repositories import new_repository

ANN = Visitor(Caller("key:x", surface="http"), "token")
BEARER = {"Authorization": "Bearer x"}
WAIT: dict[str, Any] = {"name": "inbox_wait", "arguments": {"seconds": 600}}
TASKS: dict[str, Any] = {**META, "io.modelcontextprotocol/clientCapabilities": {"extensions": {EXTENSION: {}}}}


class Key:
    """A credential that its operator may take back or narrow."""

    def __init__(self) -> None:
        self.visitor: Visitor | None = ANN

    async def identify(self, bearer: str, headers: Mapping[bytes, bytes], attempt: object) -> Visitor | None:
        return structs.replace(ANN, token="other") if bearer == "other" else self.visitor


class Began(Struct):
    """A wait that has begun: by which connection, and what belongs to it."""

    connection: Connection
    session: str = ""
    task: str = ""
    address: str = ""
    event: str = ""
    """The last event that its client saw."""


class Scene:
    """A gateway with an inbox, and which waits are open there."""

    def __init__(self, key: Key, root: str) -> None:
        state, self.key = MemoryState(), key
        self.inbox = Inbox(lambda: state, lambda: find_repository(root), root)
        self.server: Running
        self.connections: list[Connection] = []
        self.waits: list[str] = []
        self._beginning = ""
        self._sent = 0
        self._listen, self.inbox.on_news = self.inbox.on_news, self._count

    def begin(self, way: str) -> Began:
        """Begin a wait in this way."""
        self._beginning = way
        began = WAYS[way](self)
        until(lambda: way in self.waits)
        return began

    def _count(self, look: Callable[[], None]) -> Callable[[], None]:
        stop, way, waits = self._listen(look), self._beginning, self.waits
        waits.append(way)

        def end() -> None:
            stop()
            waits.remove(way)

        return end

    def ask(self, method: str, path: str, message: object = None, **headers: str) -> Connection:
        """Begin to ask: the answer is not waited for."""
        connection = self.server.connect()
        self.connections.append(connection)
        named = {name.replace("_", "-"): value for name, value in {**BEARER, **headers}.items()}
        body = b"" if message is None else json.dumps(message).encode()
        connection.ask(method, path, body, {"Content-Type": "application/json", "Accept": BOTH, **named})
        return connection

    def close(self) -> None:
        while self.connections:
            self.connections.pop().close()

    def send(self, text: str = "for the others") -> None:
        """Send a message; said twice, it would be one."""
        self._sent += 1
        PeopleTools(self.inbox).send(f"{text}, {self._sent}", "a.txt", "1")

    def check(self) -> int:
        """How many messages another assistant is given now."""
        call.enter(Call(Caller("local", "another", "stdio")))
        return len(AssistantTools(self.inbox).check_messages().messages)


def start(root: Path, ping_every: float = 15.0) -> Scene:
    key = Key()
    scene = Scene(key, str(new_repository(root, a__txt="one\n")))
    parts = [("inbox", AssistantTools(scene.inbox))]
    way_in = gateway_of(ways=[key], per_minute=0)
    scene.server = Running(way_in, more=parts, two_addresses=True, ping_every=ping_every)
    scene.server.start()
    return scene


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Generator[dict[str, Scene]]:
    """By how an answer comes that takes its time. A first sign of life that comes at once makes a stream of it."""
    folder = tmp_path_factory.mktemp("served")
    scenes = {"whole": start(folder / "whole"), "stream": start(folder / "stream", 0.03)}
    yield scenes
    for scene in scenes.values():
        scene.server.stop()
        assert scene.server.bugs == []


@pytest.fixture
def comes() -> str:
    return "stream"


@pytest.fixture
def scene(comes: str, served: dict[str, Scene], monkeypatch: pytest.MonkeyPatch) -> Generator[Scene]:
    monkeypatch.setattr(right, "RECHECK", 0.03)
    monkeypatch.setattr(sessions, "AWAY", 0.03)
    scene = served[comes]
    monkeypatch.setattr(for_assistants, "LOOK_AGAIN", 0.03)
    scene.key.visitor = ANN
    yield scene
    while scene.check():
        pass
    scene.close()


# -- how a wait begins --------------------------------------------------------------------------------------------


def direct(scene: Scene) -> Began:
    return Began(scene.ask("POST", "/mcp", request("inbox_wait", WAIT["arguments"], 9)))


def direct_batch(scene: Scene) -> Began:
    return Began(scene.ask("POST", "/mcp", [request("inbox_wait", WAIT["arguments"], 9)]))


def with_a_key(scene: Scene) -> Began:
    return Began(scene.ask("POST", "/mcp", request("inbox_wait", WAIT["arguments"], 9), Idempotency_Key="k"))


def without_a_session(scene: Scene) -> Began:
    return Began(scene.ask("POST", "/mcp", request("tools/call", WAIT, 9)))


def in_session(version: str, *others: object) -> Callable[[Scene], Began]:
    def begin(scene: Scene) -> Began:
        session = scene.server.initialize(version, **BEARER)
        asked = request("tools/call", WAIT, 9)
        return Began(scene.ask("POST", "/mcp", [asked, *others] if others else asked, Mcp_Session_Id=session), session)

    return begin


def stateless(scene: Scene, meta: Mapping[str, Any] = META) -> Began:
    named = {"MCP_Protocol_Version": STATELESS, "Mcp_Method": "tools/call", "Mcp_Name": "inbox_wait"}
    return Began(scene.ask("POST", "/mcp", request("tools/call", {**WAIT, "_meta": meta}, 9), **named))


def task(scene: Scene) -> Began:
    began = stateless(scene, TASKS)
    return Began(began.connection, task=began.connection.answer().json()["result"]["taskId"])


def two_addresses(scene: Scene, bearer: str = "x") -> Began:
    stream = scene.ask("GET", "/sse", Accept="text/event-stream", Authorization=f"Bearer {bearer}")
    stream.head()
    address = next(stream.chunks()).partition(b"data: ")[2].strip().decode()
    handshake = {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    for message in (request("initialize", handshake), request("tools/call", WAIT, 9)):
        assert scene.ask("POST", address, message).answer().status == 202
    return Began(stream, address=address)


def two_credentials(scene: Scene) -> Began:
    return two_addresses(scene, "other")


WAYS: dict[str, Callable[[Scene], Began]] = {
    "direct": direct,
    "direct, a batch": direct_batch,
    "direct, with a key": with_a_key,
    "no session": without_a_session,
    "2024-11-05": two_addresses,
    "2024-11-05, posted with another credential": two_credentials,
    "2025-03-26": in_session("2025-03-26"),
    "2025-03-26, a batch": in_session("2025-03-26", request("ping", {}, 10)),
    "2025-06-18": in_session("2025-06-18"),
    "2025-11-25": in_session("2025-11-25"),
    "2026-07-28": stateless,
    "2026-07-28, a task": task,
}
NEWEST = "2025-11-25"


# -- how it ends --------------------------------------------------------------------------------------------------


def revoke(scene: Scene, began: Began) -> None:
    scene.key.visitor = None


def forbid_writing(scene: Scene, began: Began) -> None:
    scene.key.visitor = structs.replace(ANN, view=View(writes=False))


def hide_workspace(scene: Scene, began: Began) -> None:
    scene.key.visitor = structs.replace(ANN, view=View(workspace=False))


def leave(scene: Scene, began: Began) -> None:
    began.connection.close()


def delete_session(scene: Scene, began: Began) -> None:
    assert scene.ask("DELETE", "/mcp", Mcp_Session_Id=began.session).answer("DELETE").status == 204


def cancel(scene: Scene, began: Began) -> None:
    note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}}
    session = {"Mcp_Session_Id": began.session} if began.session else {}
    assert scene.ask("POST", began.address or "/mcp", note, **session).answer().status == 202


def cancel_task(scene: Scene, began: Began) -> None:
    named = {"MCP_Protocol_Version": STATELESS, "Mcp_Method": "tasks/cancel", "Mcp_Name": began.task}
    asked = request("tasks/cancel", {"taskId": began.task, "_meta": TASKS}, 10)
    assert scene.ask("POST", "/mcp", asked, **named).answer().status == 200


End = Callable[[Scene, Began], None]
TASK = [way for way in WAYS if "task" in way]
CONNECTED = [way for way in WAYS if way not in TASK]
IN_SESSION = [way for way in WAYS if way.startswith("2025")]
ENDS: dict[End, list[str]] = {
    revoke: [*WAYS],
    forbid_writing: [*WAYS],
    hide_workspace: [*WAYS],
    leave: CONNECTED,
    delete_session: IN_SESSION,
    cancel: [*IN_SESSION, *(way for way in WAYS if way.startswith("2024"))],
    cancel_task: TASK,
}


@pytest.mark.parametrize("comes", ["whole", "stream"])
@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.__name__)
def test_every_wait_ends_with_its_right_and_its_connection(scene: Scene, comes: str, end: End) -> None:
    for began in [scene.begin(way) for way in ENDS[end]]:
        end(scene, began)
    left = wait_for_none(scene)
    scene.send()
    assert (left, scene.check()) == ([], 1)


def wait_for_none(scene: Scene) -> list[str]:
    """Wait until no wait is open. Returns those that stay open."""
    try:
        until(lambda: not scene.waits)
    except AssertionError:
        return [*scene.waits]
    return []


def test_every_wait_ends_with_the_server(tmp_path: Path) -> None:
    scene = start(tmp_path)
    for way in WAYS:
        scene.begin(way)
    scene.server.stop()
    scene.send()
    assert (scene.waits, scene.check()) == ([], 1)
    scene.close()


@pytest.mark.parametrize(
    ("way", "end", "comes"),
    [
        (way, end, comes)
        for end, ways in ENDS.items()
        for way in ways
        for comes in (("whole", "stream") if way in IN_SESSION else ("whole",))
    ],
)
def test_what_is_taken_in_the_same_moment_returns_at_once(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, comes: str, way: str, end: End
) -> None:
    """A thread that is just taking a message cannot be stopped: what it takes is given back."""
    deliver, takes, goes_on, gate = Inbox.deliver, threading.Event(), threading.Event(), threading.Lock()

    def deliver_late(inbox: Inbox, after: int | None = None) -> Any:
        with gate:  # nothing is sent between the look and the taking
            if after is None or not inbox.messages.waiting("anybody", 1):
                return deliver(inbox, after)
        takes.set()
        assert goes_on.wait(20)
        return deliver(inbox, after)

    monkeypatch.setattr(Inbox, "deliver", deliver_late)
    began = scene.begin(way)
    try:
        with gate:
            scene.send()
        assert takes.wait(20)
        end(scene, began)
        left = wait_for_none(scene)
    finally:
        goes_on.set()  # a server that ends waits for its threads
    until(lambda: scene.check() == 1)
    assert left == []


# -- who may come back ---------------------------------------------------------------------------------------------


def begin_and_leave(scene: Scene) -> tuple[Began, str]:
    """Lose a stream that has begun. Returns the last event that its client saw, too."""
    began = scene.begin(NEWEST)
    assert began.connection.head()[0] == 200
    event = next(began.connection.ids())[0]
    leave(scene, began)
    return began, event


def come_back(scene: Scene, began: Began, event: str) -> dict[str, Any]:
    """Returns the answer that a client gets who comes back for it."""
    again = scene.ask("GET", "/mcp", Mcp_Session_Id=began.session, Last_Event_ID=event)
    assert again.head()[0] == 200
    if scene.waits:
        until(lambda: all(waiting.is_heard for waiting in list_waiting(scene, began)))
        scene.send("for who came back")
    return next(message for message in again.events() if message.get("id") == 9)


def list_waiting(scene: Scene, began: Began) -> list[Call]:
    found = scene.server.endpoint.sessions.by_id(began.session)
    return [waiting for waiting, _ in found.runner.running.values()] if found is not None else []


def test_who_comes_back_in_time_goes_on_waiting(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "AWAY", 60.0)
    began, event = begin_and_leave(scene)
    assert "for who came back" in json.dumps(come_back(scene, began, event)["result"])


def test_nothing_is_given_to_who_is_away(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "AWAY", 60.0)
    began, _ = begin_and_leave(scene)
    until(lambda: not any(waiting.is_heard for waiting in list_waiting(scene, began)))
    scene.send()
    assert scene.check() == 1
    delete_session(scene, began)


def test_who_comes_back_and_leaves_again_waits_no_longer(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "AWAY", 60.0)
    began, event = begin_and_leave(scene)
    again = scene.ask("GET", "/mcp", Mcp_Session_Id=began.session, Last_Event_ID=event)
    assert again.head()[0] == 200
    until(lambda: all(waiting.is_heard for waiting in list_waiting(scene, began)))
    monkeypatch.setattr(sessions, "AWAY", 0.03)
    again.close()
    assert wait_for_none(scene) == []


def test_who_comes_back_too_late_is_told_that_the_wait_has_ended(scene: Scene) -> None:
    began, event = begin_and_leave(scene)
    assert wait_for_none(scene) == []
    assert "call it again" in json.dumps(come_back(scene, began, event))


@pytest.mark.parametrize("comes", ["whole"])
def test_who_is_revoked_while_it_waits_is_told_which_call_has_ended(scene: Scene, comes: str) -> None:
    began = scene.begin("direct")
    revoke(scene, began)
    refused = began.connection.answer()
    assert (refused.status, refused.json()["id"]) == (401, 9)
