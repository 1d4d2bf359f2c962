"""The changes, in a real browser: parts that come when scrolled to, files marked as reviewed, pictures, suggestions."""

from __future__ import annotations

from pathlib import Path

from msgspec import convert
from playwright.sync_api import Browser, expect

from postil.surfaces.page.views.at_gitlab.discussions import Discussion
from postil.surfaces.page.views.changed_file import File, Showing
from postil.surfaces.page.views.changes import Listing, leave_out_comment_files
from tests.surfaces.page.pages import CODE, PATIENCE, ServedPage, browse, serve_page, wait_until_live
from tests.surfaces.page.test_site import Client
from tests.workspace.changes.test_images import PNG
from tests.workspace.repositories import git, new_repository

expect.set_options(timeout=PATIENCE)


def test_a_reviewed_file_is_folded_until_it_changes_again(browser: Browser, served: ServedPage) -> None:
    with browse(browser, served) as page:
        wait_until_live(page)
        file = page.locator("section.file[data-file='greet.py']")
        file.get_by_role("button", name="Mark as reviewed").click()
        expect(file.get_by_role("button", name="Reviewed")).to_be_visible()
        expect(file.locator("table")).to_be_hidden()
        expect(page.locator("header .counts").first).to_contain_text("1 reviewed")
        page.reload()
        expect(file.locator("table")).to_be_hidden()
        wait_until_live(page)
        (served.folder / "greet.py").write_text(CODE.replace("hello", "good evening"))
        expect(file.get_by_role("button", name="Mark as reviewed")).to_be_visible()
        expect(page.locator("tr[id='greet.py:R2']")).to_contain_text("good evening")


def test_a_suggestion_begins_with_the_lines_and_is_sent_with_the_remark(browser: Browser, served: ServedPage) -> None:
    with browse(browser, served) as page:
        wait_until_live(page)
        first, last = (page.locator(f"tr[id='greet.py:R{line}'] td.num").last for line in (1, 2))
        first.hover()
        page.mouse.down()
        last.hover()
        page.mouse.up()
        expect(page.locator(".form-row .about")).to_have_text("greet.py:1-2")
        page.get_by_text("Suggest other text").click()
        suggestion = page.locator(".form-row textarea[name=suggest]")
        expect(suggestion).to_have_value('def greet(name):\n    return "good day " + name')
        suggestion.fill('def greet(name):\n    return f"hello {name}"')
        page.locator(".form-row textarea[name=comment]").fill("Like this?")
        page.locator(".form-row button[value=now]").click()
        expect(page.locator("article .state")).to_have_text("queued")
        expect(page.locator("article .suggestion ins").last).to_contain_text("hello {name}")
        shown = served.call("inbox_show", id=1)
        assert shown["suggestion"] == 'def greet(name):\n    return f"hello {name}"'
        assert shown["line"] == "1-2"
        served.call("check_lazygit_messages")
        page.locator("#m1 summary[data-key=r]").click()
        page.locator("#reply1 textarea").fill("half an answer")
        # The file is as it was, so its part of the page goes: the conversation moves, with what is typed in it.
        (served.folder / "greet.py").write_text(CODE)
        expect(page.locator("#elsewhere #m1")).to_be_visible()
        expect(page.locator("#reply1 textarea")).to_have_value("half an answer")
        expect(page.locator("#reply1 textarea")).to_be_focused()
        page.get_by_text("Since my remark").click()
        expect(page.locator(".since pre")).to_contain_text('+    return "hello " + name')


def test_files_below_the_fold_come_when_they_are_scrolled_to(browser: Browser, tmp_path: Path) -> None:
    repo = new_repository(tmp_path / "repo", a__txt="x\n")
    for number in range(60):
        (repo / f"f{number:02}.py").write_text("".join(f"value_{row} = {row}\n" for row in range(40)))
    (repo / "z.png").write_bytes(PNG)
    git(repo, "add", "-A")
    with serve_page(repo) as served, browse(browser, served, "/changes?scope=staged") as page:
        wait_until_live(page)
        later = page.locator("section.file[data-lazy]")
        assert later.count() > 40
        target = page.locator("section.file[data-file='f50.py']")
        expect(target.locator("table")).to_have_count(0)
        target.scroll_into_view_if_needed()
        expect(page.locator("tr[id='f50.py:R40']")).to_contain_text("value_39 = 39")
        assert later.count() > 10
        picture = page.locator("section.file[data-file='z.png']")
        picture.scroll_into_view_if_needed()
        expect(picture.locator("img")).to_have_count(1)
        expect(picture.locator("img")).to_have_js_property("naturalWidth", 1)


def test_of_files_that_are_scrolled_to_those_that_are_as_they_were_are_left_out(served: ServedPage) -> None:
    client = Client(served)
    client.enter(served.next_address())
    shown = client.ask("GET", "/changes/files?f=greet.py&f=notes.txt&f=new.txt&part=1")
    assert (shown.status, "good day" in shown.text, "fresh" in shown.text) == (200, True, True)
    assert "notes.txt" not in shown.text
    assert client.ask("GET", "/changes/files?f=notes.txt&part=1").status == 404


def test_comment_files_are_counted_and_their_json_is_not_shown(browser: Browser, served: ServedPage) -> None:
    served.call("add_comment", filePath="greet.py", line=1, text="why", tag="NOTE")
    git(served.folder, "add", ".")
    git(served.folder, "commit", "-qm", "with a comment")
    before = git(served.folder, "rev-parse", "--short=12", "HEAD~1").strip()
    with browse(browser, served, "/changes?scope=HEAD") as page:
        expect(page.locator(".comment-files")).to_contain_text(
            f"1 comment file changed, too: postil comments diff {before}"
        )
        expect(page.locator("section.file[data-file='greet.py.comments']")).to_have_count(0)
        expect(page.locator("#files")).not_to_contain_text("ghostMarkers")


def test_a_merge_request_is_shown_without_comment_files_that_nobody_discusses() -> None:
    note = {"id": 1, "body": "why", "file": "b.py.comments", "system": False, "line_number": 1, "side": "new"}
    said = convert({"id": "d", "resolvable": True, "resolved": False, "notes": [note]}, Discussion)
    files = tuple(File(name, "modified") for name in ("a.py", "a.py.comments", "b.py.comments", ".comments"))
    listing = leave_out_comment_files(
        Listing("!1", files, f"{'a' * 40}..{'b' * 40}"), Showing("!1", is_split=False, discussions=(said,))
    )
    assert [one.file for one in listing.files] == ["a.py", "b.py.comments", ".comments"]
    assert (listing.comment_files, listing.comments_since) == (1, "a" * 12)
