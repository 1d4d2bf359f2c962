"""`postil serve --http` as a process of its own, and what it answers."""

from __future__ import annotations

import json
import os
import re
import ssl
import subprocess
import urllib.error
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.surfaces.programs import BIN


class Served:
    """A running server."""

    def __init__(self, url: str, token: str) -> None:
        self.url, self.token = url, token

    def ask(self, body: Any, bearer: str, context: ssl.SSLContext | None = None, **headers: str) -> tuple[Any, Any]:
        """Status and headers, and the body's JSON."""
        raw = json.dumps(body).encode()
        given = {
            "Content-Type": "application/json",
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        if bearer:
            given["Authorization"] = f"Bearer {bearer}"
        asked = urllib.request.Request(self.url, raw, given)
        try:
            with urllib.request.urlopen(asked, timeout=20, context=context) as answer:
                return answer, json.loads(answer.read())
        except urllib.error.HTTPError as refused:
            with refused:
                return refused, json.loads(refused.read())


@contextmanager
def serve_http(folder: Path, *words: str, **environ: str) -> Generator[Served]:
    """A server on a free port."""
    command = [BIN / "postil", "serve", "--http", "127.0.0.1:0", *words]
    environment = {**os.environ, **environ}
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stderr is not None
        where = re.search(r"serving (\S+)", process.stderr.readline())
        assert where is not None
        token = re.search(r"token (\S+)", process.stderr.readline()) if "--auth" not in words else None
        try:
            yield Served(where[1], token[1] if token else "")
        finally:
            process.kill()
