"""What of GitLab concerns this repository, in a real browser."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.emulator.app import Emulator
from tests.emulator.server import running
from tests.emulator.world import DEVELOPER
from tests.surfaces.page.pages import PATIENCE, ServedPage, browse, serve_page
from tests.workspace.repositories import git

expect.set_options(timeout=PATIENCE)


def test_without_a_connection_the_page_says_how_to_connect(browser: Browser, served: ServedPage) -> None:
    with browse(browser, served, "/gitlab") as page:
        expect(page.get_by_role("heading", level=1)).to_have_text("GitLab")
        expect(page.locator("main")).to_contain_text("GITLAB_TOKEN")


def test_merge_requests_and_pipelines_of_this_repository_are_shown(browser: Browser, changed: Path) -> None:
    emulator = Emulator()
    project = emulator.world.projects[0]
    with running(emulator) as address:
        git(changed, "remote", "add", "origin", f"{address}/{project.full_path}.git")
        with (
            serve_page(changed, GITLAB_URL=address, GITLAB_TOKEN=DEVELOPER) as served,
            browse(browser, served, "/gitlab") as page,
        ):
            expect(page.locator("#list_merge_requests .row").first).to_contain_text("!")
            expect(page.locator("#list_pipelines .row").first).to_contain_text("#")
