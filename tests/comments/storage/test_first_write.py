"""A sidecar that git has and the work tree has not is not begun without what it holds."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from postil.comments.failures import FileAccessDenied, SidecarDamaged
from postil.comments.git import taken_out
from postil.workspace.failures import GitFailed, GitMissing, GitTimedOut
from tests.comments.workspaces import Comments, commit, sidecar, workspace, write
from tests.workspace.repositories import git

CODE = "".join(f"value_{number} = {number}\n" for number in range(9))


def _begin(root: Path) -> tuple[Comments, list[str]]:
    comments = workspace(root, **{"a.py": CODE, "b.py": CODE})
    names = [comments.add("a.py", line, f"number {line}", "NOTE").commentId for line in (2, 5)]
    held = json.loads(sidecar(root, "a.py"))
    write(root, "a.py.comments", json.dumps({**held, "futureKey": 7}, indent=2).encode())
    commit(root, "with two comments")
    return comments, names


def _held(root: Path, name: str = "a.py") -> list[str]:
    return [each["id"] for each in json.loads(sidecar(root, name))["comments"]]


def test_a_new_comment_takes_along_what_git_has_of_a_deleted_sidecar(tmp_path: Path) -> None:
    comments, names = _begin(tmp_path)
    (tmp_path / "a.py.comments").unlink()
    added = comments.contract.add("a.py", 3, "one more")
    assert _held(tmp_path) == [names[0], added.commentId, names[1]]
    assert json.loads(sidecar(tmp_path, "a.py"))["futureKey"] == 7
    assert "a.py.comments was gone from the work tree. The 2 comments that git has" in added.warning
    assert comments.contract.add("a.py", 4, "and another").warning == ""
    assert len(_held(tmp_path)) == 4
    deleted = [row for row in git(tmp_path, "diff", "-U0").splitlines() if row.startswith("-") and row[1:2] != "-"]
    assert not [row for row in deleted if "number" in row]


def test_a_moved_comment_takes_them_along_too(tmp_path: Path) -> None:
    comments, names = _begin(tmp_path)
    other = comments.add("b.py", 7, "of b", "NOTE").commentId
    (tmp_path / "a.py.comments").unlink()
    moved = comments.move("b.py", "a.py", other, 7)
    assert _held(tmp_path) == [*names, other]
    assert "taken along" in moved.warning


def test_what_was_deleted_or_moved_away_here_stays_out(tmp_path: Path) -> None:
    comments, (first, second) = _begin(tmp_path)
    comments.delete("a.py", first)
    comments.move("a.py", "b.py", second, 5)
    (tmp_path / "a.py.comments").unlink()
    added = comments.contract.add("a.py", 3, "begun anew")
    assert (_held(tmp_path), added.warning) == ([added.commentId], "")


@pytest.mark.parametrize("how", ["--index-version=2", "--index-version=4", "--split-index"])
def test_whichever_index_git_keeps_is_read(tmp_path: Path, how: str) -> None:
    comments, _ = _begin(tmp_path)
    git(tmp_path, "update-index", how)
    (tmp_path / "a.py.comments").unlink()
    assert "taken along" in comments.contract.add("a.py", 3, "one more").warning


def test_in_the_middle_of_a_merge_those_of_both_sides_are_taken_along(tmp_path: Path) -> None:
    """`git add` would conclude the merge with the new comment alone."""
    comments, names = _begin(tmp_path)
    git(tmp_path, "checkout", "-q", "-b", "other")
    theirs = comments.add("a.py", 7, "over there", "NOTE").commentId
    commit(tmp_path, "theirs")
    git(tmp_path, "checkout", "-q", "-")
    comments.delete("a.py", names[0])
    ours = comments.add("a.py", 7, "over here", "NOTE").commentId
    commit(tmp_path, "ours")
    subprocess.run(["git", "merge", "-q", "other"], cwd=tmp_path, check=False, capture_output=True)
    assert git(tmp_path, "ls-files", "-u"), "they conflict"
    (tmp_path / "a.py.comments").unlink()
    added = comments.contract.add("a.py", 3, "one more")
    assert set(_held(tmp_path)) == {names[1], theirs, ours, added.commentId}
    assert "taken along" in added.warning


def test_one_that_git_does_not_look_at_is_taken_along(tmp_path: Path) -> None:
    """Not by a sparse checkout, but by a person (`git update-index --skip-worktree`)."""
    comments, names = _begin(tmp_path)
    git(tmp_path, "update-index", "--skip-worktree", "a.py.comments")
    (tmp_path / "a.py.comments").unlink()
    added = comments.contract.add("a.py", 3, "one more")
    assert _held(tmp_path) == [names[0], added.commentId, names[1]]


def test_a_name_that_git_could_take_for_a_stage_is_one(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"2:a.py": CODE, "a.py": CODE})
    held = [comments.add(name, 2, name, "NOTE").commentId for name in ("a.py", "2:a.py")]
    commit(tmp_path, "two")
    (tmp_path / "2:a.py.comments").unlink()
    added = comments.contract.add("2:a.py", 3, "one more")
    assert _held(tmp_path, "2:a.py") == [held[1], added.commentId]


@pytest.mark.parametrize("link", ["gitdir", "commondir"])
def test_nothing_is_taken_along_from_a_repository_outside(tmp_path: Path, link: str) -> None:
    """An archive may hold a `.git` that leads to whatever its maker knows of."""
    _begin(tmp_path / "private")
    comments = workspace(tmp_path / "work", **{"sub/a.py": CODE})
    there, sub = tmp_path / "private/.git", tmp_path / "work/sub"
    if link == "gitdir":
        (sub / ".git").write_text(f"gitdir: {there}\n")
    else:
        (sub / ".git").mkdir()
        for name in ("HEAD", "index"):
            (sub / ".git" / name).write_bytes((there / name).read_bytes())
        (sub / ".git/commondir").write_text(f"{there}\n")
    added = comments.contract.add("sub/a.py", 3, "one more")
    assert (_held(tmp_path / "work", "sub/a.py"), added.warning) == ([added.commentId], "")


def test_no_git_is_asked_where_the_index_surely_has_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An import into thousands of files would start one for each."""
    comments, _ = _begin(tmp_path)
    write(tmp_path, "new.py", "one = 1\n")
    monkeypatch.setattr(taken_out, "try_git", None)
    assert comments.contract.add("new.py", 1, "the first").warning == ""


