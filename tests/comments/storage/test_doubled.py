"""Comments that were moved on one branch and changed on another: after the merge there is one of each."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from random import Random

import pytest

from postil.comments.failures import CommentNotFound, SeveralHold
from postil.comments.sidecar.merge import merge_sidecars
from postil.comments.storage.repair import find_faults
from postil.core.failure import Failure
from tests.comments.workspaces import Comments, commit, sidecar, workspace
from tests.workspace.repositories import git

NAMES = ("a.py", "b.py", "c.py")
CODE = "".join(f"value_{number} = {number}\n" for number in range(30))
Files = dict[str, bytes]


def read_all(root: Path) -> Files:
    return {path.name: path.read_bytes() for path in root.glob("*.comments")}


def put_all(root: Path, files: Files) -> None:
    for path in root.glob("*.comments"):
        if path.name not in files:
            path.unlink()
    for name, data in files.items():
        (root / name).write_bytes(data)


def merge_as_git(base: Files, ours: Files, theirs: Files) -> Files:
    """File by file; of one that a side deleted and the other changed, git leaves what was changed."""
    merged: Files = {}
    for name in base.keys() | ours.keys() | theirs.keys():
        was, here, there = base.get(name), ours.get(name), theirs.get(name)
        if here == there or there == was:
            data = here
        elif here == was:
            data = there
        else:
            data = here or there if here is None or there is None else merge_sidecars(name[:-9], was, here, there)
        if data is not None:
            merged[name] = data
    return merged


def change_at_random(comments: Comments, random: Random, ids: list[str], done: set[str]) -> None:
    """Do a few things as a person would on a branch; what was written is kept in `done`."""
    for number in range(4):
        comment = random.choice(ids)
        word = f"said {random.random()} {number}"
        try:
            match random.randrange(5):
                case 0 | 1:
                    place = comments.context.find(comment)
                    target = random.choice([name for name in NAMES if name != place.filePath])
                    comments.move(place.filePath, target, comment, random.randrange(1, 30))
                case 2:
                    comments.edit_by_id(comment, word)
                case 3:
                    comments.reply(comment, word)
                    done.add(word)
                case _:
                    comments.resolve(comment)
        except Failure:
            continue


def test_what_one_branch_moved_and_another_changed_is_there_once(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **dict.fromkeys(NAMES, CODE))
    random = Random(19)
    for _ in range(25):
        put_all(tmp_path, {})
        ids = [
            comments.add(random.choice(NAMES), random.randrange(1, 30), f"first {number}", "NOTE").commentId
            for number in range(4)
        ]
        base, replies = read_all(tmp_path), set[str]()
        change_at_random(comments, random, ids, replies)
        ours = read_all(tmp_path)
        put_all(tmp_path, base)
        change_at_random(comments, random, ids, replies)
        put_all(tmp_path, merge_as_git(base, ours, read_all(tmp_path)))
        shown = comments.listed(limit=100).comments
        assert sorted(each.id for each in shown) == sorted(ids)
        assert {reply.text for each in shown for reply in each.replies} == replies
        comments.reply(ids[0], "after the merge")
        assert len([data for data in read_all(tmp_path).values() if ids[0].encode() in data]) == 1
        (again,) = [each for each in comments.listed(limit=100).comments if each.id == ids[0]]
        assert "after the merge" in [reply.text for reply in again.replies]
        change_at_random(comments, random, ids, replies)
        assert sorted(each.id for each in comments.listed(limit=100).comments) == sorted(ids)


@pytest.fixture
def merged(tmp_path: Path) -> tuple[Comments, str]:
    """A comment of two files, as after a merge, and one more in each; all were listed."""
    comments = workspace(tmp_path, **dict.fromkeys(NAMES, CODE))
    moved, _, _ = (comments.add(name, 3, f"of {name}", "NOTE").commentId for name in ("a.py", "a.py", "b.py"))
    before = sidecar(tmp_path, "a.py")
    comments.move("a.py", "b.py", moved, 5)
    (tmp_path / "a.py.comments").write_bytes(before)
    assert [each.filePath for each in comments.listed().comments] == ["a.py", "b.py", "b.py"]
    return comments, moved


def test_a_comment_of_two_files_that_is_moved_back_is_listed_there(merged: tuple[Comments, str]) -> None:
    comments, moved = merged
    comments.move("b.py", "a.py", moved, 9)
    assert [each.filePath for each in comments.listed().comments if each.id == moved] == ["a.py"]
    assert comments.maintenance.check_files().faults == ()


def test_a_comment_of_two_files_is_one_however_its_file_is_named(merged: tuple[Comments, str], tmp_path: Path) -> None:
    comments, moved = merged
    comments.edit("a.py", moved, "said of the file that it left")
    (found,) = [each for each in comments.listed().comments if each.id == moved]
    assert (found.filePath, found.text) == ("b.py", "said of the file that it left")
    assert moved.encode() not in sidecar(tmp_path, "a.py")


def test_a_comment_of_two_files_that_is_deleted_does_not_come_back(merged: tuple[Comments, str]) -> None:
    comments, moved = merged
    comments.delete("b.py", moved)
    assert moved not in [each.id for each in comments.listed().comments]


def test_a_comment_of_two_files_that_nobody_listed_moves_to_the_other_as_one(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **dict.fromkeys(NAMES, CODE))
    moved = comments.add("a.py", 3, "said", "NOTE").commentId
    before = sidecar(tmp_path, "a.py")
    comments.move("a.py", "b.py", moved, 5)
    comments.reply(moved, "answered there")
    (tmp_path / "a.py.comments").write_bytes(before)
    Comments(str(tmp_path)).move("b.py", "a.py", moved, 9)
    (found,) = comments.listed().comments
    assert (found.filePath, found.line, [each.text for each in found.replies]) == ("a.py", 9, ["answered there"])


def test_a_comment_of_two_files_that_another_program_takes_out_of_one_is_listed_in_the_other(
    merged: tuple[Comments, str], tmp_path: Path
) -> None:
    comments, moved = merged
    (tmp_path / "b.py.comments").unlink()
    assert [each.filePath for each in comments.listed().comments if each.id == moved] == ["a.py"]


def test_a_file_copied_with_its_comments_shows_both(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **dict.fromkeys(NAMES, CODE))
    comments.add("a.py", 3, "said", "NOTE")
    (tmp_path / "b.py.comments").write_bytes((tmp_path / "a.py.comments").read_bytes().replace(b"a.py", b"b.py"))
    assert [each.filePath for each in comments.listed().comments] == ["a.py", "b.py"]


def copy_file(comments: Comments, root: Path) -> str:
    """A source copied with its comments, as a person does it. Returns the id that both have."""
    identity = comments.add("a.py", 3, "said", "NOTE").commentId
    (root / "b.py.comments").write_bytes((root / "a.py.comments").read_bytes())
    return identity


def test_an_id_that_two_files_have_is_refused_with_what_to_give_instead(tmp_path: Path) -> None:
    """The first file was taken, in silence."""
    comments = workspace(tmp_path, **dict.fromkeys(NAMES, CODE))
    identity = copy_file(comments, tmp_path)
    before = read_all(tmp_path)
    for act in (
        partial(comments.show, identity),
        partial(comments.resolve, identity),
        partial(comments.reply, identity, "answer"),
        partial(comments.edit_by_id, identity, "other words"),
    ):
        with pytest.raises(SeveralHold) as refused:
            act()
        assert "a.py, b.py" in refused.value.message
        assert f"`b.py:{identity}`" in refused.value.advice
    assert read_all(tmp_path) == before


def test_a_comment_is_named_with_its_file(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **dict.fromkeys(NAMES, CODE))
    identity = copy_file(comments, tmp_path)
    original = (tmp_path / "a.py.comments").read_bytes()
    named = f"b.py:{identity}"
    assert comments.show(named).comment.filePath == "b.py"
    assert comments.reply(named, "only here").filePath == "b.py"
    assert comments.resolve(f"b.py:{identity[-6:]}").filePath == "b.py"
    assert (tmp_path / "a.py.comments").read_bytes() == original
    assert [reply.text for reply in comments.show(named).comment.replies] == ["only here"]
    with pytest.raises(CommentNotFound):
        comments.show(f"c.py:{identity}")


@pytest.mark.parametrize(("first", "copy"), [("a.py", "b.py"), ("b.py", "a.py")])
def test_the_comments_of_a_copied_file_get_ids_of_their_own_and_nothing_is_lost(
    tmp_path: Path, first: str, copy: str
) -> None:
    """They were made one, and the copy had none any more."""
    comments = workspace(tmp_path, **dict.fromkeys(NAMES, CODE))
    identities = [comments.add(first, line, f"said {line}", "NOTE").commentId for line in (3, 3, 5)]
    comments.reply(identities[0], "and answered")
    (tmp_path / f"{copy}.comments").write_bytes((tmp_path / f"{first}.comments").read_bytes())
    original = (tmp_path / f"{first}.comments").read_bytes()
    faults = [*find_faults(comments.store, fix=False)]
    assert len(faults) == 3
    assert all("is also in a.py" in fault.problem for fault in faults)
    fixed = [fault.fixed for fault in find_faults(comments.store, fix=True)]
    assert all(said.startswith(f"the one in {copy} is c_") for said in fixed)
    assert (tmp_path / f"{first}.comments").read_bytes() == original
    assert [*find_faults(comments.store, fix=False)] == []
    held = comments.file_comments(copy).comments
    assert [(each.line, each.text) for each in held] == [(3, "said 3"), (3, "said 3"), (5, "said 5")]
    assert [reply.text for each in held for reply in each.replies] == ["and answered"]
    assert len({each.id for each in comments.listed(limit=100).comments}) == 6
    comments.resolve(held[0].id)


def test_gits_own_merge_of_moved_and_edited_shows_one_and_the_next_change_writes_one(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **dict.fromkeys(NAMES, CODE))
    moved = comments.add("a.py", 3, "moves", "NOTE").commentId
    comments.add("a.py", 9, "stays", "NOTE")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "commented")
    git(tmp_path, "checkout", "-qb", "side")
    comments.move("a.py", "b.py", moved, 5)
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "moved")
    git(tmp_path, "checkout", "-q", "-")
    comments.edit_by_id(moved, "edited meanwhile")
    base, theirs = (git(tmp_path, "show", f"side{back}:a.py.comments").encode() for back in ("~1", ""))
    merged = merge_sidecars("a.py", base, (tmp_path / "a.py.comments").read_bytes(), theirs)
    git(tmp_path, "checkout", "-q", "side", "--", "b.py.comments")
    (tmp_path / "a.py.comments").write_bytes(merged)
    (found,) = [each for each in comments.listed().comments if each.id == moved]
    assert (found.filePath, found.text) == ("b.py", "edited meanwhile")
    assert comments.listed().total == 2
    assert comments.search("edited meanwhile").totalResults == 1
    comments.resolve(moved)
    assert moved.encode() not in (tmp_path / "a.py.comments").read_bytes()
    (found,) = [each for each in comments.listed().comments if each.id == moved]
    assert (found.filePath, found.text, found.status) == ("b.py", "edited meanwhile", "resolved")
    assert comments.maintenance.check_files().faults == ()


def test_a_comment_that_is_moved_to_a_copy_of_its_file_takes_nothing_from_the_one_there(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"a.py": CODE})
    name = comments.add("a.py", 3, "one", "NOTE").commentId
    for end in ("", ".comments"):
        (tmp_path / f"b.py{end}").write_bytes((tmp_path / f"a.py{end}").read_bytes())
    comments.edit("b.py", name, "another by now")
    comments.move("a.py", "b.py", name, 9)
    there = {each.text: each for each in comments.listed("b.py").comments}
    assert {text: each.line for text, each in there.items()} == {"another by now": 3, "one": 9}
    assert there["one"].id == name != there["another by now"].id
    comments.relocating.undo(name)
    assert [(each.id, each.line) for each in comments.listed("a.py").comments] == [(name, 3)]
    assert [each.text for each in comments.listed("b.py").comments] == ["another by now"]
    assert comments.maintenance.check_files().exit_status == 0


@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize("concluded", [True, False])
def test_words_that_one_branch_changed_and_the_other_only_moved_are_no_second_wording(
    tmp_path: Path, *, alone: bool, concluded: bool
) -> None:
    """It was marked `[2 wordings]`, and the words of before were told as a merge's."""
    comments = workspace(tmp_path, **dict.fromkeys(NAMES, CODE))
    moved = comments.add("a.py", 3, "L base", "NOTE").commentId
    comments.edit_by_id(moved, "L words")
    if not alone:
        comments.add("a.py", 20, "stays", "NOTE")
    commit(tmp_path, "commented")
    git(tmp_path, "checkout", "-qb", "left")
    comments.move("a.py", "b.py", moved, 5)
    comments.resolve(moved)
    commit(tmp_path, "moved")
    git(tmp_path, "checkout", "-q", "-")
    git(tmp_path, "checkout", "-qb", "right")
    comments.edit_by_id(moved, "reworded")
    commit(tmp_path, "reworded")
    right = sidecar(tmp_path, "a.py")
    git(tmp_path, "checkout", "-q", "left")
    git(tmp_path, "merge", "-q", "-s", "ours", "--no-commit", "right")
    (tmp_path / "a.py.comments").write_bytes(right)  # as git leaves it: deleted here and modified there
    if concluded:
        commit(tmp_path, "merged")
        commit_empty(tmp_path)
    (found,) = [each for each in comments.listed().comments if each.id == moved]
    assert (found.filePath, found.text, found.status, found.revisions) == ("b.py", "reworded", "resolved", ())
    comments.maintenance.check_files(fix=True)
    assert comments.maintenance.check_files().reworded == ()
    assert moved.encode() not in read_all(tmp_path).get("a.py.comments", b"")
    (found,) = [each for each in Comments(str(tmp_path)).listed().comments if each.id == moved]
    assert (found.filePath, found.text, found.revisions) == ("b.py", "reworded", ())


def commit_empty(root: Path) -> None:
    git(root, "commit", "-q", "--allow-empty", "-m", "after it")
