"""Shell completion offers what may come next."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.surfaces.programs import BIN, run


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["stat"], "status"),
        (["workspace", ""], "check"),
        (["workspace", "check", "--j"], "--json"),
        (["setup", "vsc"], "vscode"),
        (["setup", "claude", "--w"], "--write"),
        (["completion", ""], "zsh"),
        (["call", "workspace_i"], "workspace_info"),
    ],
)
def test_completion_offers_what_may_come_next(words: list[str], offered: str, repository: Path) -> None:
    assert offered in run("postil", "complete-words", *words, cwd=repository).stdout.split()


def test_bash_completes_with_the_printed_script(repository: Path) -> None:
    script = (
        'eval "$(postil completion bash)"; COMP_WORDS=(postil workspace in); COMP_CWORD=2; _postil_complete;'
        'printf "%s" "${COMPREPLY[*]}"'
    )
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=repository,
        env={**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout == "info"


def test_git_mile_completes_its_own_commands(repository: Path) -> None:
    def ask(*words: str) -> list[str]:
        done = subprocess.run([BIN / "git-mile", *words], cwd=repository, capture_output=True, text=True, timeout=60)
        return done.stdout.split()

    assert ask("complete-words", "cl") == ["claim", "close"]
    assert "--priority" in ask("complete-words", "edit", "--p")
    assert "_git_mile()" in ask("completion", "bash")
    both = run("postil", "completion", "bash", cwd=repository).stdout
    assert "_postil_complete()" in both
    assert "_git_mile()" in both
