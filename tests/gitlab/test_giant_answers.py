"""Every tool on a GitLab whose things are giant: what a model gets has a bound, and says how the rest can be had."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncGenerator
from typing import Any

import httpx2
import msgspec
import pytest

from postil.core.answer import LARGEST
from postil.core.call import Call, Caller, enter
from postil.core.operation import Operation
from postil.core.size import measure
from postil.gitlab.instance.client import Instance
from postil.gitlab.instance.connection import Connection
from postil.gitlab.part import GitLab
from postil.wire.protocol import shapes
from postil.wire.protocol.eras.era import NEWEST
from tests.emulator.app import Emulator
from tests.emulator.world import DEVELOPER
from tests.gitlab.calls import CALLS, ENTRIES
from tests.gitlab.groups import Groups

pytestmark = pytest.mark.anyio
WORDS = 'A line with "quotes", a \\ and an é.\n' * 10_000
LONG_LINES = (
    "title",
    "name",
    "author_name",
    "username",
    "path_with_namespace",
    "web_url",
    "failure_reason",
    "classname",
)
"""What GitLab keeps on one line."""
TEXTS = ("description", "body", "diff", "message", "data", "system_output", "yaml_errors", "note")
MANY = (
    "labels",
    "assignees",
    "reviewers",
    "notes",
    "commits",
    "diffs",
    "lines",
    "test_cases",
    "suggestions",
    "parent_ids",
)


def swell(value: Any, depth: int = 0) -> Any:
    """The same thing, a thousand times as large where GitLab sets no small bound."""
    if isinstance(value, list):
        rows: list[Any] = value  # pyright: ignore[reportUnknownVariableType]
        return [swell(row, depth + 1) for row in (rows * 100)[:100]]
    if not isinstance(value, dict):
        return value
    row: dict[str, Any] = value  # pyright: ignore[reportUnknownVariableType]
    made: dict[str, Any] = {}
    for name, item in row.items():
        if isinstance(item, str) and name in TEXTS:
            made[name] = item + (WORDS if depth == 0 else WORDS[:4000])
        elif isinstance(item, str) and name in LONG_LINES:
            made[name] = item + "x" * 240
        elif isinstance(item, list) and name in MANY:
            made[name] = [swell(one, depth + 2) for one in (item * 30)[:30]]  # pyright: ignore[reportUnknownVariableType]
        elif name == "content":
            made[name] = base64.b64encode(WORDS.encode()).decode()
        else:
            made[name] = swell(item, depth + 1) if isinstance(item, dict) else item
    return made


class Swelling(httpx2.AsyncBaseTransport):
    """The emulator, whose answers to reads are giant."""

    def __init__(self) -> None:
        self.emulator = Emulator()
        self._inner = httpx2.ASGITransport(self.emulator)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        answer = await self._inner.handle_async_request(request)
        body = await answer.aread()
        headers = {name: value for name, value in answer.headers.items() if name != "content-length"}
        if request.method == "GET" and answer.status_code == 200:
            is_json = "json" in answer.headers.get("content-type", "")
            body = json.dumps(swell(json.loads(body))).encode() if is_json else body * 300
        return httpx2.Response(answer.status_code, headers=headers, stream=httpx2.ByteStream(body))


class Giant(Instance):
    """A connection to it."""

    def __init__(self) -> None:
        super().__init__("http://gitlab.example")
        self.transport = Swelling()

    def open_client(self, transport: httpx2.AsyncBaseTransport | None = None) -> httpx2.AsyncClient:
        return super().open_client(self.transport)


@pytest.fixture
async def groups() -> AsyncGenerator[Groups]:
    instance = Giant()
    made = Groups(GitLab(Connection(instance, lambda: DEVELOPER)))
    main = instance.transport.emulator.world.projects[0]
    case = {"status": "failed", "name": "one", "classname": "a", "system_output": "words", "stack_trace": None}
    main.reports[1002] = [{"name": "unit", "time": 1.5, "test_cases": [case] * 20}]
    yield made
    await made.close()


@pytest.mark.parametrize("name", [name for name in CALLS if ENTRIES[name].tool and ENTRIES[name].effect == "reads"])
async def test_a_tool_answers_at_most_24_kilobytes_and_says_how_to_get_the_rest(groups: Groups, name: str) -> None:
    enter(Call(Caller()))
    operation = Operation(groups.method(name))
    value = await operation.run(**operation.decode(dict(CALLS[name])))
    made = shapes.make_result(value, NEWEST, says_success=False, structured=False)
    own = measure(made["content"])
    said = "".join(block.text for block in made["content"])
    result = shapes.bound_result(made, ENTRIES[name], CALLS[name], value)
    assert measure(result["content"]) <= LARGEST
    assert len(msgspec.json.encode(result)) <= LARGEST + 500
    assert own <= LARGEST, "the part itself makes it fit, and knows best what to leave out"
    if own > LARGEST // 2:
        assert any(word in said for word in ("left out", "goes on", "gets ", "get them", "has what comes before")), (
            said[-600:]
        )
