"""The emulator behind a real socket: a thread for tests, the foreground for people."""

from __future__ import annotations

import argparse
import socket
import threading
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from typing import Any

import uvicorn

from tests.emulator.app import Emulator
from tests.emulator.world import DEVELOPER, READER


class _Server(uvicorn.Server):
    """A server that says when it listens, and lets the application close what it opened on the same event loop."""

    def __init__(self, config: uvicorn.Config, at_end: Callable[[], Awaitable[None]] | None) -> None:
        super().__init__(config)
        self.ready = threading.Event()
        self._at_end = at_end

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await super().shutdown(sockets)
        if self._at_end is not None:
            await self._at_end()


def listening_socket() -> socket.socket:
    """A socket that says it is TCP: otherwise asyncio leaves out TCP_NODELAY, and every answer waits 40 ms."""
    return socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)


@contextmanager
def running(app: Any, at_end: Callable[[], Awaitable[None]] | None = None) -> Generator[str]:
    """The address of an application that serves in a thread, on a free loopback port, while the block runs."""
    with listening_socket() as listener:
        listener.bind(("127.0.0.1", 0))
        config = uvicorn.Config(
            app, log_level="critical", lifespan="off", timeout_graceful_shutdown=1, http="httptools", loop="asyncio"
        )
        server = _Server(config, at_end)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        if not server.ready.wait(10):
            raise RuntimeError("the server did not start within 10 s")
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(10)


def main() -> None:
    """`python -m tests.emulator.server --port 8929 --fault nulls`: serve until interrupted."""
    parser = argparse.ArgumentParser(description="A stand-in for GitLab to try Postil without an account")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8929)
    parser.add_argument(
        "--fault", action="append", default=[], help="a fault to start with; see tests/emulator/faults.py"
    )
    asked = parser.parse_args()
    emulator = Emulator()
    for kind in asked.fault:
        emulator.faults.add(kind)
    with listening_socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((asked.host, asked.port))
        except OSError as error:
            parser.error(f"{asked.host}:{asked.port}: {error.strerror}; --port 0 takes any that is free")
        address = f"http://{asked.host}:{listener.getsockname()[1]}"
        print(f"GitLab emulator on {address}", flush=True)
        print(f"\n  export GITLAB_URL={address} GITLAB_TOKEN={DEVELOPER}", flush=True)
        print(f"  export GITLAB_TOKEN={READER}    # instead of it: reads, and lacks the scope api", flush=True)
        print('  curl -H "Authorization: Bearer $GITLAB_TOKEN" $GITLAB_URL/api/v4/projects/123\n', flush=True)
        uvicorn.Server(uvicorn.Config(emulator, log_level="warning", lifespan="off")).run(sockets=[listener])


if __name__ == "__main__":
    main()
