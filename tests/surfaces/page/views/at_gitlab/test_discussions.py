"""A merge request of GitLab as changes, in a real browser: read, remarked on, discussed."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from postil.surfaces.page.views.at_gitlab.discussions import is_merge_request
from tests.emulator.app import Emulator
from tests.emulator.changes import changed as changed_file
from tests.emulator.server import running
from tests.emulator.world import DEVELOPER
from tests.surfaces.page.pages import CODE, PATIENCE, ServedPage, browse, serve_page
from tests.workspace.repositories import git

expect.set_options(timeout=PATIENCE)
NEW = CODE.replace('"hello "', '"good day "')


@contextmanager
def connected(folder: Path, emulator: Emulator) -> Generator[ServedPage]:
    """The page of a clone of the emulator's project."""
    with running(emulator) as address:
        git(folder, "remote", "add", "origin", f"{address}/{emulator.world.projects[0].full_path}.git")
        with serve_page(folder, GITLAB_URL=address, GITLAB_TOKEN=DEVELOPER) as served:
            yield served


def click_line(page: Page, name: str) -> None:
    page.locator(f"tr[id='{name}'] td.num").last.click()


@pytest.mark.parametrize(
    ("scope", "is_one"),
    [
        ("!1", True), ("group/project!12", True), ("a/b/c.d!9", True), ("", False), ("main", False), ("!", False),
        ("a!1", False), ("!x", False), ("a..b", False), ("!1 --output=x", False), ("!1\n", False),
    ],
)  # fmt: skip
def test_a_merge_request_is_named_by_its_number(scope: str, is_one: bool) -> None:
    assert is_merge_request(scope) == is_one


def test_a_merge_request_is_read_and_discussed_at_gitlab(browser: Browser, changed: Path) -> None:
    emulator = Emulator()
    project = emulator.world.projects[0]
    files = [changed_file("greet.py", "greet.py", CODE, NEW), changed_file("docs/x.md", "docs/x.md", None, "New\n")]
    emulator.world.push(project, project.merge_requests[0], files)
    with connected(changed, emulator) as served, browse(browser, served, "/gitlab") as page:
        page.locator("#list_merge_requests .row a.button", has_text="Review").first.click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("!1")
        line = page.locator("tr[id='greet.py:R2']")
        expect(line.locator(".w")).to_contain_text("good")
        expect(line.locator(".k").first).to_have_text("return")
        expect(page.locator("section.file[data-file='docs/x.md']")).to_contain_text("New")
        expect(page.locator("section.file[data-file='new.txt']")).to_have_count(0)  # nothing of the work tree
        click_line(page, "greet.py:R2")
        form = page.locator(".form-row form")
        expect(form.get_by_role("button", name="Keep as draft")).to_have_count(0)  # its commits are not here
        form.locator("textarea[name=comment]").fill("Too formal")
        page.keyboard.press("Control+Enter")
        thread = page.locator("tr.said-row .thread")
        expect(thread).to_contain_text("Too formal")
        thread.locator("summary[data-key=r]").click()
        thread.locator("textarea[name=body]").fill("Or not")
        page.keyboard.press("Control+Enter")
        expect(thread.locator("li")).to_have_count(2)
        thread.get_by_role("button", name="Resolve").click()
        expect(thread.locator(".state")).to_have_text("resolved")
    said = project.merge_requests[0]["discussions"][-1]
    assert [note["body"] for note in said["notes"]] == ["Too formal", "Or not"]
    assert (said["notes"][0]["position"]["new_line"], said["notes"][0]["position"]["new_path"]) == (2, "greet.py")


def test_where_its_commits_are_here_remarks_become_drafts_for_the_assistant(browser: Browser, changed: Path) -> None:
    emulator = Emulator()
    project = emulator.world.projects[0]
    before = len(project.merge_requests[0]["discussions"])
    git(changed, "commit", "-qam", "second")
    version = emulator.world.push(project, project.merge_requests[0], [changed_file("greet.py", "greet.py", CODE, NEW)])
    version |= {"base_sha": git(changed, "rev-parse", "HEAD^"), "head_sha": git(changed, "rev-parse", "HEAD")}
    with connected(changed, emulator) as served, browse(browser, served, "/changes?scope=!1") as page:
        click_line(page, "greet.py:R2")
        page.locator(".form-row textarea[name=comment]").fill("Shorter")
        page.keyboard.press("Control+Enter")
        expect(page.locator("tr.said-row .thread .state")).to_have_text("draft")
        page.get_by_role("button", name="Mark as reviewed").first.click()
        expect(page.locator("section.file button.reviewed")).to_be_visible()
        page.get_by_role("button", name="Send all").click()
        expect(page.locator("#send-form")).to_have_count(0)
        (sent,) = served.call("inbox_list")["messages"]
        assert (sent["file"], sent["line"], sent["commit"]) == ("greet.py", "2", version["head_sha"])
    assert len(project.merge_requests[0]["discussions"]) == before
