"""The whole story in a real browser: a diff, remarks, send all, an assistant answers and edits, seen live, resolved."""

from __future__ import annotations

from playwright.sync_api import Browser, expect

from tests.surfaces.page.pages import PATIENCE, ServedPage, browse, wait_until_live

expect.set_options(timeout=PATIENCE)


def test_a_review_from_the_diff_to_the_resolved_remark(browser: Browser, served: ServedPage) -> None:
    with browse(browser, served) as page:
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
        served.call("check_lazygit_messages")
        served.call("inbox_reply", id=1, text="I will do that")
        expect(page.locator("#m1 .replies")).to_contain_text("I will do that")
        code = served.folder / "greet.py"
        code.write_text(code.read_text().replace("good day ", "hello, dear "))
        expect(page.locator("tr[id='greet.py:R2']")).to_contain_text("hello, dear")
        served.call("inbox_resolve", id=1, reply="Done")
        expect(page.locator("#m1 .state")).to_have_text("addressed")

        page.locator("#m2 button[data-key=e]").click()
        expect(page.locator("#m2")).to_have_count(0)
        page.goto(served.base + "/inbox?closed=1")
        expect(page.locator("#m2 .state")).to_have_text("addressed")
        expect(page.locator("#m1 .said").last).to_have_text("Done")
