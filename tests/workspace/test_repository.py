"""The right repository, whichever way one stands in it."""

import os
from pathlib import Path

import pytest

from postil.workspace.failures import DamagedRepository, NoRepository
from postil.workspace.repository import find_repository
from tests.workspace.repositories import git, new_repository


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = new_repository(tmp_path / "repository")
    (root / "deep" / "er").mkdir(parents=True)
    return root


def test_a_subfolder_and_a_symlink_lead_to_the_same_repository(root: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(root / "deep")
    here = find_repository(str(root))
    assert find_repository(str(root / "deep" / "er")) == here
    assert find_repository(str(tmp_path / "link" / "er")) == here
    assert find_repository(str(root / ".git" / "hooks")) == here
    assert here.root == str(root)
    assert here.branch() == "main"


def test_what_we_read_is_what_git_says(root: Path) -> None:
    here = find_repository(str(root / "deep"))
    asked = git(root / "deep", "rev-parse", "--show-toplevel", "--absolute-git-dir", "--git-common-dir").split("\n")
    assert [here.root, here.git_dir] == asked[:2]
    assert here.common_dir == os.path.realpath(root / "deep" / asked[2])


def test_a_worktree_shares_the_common_dir_and_has_a_key_of_its_own(root: Path, tmp_path: Path) -> None:
    git(root, "worktree", "add", "-q", str(tmp_path / "second"), "-b", "side")
    first, second = find_repository(str(root)), find_repository(str(tmp_path / "second"))
    assert second.common_dir == first.common_dir
    assert second.key != first.key
    assert (second.root, second.branch()) == (str(tmp_path / "second"), "side")


def test_a_submodule_is_a_repository_of_its_own(root: Path, tmp_path: Path) -> None:
    inner = new_repository(tmp_path / "inner")
    git(root, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "sub")
    sub = find_repository(str(root / "sub"))
    assert sub.root == str(root / "sub")
    assert sub.common_dir == str(root / ".git/modules/sub")
    assert sub.key != find_repository(str(root)).key


def test_a_bare_repository_has_itself_as_root(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare", "shared.git")
    here = find_repository(str(tmp_path / "shared.git"))
    assert here.bare
    assert here.root == here.git_dir == str(tmp_path / "shared.git")


def test_no_repository_is_said_with_advice(tmp_path: Path) -> None:
    with pytest.raises(NoRepository) as caught:
        find_repository(str(tmp_path))
    assert "git init" in caught.value.advice
    assert caught.value.exit_status == 5


def test_a_git_file_that_leads_nowhere_is_damage(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("gitdir: /nowhere/at/all\n")
    with pytest.raises(DamagedRepository, match="does not lead to a git directory"):
        find_repository(str(tmp_path))


def test_an_empty_folder_named_git_is_passed_over(root: Path) -> None:
    (root / "deep" / ".git").mkdir()
    assert find_repository(str(root / "deep")).root == str(root)


def test_a_detached_head_has_no_branch(root: Path) -> None:
    git(root, "checkout", "-q", "--detach")
    assert find_repository(str(root)).branch() is None
