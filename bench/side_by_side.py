"""The same echo tool on each server: cold start, calls, HTTP, memory; and the whole `postil` command beside Python."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import msgspec
from msgspec import Struct

from bench.load import Served, http
from bench.measure import Calls, Start, calls, cold_start, middle
from bench.report import Effort, Goal, at_most
from bench.server import INITIALIZE, INITIALIZED, LOWLEVEL, OURS, ROOT, SERVERS, TYPESCRIPT, Server, ended_cpu, started
from bench.tell import say

POSTIL = str(ROOT / ".venv" / "bin" / "postil")
NOTHING = [str(ROOT / ".venv" / "bin" / "python"), "-c", "pass"]
MEGABYTE = 1024 * 1024


class Result(Struct, frozen=True):
    """Everything measured of one server."""

    name: str
    start: Start
    calls: Calls
    served: Served


class Whole(Struct, frozen=True):
    """CPU of whole processes of the `postil` command, beside an interpreter that does nothing."""

    nothing: float
    version: float
    serve: float
    tools_list: int


def side_by_side(effort: Effort) -> Iterator[Goal | str]:
    """The goals, then the table of all servers."""
    say("cold starts")
    starts = {server.name: [cold_start(server)][1:] for server in SERVERS}  # the first one fills the disk cache
    for _ in range(effort.rounds):
        for server in SERVERS:
            starts[server.name].append(cold_start(server))
    results: dict[str, Result] = {}
    for server in SERVERS:
        say(f"{server.name}: calls")
        total = effort.calls if server is OURS else effort.calls // 10
        called = calls(server, total, effort.calls // 20)
        say(f"{server.name}: HTTP")
        results[server.name] = Result(server.name, middle(starts[server.name]), called, http(server, effort.seconds))
    say("whole processes")
    whole = whole_processes(effort.rounds)
    ours, sdk, typescript = (results[server.name] for server in (OURS, LOWLEVEL, TYPESCRIPT))
    yield from goals(ours, sdk, typescript, whole, effort.calls)
    yield "In brackets: how many times Postil's."
    yield ""
    yield from result_table(list(results.values()))
    yield ""
    yield (
        f"`python -c pass` took {whole.nothing * 1e3:.0f} ms of CPU, `postil --version` {whole.version * 1e3:.0f} ms, "
        f"and `postil serve` with one\n`initialize` and then EOF, every part enabled, {whole.serve * 1e3:.0f} ms."
    )


def goals(ours: Result, sdk: Result, typescript: Result, whole: Whole, total: int) -> Iterator[Goal]:
    """The goals, one by one. The SDK is the official Python one's faster server; TypeScript its newest version."""
    yield at_most("cold start, CPU, of the SDK's", ours.start.cpu / sdk.start.cpu, 0.125)
    yield at_most("cold start, CPU, of TypeScript's", ours.start.cpu / typescript.start.cpu, 1)
    yield at_most("cold start, wall, of TypeScript's", ours.start.wall / typescript.start.wall, 1)
    yield at_most("pipelined stdio call, CPU, of the SDK's", ours.calls.pipelined / sdk.calls.pipelined, 0.033)
    rate = ours.served.per_cpu_second / sdk.served.per_cpu_second
    yield Goal("HTTP requests a second on one core, times the SDK's", "≥ 4", f"{rate:.2f}", rate >= 4)
    yield at_most("memory after start, of the SDK's", ours.start.rss / sdk.start.rss, 0.5)
    growth = (ours.calls.rss_after - ours.calls.rss_before) / MEGABYTE
    yield at_most(f"growth over {total:,} calls, MB", growth, 1)
    yield at_most("`postil --version`, CPU, times `python -c pass`", whole.version / whole.nothing, 4)
    yield at_most("`postil serve`, initialize then EOF, times `python -c pass`", whole.serve / whole.nothing, 8)
    yield at_most("tools/list of the united server, kB", whole.tools_list / 1000, 48)


def result_table(results: list[Result]) -> list[str]:
    """One line a server; in brackets how many times ours."""
    ours = results[0]
    head = [
        "server",
        "cold start CPU",
        "wall",
        "sequential call",
        "pipelined call",
        "HTTP req/s per core",
        "memory",
        "growth",
    ]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for r in results:
        cells = [
            r.name,
            f"{r.start.cpu * 1e3:.0f} ms ({r.start.cpu / ours.start.cpu:.1f})",
            f"{r.start.wall * 1e3:.0f} ms ({r.start.wall / ours.start.wall:.1f})",
            f"{r.calls.sequential * 1e6:.0f} µs ({r.calls.sequential / ours.calls.sequential:.1f})",
            f"{r.calls.pipelined * 1e6:.1f} µs ({r.calls.pipelined / ours.calls.pipelined:.1f})",
            f"{r.served.per_cpu_second:,.0f} ({r.served.per_cpu_second / ours.served.per_cpu_second:.2f})",
            f"{r.start.rss / MEGABYTE:.0f} MB ({r.start.rss / ours.start.rss:.1f})",
            f"{(r.calls.rss_after - r.calls.rss_before) / MEGABYTE:+.1f} MB",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def whole_processes(rounds: int) -> Whole:
    """The `postil` command with every part enabled, in an empty repository, beside an interpreter that does nothing."""
    hello = b"".join(msgspec.json.encode(message) + b"\n" for message in (INITIALIZE, INITIALIZED))
    nothing: list[float] = []
    version: list[float] = []
    serve: list[float] = []
    with tempfile.TemporaryDirectory(prefix="postil-bench-") as folder:
        subprocess.run(["git", "init", "--quiet", folder], check=True)
        for _ in range(rounds + 1):
            nothing.append(ended_cpu(NOTHING, cwd=Path(folder)))
            version.append(ended_cpu([POSTIL, "--version"], cwd=Path(folder)))
            serve.append(ended_cpu([POSTIL, "serve"], hello, cwd=Path(folder)))
        with started(Server("postil serve", (POSTIL, "serve"))) as process:
            process.handshake()
            process.send({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
            listed = len(msgspec.json.encode(process.receive()))
    return Whole(median(nothing[1:]), median(version[1:]), median(serve[1:]), listed)
