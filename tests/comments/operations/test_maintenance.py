"""Comment files as files: git merges them with our driver, and the doctor names what is wrong."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from postil.comments.operations.maintenance import Checked
from postil.comments.sidecar.document import Sidecar
from postil.comments.storage.erased import Erased
from postil.core.failure import Failure
from postil.workspace.paths import RelativePath
from tests.comments.workspaces import Comments, commit, plain_workspace, sidecar, tell_person, workspace, write
from tests.workspace.repositories import git

SOURCE = "".join(f"value_{n} = {n}\n" for n in range(1, 31))


@pytest.fixture
def search(tmp_path: Path) -> str:
    """A PATH on which git finds this Postil."""
    program = tmp_path / "bin" / "postil"
    program.parent.mkdir()
    run = "import sys; from postil.surfaces.shell.main import main; sys.exit(main())"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{run}" "$@"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return f"{program.parent}{os.pathsep}{os.environ['PATH']}"


def test_git_merges_branches_with_the_driver(tmp_path: Path, search: str) -> None:
    comments = workspace(tmp_path / "work", **{"a.py": SOURCE})
    root = tmp_path / "work"
    comments.maintenance.setup_git()
    comments.add("a.py", 1, "base", "NOTE")
    commit(root, "base")
    git(root, "checkout", "-q", "-b", "other")
    comments.add("a.py", 1, "theirs", "NOTE")
    commit(root, "theirs")
    git(root, "checkout", "-q", "main")
    comments.add("a.py", 1, "ours", "NOTE")
    comments.add("a.py", 9, "ours too", "NOTE")
    commit(root, "ours")
    git(root, "merge", "-q", "--no-edit", "other", PATH=search)
    assert {each.text for each in comments.file_comments("a.py").comments} == {"base", "ours", "theirs", "ours too"}
    assert git(root, "status", "--porcelain") == ""


def test_who_sets_up_the_merge_is_told_to_commit_the_attributes_before_branching(tmp_path: Path) -> None:
    """git reads them from the work tree that it merges into: a branch without them is merged line by line."""
    comments = workspace(tmp_path / "work", **{"a.py": SOURCE})
    assert "Commit .gitattributes before you branch" in comments.maintenance.setup_git().did


@pytest.mark.parametrize("name", ["a.py", "a folder/it's a $name.py", "-v.py"])
def test_git_merges_the_same_comment_edited_on_both_branches(tmp_path: Path, search: str, name: str) -> None:
    comments = workspace(tmp_path / "work", **{name: SOURCE})
    root = tmp_path / "work"
    comments.maintenance.setup_git()
    edited = comments.add(name, 1, "base", "NOTE").commentId
    deleted = comments.add(name, 3, "deleted by us", "NOTE").commentId
    answered = comments.add(name, 5, "answered by both", "NOTE").commentId
    commit(root, "base")
    git(root, "checkout", "-q", "-b", "other")
    comments.edit(name, edited, "their words")
    comments.edit(name, deleted, "edited by them")
    comments.reply(answered, "their reply", author="they")
    comments.resolve(answered, author="they")
    commit(root, "theirs")
    git(root, "checkout", "-q", "main")
    comments.edit(name, edited, "our words")
    comments.delete(name, deleted)
    comments.reply(answered, "our reply", author="we")
    commit(root, "ours")
    git(root, "merge", "-q", "--no-edit", "other", PATH=search)
    found = {each.id: each for each in comments.file_comments(name).comments}
    said = [found[edited].text, *(each.text for each in found[edited].revisions)]
    assert said == ["our words", "their words"]  # the newer first
    assert found[deleted].text == "edited by them"
    assert {each.text for each in found[answered].replies} == {"our reply", "their reply"}
    assert found[answered].status == "resolved"
    assert git(root, "status", "--porcelain") == ""
    git(root, "checkout", "-q", "-b", "picked", "main~1")  # and so do cherry-picks
    git(root, "cherry-pick", "other", PATH=search)
    assert {each.text for each in comments.file_comments(name).comments} >= {"our words", "edited by them"}


def without_postil() -> str:
    """A PATH on which git finds no Postil."""
    folders = os.environ["PATH"].split(os.pathsep)
    return os.pathsep.join(each for each in folders if not Path(each, "postil").exists())


def make_branches(root: Path, comments: Comments) -> None:
    """Two branches that each add a comment to the same file."""
    comments.add("a.py", 1, "base", "NOTE")
    commit(root, "base")
    git(root, "checkout", "-q", "-b", "other")
    comments.add("a.py", 1, "theirs", "NOTE")
    commit(root, "theirs")
    git(root, "checkout", "-q", "main")
    comments.add("a.py", 1, "ours", "NOTE")
    commit(root, "ours")


def test_git_finds_the_program_that_set_it_up(tmp_path: Path, search: str, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "work"
    comments = workspace(root, **{"a.py": SOURCE})
    program = tmp_path / "bin" / "postil"
    odd = tmp_path / "50% of it's mine"
    odd.mkdir()
    monkeypatch.setattr("sys.argv", [str(program.rename(odd / "postil"))])
    comments.maintenance.setup_git()
    make_branches(root, comments)
    git(root, "merge", "-q", "--no-edit", "other", PATH=without_postil())
    assert {each.text for each in comments.file_comments("a.py").comments} == {"base", "ours", "theirs"}
    assert "ours" in git(root, "log", "-p", "-1", "--first-parent", "main~1", PATH=without_postil())
    assert "ghostMarkers" not in git(root, "log", "-p", "main", "--", "*.comments", PATH=without_postil())


@pytest.mark.parametrize("left", ["nothing", "a program whose Python is gone"])
def test_git_goes_on_without_postil(tmp_path: Path, left: str, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "work"
    comments = workspace(root, **{"a.py": SOURCE})
    program = tmp_path / "postil"
    write(tmp_path, "postil", "#!/no/such/python\n")
    program.chmod(0o755)
    monkeypatch.setattr("sys.argv", [str(program)])
    comments.maintenance.setup_git()
    make_branches(root, comments)
    if left == "nothing":
        program.unlink()
    path = without_postil()
    shown = git(root, "log", "-p", "main", "--", "*.comments", PATH=path)
    assert "ghostMarkers" in shown, "the plain bytes"
    asked = ["git", "merge", "-q", "other"]
    done = subprocess.run(asked, cwd=root, capture_output=True, env={**os.environ, "PATH": path})
    assert done.returncode == 1, "a conflict, as without Postil"
    assert b"<<<<<<<" in sidecar(root, "a.py")
    comments.maintenance.check_files(fix=True)
    assert {each.text for each in comments.file_comments("a.py").comments} == {"base", "ours", "theirs"}


def test_setting_up_git_can_be_undone(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"a.py": SOURCE, ".gitattributes": "*.png binary\n"})
    assert not comments.maintenance.setup_git(check=True).driver
    comments.maintenance.setup_git()
    comments.maintenance.setup_git()
    assert (
        tmp_path / ".gitattributes"
    ).read_text() == "*.png binary\n*.comments merge=postil-comments diff=postil-comments\n"
    assert comments.maintenance.setup_git(check=True).driver
    comments.maintenance.setup_git(remove=True)
    assert (tmp_path / ".gitattributes").read_text() == "*.png binary\n"
    assert not comments.maintenance.setup_git(check=True).driver


@pytest.mark.parametrize("mine", [b"b\xe4r.txt text\r\n*.png binary\r\n", b"*.png binary", b"*.x -diff\n" * 120_000])
def test_setting_up_git_keeps_the_attributes_to_the_byte(tmp_path: Path, mine: bytes) -> None:
    """Letters of another encoding were replaced, and a file of more than a megabyte was taken for none."""
    comments = workspace(tmp_path, **{"a.py": SOURCE})
    (tmp_path / ".gitattributes").write_bytes(mine)
    comments.maintenance.setup_git()
    assert comments.maintenance.setup_git(check=True).attributes
    end = b"\r\n" if mine.endswith(b"\r\n") else b"\n"
    ours = b"*.comments merge=postil-comments diff=postil-comments" + end
    kept = mine if mine.endswith(b"\n") else mine + b"\n"
    assert (tmp_path / ".gitattributes").read_bytes() == kept + ours
    comments.maintenance.setup_git(remove=True)
    assert (tmp_path / ".gitattributes").read_bytes() == kept


def test_attributes_that_are_a_link_are_left_alone(tmp_path: Path) -> None:
    comments = workspace(tmp_path / "here", **{"a.py": SOURCE})
    comments.add("a.py", 1, "one", "NOTE")
    (tmp_path / "mine").write_text("*.png binary\n")
    (tmp_path / "here/.gitattributes").symlink_to(tmp_path / "mine")
    with pytest.raises(Failure, match="symlink"):
        comments.maintenance.setup_git()
    assert comments.maintenance.doctor_driver().status == "warning"
    assert (tmp_path / "mine").read_text() == "*.png binary\n"


@pytest.mark.parametrize("name", ["$(touch ran)", "`touch ran`;x"])
def test_a_command_that_is_told_runs_nothing_when_it_is_pasted(tmp_path: Path, name: str) -> None:
    told = tell_person(Checked((), 1, (Erased(name, "a.py", "ann", "said", "2026"),)))
    assert f"`postil comments restore '{name}'`" in told


def test_a_conflicted_sidecar_is_restored_from_both_sides(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"a.py": SOURCE})
    make_branches(tmp_path, comments)
    assert subprocess.run(["git", "merge", "-q", "other"], cwd=tmp_path, capture_output=True).returncode == 1
    conflicted = sidecar(tmp_path, "a.py")
    (fault,) = comments.maintenance.check_files(fix=True).faults
    assert "both sides" in fault.fixed
    assert {each.text for each in comments.file_comments("a.py").comments} == {"base", "ours", "theirs"}
    (aside,) = comments.maintenance.check_files().aside
    assert (tmp_path / aside).read_bytes() == conflicted


def test_the_doctor_names_damaged_files_and_a_missing_driver(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"a.py": SOURCE})
    assert comments.maintenance.doctor_driver().status == "ok"  # nothing to merge yet
    comments.add("a.py", 1, "x", "NOTE")
    assert comments.maintenance.doctor_driver().fix == "Run `postil setup git`"
    assert comments.maintenance.doctor_files().status == "ok"
    write(tmp_path, "b.py.comments", "{")
    found = comments.maintenance.doctor_files()
    assert (found.status, "b.py.comments" in found.seen) == ("error", True)
    checked = comments.maintenance.check_files()
    assert (checked.exit_status, checked.files) == (7, 2)
    assert (tmp_path / "b.py.comments").read_text() == "{"  # only a look


def test_the_doctor_says_which_grammars_a_repository_would_gain_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    comments = workspace(tmp_path, **{"a.py": SOURCE, "b.rb": "def a\nend\n"})
    comments.add("a.py", 1, "x", "NOTE")
    comments.add("b.rb", 1, "x", "NOTE")
    assert comments.maintenance.doctor_grammars().status == "ok"
    monkeypatch.setattr("postil.comments.operations.maintenance.is_installed", "python".__eq__)
    found = comments.maintenance.doctor_grammars()
    assert (found.status, "ruby (1 file)" in found.seen) == ("warning", True)
    assert "'.[languages]'" in found.fix


def test_what_was_repaired_is_said_to_be_for_the_next_commit(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"a.py": "one = 1\n", "odd name.py": "one = 1\n"})
    for name in ("a.py", "odd name.py"):
        comments.add(name, 1, "why?", "NOTE")
    commit(tmp_path, "commented")
    for name in ("a.py", "odd name.py"):
        write(tmp_path, f"{name}.comments", b"{")
    assert "git add" not in comments.maintenance.check_files().for_model()
    said = comments.maintenance.check_files(fix=True).for_model()
    assert "To keep it, commit it: `git add -- a.py.comments 'odd name.py.comments'`" in said


def test_a_check_reads_each_file_once_unless_the_cache_shows_another_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    comments = workspace(tmp_path, **{"a.py": "one = 1\n", "b.py": "two = 2\n"})
    for name in ("a.py", "b.py"):
        comments.add(name, 1, "why?", "QUESTION")
    comments.listed()
    store, read = comments.context.store, list[str]()
    really = store.read

    def note(path: RelativePath) -> Sidecar:
        read.append(path)
        return really(path)

    monkeypatch.setattr(store, "read", note)
    assert comments.maintenance.check_files().faults == ()
    assert sorted(read) == ["a.py", "b.py"]
    db = comments.overview.index.select("PRAGMA database_list")[0][2]
    with closing(sqlite3.connect(db)) as cache:
        cache.execute("DELETE FROM note WHERE path = 'b.py'")
        cache.commit()
    told = comments.maintenance.check_files().faults
    assert [each.problem for each in told] == ["the cache shows 0 comments of b.py, which holds 1"]


def test_without_git_nothing_is_said_of_a_commit(tmp_path: Path) -> None:
    comments = plain_workspace(tmp_path, **{"a.py": "one = 1\n", "a.py.comments": "{"})
    assert "git" not in comments.maintenance.check_files(fix=True).for_model()


def test_a_merge_is_concluded_by_what_a_repair_of_it_says_to_commit(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"a.py": "one = 1\n"})
    identity = comments.add("a.py", 1, "why?", "NOTE").commentId
    commit(tmp_path, "commented")
    git(tmp_path, "branch", "edited")
    git(tmp_path, "mv", "a.py", "b.py")
    comments.relocate()
    commit(tmp_path, "moved")
    git(tmp_path, "branch", "moved")
    git(tmp_path, "checkout", "-q", "edited")
    comments.edit("a.py", identity, "why so?")
    commit(tmp_path, "edited")
    with pytest.raises(subprocess.CalledProcessError):
        git(tmp_path, "merge", "-X", "find-renames=100%", "moved")
    said = comments.maintenance.check_files(fix=True).for_model()
    assert "To keep it, commit it: `git add -- b.py.comments a.py.comments`" in said
    git(tmp_path, "add", "--", "b.py.comments", "a.py.comments")
    git(tmp_path, "commit", "-qm", "merged")
    assert git(tmp_path, "ls-files", "*.comments") == "b.py.comments"
    assert [each.text for each in comments.listed().comments] == ["why so?"]


def test_a_comment_joined_in_a_file_that_git_does_not_have_yet_is_committed_with_it(tmp_path: Path) -> None:
    """The commit that was advised held the deletion alone: a clone of it had no comment."""
    comments = workspace(tmp_path, **{"a.rst": SOURCE})
    identity = comments.add("a.rst", 7, "why?", "NOTE").commentId
    commit(tmp_path, "commented")
    git(tmp_path, "mv", "a.rst", "a.md")
    write(tmp_path, "a.md", SOURCE.replace("value_7 = 7\n", ""))
    commit(tmp_path, "moved")
    comments.contract.move(identity, "a.md", 7)
    git(tmp_path, "checkout", "--", ".")
    said = comments.maintenance.check_files(fix=True).for_model()
    assert "To keep it, commit it: `git add -- a.rst.comments a.md.comments`" in said
    git(tmp_path, "add", "--", "a.rst.comments", "a.md.comments")
    git(tmp_path, "commit", "-qm", "kept")
    assert identity in git(tmp_path, "show", "HEAD:a.md.comments")
