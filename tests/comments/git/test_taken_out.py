"""A sidecar that another program deleted is told of and comes back; one that git took out is not told."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from postil.comments.failures import CommentNotFound
from postil.comments.git import taken_out
from postil.comments.storage import erased
from postil.workspace import git as workspace_git
from postil.workspace.failures import GitFailed
from postil.workspace.git import GitResult
from postil.workspace.paths import RelativePath
from tests.comments.workspaces import Comments, commit, plain_workspace, sidecar, tell_person, workspace, write
from tests.workspace.repositories import git, new_repository

CODE = "".join(f"value_{number} = {number}\n" for number in range(9))


def _begin(root: Path) -> tuple[Comments, list[str]]:
    comments = workspace(root, **{"a.py": CODE, "b.py": CODE})
    return comments, [comments.add("a.py", line, f"number {line}", "NOTE").commentId for line in (2, 5)]


def _erased(comments: Comments) -> list[str]:
    return [each.id for each in comments.maintenance.check_files().erased]


def test_a_deleted_sidecar_that_no_commit_has_is_told_and_comes_back(tmp_path: Path) -> None:
    """It was told of only when there was a sidecar again."""
    comments, made = _begin(tmp_path)
    comments.reply(made[0], "with an answer")
    whole = json.loads(sidecar(tmp_path, "a.py"))
    (tmp_path / "a.py.comments").unlink()
    checked = comments.maintenance.check_files()
    assert [each.id for each in checked.erased] == made
    assert checked.exit_status == 7
    assert comments.maintenance.doctor_erased().status == "warning"
    assert comments.glance() == "no comments. 2 that were written here are gone (comments_check)"
    assert [each.id for each in comments.maintenance.restore(made[1]).comments] == made
    assert json.loads(sidecar(tmp_path, "a.py"))["comments"] == whole["comments"]
    assert _erased(comments) == []
    assert comments.glance() == "2 open"


def test_without_git_a_deleted_sidecar_is_told_and_comes_back(tmp_path: Path) -> None:
    comments = plain_workspace(tmp_path, **{"a.py": CODE})
    made = comments.add("a.py", 2, "here", "NOTE").commentId
    (tmp_path / "a.py.comments").unlink()
    assert _erased(comments) == [made]
    assert comments.maintenance.restore(all=True).comments[0].id == made
    assert comments.listed().total == 1


def test_a_deleted_sidecar_comes_back_as_committed_with_what_was_written_since(tmp_path: Path) -> None:
    """What others wrote is in no log of ours: without the last commit, restoring ours would leave theirs out."""
    comments, made = _begin(tmp_path)
    dropped = comments.add("a.py", 7, "deleted later", "NOTE").commentId
    moved = comments.add("a.py", 8, "moved later", "NOTE").commentId
    held = sidecar(tmp_path, "a.py").replace(b'"comments": [', b'"other": "key",\n  "comments": [')
    write(tmp_path, "a.py.comments", held.replace(made[0].encode(), b"c_1111111111111111111"))
    commit(tmp_path, "with a comment of somebody else")
    comments.edit("a.py", made[1], "edited since")
    comments.delete("a.py", dropped)
    comments.move("a.py", "b.py", moved, 3)
    new = comments.add("a.py", 9, "added since", "NOTE").commentId
    (tmp_path / "a.py.comments").unlink()
    told = set(_erased(comments))
    assert {made[1], new} <= told
    assert not {dropped, moved} & told
    comments.maintenance.restore(new)
    back = json.loads(sidecar(tmp_path, "a.py"))
    said = {each["id"]: each["text"] for each in back["comments"]}
    assert back["other"] == "key"
    assert said["c_1111111111111111111"] == "number 2"
    assert said[made[1]] == "edited since"
    assert said[new] == "added since"
    assert not {dropped, moved} & said.keys()


def test_a_deleted_sidecar_of_others_is_told_and_comes_back(tmp_path: Path) -> None:
    comments, made = _begin(tmp_path)
    commit(tmp_path, "theirs")
    for each in Path(comments.tree.folder).glob("comments-*.log"):
        each.unlink()
    whole = sidecar(tmp_path, "a.py")
    (tmp_path / "a.py.comments").unlink()
    checked = comments.maintenance.check_files()
    assert checked.exit_status == 7
    assert tell_person(checked) == (
        f"a.py.comments: it is gone with 2 comments, and git has it; `postil comments restore {made[0]}` brings it back"
    )
    said = "no comments. 2 are gone with a comment file that another program deleted (comments_check)"
    assert comments.glance() == said
    assert comments.maintenance.doctor_erased().seen == "another program took out 2: a.py.comments with 2 comments"
    back = comments.maintenance.restore(all=True)
    assert back.for_model() == "✅ a.py.comments is here again, with 2 comments"
    assert sidecar(tmp_path, "a.py") == whole
    assert comments.maintenance.check_files().exit_status == 0
    (tmp_path / "a.py.comments").unlink()
    assert comments.relocating.undo(made[1]) == back
    git(tmp_path, "rm", "-q", "--cached", "a.py.comments")
    (tmp_path / "a.py.comments").unlink()
    assert comments.maintenance.restore(all=True).files == ()


def test_a_deleted_sidecar_is_told_with_all_its_comments_though_one_was_not_committed(tmp_path: Path) -> None:
    comments, made = _begin(tmp_path)
    commit(tmp_path, "theirs")
    for each in Path(comments.tree.folder).glob("comments-*.log"):
        each.unlink()
    made.append(comments.add("a.py", 7, "not committed", "NOTE").commentId)
    (tmp_path / "a.py.comments").unlink()
    assert "it is gone with 3 comments, and git has it" in comments.maintenance.check_files().for_model()
    assert "3 are gone with a comment file" in comments.glance()
    assert "took out 3: " in comments.maintenance.doctor_erased().seen
    back = comments.maintenance.restore(all=True)
    assert back.for_model().startswith("✅ a.py.comments is here again, with 3 comments\n✅ ")
    assert {each.id for each in comments.listed().comments} == {*made}


def _switch(root: Path) -> None:
    git(root, "checkout", "-q", "-b", "side")
    commit(root, "on the other branch alone")
    git(root, "checkout", "-q", "-")


def _switch_and_forget(root: Path) -> None:
    _switch(root)
    git(root, "branch", "-q", "-D", "side")


def _commit_deletion(root: Path) -> None:
    commit(root, "with comments")
    git(root, "rm", "-q", "a.py.comments")
    commit(root, "without")


def _stage_deletion(root: Path) -> None:
    commit(root, "with comments")
    git(root, "rm", "-q", "a.py.comments")


def _reset(root: Path) -> None:
    commit(root, "with comments")
    git(root, "reset", "-q", "--hard", "HEAD~1")


def _stash(root: Path) -> None:
    git(root, "stash", "push", "-q", "--include-untracked")


def _leave_out(root: Path) -> None:
    commit(root, "with comments")
    git(root, "sparse-checkout", "set", "--no-cone", "*", "!*.comments")


def _rename(root: Path) -> None:
    commit(root, "with comments")
    git(root, "mv", "a.py", "c.py")
    git(root, "mv", "a.py.comments", "c.py.comments")
    write(root, "a.py", CODE)


def _merge_deletion(root: Path) -> None:
    commit(root, "with comments")
    git(root, "checkout", "-q", "-b", "side")
    git(root, "rm", "-q", "a.py.comments")
    commit(root, "without")
    git(root, "checkout", "-q", "-")
    git(root, "merge", "-q", "side")


def _delete_both(root: Path) -> None:
    (root / "a.py").unlink()
    (root / "a.py.comments").unlink()


@pytest.mark.parametrize(
    "take_out",
    [
        _switch,
        _switch_and_forget,
        _commit_deletion,
        _stage_deletion,
        _reset,
        _stash,
        _leave_out,
        _rename,
        _merge_deletion,
        _delete_both,
    ],
)
def test_what_git_took_out_or_was_deleted_with_its_source_is_not_told(
    tmp_path: Path, take_out: Callable[[Path], None]
) -> None:
    comments, _ = _begin(tmp_path)
    take_out(tmp_path)
    assert not comments.store.has(RelativePath("a.py"))
    checked = comments.maintenance.check_files()
    assert (checked.erased, checked.faults) == ((), ())
    assert "gone" not in comments.glance()


def test_what_a_stash_holds_is_not_told_while_the_file_is_edited(tmp_path: Path) -> None:
    comments, _ = _begin(tmp_path)
    commit(tmp_path, "first")
    comments.add("a.py", 7, "in the stash", "NOTE")
    git(tmp_path, "stash", "push", "-q")
    comments.add("a.py", 8, "after it", "NOTE")
    assert _erased(comments) == []


def _begin_inside(root: Path) -> Comments:
    """A submodule that has a comment in its work tree."""
    new_repository(root / "origin", a__py=CODE)
    comments = workspace(root / "work", **{"b.py": CODE})
    git(root / "work", "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(root / "origin"), "sub")
    commit(root / "work", "with a submodule")
    comments.add("sub/a.py", 2, "inside", "NOTE")
    return comments


def test_what_the_git_of_a_submodule_took_out_is_not_told(tmp_path: Path) -> None:
    """The workspace's own git was asked, which knows nothing of files in there."""
    comments = _begin_inside(tmp_path)
    inside = tmp_path / "work" / "sub"
    git(inside, "checkout", "-q", "-b", "side")
    commit(inside, "on the other branch alone")
    git(inside, "checkout", "-q", "-")
    assert not comments.store.has(RelativePath("sub/a.py"))
    assert _erased(comments) == []
    assert "gone" not in comments.glance()


