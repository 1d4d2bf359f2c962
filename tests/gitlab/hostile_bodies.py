"""Bodies that no GitLab should send: every operation is asked, and either answers or fails in its own words.

`python -m tests.gitlab.hostile_bodies 50000` makes so many calls (`make hostile-gitlab`); CI makes a bounded part.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import httpx2
import msgspec

from postil.app import read_catalogue
from postil.core.call import Call, Caller, enter
from postil.core.failure import Failure
from postil.core.registry import Registry
from postil.gitlab.instance.client import Instance
from postil.gitlab.instance.connection import Connection
from postil.gitlab.part import GitLab
from tests.emulator.app import Emulator
from tests.emulator.world import DEVELOPER
from tests.gitlab.calls import CALLS
from tests.gitlab.groups import Groups

ODD: list[Any] = [
    None, True, False, 0, -1, 1.5, 2**63, 1e308, "", " ", "x" * 5000, "\u0000", "\ud83d\ude00", "\u202e", "..", "<b>",
    [], {}, [None], [[]], {"id": None}, {"message": None}, "2024-13-45T99:99:99Z", "-0", "NaN", "glpat-thisisasecret1",
]  # fmt: skip
RAW = [
    b"", b" ", b"null", b"true", b"0", b'""', b"[]", b"{}", b"[null]", b"[[]]", b"[{}]", b"{", b"[", b'{"a":',
    b"\xff\xfe", b"<html>", b"Retry later", b'{"id":1e999}', b"[" * 5000, b'{"a":' * 5000, b'"\\ud800"',
    b'{"id":1}{"id":2}',
]  # fmt: skip
HEADERS = [
    {}, {"x-next-page": "2"}, {"x-next-page": "-1"}, {"x-total": "many", "x-per-page": "0"}, {"x-total": "9" * 400},
    {"link": '<http://elsewhere.example/>; rel="next"'}, {"content-type": "text/html"}, {"retry-after": "soon"},
    {"ratelimit-limit": "x"}, {"etag": "\"" + "e" * 9000}, {"location": "//evil.example/"},
]  # fmt: skip
STATUSES = [200] * 12 + [201, 202, 204, 206, 301, 304, 400, 401, 403, 404, 409, 418, 422, 429, 500, 502, 503, 599]


class Hostile(httpx2.AsyncBaseTransport):
    """A GitLab that answers as the emulator does, and then spoils it."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._emulator = Emulator()
        self._inner = httpx2.ASGITransport(self._emulator)
        self.calls = 0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.calls += 1
        if self.calls % 500 == 0:
            self._emulator.reset()
        chance = self._chance
        if chance.random() < 0.15:
            headers = dict(chance.choice(HEADERS))
            raw = httpx2.ByteStream(chance.choice(RAW))
            return httpx2.Response(chance.choice(STATUSES), headers=headers, stream=raw)
        answer = await self._inner.handle_async_request(request)
        body = await answer.aread()
        headers = {"content-type": "application/json", **chance.choice(HEADERS)}
        status = answer.status_code if chance.random() < 0.9 else chance.choice(STATUSES)
        try:
            spoiled = json.dumps(self.spoil(json.loads(body))).encode("utf-8", "surrogatepass")
        except ValueError:
            spoiled = body[: chance.randrange(len(body) + 1)]
        return httpx2.Response(status, headers=headers, stream=httpx2.ByteStream(spoiled))

    def spoil(self, value: Any, depth: int = 0) -> Any:
        """The same, with some of it replaced, missing, doubled or of another type."""
        chance = self._chance
        if chance.random() < 0.06:
            return chance.choice(ODD)
        if isinstance(value, dict) and depth < 6:
            fields: dict[str, Any] = value  # pyright: ignore[reportUnknownVariableType]
            return {n: self.spoil(v, depth + 1) for n, v in fields.items() if chance.random() > 0.04}
        if isinstance(value, list) and depth < 6:
            rows: list[Any] = value  # pyright: ignore[reportUnknownVariableType]
            return [self.spoil(row, depth + 1) for row in rows for _ in range(chance.choice((1, 1, 1, 0, 2)))]
        return value  # pyright: ignore[reportUnknownVariableType]


class Spoiled(Instance):
    """A connection to it that never waits."""

    def __init__(self, hostile: Hostile) -> None:
        super().__init__("http://gitlab.example", sleep=self._skip)
        self._hostile = hostile

    def open_client(self, transport: httpx2.AsyncBaseTransport | None = None) -> httpx2.AsyncClient:
        return super().open_client(self._hostile)

    async def _skip(self, seconds: float) -> None:
        await asyncio.sleep(0)


async def attack(calls: int, seed: int, progress: Callable[[int], None] = lambda done: None) -> Counter[str]:
    """Make so many calls of all operations in turn. Returns how they ended; raises what is no failure of ours."""
    chance = random.Random(seed)
    hostile = Hostile(chance)

    part = GitLab(Connection(Spoiled(hostile), lambda: DEVELOPER))
    registry = Registry.of(Groups(part).living())
    names = [entry.name for entry in read_catalogue(["gitlab"]).operations if entry.name in CALLS]
    ended: Counter[str] = Counter()
    for number in range(calls):
        name = names[number % len(names)]
        enter(Call(Caller()))
        operation = registry.operation(name)
        try:
            async with asyncio.timeout(30):
                answer = await operation.run(**operation.decode(dict(CALLS[name])))
        except Failure as failure:
            said = f"{failure.text()} {failure.details()}"
            ended["failed"] += 1
        else:
            said = read(answer)
            ended["answered"] += 1
        assert DEVELOPER not in said, f"{name}: the token is in its answer"
        assert len(said) < 4_000_000, name
        progress(number)
    await part.close()
    return ended


def read(answer: Any) -> str:
    """Both halves of an answer, as they are sent."""
    for_model = answer.for_model() if hasattr(answer, "for_model") else ""
    assert len(for_model.encode("utf-8", "replace")) <= 40_000
    plain = answer.plain() if hasattr(answer, "plain") else answer
    return str(for_model) + msgspec.json.encode(plain).decode("utf-8", "replace")


if __name__ == "__main__":
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000
    print(dict(asyncio.run(attack(wanted, seed=int(sys.argv[2]) if len(sys.argv) > 2 else 1))))
