"""Reading without a script, keys for everything, narrow screens, the reader's zone, print and links to lines."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser, Route, expect

from tests.surfaces.page.pages import PATIENCE, ServedPage, browse, serve_page, wait_until_live
from tests.workspace.repositories import git, new_repository

expect.set_options(timeout=PATIENCE)


def test_reading_and_answering_work_without_a_script(browser: Browser, served: ServedPage) -> None:
    with browse(browser, served, java_script_enabled=False) as page:
        expect(page.locator("tr[id='greet.py:R2']")).to_contain_text("good day")
        page.get_by_role("link", name="Side by side").click()
        expect(page.locator("table.split")).to_have_count(2)
        page.get_by_role("link", name="Help").click()
        expect(page.locator("h1")).to_have_text("Keys")
        page.get_by_role("link", name="Inbox").click()
        expect(page.locator(".empty")).to_contain_text("Changes")


def test_a_review_can_be_written_with_keys_alone(browser: Browser, served: ServedPage) -> None:
    with browse(
        browser, served, timezone_id="Asia/Tokyo", locale="en-GB", viewport={"width": 420, "height": 800}
    ) as page:
        wait_until_live(page)
        keys = page.keyboard
        for _ in range(3):
            keys.press("j")
        expect(page.locator("[aria-selected]")).to_have_id("greet.py:R2")
        keys.press("Shift+J")
        expect(page.locator("[aria-selected]")).to_have_count(2)
        keys.press("c")
        keys.type("a question: why?")
        keys.press("Control+Enter")
        expect(page.locator("article.thread")).to_have_count(1)
        keys.press("s")
        expect(page.locator("article .state")).to_have_text("queued")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        keys.press("g")
        keys.press("i")
        page.wait_for_url("**/inbox")
        expect(page.locator("#m1 .place")).to_have_text("greet.py:2-3")
        stamp = page.locator("#m1 time").first
        shown = page.evaluate(
            "t => new Intl.DateTimeFormat('en-GB', {dateStyle: 'medium', timeStyle: 'short', timeZone: 'Asia/Tokyo'})"
            ".format(new Date(t))",
            stamp.get_attribute("datetime"),
        )
        expect(stamp).to_have_text(shown)
        wait_until_live(page)
        keys.press("j")
        keys.press("w")
        expect(page.locator("#m1")).to_have_count(0)
        before = page.evaluate("getComputedStyle(document.body).backgroundColor")
        keys.press("t")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before
        page.reload()
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before


def test_a_key_that_is_pressed_while_the_page_is_read_again_is_not_lost(browser: Browser, served: ServedPage) -> None:
    with browse(browser, served) as page:
        wait_until_live(page)
        held: list[Route] | None = []
        page.route("**/changes", lambda route: route.continue_() if held is None else held.append(route))
        keys = page.keyboard
        for _ in range(3):
            keys.press("j")
        keys.press("c")
        keys.type("why?")
        keys.press("Control+Enter")
        expect(page.locator("article.thread")).to_have_count(1)  # the file is there, its "Send all" is not yet
        keys.press("s")
        waiting, held = held, None
        for each in waiting:
            each.continue_()
        expect(page.locator("article .state")).to_have_text("queued")


def test_a_link_leads_to_a_line_of_a_file_that_is_not_read_yet(browser: Browser, tmp_path: Path) -> None:
    repo = new_repository(tmp_path / "repo", a__txt="x\n")
    for number in range(40):
        (repo / f"file {number:02}.txt").write_text("".join(f"line {row}\n" for row in range(60)))
    git(repo, "add", "-A")
    with serve_page(repo) as served, browse(browser, served, "/changes#file%2033.txt:R40") as page:
        line = page.locator("[id='file%2033.txt:R40']")
        expect(line).to_be_in_viewport()
        expect(line).to_have_attribute("aria-selected", "true")
        assert page.locator("[data-lazy]").count() > 10
        page.emulate_media(media="print")
        expect(page.locator("nav").first).to_be_hidden()
