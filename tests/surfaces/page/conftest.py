"""A real Chromium, and a repository with changes to look at."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.needs import needs
from tests.surfaces.page.pages import CODE, ServedPage, serve_page
from tests.workspace.repositories import git


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give those that drive a browser more time: on a busy machine each of their steps waits its turn."""
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.timeout(600))


@pytest.fixture(scope="module")
def browser() -> Generator[Browser]:
    """Debian's Chromium, for one module: while it lives, its driver's event loop runs in this thread.

    Each test has a context of its own, so none sees the cookies, the storage or the pages of another.
    """
    program = needs("chromium")
    with sync_playwright() as playwright:
        words = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
        started = playwright.chromium.launch(executable_path=program, args=words, timeout=120_000)
        yield started
        started.close()


@pytest.fixture
def changed(tmp_path: Path) -> Path:
    """A repository with a change that is not committed, and a file that git does not know."""
    folder = tmp_path / "repo"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "greet.py").write_text(CODE)
    (folder / "notes.txt").write_text("one\ntwo\nthree\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "first")
    (folder / "greet.py").write_text(CODE.replace('"hello "', '"good day "'))
    (folder / "new.txt").write_text("fresh\n")
    return folder


@pytest.fixture
def served(changed: Path) -> Generator[ServedPage]:
    """The repository, served."""
    with serve_page(changed) as running:
        yield running
