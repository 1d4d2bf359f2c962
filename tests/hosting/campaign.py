"""Writers at three hosts while hosts are killed and paused: what they were told has to be so at the end."""

from __future__ import annotations

import http.client
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from tests.hosting.hosts import Hosts, find_holder, find_numbers
from tests.storage.postgres_server import PostgresServer

WRITERS = 4


@dataclass
class Told:
    """What writers were told, and how long a workspace was without a host."""

    acknowledged: set[int] = field(default_factory=set[int])
    denied: set[int] = field(default_factory=set[int])
    unknown: set[int] = field(default_factory=set[int])
    kills: int = 0
    pauses: int = 0
    waits: list[float] = field(default_factory=list[float])
    """Seconds from the death or pause of the holder to the next acknowledged write."""
    lost: int = 0
    doubled: int = 0
    falsely_denied: int = 0


def make_trouble(hosts: Hosts, postgres: PostgresServer, writes: int, troubles: int, chance: random.Random) -> Told:
    """Write so many comments and issues while there is so much trouble. Returns what came of it."""
    told, made, over = Told(), threading.Semaphore(0), threading.Event()
    last = [time.monotonic()]

    def write(n: int) -> None:
        method, params = (
            ("add_comment", {"filePath": "a.py", "line": 1 + n % 40, "text": f"write {n}"})
            if n % 2
            else ("git_mile_create", {"title": f"write {n}"})
        )
        with_key = n % 4 < 3
        end = time.monotonic() + 120
        while True:
            try:
                number = chance.randrange(len(hosts.ports))
                status, answer = hosts.ask(number, method, params, key=f"key-{n}" if with_key else "", timeout=40)
            except (OSError, http.client.HTTPException, ValueError):
                if not with_key:
                    told.unknown.add(n)
                    break
                time.sleep(0.1)  # what a client does before it repeats
                assert time.monotonic() < end, "no host answered for two minutes"
                continue
            message = "" if status == 200 and "result" in answer else answer["error"]["message"]
            if not message or "took effect, but its answer was lost" in message:
                told.acknowledged.add(n)
                last[0] = time.monotonic()
                break
            if not with_key and status == 503:
                told.denied.add(n)
                break
            if not with_key or "interrupted" in message:
                told.unknown.add(n)
                break
            assert status in (503, 504) or "still running" in message, answer
            assert time.monotonic() < end, answer
            time.sleep(0.1)
        made.release()

    def harass() -> None:
        for turn in range(troubles):
            if over.is_set():
                return
            for _ in range(max(1, writes // (troubles + 1))):
                made.acquire(timeout=60)
            holder = find_holder(hosts, postgres)
            number = holder if chance.random() < 0.7 else chance.randrange(len(hosts.ports))
            begun = time.monotonic()
            if turn % 2:
                hosts.kill(number)
                told.kills += 1
                _wait_for_write(told, last, begun, number == holder)
                hosts.start(number)
            else:
                hosts.pause(number)
                told.pauses += 1
                _wait_for_write(told, last, begun, number == holder)
                hosts.go_on(number)

    maker = threading.Thread(target=harass)
    maker.start()
    try:
        with ThreadPoolExecutor(WRITERS) as writers:
            list(writers.map(write, range(writes)))  # raises what one of them raised
    finally:
        over.set()
        maker.join(120)
        for number in [*hosts.paused]:
            hosts.go_on(number)
    hosts.until_done(0, "add_comment", {"filePath": "b.py", "line": 1, "text": "the last one"}, key="last")
    there = find_numbers(hosts, find_holder(hosts, postgres))
    told.doubled = len(there) - len({*there})
    told.lost = len(told.acknowledged - {*there})
    told.falsely_denied = len(told.denied & {*there})
    return told


def _wait_for_write(told: Told, last: list[float], begun: float, is_holder: bool) -> None:
    """Wait until somebody else has taken over, and a write was acknowledged."""
    end = begun + 30
    while last[0] <= begun + 0.05 and time.monotonic() < end:
        time.sleep(0.02)
    if is_holder:
        told.waits.append(last[0] - begun if last[0] > begun else 30.0)
