"""A round-robin proxy in front of replicas: the next request goes to the next one, as nginx does with `upstream`.

Each request gets a connection of its own to a replica. One that cannot be reached is passed over; one that dies in the
middle of an answer breaks the client's connection, for the proxy cannot know what was done.
"""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Sequence
from contextlib import suppress


class RoundRobin:
    """The proxy, in a thread of its own."""

    def __init__(self, replicas: Sequence[int]) -> None:
        self._replicas = replicas
        self._turn = itertools.count()
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self.port = 0
        self.passed_over = 0
        self.cut = 0
        """So many of the next answers are lost on their way, after the replica has made them."""
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        assert self._ready.wait(10)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0, limit=1 << 20))
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        self._loop.run_forever()
        server.close()
        left = asyncio.all_tasks(self._loop)
        for task in left:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        self._loop.run_until_complete(asyncio.sleep(0))  # transports close one turn later
        self._loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            lines = head.rstrip(b"\r\n").split(b"\r\n")
            named = [line.split(b":", 1) for line in lines[1:]]
            length = next((int(value) for name, value in named if name.lower() == b"content-length"), 0)
            body = await reader.readexactly(length) if length else b""
            kept = [line for line in lines[1:] if not line.lower().startswith(b"connection:")]
            request = b"\r\n".join([lines[0], *kept, b"Connection: close"]) + b"\r\n\r\n" + body
            await self._pass_on(request, reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()

    async def _pass_on(self, request: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(len(self._replicas)):
            port = self._replicas[next(self._turn) % len(self._replicas)]
            try:
                from_replica, to_replica = await asyncio.open_connection("127.0.0.1", port)
                break
            except OSError:
                self.passed_over += 1
        else:
            writer.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            return
        leaving = asyncio.ensure_future(reader.read(1))  # a client that leaves takes its stream with it
        try:
            to_replica.write(request)
            while True:
                chunk = asyncio.ensure_future(from_replica.read(65536))
                await asyncio.wait([chunk, leaving], return_when=asyncio.FIRST_COMPLETED)
                if not chunk.done():
                    chunk.cancel()
                    return
                data = chunk.result()
                if not data:
                    return
                if self.cut:
                    self.cut -= 1
                    return
                writer.write(data)
                await writer.drain()
        finally:
            leaving.cancel()
            with suppress(OSError):
                to_replica.close()
