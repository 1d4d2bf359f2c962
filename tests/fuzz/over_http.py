"""Fuzzing over HTTP: the same frames as bodies, under headers that fit, lie or are missing."""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
from collections.abc import AsyncIterator, Iterator
from itertools import islice
from typing import Any, cast
from urllib.parse import urlsplit

from tests.fuzz.frames import META, frames, readable_id
from tests.fuzz.over_stdio import Faults
from tests.serving import http_server

PATIENCE = 20.0
CONNECTIONS = 4
ODD_HEADERS = [
    ("Accept", "text/html"), ("Accept", ""), ("Content-Type", "text/plain"), ("Content-Type", "application/json;x"),
    ("Mcp-Session-Id", "no-such-session"), ("Mcp-Session-Id", "\xff"), ("MCP-Protocol-Version", "1999-01-01"),
    ("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/list"), ("Mcp-Name", "=?base64?!?="),
    ("Origin", "http://evil.example"), ("Host", "evil.example"), ("Authorization", "Bearer x"), ("X-Long", "y" * 4000),
    ("Last-Event-ID", "7"), ("Idempotency-Key", "k"), ("Transfer-Encoding", "identity"), ("Cookie", "a=b"),
]  # fmt: skip
ODD_LINES = ["GET /mcp", "PUT /mcp", "DELETE /mcp", "POST /nowhere", "POST /mcp/../mcp", "OPTIONS /mcp", "POST //mcp"]


def fuzz(seed: int, count: int) -> int:
    """Send `count` requests; gives how many of them had to be answered with their id, and were."""
    with http_server("--part", "echo", log=subprocess.DEVNULL) as url:
        return asyncio.run(visit(urlsplit(url).port or 0, seed, count))


async def visit(port: int, seed: int, count: int) -> int:
    chance = random.Random(seed)
    sent = frames(seed, count)
    must = 0
    for block in range(0, count, 1000):
        plans = [plan(chance, port, body) for body in islice(sent, 1000)]
        shares = [plans[start::CONNECTIONS] for start in range(CONNECTIONS)]
        try:
            must += sum(await asyncio.gather(*(connection(port, share) for share in shares)))
            await good_call(port)
        except (Faults, TimeoutError, OSError, asyncio.IncompleteReadError) as fault:
            raise Faults(f"seed {seed}, frames {block} to {block + 1000}: {fault!r}") from fault
    return must


def plan(chance: random.Random, port: int, body: bytes) -> tuple[bytes, str | int | None]:
    """The bytes of a request, and the id that must come back: only where nothing but the body is odd."""
    headers = fitting_headers(port, body)
    line, found = "POST /mcp", readable_id(body)
    if chance.random() < 0.2:
        found = None
        if chance.random() < 0.3:
            line = chance.choice(ODD_LINES)
        for name, value in chance.sample(ODD_HEADERS, chance.randrange(1, 4)):
            headers[name] = value
    head = f"{line} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return head.encode("latin-1") + f"Content-Length: {len(body)}\r\n\r\n".encode() + body, found


def fitting_headers(port: int, body: bytes) -> dict[str, str]:
    headers = {
        "Host": f"127.0.0.1:{port}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
    }
    try:
        value: Any = json.loads(body)
        meta = value["params"]["_meta"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return headers
    if isinstance(meta, dict) and "io.modelcontextprotocol/protocolVersion" in meta:
        params = cast("dict[str, Any]", value["params"])
        wanted = {
            "MCP-Protocol-Version": cast("dict[str, Any]", meta)["io.modelcontextprotocol/protocolVersion"],
            "Mcp-Method": value.get("method"),
            "Mcp-Name": params.get("name", params.get("uri")),
        }
        headers |= {name: str(value) for name, value in wanted.items() if is_header(value)}
    return headers


def is_header(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) < 1000 and value.isascii() and value.isprintable()


async def connection(port: int, plans: list[tuple[bytes, str | int | None]]) -> int:
    """Send a share of the requests over connections that are kept as long as the server keeps them."""
    must = 0
    streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
    for data, found in plans:
        streams = streams or await asyncio.open_connection("127.0.0.1", port)
        reader, writer = streams
        status, body, kept = await asyncio.wait_for(exchange(reader, writer, data), PATIENCE)
        if status >= 500:
            raise Faults(f"answered {status} to {data[:600]!r}: {body[:300]!r}")
        if found is not None:
            must += 1
            if found not in ids(body):
                raise Faults(f"no answer with id {found!r} ({status} {body[:300]!r}) to {data[:600]!r}")
        if not kept:
            writer.close()
            streams = None
    if streams:
        streams[1].close()
    return must


async def exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, data: bytes) -> tuple[int, bytes, bool]:
    """One request and its answer: status, body, and whether the connection goes on."""
    writer.write(data)
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    status = int(head.split(" ", 2)[1])
    fields = dict(line.split(":", 1) for line in head.split("\r\n")[1:] if ":" in line)
    if data.startswith(b"GET ") and status == 200:  # a stream that stays open: hang up
        return status, b"", False
    if "content-length" in fields:
        body = await reader.readexactly(int(fields["content-length"]))
    elif "chunked" in fields.get("transfer-encoding", ""):
        body = b"".join([piece async for piece in chunks(reader)])
    else:
        body = b"" if status in {202, 204, 304} else await reader.read()
    return status, body, "close" not in fields.get("connection", "")


async def chunks(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while size := int(await reader.readline(), 16):
        yield await reader.readexactly(size)
        await reader.readline()
    await reader.readline()


def ids(body: bytes) -> Iterator[object]:
    """The ids of the answers in a body: one JSON object, a batch, or a stream of events."""
    pieces = [line[5:] for line in body.splitlines() if line.startswith(b"data:")] or [body]
    for piece in pieces:
        if not piece.strip():
            continue
        try:
            value: Any = json.loads(piece)
        except ValueError:
            return  # not an answer at all: the caller finds no id in it
        for answer in cast("list[Any]", value) if isinstance(value, list) else [value]:
            if "method" not in answer:
                yield answer.get("id")


async def good_call(port: int) -> None:
    params = {"name": "echo", "arguments": {"text": "still here"}, "_meta": META}
    body = json.dumps({"jsonrpc": "2.0", "id": "good", "method": "tools/call", "params": params}).encode()
    head = "".join(f"{name}: {value}\r\n" for name, value in fitting_headers(port, body).items())
    data = f"POST /mcp HTTP/1.1\r\n{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    status, answer, _ = await asyncio.wait_for(exchange(reader, writer, data), PATIENCE)
    writer.close()
    if status != 200 or b"still here" not in answer:
        raise Faults(f"a good call was answered {status} {answer[:300]!r}")
