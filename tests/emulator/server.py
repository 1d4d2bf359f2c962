"""The emulator behind a real socket: a thread for tests, the foreground for people."""

from __future__ import annotations

import argparse
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import uvicorn

from tests.emulator.app import Emulator
from tests.emulator.world import DEVELOPER


class _Server(uvicorn.Server):
    def install_signal_handlers(self) -> None:
        """None: signals belong to the process that runs the tests."""


def listening(app: Any, **more: Any) -> tuple[uvicorn.Server, threading.Thread, str]:
    """Serve an ASGI application on a free loopback port, in a thread; returns when it answers."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    config = uvicorn.Config(app, log_level="critical", lifespan="off", timeout_graceful_shutdown=1, **more)
    server = _Server(config)
    ready = threading.Event()
    started = server.startup

    async def startup(sockets: list[socket.socket] | None = None) -> None:
        await started(sockets)
        ready.set()

    server.startup = startup
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    if not ready.wait(10):
        raise RuntimeError("the emulator did not start within 10 s")
    return server, thread, f"http://127.0.0.1:{listener.getsockname()[1]}"


@contextmanager
def running(app: Any) -> Generator[str]:
    """The address of an application that serves while the block runs."""
    server, thread, address = listening(app)
    try:
        yield address
    finally:
        server.should_exit = True
        thread.join(5)


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
    print(f"GitLab emulator on http://{asked.host}:{asked.port}\n", flush=True)
    print(f"  export GITLAB_URL=http://{asked.host}:{asked.port} GITLAB_TOKEN={DEVELOPER}", flush=True)
    print('  curl -H "Authorization: Bearer $GITLAB_TOKEN" $GITLAB_URL/api/v4/projects/123\n', flush=True)
    uvicorn.run(emulator, host=asked.host, port=asked.port, log_level="warning", lifespan="off")


if __name__ == "__main__":
    main()