def test_a_deleted_sidecar_of_a_submodule_comes_back_as_it_was_committed_there(tmp_path: Path) -> None:
    comments = _begin_inside(tmp_path)
    inside = tmp_path / "work" / "sub"
    commit(inside, "with a comment")
    (inside / "a.py.comments").unlink()
    assert len(_erased(comments)) == 1
    comments.maintenance.restore(all=True)
    assert git(inside, "status", "--short") == ""


def test_very_many_files_that_are_gone_are_counted_for_a_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Git had a second for each two hundred of them."""
    comments, _ = _begin(tmp_path)
    comments.add("b.py", 2, "in another file", "NOTE")
    for name in ("a", "b"):
        (tmp_path / f"{name}.py.comments").unlink()
    monkeypatch.setattr(taken_out, "ASKED_TOGETHER", 1)
    assert "3 that were written here are gone" in comments.glance()
    monkeypatch.setattr(erased, "time", SimpleNamespace(monotonic=iter((0.0, 10.0)).__next__))
    assert "more than 2 that were written here are gone" in comments.glance()


def test_a_glance_says_one_of_one(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"a.py": CODE})
    comments.add("a.py", 2, "alone", "NOTE")
    (tmp_path / "a.py.comments").unlink()
    assert comments.glance() == "no comments. 1 that was written here is gone (comments_check)"


def test_what_a_checkout_discarded_is_never_told_and_comes_back_by_its_name(tmp_path: Path) -> None:
    """It was told when the next comment was written, not any more after a commit, and again after one more."""
    comments, _ = _begin(tmp_path)
    commit(tmp_path, "with comments")
    two = comments.add("a.py", 7, "not committed", "NOTE").commentId
    reply = comments.reply(comments.listed().comments[0].id, "nor this").replyId
    git(tmp_path, "checkout", "-q", "--", "a.py.comments")
    assert _erased(comments) == []
    again = Comments(str(tmp_path))
    again.add("a.py", 8, "one more", "NOTE")
    assert _erased(again) == []
    commit(tmp_path, "one more")
    assert _erased(again) == []
    comments.add("a.py", 9, "and another", "NOTE")
    assert _erased(comments) == []
    assert comments.maintenance.restore(two).comments[0].id == two
    assert reply not in sidecar(tmp_path, "a.py").decode()


def test_an_erased_comment_that_is_deleted_is_told_no_more_and_comes_back(tmp_path: Path) -> None:
    comments, made = _begin(tmp_path)
    in_memory = sidecar(tmp_path, "a.py")
    new = comments.add("a.py", 7, "erased", "NOTE").commentId
    write(tmp_path, "a.py.comments", in_memory)
    told = tell_person(comments.maintenance.check_files())
    assert told.endswith(f"`postil comments restore {new}` brings it back, `postil comments delete {new}` forgets it")
    assert comments.contract.delete(new[-6:]).undo == f"postil comments restore {new}"
    assert comments.maintenance.check_files().exit_status == 0
    assert comments.maintenance.restore(new).comments[0].id == new
    with pytest.raises(CommentNotFound):
        comments.contract.delete("c_1234567890123456789")
    assert {each.id for each in comments.listed().comments} == {*made, new}


def test_a_git_that_fails_is_not_one_that_knows_no_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was deleted before the last commit was taken out once more."""
    comments, _ = _begin(tmp_path)
    tree = comments.context.store.tree
    assert taken_out.find_commit_time(tree, "a.py") == ""
    commit(tmp_path, "all")
    assert taken_out.find_commit_time(tree, "a.py").endswith("Z")
    run = workspace_git.try_git

    def fail(root: str, *words: str, **more: Any) -> GitResult:
        return GitResult(137, b"", b"") if words[0] in ("log", "ls-tree") else run(root, *words, **more)

    monkeypatch.setattr(workspace_git, "try_git", fail)
    with pytest.raises(GitFailed):
        taken_out.find_commit_time(tree, "a.py")
    (tmp_path / "a.py.comments").unlink()
    git(tmp_path, "update-index", "--force-remove", "a.py.comments")
    with pytest.raises(GitFailed):
        taken_out.find_vanished(tree, ["a.py"])


