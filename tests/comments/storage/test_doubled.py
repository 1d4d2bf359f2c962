"""Comments that were moved on one branch and changed on another: after the merge there is one of each."""

from __future__ import annotations

from pathlib import Path
from random import Random

from postil.comments.sidecar.merge import merge_sidecars
from postil.core.failure import Failure
from tests.comments.workspaces import Comments, workspace
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


def test_a_file_copied_with_its_comments_shows_both(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **dict.fromkeys(NAMES, CODE))
    comments.add("a.py", 3, "said", "NOTE")
    (tmp_path / "b.py.comments").write_bytes((tmp_path / "a.py.comments").read_bytes().replace(b"a.py", b"b.py"))
    assert [each.filePath for each in comments.listed().comments] == ["a.py", "b.py"]


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
