"""A real Redis that the tests start themselves, on a socket of their own."""

from __future__ import annotations

import signal
import subprocess
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import redis

from tests.needs import needs


class RedisServer:
    """One server, durable after every write, that can be stopped, killed and started again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.socket = folder / "redis.sock"
        self.address = f"unix://{self.socket}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, unless it runs."""
        if self._process is not None:
            return
        command = [
            needs("redis-server"), "--port", "0", "--unixsocket", str(self.socket), "--dir", str(self.folder),
            "--save", "", "--appendonly", "yes", "--appendfsync", "always", "--daemonize", "no",
        ]  # fmt: skip
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + 10
        while True:
            try:
                with redis.Redis(unix_socket_path=str(self.socket)) as client:
                    client.ping()  # pyright: ignore[reportUnknownMemberType]
                return
            except redis.RedisError:
                assert time.monotonic() < end, "Redis did not start"
                time.sleep(0.02)

    def kill(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
            self._process = None

    def pause(self) -> None:
        """It hangs: connections are taken, and nothing is answered."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGCONT)

    def clear(self) -> None:
        with redis.Redis(unix_socket_path=str(self.socket)) as client:
            client.flushall()  # pyright: ignore[reportUnknownMemberType]


@contextmanager
def redis_server() -> Generator[RedisServer]:
    # A short folder: the path of a socket has at most 108 bytes.
    with tempfile.TemporaryDirectory(prefix="postil-") as folder:
        server = RedisServer(Path(folder))
        server.start()
        try:
            yield server
        finally:
            server.kill()
