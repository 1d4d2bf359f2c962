"""The conformance fixture as a real server process, over stdio or HTTP, for clients that are programs of their own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager

from tests.needs import ROOT

STDIO = (sys.executable, "-m", "tests.conformance.serve")


@contextmanager
def http_server(*arguments: str, log: int | None = None) -> Generator[str]:
    """Serve over HTTP on a free port; gives the URL of the endpoint. The server prints its port when it listens."""
    command = [*STDIO, "--http", *arguments]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True
    ) as process:
        assert process.stdout is not None
        try:
            port = process.stdout.readline().strip()
            assert port.isdigit(), f"the server did not start: {port!r}"
            yield f"http://127.0.0.1:{port}/mcp"
            assert process.poll() is None, "the server died"
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
