"""What the gateway costs: the bare wire against the printed token and against the whole chain, in one run.

`python -m bench.gateway`. The same stateless `tools/call` over 16 connections; CPU of the server a call.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time

import msgspec

from bench.load import META, VERSION, load
from bench.report import Effort, Goal, goal_table
from bench.server import _cpu
from postil.surfaces.gateway.signatures import signature

SECRET = b"a secret of the benchmark, shared"
BODY = msgspec.json.encode({
    "jsonrpc": "2.0", "id": 1, "method": "tools/call",
    "params": {"name": "echo", "arguments": {"text": "hello"}, "_meta": META},
})  # fmt: skip


def serve(kind: str) -> None:
    """The echo part behind as much of the gateway as is measured."""
    from postil.core.registry import Registry
    from postil.storage.ephemeral import MemoryEphemeralStore
    from postil.surfaces.gateway.addresses import read_lists
    from postil.surfaces.gateway.auth import Bearers, LocalToken
    from postil.surfaces.gateway.gateway import Gateway
    from postil.surfaces.gateway.quotas import Limits
    from postil.surfaces.gateway.signatures import Signatures
    from postil.surfaces.http.serve import hosts_for, listen
    from postil.surfaces.http.serve import serve as serve_http
    from postil.wire.server import UNITED, Face, Server
    from tests.core.echo import Echo

    ephemeral = MemoryEphemeralStore()
    chain = kind == "chain"
    bearers = Bearers([LocalToken("token")], hint="")
    # As many as the window can hold: the benchmark must not be refused, and a full window is the costly case.
    limits = Limits(ephemeral, per_minute=1_000_000 if chain else 0, in_flight=100)
    gateway = Gateway(
        bearers,
        limits=limits,
        addresses=read_lists(["127.0.0.0/8", "10.0.0.0/8"], ["192.0.2.1"])[0] if chain else None,
        signatures=Signatures("optional", [SECRET], ephemeral.first) if chain else None,
    )
    listener = listen("127.0.0.1", 0)
    print(listener.getsockname()[1], flush=True)
    server = Server(Registry.of([("echo", Echo())]), Face("echo", "1", UNITED))
    serve_http(server, None if kind == "bare" else gateway, hosts_for("127.0.0.1", (), ()), listener)


def message(kind: str, port: int) -> bytes:
    lines = [
        "POST /mcp HTTP/1.1", f"Host: 127.0.0.1:{port}", "Content-Type: application/json",
        "Accept: application/json, text/event-stream", f"Content-Length: {len(BODY)}",
        f"MCP-Protocol-Version: {VERSION}", "Mcp-Method: tools/call", "Mcp-Name: echo",
    ]  # fmt: skip
    if kind != "bare":
        lines.append("Authorization: Bearer token")
    if kind == "chain":
        lines.append(f"X-MCP-Signature: {signature(SECRET, BODY).decode()}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + BODY


def measure(kind: str, seconds: float, rounds: int = 3) -> float:
    """Microseconds of CPU a call, the best of some rounds."""
    process = subprocess.Popen([sys.executable, "-m", "bench.gateway", kind], stdout=subprocess.PIPE)
    assert process.stdout
    try:
        port = int(process.stdout.readline())
        time.sleep(0.3)
        asyncio.run(load(port, message(kind, port), 0.5, 16))
        best = 1e9
        for _ in range(rounds):
            before = _cpu(process.pid)
            calls = asyncio.run(load(port, message(kind, port), seconds, 16))
            best = min(best, (_cpu(process.pid) - before) / calls * 1e6)
        return best
    finally:
        process.kill()
        process.wait()


def gateway(effort: Effort) -> list[Goal]:
    """What the checks before a call cost, beside the bare wire in the same run."""
    bare, token, chain = (measure(kind, effort.seconds * 0.6) for kind in ("bare", "token", "chain"))
    return [
        Goal("HTTP with the printed token, calls a second of the bare wire's", "≥ 0.75", f"{bare / token:.2f}",
             bare / token >= 0.75),
        Goal("address, signature, bearer and limit, µs of CPU a call", "≤ 60", f"{chain - bare:.1f}",
             chain - bare <= 60),
    ]  # fmt: skip


if __name__ == "__main__":
    if len(sys.argv) > 1:
        serve(sys.argv[1])
    print("\n".join(goal_table(gateway(Effort()))))
