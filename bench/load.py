"""A load of HTTP requests over kept-alive connections: just enough of a client to be cheaper than any server."""

from __future__ import annotations

import asyncio
import re
import time

import msgspec
from msgspec import Struct

from bench.server import Server, started

VERSION = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
}
LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)


class Served(Struct, frozen=True):
    """What a server did under load."""

    per_second: float
    per_cpu_second: float
    rss: int


def stateless(port: int) -> bytes:
    """A call of the newest protocol version: no session, everything in the request."""
    params = {"name": "echo", "arguments": {"text": "hello"}, "_meta": META}
    headers = {"MCP-Protocol-Version": VERSION, "Mcp-Method": "tools/call", "Mcp-Name": "echo"}
    return request(port, params, headers)


def handshake(port: int) -> bytes:
    """A call of a handshake version, for servers that know no newer one, without a session."""
    return request(port, {"name": "echo", "arguments": {"text": "hello"}}, {"MCP-Protocol-Version": "2025-06-18"})


def request(port: int, params: object, headers: dict[str, str]) -> bytes:
    body = msgspec.json.encode({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    lines = [
        "POST /mcp HTTP/1.1",
        f"Host: 127.0.0.1:{port}",
        "Content-Type: application/json",
        "Accept: application/json, text/event-stream",
        f"Content-Length: {len(body)}",
        *(f"{name}: {value}" for name, value in headers.items()),
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def http(server: Server, seconds: float, connections: int = 16) -> Served:
    """Requests per second, and per second of the server's CPU: what one core can serve."""
    with started(server, "--http") as process:
        port = int(process.stderr.readline())
        message = handshake(port) if server.name == "TypeScript v1" else stateless(port)
        asyncio.run(load(port, message, 0.5, connections))
        cpu, begun = process.cpu(), time.perf_counter()
        answered = asyncio.run(load(port, message, seconds, connections))
        wall, used = time.perf_counter() - begun, process.cpu() - cpu
        return Served(answered / wall, answered / used, process.rss())


async def load(port: int, message: bytes, seconds: float, connections: int) -> int:
    until = time.perf_counter() + seconds
    counts = await asyncio.gather(*(one_connection(port, message, until) for _ in range(connections)))
    return sum(counts)


async def one_connection(port: int, message: bytes, until: float) -> int:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    answered = 0
    while time.perf_counter() < until:
        writer.write(message)
        head = await reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(f"refused: {head!r} {await reader.read(2000)!r}")
        body = await body_of(head, reader)
        if b"hello" not in body or b'"isError":true' in body:
            raise RuntimeError(f"a wrong answer: {body!r}")
        answered += 1
    writer.close()
    await writer.wait_closed()
    return answered


async def body_of(head: bytes, reader: asyncio.StreamReader) -> bytes:
    found = LENGTH.search(head)
    if found:
        return await reader.readexactly(int(found.group(1)))
    body = b""
    while size := int(await reader.readline(), 16):  # chunked
        body += await reader.readexactly(size)
        await reader.readline()
    await reader.readline()
    return body
