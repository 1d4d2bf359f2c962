"""Where git is led elsewhere by its environment or config, Postil says that it does not follow."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from tests.surfaces.programs import run


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)


def make_dotfiles(tmp_path: Path) -> tuple[Path, dict[str, str]]:
    """Returns a home whose git directory nothing but the environment names."""
    home, folder = tmp_path / "home", tmp_path / "dotfiles"
    for each in (home, folder):
        each.mkdir()
    git(folder, "init", "-q", "--bare", ".")
    (home / "rc").write_text("a\n")
    return home, {"GIT_DIR": str(folder), "GIT_WORK_TREE": str(home)}


def test_variables_that_lead_elsewhere_are_named(tmp_path: Path) -> None:
    home, environ = make_dotfiles(tmp_path)
    said = run("postil", "status", cwd=home, **environ).stdout
    assert (
        "not inside a git repository (GIT_DIR and GIT_WORK_TREE have no effect here: name the folder with -C)" in said
    )
    refused = run("postil", "issue", "list", cwd=home, **environ)
    assert "GIT_DIR and GIT_WORK_TREE have no effect here" in refused.stderr
    assert "-C FOLDER" in refused.stderr
    git(home, "init", "-q", ".")
    assert "GIT_DIR and GIT_WORK_TREE" not in run("postil", "status", cwd=home).stdout
    named = run("postil", "status", cwd=home, GIT_DIR=environ["GIT_DIR"], GIT_WORK_TREE=str(home)).stdout
    assert "(GIT_DIR has no effect here" in named
    assert json.loads(run("postil", "status", "--json", cwd=home, GIT_DIR=environ["GIT_DIR"]).stdout)["unheeded"]
    as_git_does_it = run("postil", "status", cwd=home, GIT_DIR=".git").stdout
    assert "no effect" not in as_git_does_it


def test_a_git_directory_with_a_work_tree_elsewhere_is_not_called_bare(tmp_path: Path) -> None:
    home, environ = make_dotfiles(tmp_path)
    folder = Path(environ["GIT_DIR"])
    git(folder, "config", "core.bare", "false")
    git(folder, "config", "core.worktree", str(home))
    refused = run("postil", "comments", "add", "rc", "1", "x", cwd=folder).stderr
    assert "bare" not in refused
    assert str(home) in refused
    (home / ".git").write_text(f"gitdir: {folder}\n")  # what the advice says
    assert run("postil", "comments", "add", "rc", "1", "x", cwd=home).returncode == 0
    assert str(home) in run("postil", "status", cwd=home).stdout


def test_the_author_is_whom_the_environment_names_as_git_has_it(tmp_path: Path) -> None:
    repository = tmp_path / "repo"
    repository.mkdir()
    git(repository, "init", "-q", ".")
    (repository / "a.py").write_text("a\n")
    environ = {"GIT_AUTHOR_NAME": "Ann", "GIT_CONFIG_GLOBAL": "/dev/null", "HOME": str(tmp_path)}
    assert run("postil", "comments", "add", "a.py", "1", "x", cwd=repository, **environ).returncode == 0
    [made] = json.loads(run("postil", "comments", "list", "--json", cwd=repository).stdout)["comments"]
    assert made["author"] == "Ann"