def test_what_git_was_told_to_remove_stays_out(tmp_path: Path) -> None:
    comments, _ = _begin(tmp_path)
    git(tmp_path, "rm", "-q", "a.py.comments")
    added = comments.contract.add("a.py", 3, "begun anew")
    assert (_held(tmp_path), added.warning) == ([added.commentId], "")


def test_a_damaged_one_hinders_no_comment(tmp_path: Path) -> None:
    comments, _ = _begin(tmp_path)
    write(tmp_path, "a.py.comments", b"{not json")
    commit(tmp_path, "damaged")
    (tmp_path / "a.py.comments").unlink()
    added = comments.contract.add("a.py", 3, "begun anew")
    assert _held(tmp_path) == [added.commentId]


def test_one_of_a_version_that_is_not_known_is_not_begun_anew(tmp_path: Path) -> None:
    comments, _ = _begin(tmp_path)
    write(tmp_path, "a.py.comments", json.dumps({**json.loads(sidecar(tmp_path, "a.py")), "version": "9.0"}).encode())
    commit(tmp_path, "from the future")
    (tmp_path / "a.py.comments").unlink()
    with pytest.raises(SidecarDamaged):
        comments.contract.add("a.py", 3, "begun anew")
    assert not (tmp_path / "a.py.comments").exists()


def hang(root: str, *arguments: str) -> bytes:
    """A git that did not end in its time: a real one is sometimes quicker than any that it is given."""
    raise GitTimedOut(arguments[0], 60.0)


def test_a_git_that_hangs_is_not_taken_for_one_that_knows_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    comments, names = _begin(tmp_path)
    (tmp_path / "a.py.comments").unlink()
    with monkeypatch.context() as slow:
        slow.setattr(taken_out, "run_git", hang)
        with pytest.raises(GitTimedOut) as caught:
            comments.contract.add("a.py", 3, "one more")
    assert "try again" in caught.value.advice
    assert not (tmp_path / "a.py.comments").exists()
    added = comments.contract.add("a.py", 3, "one more")
    assert _held(tmp_path) == [names[0], added.commentId, names[1]]


def test_a_git_whose_index_is_damaged_is_not_taken_for_one_that_knows_nothing(tmp_path: Path) -> None:
    comments, _ = _begin(tmp_path)
    (tmp_path / "a.py.comments").unlink()
    index = tmp_path / ".git/index"
    index.write_bytes(index.read_bytes().replace(b"DIRC", b"CRID", 1))
    with pytest.raises(GitFailed):
        comments.contract.add("a.py", 3, "one more")
    assert not (tmp_path / "a.py.comments").exists()


def test_one_whose_content_git_has_lost_is_not_begun_anew_until_it_is_given_up(tmp_path: Path) -> None:
    comments, _ = _begin(tmp_path)
    blob = git(tmp_path, "rev-parse", ":a.py.comments").strip()
    (tmp_path / "a.py.comments").unlink()
    (tmp_path / ".git/objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(FileAccessDenied) as caught:
        comments.contract.add("a.py", 3, "one more")
    assert "`git rm --cached -- a.py.comments`" in caught.value.advice
    git(tmp_path, "rm", "-q", "--cached", "--", "a.py.comments")
    assert comments.contract.add("a.py", 3, "one more").commentId in _held(tmp_path)


def test_a_sparse_checkout_of_which_git_says_nothing_is_not_taken_for_one_that_leaves_nothing_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    comments, _ = _begin(tmp_path)
    git(tmp_path, "sparse-checkout", "set", "--no-cone", "/*", "!a.py.comments")
    monkeypatch.setattr("postil.workspace.git.run_git", hang)
    with pytest.raises(GitTimedOut):
        comments.contract.add("a.py", 3, "one more")
    assert "is not known: git ls-files did not end" in comments.overview.outside()


def test_a_comment_that_is_written_is_not_told_as_failed_where_git_cannot_be_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever is told so writes it again."""
    comments, _ = _begin(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    added = comments.contract.add("b.py", 3, "one more")
    assert _held(tmp_path, "b.py") == [added.commentId]
    assert "Whether git leaves it out is not known: The git program was not found" in added.warning
    (tmp_path / "a.py.comments").unlink()
    with pytest.raises(GitMissing):
        comments.contract.add("a.py", 3, "one more")
    assert not (tmp_path / "a.py.comments").exists()