def test_what_one_branch_deleted_and_another_relocated_is_not_told_while_both_are_merged(tmp_path: Path) -> None:
    """It was said that another program took it out, and it was offered to be restored."""
    comments = workspace(tmp_path, **{"a.py": CODE})
    deleted = comments.add("a.py", 5, "deleted", "NOTE").commentId
    comments.add("a.py", 7, "stays", "NOTE")
    commit(tmp_path, "commented")
    git(tmp_path, "checkout", "-q", "-b", "left")
    comments.delete("a.py", deleted)
    commit(tmp_path, "deleted")
    git(tmp_path, "checkout", "-q", "-")
    write(tmp_path, "a.py", "import os\n" + CODE)
    comments.relocate("a.py")
    commit(tmp_path, "relocated")
    added = comments.add("a.py", 2, "said meanwhile", "NOTE").commentId
    commit(tmp_path, "said")
    with pytest.raises(subprocess.CalledProcessError):  # a conflict
        git(tmp_path, "merge", "-q", "left")
    comments.maintenance.check_files(fix=True)
    checked = comments.maintenance.check_files()
    assert (checked.erased, checked.exit_status) == ((), 0)
    assert deleted.encode() not in sidecar(tmp_path, "a.py")
    write(tmp_path, "a.py.comments", sidecar(tmp_path, "a.py").replace(added.encode(), b"c_another"))
    assert [each.id for each in comments.maintenance.check_files().erased] == [added], "what an editor took out is told"
