"""Pages that follow what happens, in a real browser."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from playwright.sync_api import Browser, expect

from postil.surfaces.page.live import LiveStreams
from postil.wire.runtime.watches import Heard, Watches
from tests.surfaces.page.pages import PATIENCE, ServedPage, browse, serve_page, wait_until_live
from tests.surfaces.programs import run

expect.set_options(timeout=PATIENCE)


def send(served: ServedPage, *words: str) -> None:
    """What a person sends from another terminal."""
    done = run("postil", "inbox", "send", *words, cwd=served.folder, XDG_STATE_HOME=str(served.folder.parent / "state"))
    assert done.returncode == 0, done.stderr


def test_what_is_typed_stays_while_others_write(browser: Browser, served: ServedPage) -> None:
    send(served, "-f", "greet.py", "-l", "2", "-c", "first")
    served.call("check_lazygit_messages")
    with browse(browser, served, "/inbox") as page:
        wait_until_live(page)
        page.locator("#m1 summary[data-key=r]").click()
        answer = page.locator("#reply1 textarea")
        answer.fill("half a thou")
        page.keyboard.press("ArrowLeft")
        send(served, "-f", "greet.py", "-l", "5", "-c", "second")
        expect(page.locator("#m2")).to_be_visible()
        served.call("inbox_reply", id=1, text="an answer meanwhile")
        expect(page.locator("#m1 .replies")).to_contain_text("an answer meanwhile")
        expect(answer).to_be_focused()
        page.keyboard.press("ArrowRight")
        page.keyboard.type("ght")
        expect(answer).to_have_value("half a thought")
        page.keyboard.press("Control+Enter")
        expect(page.locator("#m1 .replies li").last).to_contain_text("half a thought")


SLOW_ANSWERS = """
    const asks = window.fetch;
    window.answers = new Promise((go) => { window.answer = go; });
    window.fetch = async (address, options) => {
        const made = await asks(address, options);
        if (options?.method === "POST") await window.answers;
        return made;
    };
"""
"""What a form sends is done and shown before its answer arrives, until `answer()` is called."""


def test_a_remark_that_is_shown_before_it_is_answered_takes_no_more_keys(browser: Browser, served: ServedPage) -> None:
    with browse(browser, served) as page:
        page.add_init_script(SLOW_ANSWERS)
        page.goto(served.base + "/changes")
        wait_until_live(page)
        page.locator("tr[id='greet.py:R2'] td.num").last.click()
        page.keyboard.type("why?")
        page.keyboard.press("Control+Enter")
        expect(page.locator("article.thread")).to_have_count(1)
        expect(page.locator(".form-row textarea[name=comment]")).to_have_value("why?")
        page.keyboard.press("s")
        expect(page.locator("article .state")).to_have_text("queued")
        page.evaluate("answer()")
        expect(page.locator(".form-row")).to_have_count(0)
        expect(page.locator("article")).to_contain_text("why?")


def test_a_remark_that_was_not_taken_can_be_typed_on(browser: Browser, served: ServedPage) -> None:
    with browse(browser, served, "/changes") as page:
        wait_until_live(page)
        page.locator("tr[id='greet.py:R2'] td.num").last.click()
        page.keyboard.type("why")
        served.stop()
        page.keyboard.press("Control+Enter")
        expect(page.locator("#says .fault")).to_contain_text("what you typed is still here")
        page.keyboard.type("?")
        expect(page.locator(".form-row textarea[name=comment]")).to_have_value("why?")


def test_what_is_typed_before_a_reply_is_answered_stays(browser: Browser, served: ServedPage) -> None:
    send(served, "-f", "greet.py", "-l", "2", "-c", "first")
    with browse(browser, served) as page:
        page.add_init_script(SLOW_ANSWERS)
        page.goto(served.base + "/inbox")
        wait_until_live(page)
        page.locator("#m1 summary[data-key=r]").click()
        page.keyboard.type("one")
        page.keyboard.press("Control+Enter")
        expect(page.locator("#m1 .replies li").last).to_contain_text("one")
        page.keyboard.type(" two")
        page.evaluate("answer()")
        expect(page.locator("#reply1 textarea")).to_have_value(" two")


def test_a_remark_in_progress_stays_with_its_line_when_the_file_changes(browser: Browser, served: ServedPage) -> None:
    with browse(browser, served, "/changes") as page:
        wait_until_live(page)
        page.locator("tr[id='new.txt:R1'] td.num").last.click()
        remark = page.locator(".form-row textarea[name=comment]")
        remark.fill("about this line")
        (served.folder / "another.txt").write_text("came later\n")
        expect(page.locator("section.file[data-file='another.txt']")).to_be_visible()
        (served.folder / "new.txt").write_text("fresh\nand more\n")
        expect(page.locator("tr[id='new.txt:R2']")).to_contain_text("and more")
        expect(remark).to_have_value("about this line")
        assert page.evaluate("document.querySelector('.form-row').previousElementSibling.id") == "new.txt:R1"


def test_a_page_comes_back_with_its_server(browser: Browser, served: ServedPage) -> None:
    port = served.base.rpartition(":")[2]
    with browse(browser, served, "/inbox") as page:
        wait_until_live(page)
        served.stop()
        page.wait_for_selector("html:not([data-live])", state="attached")
        with serve_page(served.folder, port=port) as again:
            # The new process does not know the cookie: the page says so instead of standing still.
            page.goto(again.next_address())
            page.wait_for_url(again.base + "/changes")
            wait_until_live(page)


def test_two_tabs_hear_of_the_same_message(browser: Browser, served: ServedPage) -> None:
    with browse(browser, served, "/inbox") as page:
        other = page.context.new_page()
        other.goto(served.base + "/inbox")
        for tab in (page, other):
            wait_until_live(tab)
        send(served, "-f", "greet.py", "-c", "for both")
        for tab in (page, other):
            expect(tab.locator("#m1")).to_contain_text("for both")


class Counted(Watches):
    """Watches that only count who listens."""

    def __init__(self) -> None:
        self.listening: list[str] = []

    async def add(self, uri: str, heard: Heard) -> None:
        self.listening.append(uri)

    def remove(self, uri: str, heard: Heard) -> None:
        self.listening.remove(uri)


def test_a_subject_that_is_named_twice_leaves_nothing_behind() -> None:
    watches = Counted()
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.disconnect"}

    async def take(message: Any) -> None:
        sent.append(message)

    async def is_known() -> bool:
        return True

    served = LiveStreams().serve(["inbox", "inbox", "issues"], watches, is_known, receive, take)
    with ThreadPoolExecutor(1) as other:  # the loop of the browser's driver is this thread's
        other.submit(asyncio.run, served).result(60)
    assert watches.listening == []
    assert b"data: inbox issues" in sent[1]["body"]
