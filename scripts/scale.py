"""How many machines a number of teams needs, and what breaks first: a small simulation from measured costs.

`make scale` prints the table that docs/scale.md explains. Calls arrive at random; each takes a core of one of the
machines; a write also takes its turns at the one writer of the state. Times are simulated call by call.
"""

from __future__ import annotations

import argparse
import heapq
import math
import random
import sys
from typing import NamedTuple

# Measured (docs/scale.md says how), in milliseconds and bytes.
READ_CPU, WRITE_CPU = 1.0, 5.0
TURN = 4.0
"""One transaction of the state, while which nobody else writes: round trips and one sync."""
TURNS = 5
"""Transactions of one write over HTTP: claim, opening, effect, end, answer."""
STREAM_BYTES, PROCESS_BYTES = 60_000, 70_000_000
MESSAGE_BYTES = 1_900
CONNECTIONS = 11

CORES = 4
FULLEST = 0.6
"""A machine or a writer that is busier has queues that grow."""
WANTED_P99 = 250.0
SERVER_CONNECTIONS = 100
SIMULATED = 60_000


class Load(NamedTuple):
    """What so many teams ask in their busiest hour."""

    teams: int
    people: int = 8
    windows: int = 2
    calls: float = 60.0
    """Calls of one person in an hour."""
    writes: float = 0.2

    @property
    def a_second(self) -> float:
        """Calls a second."""
        return self.teams * self.people * self.calls / 3600


class Plan(NamedTuple):
    """What that needs."""

    load: Load
    machines: int
    shards: int
    """States of their own (PostgreSQL databases), each for a part of the teams."""
    p50: float
    p99: float
    first: str
    """What breaks first, when the load grows."""


def plan(load: Load, seed: int = 1) -> Plan:
    """Returns the fewest machines and states with which calls are answered in time."""
    cpu = load.a_second * ((1 - load.writes) * READ_CPU + load.writes * WRITE_CPU) / 1000
    streams = load.teams * load.people * load.windows
    by_cpu = math.ceil(cpu / (CORES * FULLEST))
    by_memory = math.ceil(streams * STREAM_BYTES / 6e9)
    machines = max(2, by_cpu, by_memory)  # one may die
    turns = load.a_second * load.writes * TURNS * TURN / 1000
    shards = max(1, math.ceil(turns / FULLEST), math.ceil(machines * CORES * CONNECTIONS / SERVER_CONNECTIONS / 8))
    while True:
        p50, p99 = simulate(load, machines, shards, seed)
        if p99 <= WANTED_P99:
            break
        machines, shards = machines + 1, shards + (turns / shards > FULLEST / 2)
    loads = {
        "processors": cpu / (machines * CORES),
        "memory of streams": streams * STREAM_BYTES / (machines * 8e9),
        "the one writer of a state": turns / shards,
        "connections of PostgreSQL": machines * CORES * CONNECTIONS / (shards * SERVER_CONNECTIONS * 8),
    }
    first = max(loads, key=lambda name: loads[name])
    return Plan(load, machines, shards, p50, p99, f"{first} ({loads[first]:.0%} used)")


def simulate(load: Load, machines: int, shards: int, seed: int) -> tuple[float, float]:
    """Returns the median and the 99th percentile of a call's milliseconds."""
    chance = random.Random(seed)
    cores = [0.0] * (machines * CORES)
    writers = [0.0] * shards
    now, took = 0.0, list[float]()
    for _ in range(SIMULATED):
        now += chance.expovariate(load.a_second) * 1000
        is_write = chance.random() < load.writes
        cpu = (WRITE_CPU if is_write else READ_CPU) * chance.uniform(0.5, 1.5)
        done = max(now, cores[0]) + cpu
        heapq.heapreplace(cores, done)
        if is_write:
            shard = chance.randrange(shards)
            done = max(done, writers[shard]) + TURNS * TURN * chance.uniform(0.7, 1.6)
            writers[shard] = done
        took.append(done - now)
    took.sort()
    return took[len(took) // 2], took[len(took) * 99 // 100]


def show(plans: list[Plan]) -> str:
    """Returns the table."""
    rows = [
        "| teams | calls/s | writes/s | machines (4 cores, 8 GB) | states | p50 | p99 | a year | breaks first |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|---|",
    ]
    for one in plans:
        load = one.load
        written = load.a_second * load.writes
        stored = written * 3600 * 8 * 250 * MESSAGE_BYTES / 1e9
        rows.append(
            f"| {load.teams:,} | {load.a_second:,.1f} | {written:,.1f} | {one.machines:,} | {one.shards:,} "
            f"| {one.p50:.0f} ms | {one.p99:.0f} ms | {stored:,.0f} GB | {one.first} |"
        )
    return "\n".join(rows)


def main() -> int:
    """Print the table."""
    reader = argparse.ArgumentParser(prog="make scale")
    reader.add_argument("--teams", type=int, nargs="*", default=[10, 1000, 100_000])
    reader.add_argument("--calls", type=float, default=60.0, help="calls of a person in the busiest hour")
    reader.add_argument("--writes", type=float, default=0.2, help="how many of them write")
    given = reader.parse_args()
    print(show([plan(Load(teams, calls=given.calls, writes=given.writes)) for teams in given.teams]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
