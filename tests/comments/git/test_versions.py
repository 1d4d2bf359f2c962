"""Versions of a file on several branches: who did what is told by the branch that it was done on."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from postil.comments.git.versions import Version, list_later, read_history
from tests.comments.workspaces import FUNCTIONS, Comments, commit, root_of, workspace, write
from tests.workspace.repositories import git


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    comments = workspace(tmp_path, **{"a.py": FUNCTIONS})
    git(tmp_path, "config", "user.name", "Rita")
    git(tmp_path, "config", "user.email", "rita@example.org")
    return comments


def list_versions(comments: Comments, path: str) -> list[Version]:
    return read_history(comments.context.tree, path, 0.0).versions


def join(comments: Comments, id_: str, *, renames: bool = False) -> dict[str, str]:
    """Bob edits code and comment on a branch, Rita both elsewhere on hers, then they are merged."""
    root = root_of(comments)
    base = git(root, "symbolic-ref", "--short", "HEAD").strip()
    done = {"made": commit(root, "commented")}
    git(root, "checkout", "-q", "-b", "bob")
    name = "b.py" if renames else "a.py"
    if renames:
        git(root, "mv", "a.py", name)
        git(root, "mv", "a.py.comments", "b.py.comments")
        done["renamed"] = commit(root, "bob renames")
    write(root, name, FUNCTIONS.replace("return value + 6", "return value + 60"))
    comments.edit(name, id_, "why sixty?")
    comments.reply(id_, "because", author="bob")
    done["bob"] = commit(root, "bob edits the seventh")
    git(root, "checkout", "-q", base)
    write(root, "a.py", "import sys\n\n\n" + FUNCTIONS)
    comments.resolve(id_, author="rita")
    done["rita"] = commit(root, "rita adds a head")
    git(root, "merge", "-q", "-X", "theirs", "-m", "merged", "bob")
    done["merge"] = git(root, "rev-parse", "HEAD").strip()
    return done


def test_a_merge_has_a_version_for_each_that_it_joined(comments: Comments) -> None:
    root = root_of(comments)
    done = join(comments, comments.add("a.py", 26, "why six?", "NOTE", "ann").commentId)
    found = list_versions(comments, "a.py")
    assert [(each.commit.id, each.merged) for each in found][:2] == [(done["merge"], True)] * 2
    assert {each.old_blob for each in found[:2]} == {
        git(root, "rev-parse", f"{done[who]}:a.py").strip() for who in ("bob", "rita")
    }
    oldest = git(root, "rev-parse", f"{done['made']}:a.py").strip()
    way = list_later(found, oldest)
    assert way[0].old_blob == oldest
    assert way[-1].blob == found[0].blob
    assert all(one.blob == other.old_blob for one, other in pairwise(way))
    assert list_later(found, "0" * 40) == []


def test_a_merge_that_took_one_side_as_it_was_changed_nothing(comments: Comments) -> None:
    root = root_of(comments)
    git(root, "checkout", "-q", "-b", "side")
    write(root, "a.py", "# side\n" + FUNCTIONS)
    side = commit(root, "side")
    git(root, "checkout", "-q", "-")
    write(root, "other.py", "x = 1\n")
    commit(root, "other")
    git(root, "merge", "-q", "-m", "merged", "side")
    merge, made, *_ = list_versions(comments, "a.py")
    assert merge.blob == merge.old_blob == made.blob
    assert made.commit.id == side


@pytest.mark.parametrize("renames", [False, True])
def test_each_is_credited_with_what_it_did_and_a_merge_with_nothing(comments: Comments, renames: bool) -> None:
    root = root_of(comments)
    id_ = comments.add("a.py", 26, "why six?", "NOTE", "ann").commentId
    done = join(comments, id_, renames=renames)
    changes = comments.history.lifetime(id_).changes
    by = {each.did: each.commit.id for each in changes if each.commit}
    assert by["edited"] == done["bob"]
    assert by["replied"] == done["bob"]
    assert by["resolved"] == done["rita"]
    assert sorted(each.did for each in changes) == ["edited", "made", "replied", "resolved"], changes
    touches = [(each.did, each.commit.id) for each in comments.blame(id_).touches]
    named = next(each for each in git(root, "ls-files").split() if each.endswith(".py"))
    assert named == ("b.py" if renames else "a.py")
    assert ("changed", done["bob"]) in touches
    assert done["rita"] not in [commit for _, commit in touches]
    assert done["merge"] not in [commit for _, commit in touches]
    if renames:
        assert ("renamed", done["renamed"]) in touches


def test_what_a_branch_did_to_the_code_is_not_the_merge_s_doing(comments: Comments) -> None:
    id_ = comments.add("a.py", 26, "why six?", "NOTE", "ann").commentId
    done = join(comments, id_)
    shown = comments.show(id_)
    assert shown.comment.state == "modified"
    assert shown.commit is not None
    assert shown.commit.id == done["bob"]


def test_a_file_that_is_again_what_it_was_before_a_merge_is_explained(comments: Comments) -> None:
    root = root_of(comments)
    id_ = comments.add("a.py", 26, "why six?", "NOTE", "ann").commentId
    done = join(comments, id_)
    write(root, "a.py", (root / "a.py").read_text("utf-8").removeprefix("import sys\n\n\n"))
    commit(root, "rita takes the head out again")
    shown = comments.show(id_)
    assert shown.commit is not None
    assert shown.commit.id == done["bob"]


def test_no_name_or_subject_of_a_commit_is_taken_for_another_s(comments: Comments) -> None:
    root = root_of(comments)
    write(root, "a.py", "# edited\n" + FUNCTIONS)
    git(root, "config", "user.name", "Mallory\x02\x01Rita\x03")
    forged = f"x\x01{'a' * 40}\x02Rita\x022020-01-01T00:00:00Z\x02did this\x03"
    done = commit(root, forged)
    newest = list_versions(comments, "a.py")[0]
    assert (newest.commit.id, newest.commit.subject) == (done, forged)
    assert newest.commit.author.startswith("Mallory")


def test_a_name_with_odd_characters_has_its_versions(comments: Comments) -> None:
    root = root_of(comments)
    odd = "od\x01d\nname :100644.py"
    write(root, odd, "odd = 1\n")
    done = commit(root, "odd")
    (only,) = list_versions(comments, odd)
    assert (only.commit.id, only.path) == (done, odd)


def test_a_copy_is_followed_to_what_it_was_made_of_and_its_original_is_not_it(comments: Comments) -> None:
    root = root_of(comments)
    write(root, "copy.py", FUNCTIONS)
    copied = commit(root, "copied")
    write(root, "copy.py", "# a copy\n" + FUNCTIONS)
    edited = commit(root, "the copy is edited")
    write(root, "a.py", "# the original\n" + FUNCTIONS)
    commit(root, "the original is edited")
    found = list_versions(comments, "copy.py")
    assert [each.commit.id for each in found][:2] == [edited, copied]
    assert found[-1].path == "a.py"
    assert {each.blob for each in found} >= {git(root, "rev-parse", f"{edited}:copy.py").strip()}
    assert git(root, "rev-parse", "HEAD:a.py").strip() not in {each.blob for each in found}


def test_what_happened_first_is_told_first_whatever_the_zones(
    comments: Comments, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = root_of(comments)
    id_ = comments.add("a.py", 26, "first text", "NOTE", "kenji").commentId
    monkeypatch.setenv("GIT_AUTHOR_DATE", "2026-01-01T18:00:00+09:00")
    made = commit(root, "kenji")
    comments.edit("a.py", id_, "second text")
    monkeypatch.setenv("GIT_AUTHOR_DATE", "2026-01-01T11:00:00+01:00")
    edited = commit(root, "bert, an hour later")
    changes = comments.history.lifetime(id_).changes
    assert [(each.did, each.commit.id if each.commit else "") for each in changes] == [
        ("made", made),
        ("edited", edited),
    ]


def test_a_file_that_was_renamed_very_often_is_followed_to_its_first_commit(comments: Comments) -> None:
    root, old = root_of(comments), "a.py"
    first = git(root, "rev-parse", "HEAD")
    for number in range(25):
        new = f"name_{number}.py"
        git(root, "mv", old, new)
        git(root, "commit", "-q", "-m", f"to {new}")
        old = new
    id_ = comments.add(old, 2, "from the beginning", "NOTE").commentId
    assert comments.blame(id_).touches[-1].commit.id == first
