"""A repository to stand in."""

import subprocess
from pathlib import Path

import pytest


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A git repository with one commit on `main`."""
    folder = tmp_path / "repo"
    folder.mkdir()
    (folder / "a.py").write_text("print('a')\n")
    for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)
    return folder
