"""`make fairness`: for every operation, the p99 of twenty good callers with and without a hostile caller beside them.

Each good caller makes one call a second, under a key of its own; the hostile one keeps as many calls open as it can, of
the same operation and of the dearest ones. It must hold: p99 beside it ≤ 2 × p99 without it + 50 ms. Every operation
gets a server and a repository of its own, and no row depends on what another one wrote.

Turns without and with a hostile caller alternate (ABBA), so that both see the same data, and what else the machine does
falls on both; each hostile turn has a key of its own, with its whole minute's worth of calls. Operations may be named.
`--unlimited` turns the limits on its rate off.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.fairness.calls import DEAR, Given, list_calls, prepare
from tests.surfaces.served import serve_http

GOOD, OPEN = 20, 64


class Caller:
    """One connection that is kept open, under one key."""

    def __init__(self, url: str, key: str) -> None:
        self._where, self._key = urlsplit(url), key
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Returns the answer to a direct call."""
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._where.hostname, self._where.port, limit=1 << 26)
        reader, writer = self._streams
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        head = (
            f"POST /mcp HTTP/1.1\r\nHost: {self._where.netloc}\r\nAuthorization: Bearer {self._key}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        writer.write(head.encode() + body)
        answered = (await reader.readuntil(b"\r\n\r\n")).lower()
        size = int(answered.partition(b"content-length:")[2].partition(b"\r\n")[0])
        return json.loads(await reader.readexactly(size))

    def close(self) -> None:
        """End the connection."""
        if self._streams is not None:
            self._streams[1].close()


async def measure(
    callers: list[Caller], method: str, given: Given, numbers: Iterator[int], seconds: int
) -> list[float]:
    """Returns how long the calls took that each caller makes once a second."""
    took: list[float] = []

    async def call(caller: Caller, start: float) -> None:
        for second in range(seconds):
            await asyncio.sleep(max(0.0, start + second - time.monotonic()))
            params = given(next(numbers), False)
            begun = time.monotonic()
            await caller.ask(method, params)
            took.append(time.monotonic() - begun)

    now = time.monotonic()
    await asyncio.gather(*(call(caller, now + number / len(callers)) for number, caller in enumerate(callers)))
    return took


class Hostile:
    """A caller that keeps as many calls open as it can."""

    def __init__(self, url: str, key: str, method: str, given: Given, numbers: Iterator[int]) -> None:
        self._callers = [Caller(url, key) for _ in range(OPEN)]
        self._method, self._given, self._numbers = method, given, numbers
        self.begun, self._ending = asyncio.Event(), False

    async def attack(self) -> None:
        """Call until told to end; every call is heard to its end, so that nothing of it is left for the next turn."""
        await asyncio.gather(*(self._call(caller, number) for number, caller in enumerate(self._callers)))
        for caller in self._callers:
            caller.close()

    async def _call(self, caller: Caller, number: int) -> None:
        while not self._ending:
            name, given = DEAR[number // 2 % len(DEAR)]
            if number % 2:
                name, given = self._method, self._given(next(self._numbers), True)
            answer = await caller.ask(name, {**given, "idempotency_key": "same"} if number % 3 == 0 else given)
            self.begun.set()
            if answer.get("error", {}).get("code") == -32000:  # its limit: it goes on as fast as that allows
                await asyncio.sleep(0.05)

    def end(self) -> None:
        """Begin no further call."""
        self._ending = True


async def compare(url: str, keys: list[str], method: str, given: Given, options: argparse.Namespace) -> bool:
    """Print both numbers of an operation. Returns whether the promise holds."""
    good, hostile_ones = count(), count()
    callers = [Caller(url, key) for key in keys[:GOOD]]
    for name, params in ((method, given(next(good), False)), *DEAR):  # the first use of a part imports it
        answer = await callers[0].ask(name, params)
        assert "result" in answer, f"{name}: {answer}"  # the time of a refusal says nothing
    alone: list[float] = []
    beside: list[float] = []
    for turn in range(2 * options.turns):
        if turn % 4 in (0, 3):
            alone += await measure(callers, method, given, good, options.seconds)
            continue
        hostile = Hostile(url, keys[GOOD + turn // 2], method, given, hostile_ones)
        attack = asyncio.create_task(hostile.attack())
        await asyncio.wait_for(hostile.begun.wait(), 60)
        beside += await measure(callers, method, given, good, options.seconds)
        hostile.end()
        await attack
    holds = find_p99(beside) <= 2 * find_p99(alone) + 0.05
    print(f"{method:28} {describe(alone)}   {describe(beside)}  {'' if holds else 'BROKEN'}", flush=True)
    return holds


def find_p99(took: list[float]) -> float:
    """Returns the 99th percentile."""
    return sorted(took)[int(len(took) * 0.99)]


def describe(took: list[float]) -> str:
    """Returns the median and the 99th percentile in milliseconds."""
    return f"{sorted(took)[len(took) // 2] * 1000:7.1f} {find_p99(took) * 1000:7.1f}"


def main() -> int:
    """Serve a workspace for each operation and compare."""
    parser = argparse.ArgumentParser(prog="fairness", description=__doc__)
    parser.add_argument("--seconds", type=int, default=2, help="of each turn")
    parser.add_argument("--turns", type=int, default=6, help="without a hostile caller, and as many with one")
    parser.add_argument("--unlimited", action="store_true", help="without limits on the callers' rates")
    parser.add_argument("only", nargs="*", help="these operations")
    options = parser.parse_args()
    broken = 0
    print(f"{'median and p99 in ms':28} {'alone':>15}   {'beside':>15}")
    with tempfile.TemporaryDirectory() as folder:
        used, kept = Path(folder, "used"), Path(folder, "kept")
        os.environ |= {f"XDG_{name}_HOME": f"{used}/{name}" for name in ("STATE", "CACHE", "CONFIG")}
        used.mkdir()
        keys, ids = prepare(used / "work", GOOD + options.turns)
        flags = ("--config", str(used / "unlimited.toml")) if options.unlimited else ()
        (used / "unlimited.toml").write_text("[limits]\nper_minute = 0\nin_flight = 0\n")
        shutil.copytree(used, kept, symlinks=True)
        for method, given in list_calls(ids):
            if options.only and method not in options.only:
                continue
            shutil.rmtree(used)
            shutil.copytree(kept, used, symlinks=True)
            os.sync()  # else the row's first writes wait until the copy is on the disk
            with serve_http(used / "work", "--auth", "key", "--toolset", "extra", *flags) as served:
                broken += not asyncio.run(compare(served.url, keys, method, given, options))
    return min(1, broken)


if __name__ == "__main__":
    sys.exit(main())
