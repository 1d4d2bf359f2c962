"""The page as a stranger would try it: every way to compare, what is folded, linked and shown without a script."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Generator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.surfaces.page.pages import CODE, PATIENCE, ServedPage, browse, serve_page, wait_until_live
from tests.surfaces.page.test_site import Client
from tests.surfaces.programs import run
from tests.workspace.repositories import git

expect.set_options(timeout=PATIENCE)


def make_picture(shade: int) -> bytes:
    """A small PNG."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    rows = b"".join(b"\0" + bytes([shade] * 8) for _ in range(8))
    head = struct.pack(">IIBBBBB", 8, 8, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


@pytest.fixture
def various(changed: Path) -> Generator[ServedPage]:
    """A repository with a branch, a rename, a picture, something staged, and something not."""
    git(changed, "checkout", "-q", "-b", "topic")
    (changed / "dot.png").write_bytes(make_picture(10))
    git(changed, "add", "dot.png")
    git(changed, "commit", "-qm", "a dot")
    git(changed, "mv", "notes.txt", "remarks.txt")
    (changed / "dot.png").write_bytes(make_picture(200))
    with serve_page(changed) as served:
        yield served


def test_every_way_to_compare_is_one_click_away(browser: Browser, various: ServedPage) -> None:
    with browse(browser, various, "/changes") as page:
        renamed = page.locator("section.file[data-file='remarks.txt']")
        expect(renamed.locator("summary").first).to_contain_text("was notes.txt")
        pictures = page.locator("section.file[data-file='dot.png'] img")
        expect(pictures).to_have_count(2)
        assert pictures.evaluate_all("all => all.every((one) => one.complete || one.decode)")
        page.wait_for_function("[...document.images].every((one) => one.naturalWidth === 8)")
        line = page.locator("tr[id='greet.py:R2']")
        expect(line.locator(".w").first).to_contain_text("good")
        page.keyboard.press("u")
        expect(page.locator("table.split").first).to_be_visible()
        expect(page.locator("tr[id='greet.py:R2'] td.text.del .w").first).to_contain_text("hello")
        file = page.locator("section.file[data-file='greet.py'] > details")
        page.locator("tr[id='greet.py:R2'] td.num").last.click()
        page.locator("[data-cancel]").click()
        page.keyboard.press("o")
        expect(file).not_to_have_attribute("open", "")
        for name, heading, file_name in (
            ("Staged", "Staged changes", "remarks.txt"),
            ("Not staged", "Changes that are not staged", "greet.py"),
            ("Branch", "topic since main", "dot.png"),
            ("Last commit", "a dot", "dot.png"),
        ):
            page.get_by_role("link", name=name, exact=True).click()
            expect(page.get_by_role("heading", level=1)).to_contain_text(heading)
            expect(page.locator(f"section.file[data-file='{file_name}']")).to_be_visible()
        page.get_by_label("Commit, range or merge request").fill("main..topic")
        page.get_by_role("button", name="Show").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("main..topic")
        page.get_by_label("Commit, range or merge request").fill("--output=x")
        page.get_by_role("button", name="Show").click()
        expect(page.locator(".fault")).to_contain_text("no commit or branch")


def test_since_my_remark_and_the_life_of_a_comment_are_shown_with_and_without_a_script(
    browser: Browser, served: ServedPage
) -> None:
    state = {"XDG_STATE_HOME": str(served.folder.parent / "state")}
    sent = run("postil", "inbox", "send", "-f", "greet.py", "-l", "2", "-c", "warmer", cwd=served.folder, **state)
    assert sent.returncode == 0, sent.stderr
    added = served.call("add_comment", filePath="greet.py", line=5, text="says bye", tag="TODO")
    with browse(browser, served, "/inbox/1", timezone_id="Asia/Tokyo") as page:
        wait_until_live(page)
        page.get_by_text("Since my remark").click()
        expect(page.locator("#since1")).to_contain_text("Nothing changed")
        (served.folder / "greet.py").write_text(CODE.replace('"hello "', '"dear "'))
        page.get_by_text("Since my remark").click()
        page.get_by_text("Since my remark").click()
        expect(page.locator("#since1 ins")).to_contain_text("dear")
        page.goto(f"{served.base}/comments?tag=TODO")
        page.locator("article header a time").click()  # its own address
        page.wait_for_url(f"**/comments/{added['commentId']}")
        page.get_by_text("Its life").click()
        moment = page.locator(".history time").first
        expect(moment).to_have_attribute("title", moment.get_attribute("datetime") or "")  # in the reader's zone
        page.goto(f"{served.base}/comments?tag=NOTE")
        expect(page.locator(".empty")).to_contain_text("Nothing matches")
    plain = Client(served)
    plain.enter(served.next_address())
    shown = plain.ask("GET", "/inbox/1").text
    assert 'href="/inbox/1/since"' in shown
    whole, part = plain.ask("GET", "/inbox/1/since").text, plain.ask("GET", "/inbox/1/since?part=1").text
    assert ("<nav" in whole, "<nav" in part) == (True, False)
    assert ("dear" in whole, "dear" in part) == (True, True)
    assert "says bye" in plain.ask("GET", f"/comments/{added['commentId']}").text
    assert plain.ask("GET", "/comments/c_nothing").status in (404, 422)
