"""What Postil keeps in a git directory is for whom git's own files are there."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from postil.workspace.clones.sharing import find_git_dir, read_sharing
from tests.comments.workspaces import Comments, workspace
from tests.workspace.repositories import git

CODE = "".join(f"value_{n} = {n}\n" for n in range(1, 31))


def modes(folder: Path) -> dict[str, int]:
    """The rights of everything in `.git/postil`, and of itself."""
    ours = folder / ".git" / "postil"
    return {str(each.relative_to(ours)): stat.S_IMODE(each.lstat().st_mode) for each in (ours, *ours.rglob("*"))}


def use(folder: Path) -> Comments:
    comments = workspace(folder, **{"a.py": CODE, "b.py": CODE})
    return work(comments)


def work(comments: Comments) -> Comments:
    """Whatever writes into the folder: locks, logs, caches, copies and a journal."""
    identity = comments.add("a.py", 3, "look", "NOTE").commentId
    comments.reply(identity, "yes")
    comments.search("look")
    comments.move("a.py", "b.py", identity, 4)
    comments.delete("b.py", identity)
    return comments


@pytest.mark.parametrize(
    ("said", "file", "folder"),
    [("group", 0o660, 0o2770), ("true", 0o660, 0o2770), ("all", 0o664, 0o2775), ("0640", 0o640, 0o2750)],
)
def test_a_shared_repository_shares_our_files_as_git_does_its_own(
    tmp_path: Path, said: str, file: int, folder: int
) -> None:
    git(tmp_path, "init", "-q", f"--shared={said}")
    use(tmp_path)
    found = modes(tmp_path)
    assert len(found) > 5
    ours = tmp_path / ".git" / "postil"
    assert {name: mode for name, mode in found.items() if mode != (folder if (ours / name).is_dir() else file)} == {}
    assert stat.S_IMODE((tmp_path / ".git" / "objects").stat().st_mode) & 0o070 == folder & 0o070


@pytest.mark.parametrize("said", ["", "umask", "false", "0", "nonsense"])
def test_what_is_not_shared_is_for_its_user_alone(tmp_path: Path, said: str) -> None:
    git(tmp_path, "init", "-q")
    if said:
        git(tmp_path, "config", "core.sharedRepository", said)
    comments = Comments(str(tmp_path))
    (tmp_path / "a.py").write_text(CODE)
    comments.add("a.py", 3, "look", "NOTE")
    assert modes(tmp_path)["."] == 0o700
    assert read_sharing(str(tmp_path / ".git")) == 0


def test_a_folder_that_is_called_so_elsewhere_is_not_ours(tmp_path: Path) -> None:
    (tmp_path / "postil" / "sub").mkdir(parents=True)
    assert find_git_dir(str(tmp_path / "postil" / "sub" / "file")) == ""
    git(tmp_path / "postil", "init", "-q")
    assert find_git_dir(str(tmp_path / "postil/.git/postil/comments.lock")) == str(tmp_path / "postil/.git")


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that other users reach."""
    made = Path(tempfile.mkdtemp(prefix="postil-shared-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


GROUP = 54_000
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as two users")
# Python itself may lie where other users cannot read; what they may write is as it is for everybody.
RIGHTS = ("--clear-groups", "--inh-caps=-all,+dac_read_search", "--ambient-caps=-all,+dac_read_search")
BEGIN = """
import os
from pathlib import Path
from postil.workspace.operations.checks import WorkspaceChecks
from tests.comments.workspaces import Comments
from tests.workspace.clones.test_sharing import work
from tests.workspace.repositories import workspace
os.umask(0o022)
"""


def run_as(user: int, folder: Path, code: str) -> str:
    """Run some lines as another user of the group; what they print."""
    home = folder.parent / f"home-{user}"
    home.mkdir(exist_ok=True)
    (home / "config").write_text(f"[safe]\n\tdirectory = *\n[user]\n\tname = u{user}\n\temail = u@example.org\n")
    os.chown(home, user, GROUP)
    settings = {"HOME": str(home), "GIT_CONFIG_GLOBAL": str(home / "config"), "PATH": os.environ["PATH"]}
    person = ("setpriv", f"--reuid={user}", f"--regid={GROUP}", *RIGHTS)
    said = subprocess.run(
        [*person, sys.executable, "-c", BEGIN + code],
        cwd=folder,
        env={**settings, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.returncode == 0, said.stderr
    return said.stdout


def make_shared(folder: Path, *how: str) -> Path:
    root = folder / "work"
    root.mkdir()
    git(root, "init", "-q", *how)
    for name in ("a.py", "b.py"):
        (root / name).write_text(CODE)
    subprocess.run(["chown", "-R", f"54001:{GROUP}", str(root)], check=True)
    subprocess.run(["chmod", "-R", "g+rwXs", str(root)], check=True)
    return root


@needs_root
def test_two_users_of_one_clone_write_comments_one_after_the_other(open_folder: Path) -> None:
    root = make_shared(open_folder, "--shared=group")
    for user in (54001, 54002, 54001):
        run_as(user, root, "work(Comments('.'))\nComments('.').add('a.py', 5, 'stays', 'NOTE')")
    run_as(54002, root, "assert Comments('.').search('stays').totalResults == 3")
    seen = run_as(54002, root, "print(WorkspaceChecks(workspace(Path('.'))).folder_can_be_written().status)")
    assert seen == "ok\n"


@needs_root
def test_the_doctor_names_a_folder_that_another_user_closed(open_folder: Path) -> None:
    root = make_shared(open_folder)
    run_as(54001, root, "work(Comments('.'))")
    ask = (
        "seen = WorkspaceChecks(workspace(Path('.'))).folder_can_be_written()\nprint(seen.status, seen.seen, seen.fix)"
    )
    said = run_as(54002, root, ask)
    assert said.startswith("error ")
    assert "/.git/postil cannot be written by you: it belongs to user 54001" in said
    assert "`git config core.sharedRepository group`" in said
    assert run_as(54001, root, ask).startswith("ok ")
