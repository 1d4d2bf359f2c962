"""One person's file stays out of a team's commits."""

from pathlib import Path

import pytest

from postil.surfaces.setup.clients import CLIENTS
from postil.surfaces.setup.exclude import MARK, keep_out_of_commits, stop_keeping_out
from tests.surfaces.programs import BIN, run
from tests.surfaces.setup.homes import home
from tests.workspace.repositories import git

HOOKS = CLIENTS["claude-hooks"]


def untracked(repository: Path) -> str:
    return git(repository, "status", "--porcelain", "--untracked-files=all")


@pytest.mark.parametrize("words", [("setup", "claude-hooks", "--write"), ("init", "--client", "claude-hooks")])
def test_a_personal_file_is_ignored_and_no_longer_when_it_is_gone(
    repository: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    exclude = repository / ".git" / "info" / "exclude"
    before = exclude.read_text() if exclude.exists() else ""
    said = run("postil", *words, cwd=repository, **home(tmp_path)).stdout
    assert "git ignores .claude/settings.local.json here (.git/info/exclude)" in said
    assert untracked(repository) == ""
    run("postil", *words, cwd=repository, **home(tmp_path))  # once is enough
    assert exclude.read_text() == f"{before}{MARK}\n/.claude/settings.local.json\n"
    run("postil", "setup", "claude-hooks", "--remove", cwd=repository, **home(tmp_path))
    assert exclude.read_text() == before


@pytest.mark.parametrize("name", [name for name, client in CLIENTS.items() if client.place == "repository"])
def test_no_file_that_git_would_commit_holds_a_path_of_this_machine(
    name: str, repository: Path, tmp_path: Path
) -> None:
    run("postil", "setup", name, "--write", cwd=repository, **home(tmp_path))
    for line in untracked(repository).splitlines():
        assert str(BIN) not in (repository / line[3:]).read_text(), line


def test_what_is_ignored_or_committed_already_is_left_alone(repository: Path) -> None:
    exclude = repository / ".git" / "info" / "exclude"
    (repository / ".claude").mkdir()
    (repository / HOOKS.file).write_text("{}")
    git(repository, "add", HOOKS.file)
    assert "is committed here" in keep_out_of_commits(HOOKS, str(repository))
    git(repository, "rm", "--cached", "-q", HOOKS.file)
    (repository / ".gitignore").write_text("*.local.json\n")
    before = exclude.read_text() if exclude.exists() else ""
    assert keep_out_of_commits(HOOKS, str(repository)) == ""
    stop_keeping_out(HOOKS, str(repository))
    assert (exclude.read_text() if exclude.exists() else "") == before


def test_a_file_of_git_that_is_a_link_is_not_written(repository: Path, tmp_path: Path) -> None:
    exclude = repository / ".git" / "info" / "exclude"
    exclude.parent.mkdir(exist_ok=True)
    exclude.unlink(missing_ok=True)
    (tmp_path / "theirs").write_text("theirs\n")
    exclude.symlink_to(tmp_path / "theirs")
    assert keep_out_of_commits(HOOKS, str(repository)).endswith("do not commit it")
    assert (tmp_path / "theirs").read_text() == "theirs\n"
