"""Measure every server, print goals and ratios, write docs/benchmarks.md. A missed goal is said in the table."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

import msgspec

from bench.anchors import anchors
from bench.assistants import assistants
from bench.comments import comments
from bench.gateway import gateway
from bench.gitlab import gitlab
from bench.load import http
from bench.measure import calls, cold_start, middle
from bench.page import page as show_page
from bench.page_load import page_load
from bench.report import Result, Whole, goal_table, goals, page, result_table
from bench.server import INITIALIZE, INITIALIZED, LOWLEVEL, OURS, ROOT, SERVERS, TYPESCRIPT, Server, ended_cpu, started
from bench.startup import startup
from bench.tracker import tracker

POSTIL = str(ROOT / ".venv" / "bin" / "postil")
NOTHING = [str(ROOT / ".venv" / "bin" / "python"), "-c", "pass"]


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("--calls", type=int, default=100_000, help="pipelined calls to Postil; the others get a tenth")
    parser.add_argument("--rounds", type=int, default=15, help="cold starts of each server")
    parser.add_argument("--seconds", type=float, default=5, help="HTTP load on each server")
    parser.add_argument("--issues", type=int, default=100_000, help="how large the tracker's repository is; 0 skips it")
    parser.add_argument("--comments", type=int, default=1_000_000, help="how many comments are searched; 0 skips it")
    parser.add_argument("--no-page", action="store_true", help="print only, leave docs/benchmarks.md as it is")
    options = parser.parse_args()
    for role in ("AUTHOR", "COMMITTER"):  # on a machine where git knows nobody
        os.environ |= {f"GIT_{role}_NAME": "Bench", f"GIT_{role}_EMAIL": "bench@example.org"}

    say("cold starts")
    starts = {server.name: [cold_start(server)][1:] for server in SERVERS}  # the first one fills the disk cache
    for _ in range(options.rounds):
        for server in SERVERS:
            starts[server.name].append(cold_start(server))
    results: dict[str, Result] = {}
    for server in SERVERS:
        say(f"{server.name}: calls")
        total = options.calls if server is OURS else options.calls // 10
        called = calls(server, total, options.calls // 20)
        say(f"{server.name}: HTTP")
        results[server.name] = Result(server.name, middle(starts[server.name]), called, http(server, options.seconds))
    say("whole processes")
    whole = whole_processes(options.rounds)
    ours, sdk, typescript = (results[server.name] for server in (OURS, LOWLEVEL, TYPESCRIPT))
    listed = [*goals(ours, sdk, typescript, whole, options.calls), *startup(options.rounds), *gateway(), *gitlab()]
    say("assistants")
    listed += assistants()
    say("the page beside difit")
    listed += show_page()
    say("the page of a large repository")
    listed += page_load()
    listed += comments(options.comments)
    say("anchoring")
    listed += anchors([ROOT])
    listed += tracker(large=options.issues) if options.issues else []
    print("\n".join([*result_table(list(results.values())), "", *goal_table(listed)]))
    if not options.no_page:
        text = page(list(results.values()), listed, whole, options.calls)
        path = ROOT / "docs" / "benchmarks.md"
        _, mark, kept = (path.read_text("utf-8") if path.exists() else "").partition("<!-- anchors")
        path.write_text(
            f"{text.rstrip()}\n\n{mark}{kept}" if mark else text, "utf-8"
        )  # what `make anchors` wrote stays
    return 0


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


def say(what: str) -> None:
    print(f"bench: {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
