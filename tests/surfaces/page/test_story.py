"""The whole story in a real browser: a diff, remarks, send all, an assistant answers and edits, seen live, resolved.

The assistant is the official Python SDK's client: over HTTP beside the page, or over stdio in the same repository.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Generator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

import httpx2
import mcp_types as types
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from playwright.sync_api import Browser, expect

from tests.surfaces.page.pages import PATIENCE, ServedPage, browse, wait_until_live
from tests.surfaces.programs import BIN

expect.set_options(timeout=PATIENCE)
SECONDS = PATIENCE / 1000


class Assistant:
    """The official client, in a thread of its own: the browser's driver has a loop in ours."""

    def __init__(self, loop: asyncio.AbstractEventLoop, client: Client) -> None:
        self._loop, self._client = loop, client

    def begin(self, tool: str, **arguments: Any) -> Future[types.CallToolResult]:
        """Call a tool, and go on."""
        return asyncio.run_coroutine_threadsafe(self._client.call_tool(tool, arguments), self._loop)

    def call(self, tool: str, **arguments: Any) -> str:
        """What a tool says."""
        return read(self.begin(tool, **arguments))


def read(called: Future[types.CallToolResult]) -> str:
    """The text of a result."""
    result = called.result(SECONDS)
    block = result.content[0]
    assert isinstance(block, types.TextContent)
    assert not result.is_error, block.text
    return block.text


@contextmanager
def connect(served: ServedPage, way: str) -> Generator[Assistant]:
    """An assistant that has connected to the served repository."""
    connected: Future[tuple[asyncio.AbstractEventLoop, Client]] = Future()
    left = threading.Event()

    async def stay(client: Client) -> None:
        async with client as session:
            connected.set_result((asyncio.get_running_loop(), session))
            await asyncio.to_thread(left.wait)

    async def visit() -> None:
        if way == "http":
            bearer = {"Authorization": f"Bearer {served.token}"}
            async with httpx2.AsyncClient(headers=bearer, timeout=SECONDS) as http:
                await stay(Client(streamable_http_client(served.url, http_client=http)))
            return
        state = {"XDG_STATE_HOME": str(served.folder.parent / "state")}
        started = StdioServerParameters(
            command=str(BIN / "postil"), args=["serve"], cwd=served.folder, env={**os.environ, **state}
        )
        await stay(Client(started))

    def run() -> None:
        try:
            asyncio.run(visit())
        except BaseException as fault:
            if not connected.done():
                connected.set_exception(fault)
            raise

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield Assistant(*connected.result(SECONDS))
    finally:
        left.set()
        thread.join(SECONDS)


@pytest.mark.parametrize("way", ["http", "stdio"])
def test_a_review_from_the_diff_to_the_resolved_remark(browser: Browser, served: ServedPage, way: str) -> None:
    with browse(browser, served) as page, connect(served, way) as assistant:
        expect(page.locator("h1")).to_have_text("Changes that are not committed")
        wait_until_live(page)
        line = page.locator("tr[id='greet.py:R2']")
        expect(line).to_contain_text("good day")
        expect(line.locator(".w")).to_have_text("good day")

        # Two remarks, kept as drafts: one by the mouse, one by the keyboard.
        line.locator("td.num").last.click()
        page.locator(".form-row textarea[name=comment]").fill("Say hello instead")
        page.locator(".form-row button[value=draft]").click()
        expect(page.locator("article.thread")).to_have_count(1)
        expect(page.locator("article .state")).to_have_text("draft")
        expect(page.locator(".form-row")).to_have_count(0)
        page.keyboard.press("j")
        page.locator("tr[id='new.txt:R1'] td.num").last.click()
        page.keyboard.press("Escape")
        page.locator(".form-row textarea[name=comment]").fill("Why this file?")
        page.locator(".form-row textarea[name=comment]").press("Control+Enter")
        expect(page.locator("article.thread")).to_have_count(2)

        page.locator("#send textarea").fill("Two things")
        page.locator("#send button").click()
        expect(page.locator("article .state.queued")).to_have_count(2)

        # The assistant takes both, answers one and edits the file.
        told = assistant.call("check_lazygit_messages")
        assert "Two things" in told
        assert "Say hello instead" in told
        assistant.call("inbox_reply", id=1, text="I will do that")
        expect(page.locator("#m1 .replies")).to_contain_text("I will do that")
        code = served.folder / "greet.py"
        code.write_text(code.read_text().replace("good day ", "hello, dear "))
        expect(page.locator("tr[id='greet.py:R2']")).to_contain_text("hello, dear")
        assistant.call("inbox_resolve", id=1, reply="Done")
        expect(page.locator("#m1 .state")).to_have_text("addressed")

        page.locator("#m2 button[data-key=e]").click()
        expect(page.locator("#m2")).to_have_count(0)
        page.goto(served.base + "/inbox?closed=1")
        expect(page.locator("#m2 .state")).to_have_text("addressed")
        expect(page.locator("#m1 .said").last).to_have_text("Done")


def test_an_assistant_asks_for_a_review_and_gets_it(browser: Browser, served: ServedPage) -> None:
    with browse(browser, served, "/inbox") as page, connect(served, "http") as assistant:
        wait_until_live(page)
        notes = ["greet.py:2: Is this too formal?"]
        waiting = assistant.begin("request_review", summary="Greets politely", notes=notes, seconds=600)
        page.locator("#review1 a", has_text="Review it").click()
        expect(page.locator("tr[id='greet.py:R2'] + .said-row .note")).to_contain_text("Is this too formal?")
        page.locator("tr[id='greet.py:R2'] td.num").last.click()
        page.locator(".form-row textarea[name=comment]").fill("Say hello")
        page.locator(".form-row button[value=draft]").click()
        expect(page.locator("#send")).to_contain_text("with 1 draft")
        assert not waiting.done()
        page.locator("#send textarea").fill("Nearly")
        page.locator("#send button[value=request_changes]").click()
        review = read(waiting)
        assert "changes requested" in review
        assert "Nearly" in review
        assert "Say hello" in review
        assistant.call("inbox_resolve", id=2, reply="Changed")
        page.goto(served.base + "/inbox?closed=1")
        expect(page.locator("#m2 .state")).to_have_text("addressed")
