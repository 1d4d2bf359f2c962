"""Remotes as the configuration names them."""

from __future__ import annotations

import subprocess
from pathlib import Path

from postil.gitlab.git_remotes import list_remotes
from postil.workspace.repository import find_repository


def test_remotes_are_read_and_origin_is_the_first(tmp_path: Path) -> None:
    for words in (
        ["init", "-q", "-b", "work"],
        ["remote", "add", "fork", "git@two:c/d"],
        ["remote", "add", "origin", "git@one:a/b"],
    ):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    assert list_remotes(find_repository(str(tmp_path))) == ("git@one:a/b", "git@two:c/d")
