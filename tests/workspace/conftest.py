"""A repository that tests of this room share."""

from pathlib import Path

import pytest

from postil.workspace import hardening
from tests.workspace.repositories import git


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A repository with three tracked files."""
    for name in ("a.txt", "b.txt", "c.txt"):
        (tmp_path / name).write_text(f"{name}\n")
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "first")
    return tmp_path


@pytest.fixture
def any_option(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let git have options that Postil itself never gives: for what stands behind that door."""

    def let_through(words: tuple[str, ...]) -> None:
        return

    monkeypatch.setattr(hardening, "_refuse_options", let_through)
