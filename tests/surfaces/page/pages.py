"""A served repository and a real browser that looks at it."""

from __future__ import annotations

import os
import queue
import re
import subprocess
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page

from tests.surfaces.programs import BIN
from tests.surfaces.served import Served

PATIENCE = 60_000
"""Milliseconds for what happens at once on a machine that is not busy."""
CODE = """def greet(name):
    return "hello " + name


def leave(name):
    return "bye " + name
"""


class ServedPage(Served):
    """A running server with a page."""

    def __init__(self, url: str, token: str, said: queue.Queue[str], folder: Path, stop: Callable[[], None]) -> None:
        super().__init__(url, token)
        self.base, self.folder = url.removesuffix("/mcp"), folder
        self._said = said
        self.stop = stop
        """Ends the server at once."""

    def next_address(self) -> str:
        """The newest one-time address that the server printed."""
        while True:
            line = self._said.get(timeout=60)
            if found := re.search(r"page (http\S+)", line):
                return found[1]

    def call(self, tool: str, **arguments: object) -> Any:
        """What an assistant gets that calls a tool of this server, by its direct method."""
        body = {"jsonrpc": "2.0", "id": 1, "method": tool, "params": arguments}
        answer, content = self.ask(body, self.token)
        assert answer.status == 200, content
        return content["result"]


@contextmanager
def serve_page(folder: Path, *words: str, port: str = "0", **environ: str) -> Generator[ServedPage]:
    """`postil serve --http` in this folder, on a free port, with a state of its own: messages count from 1."""
    command = [BIN / "postil", "serve", "--http", f"127.0.0.1:{port}", *words]
    with subprocess.Popen(
        command,
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "XDG_STATE_HOME": str(folder.parent / "state"), **environ},
    ) as process:
        assert process.stderr is not None
        said: queue.Queue[str] = queue.Queue()
        where = re.search(r"serving (\S+)", process.stderr.readline())
        assert where is not None
        token = re.search(r"token (\S+)", process.stderr.readline()) if "--auth" not in words else None

        def listen() -> None:
            assert process.stderr is not None
            for line in process.stderr:
                said.put(line)

        def stop() -> None:
            process.kill()
            process.wait(30)

        listening = threading.Thread(target=listen, daemon=True)
        listening.start()
        try:
            yield ServedPage(where[1], token[1] if token else "", said, folder, stop)
        finally:
            stop()
            listening.join(30)


@contextmanager
def browse(browser: Browser, served: ServedPage, path: str = "/", **context: Any) -> Generator[Page]:
    """A page of the served repository, in a browser of its own that was let in."""
    opened = browser.new_context(**context)
    opened.set_default_timeout(PATIENCE)
    try:
        page = opened.new_page()
        page.goto(served.next_address())
        page.wait_for_url(re.compile(re.escape(served.base) + r"/(?!open).*"))
        if path != "/":
            page.goto(served.base + path)
        yield page
    finally:
        opened.close()


def wait_until_live(page: Page) -> None:
    """Wait until the page follows what happens."""
    page.wait_for_selector("html[data-live=on]", state="attached")
