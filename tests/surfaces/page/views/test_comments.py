"""Comments beside their code, found, answered and decided, in a real browser."""

from __future__ import annotations

import re

from playwright.sync_api import Browser, expect

from tests.surfaces.page.pages import PATIENCE, ServedPage, browse, wait_until_live

expect.set_options(timeout=PATIENCE)


def test_a_comment_stands_under_its_line_and_answers_come_live(browser: Browser, served: ServedPage) -> None:
    with browse(browser, served, "/comments") as page:
        expect(page.get_by_text("No comments yet")).to_be_visible()
        page.goto(served.base + "/comments/file?file=greet.py")
        wait_until_live(page)
        page.keyboard.press("a")
        page.get_by_label("Line").fill("2")
        page.get_by_label("What to say").fill("Why <i>day</i>?")
        page.get_by_role("button", name="Write").click()
        thread = page.locator("#under2 article")
        expect(thread).to_contain_text("Why <i>day</i>?")
        expect(thread.locator(".anchor")).to_have_text("exact")
        id_ = str(thread.get_attribute("id"))[1:]
        served.call("comments_reply", commentId=id_, text="Because it is polite", author="robot")
        expect(thread).to_contain_text("Because it is polite")
        source = served.folder / "greet.py"
        source.write_text("import sys\n" + source.read_text())
        expect(page.locator("#under3 article .anchor")).to_have_text("moved")
        page.locator("#under3").get_by_role("button", name="Resolve").click()
        expect(page.locator("#under3 .state")).to_have_text("resolved")


def test_comments_are_found_by_words_and_filters(browser: Browser, served: ServedPage) -> None:
    for line, tag in ((1, "TODO"), (5, "NOTE")):
        served.call("add_comment", filePath="greet.py", line=line, text=f"about line {line}", tag=tag)
    with browse(browser, served, "/comments?tag=TODO") as page:
        expect(page.locator("article .said")).to_have_text(["about line 1"])
        page.get_by_role("searchbox").fill("line 5")
        page.get_by_label("Tag").fill("")
        page.get_by_role("button", name="Show").click()
        page.wait_for_url(re.compile("q=line"))
        expect(page.locator("article .said")).to_have_text(["about line 5"])
        page.get_by_text("Its life").click()
        expect(page.locator(".history li").first).to_contain_text("made")


def test_a_comment_in_doubt_is_decided_with_one_key(browser: Browser, served: ServedPage) -> None:
    served.call("add_comment", filePath="greet.py", line=6, text="leaves too early")
    source = served.folder / "greet.py"
    source.write_text("def other():\n    return 1\n")
    with browse(browser, served, "/comments/doubts") as page:
        doubt = page.locator("section.doubt")
        expect(doubt).to_contain_text("leaves too early")
        expect(doubt.locator("pre").first).to_contain_text("bye")
        wait_until_live(page)
        doubt.focus()
        page.keyboard.press("j")
        page.keyboard.press("w")
        expect(page.get_by_text("Every comment knows its code")).to_be_visible()
        assert served.call("comments_list")["total"] == 0
