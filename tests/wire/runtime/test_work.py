"""The same key gives the same answer and one effect, by every way in."""

from __future__ import annotations

import asyncio

import pytest

from postil.core import limits
from postil.core.failure import NotFound
from postil.core.operation import reads, writes
from postil.core.prompt import prompt
from postil.core.registry import Registry
from postil.core.resource import resource
from postil.storage.audit.audit_log import AuditLog
from postil.storage.idempotency import IdempotencyKeys
from postil.storage.memory import MemoryState
from postil.wire.server import UNITED, Face, Hooks, Server
from tests.core.echo import Echo
from tests.wire.talk import Talk

pytestmark = pytest.mark.anyio


def keyed() -> tuple[Talk, Echo]:
    part = Echo()
    keys = IdempotencyKeys(MemoryState())
    return Talk(Server(Registry.of([("echo", part)]), Face("echo", "1", UNITED), keys=lambda: keys), direct=True), part


async def test_a_repeated_write_has_one_effect_and_the_same_answer() -> None:
    talk, part = keyed()
    meta = {"postil/idempotencyKey": "k1"}
    first = await talk.call("count", _meta=meta)
    second = await talk.call("count", _meta=meta)
    assert first["result"] == second["result"]
    assert part.count == 1
    await talk.call("count", _meta={"postil/idempotencyKey": "k2"})
    assert part.count == 2


async def test_a_key_used_for_other_arguments_is_refused() -> None:
    talk, part = keyed()
    await talk.ask("count", {"by": 1, "idempotency_key": "k"})
    refused = await talk.ask("count", {"by": 2, "idempotency_key": "k"})
    assert refused["error"]["code"] == -32000
    assert part.count == 1


async def test_a_failed_write_leaves_its_key_free() -> None:
    talk, part = keyed()
    for _ in range(2):
        assert "error" in await talk.ask("note", {"idempotency_key": "k"})
    assert "result" in await talk.ask("note", {"text": "a", "idempotency_key": "k"})
    assert part.note == "a"


async def test_a_read_ignores_the_key_and_an_endless_key_is_refused() -> None:
    talk, _ = keyed()
    assert "result" in await talk.ask("echo", {"text": "a", "idempotency_key": "k"})
    assert "result" in await talk.ask("echo", {"text": "b", "idempotency_key": "k"})
    assert (await talk.ask("count", {"idempotency_key": "k" * 300}))["error"]["code"] == -32602


async def test_a_write_of_unknown_outcome_is_not_tried_again_under_its_key() -> None:
    talk, part = keyed()
    first = await talk.ask("gamble", {"idempotency_key": "k"})
    second = await talk.ask("gamble", {"idempotency_key": "k"})
    assert first["error"] == second["error"]
    assert first["error"]["data"] == {"outcome": "unknown", "suggestion": "Look first"}
    assert part.count == 1


class Shelf:
    """A template whose variables can be completed."""

    @resource("shelf://{room}/{title}", name="book", complete={"room": ("attic", "hall"), "title": "find_titles"})
    def read(self, room: str, title: str) -> str:
        """One book"""
        return f"{title} in the {room}"

    def find_titles(self, typed: str) -> list[str]:
        return [title for title in ("Emma", "Emil", "Momo") if title.startswith(typed)]


@pytest.mark.parametrize(
    ("uri", "name", "typed", "values"),
    [
        ("shelf://{room}/{title}", "room", "a", ["attic"]),
        ("shelf://{room}/{title}", "title", "Em", ["Emma", "Emil"]),
        ("shelf://{room}/{title}", "nothing", "", []),
        ("shelf://elsewhere", "room", "", []),
    ],
)
async def test_the_variables_of_a_template_are_completed(uri: str, name: str, typed: str, values: list[str]) -> None:
    talk = Talk(Server(Registry.of([("shelf", Shelf())]), Face("shelf", "1", UNITED)))
    params = {"ref": {"type": "ref/resource", "uri": uri}, "argument": {"name": name, "value": typed}}
    assert (await talk.ask("completion/complete", params))["result"]["completion"]["values"] == values


async def test_a_resource_that_is_too_long_is_refused_with_a_way_to_its_parts() -> None:
    class Long:
        @resource("long://all", name="All")
        def read_all(self) -> str:
            """Far too much"""
            return "x" * (limits.DOCUMENT + 1)

    talk = Talk(Server(Registry.of([("long", Long())]), Face("echo", "1", UNITED)))
    await talk.initialize()
    error = (await talk.ask("resources/read", {"uri": "long://all"}))["error"]
    assert "16777217 characters" in error["message"]
    assert "page by page" in error["data"]["suggestion"]


class Slow:
    """A write that waits for somebody else, off the threads."""

    def __init__(self) -> None:
        self.begun, self.go = asyncio.Event(), asyncio.Event()
        self.made = 0

    @writes("deliver")
    async def deliver(self) -> int:
        """Deliver when told"""
        self.begun.set()
        await self.go.wait()
        self.made += 1
        return self.made

    @reads("look")
    def look(self) -> int:
        """Look how many were made"""
        return self.made


async def test_repeats_of_a_call_at_work_hold_no_thread() -> None:
    """Each of them held a thread: the first call found none to store its answer in, and the others waited > 30 s."""
    slow, keys = Slow(), IdempotencyKeys(MemoryState())
    server = Server(Registry.of([("slow", slow)]), Face("slow", "1", UNITED), keys=lambda: keys)
    talk, other = Talk(server, direct=True, name="repeats"), Talk(server, direct=True, name="looks")
    for number in range(100):
        params = {"idempotency_key": "same"}
        talk.send({"jsonrpc": "2.0", "id": number, "method": "deliver", "params": params})
    async with asyncio.timeout(20):
        await slow.begun.wait()
        assert (await other.ask("look"))["result"] == 0
        assert server.pool.at_work == 0
        slow.go.set()
        await talk.until(lambda _: len(talk.frames) == 100)
    assert {frame["result"] for frame in talk.frames} == {1}
    assert not server.going


class Waiting:
    """Operations and a prompt that wait on the loop."""

    @writes("store")
    async def store(self, fails: bool = False) -> str:
        """Change something"""
        await asyncio.sleep(0)
        if fails:
            raise NotFound("There is nothing")
        return "stored"

    @reads("look")
    async def look(self) -> str:
        """Change nothing"""
        await asyncio.sleep(0)
        return "seen"

    @prompt("ask")
    async def ask(self, name: str = "you") -> str:
        """Write a prompt"""
        await asyncio.sleep(0)
        return f"Who is {name}?"


async def test_a_write_that_waits_is_noted_before_and_after_and_a_read_is_not() -> None:
    state = MemoryState()
    log = AuditLog(lambda: state)
    server = Server(Registry.of([("waiting", Waiting())]), Face("waiting", "1", UNITED), hooks=Hooks(witness=log))
    talk = Talk(server)
    for name, arguments in (("look", {}), ("store", {}), ("store", {"fails": True})):
        await talk.call(name, arguments)
    await talk.eventually(lambda: [entry.outcome for entry in log.read(9)] == ["ok", "failed"])
    assert [entry.operation for entry in log.read(9)] == ["store", "store"]


async def test_a_prompt_may_wait_too() -> None:
    talk = Talk(Server(Registry.of([("waiting", Waiting())]), Face("waiting", "1", UNITED)))
    written = await talk.ask("prompts/get", {"name": "ask", "arguments": {"name": "Ada"}})
    assert [each["content"]["text"] for each in written["result"]["messages"]] == ["Who is Ada?"]
