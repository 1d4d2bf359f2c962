"""A sidecar that is brought back holds the newer of what was committed and what was written here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.comments.sidecars import EXTENSION, SOURCE
from tests.comments.workspaces import Comments, commit, sidecar, workspace, write
from tests.workspace.repositories import git

CODE = "".join(f"value_{number} = {number}\n" for number in range(9))
LATER = "2199-01-01T00:00:00.000Z"


def _begin(root: Path) -> tuple[Comments, str, str]:
    comments = workspace(root, **{"a.py": CODE, "b.py": CODE})
    first, second = (comments.add("a.py", line, f"number {line}", "NOTE").commentId for line in (2, 5))
    commit(root, "with two comments")
    return comments, first, second


def _held(root: Path) -> dict[str, dict[str, Any]]:
    return {each["id"]: each for each in json.loads(sidecar(root, "a.py"))["comments"]}


def _change_elsewhere(root: Path, comment: str, **values: object) -> None:
    """A colleague changes a comment, and it is pulled."""
    content = json.loads(sidecar(root, "a.py"))
    for each in content["comments"]:
        if each["id"] == comment:
            each.update(values)
    write(root, "a.py.comments", json.dumps(content, indent=2).encode())
    commit(root, "changed elsewhere")


def test_what_a_colleague_said_later_is_not_replaced_by_what_was_written_here_before(tmp_path: Path) -> None:
    comments, first, _ = _begin(tmp_path)
    _change_elsewhere(tmp_path, first, text="said by a colleague", updated=LATER)
    (tmp_path / "a.py.comments").unlink()
    told = {each.id: each.text for each in comments.maintenance.restore(all=True).comments}
    assert told[first] == _held(tmp_path)[first]["text"] == "said by a colleague"
    assert git(tmp_path, "status", "--short") == "", "it is what was committed"


def test_replies_of_both_sides_come_back(tmp_path: Path) -> None:
    comments, first, second = _begin(tmp_path)
    theirs = {"id": "r_theirs", "author": "bob", "text": "theirs", "created": LATER}
    _change_elsewhere(tmp_path, first, replies=[theirs])
    mine = comments.reply(first, "mine").replyId
    comments.reply(second, "mine, too")
    _change_elsewhere(tmp_path, second, replies=[theirs], updated=LATER)
    (tmp_path / "a.py.comments").unlink()
    comments.maintenance.restore(all=True)
    held = _held(tmp_path)
    assert [each["id"] for each in held[first]["replies"]] == [mine, "r_theirs"]
    assert [each["text"] for each in held[second]["replies"]] == ["mine, too", "theirs"]


def test_a_comment_that_was_committed_after_it_was_deleted_here_comes_back(tmp_path: Path) -> None:
    comments, first, second = _begin(tmp_path)
    whole = sidecar(tmp_path, "a.py")
    comments.delete("a.py", first)
    commit(tmp_path, "deleted")
    write(tmp_path, "a.py.comments", whole)
    _change_elsewhere(tmp_path, first, text="wanted after all", updated=LATER)
    (tmp_path / "a.py.comments").unlink()
    comments.maintenance.restore(second)
    assert _held(tmp_path)[first]["text"] == "wanted after all"


def test_a_moved_comment_is_not_brought_back_to_where_it_was(tmp_path: Path) -> None:
    comments, first, second = _begin(tmp_path)
    comments.move("a.py", "b.py", first, 3)
    git(tmp_path, "checkout", "-q", "a.py.comments")
    _change_elsewhere(tmp_path, second, text="new words", updated=LATER)
    (tmp_path / "a.py.comments").unlink()
    comments.maintenance.restore(second)
    assert list(_held(tmp_path)) == [second]
    assert comments.listed().total == 2


def test_a_deleted_comment_of_a_file_that_is_gone_comes_back_with_the_others_as_they_were(tmp_path: Path) -> None:
    """The others came back as they were committed, and what was said since was forgotten."""
    comments, first, second = _begin(tmp_path)
    comments.edit("a.py", second, "edited since")
    comments.delete("a.py", first)
    (tmp_path / "a.py.comments").unlink()
    comments.maintenance.restore(first)
    assert {name: each["text"] for name, each in _held(tmp_path).items()} == {
        first: "number 2",
        second: "edited since",
    }


def test_a_file_that_cannot_be_written_keeps_no_other_from_coming_back(tmp_path: Path) -> None:
    comments, first, _ = _begin(tmp_path)
    other = comments.add("b.py", 2, "in the other file", "NOTE").commentId
    version = sidecar(tmp_path, "a.py").replace(b'"version": "', b'"version": "9')
    write(tmp_path, "a.py.comments", version)
    commit(tmp_path, "a version of tomorrow")
    (tmp_path / "a.py.comments").unlink()
    (tmp_path / "b.py.comments").unlink()
    restored = comments.maintenance.restore(all=True)
    assert [each.id for each in restored.comments] == [other]
    assert "a.py" in restored.for_model()
    assert restored.exit_status == 7
    assert (tmp_path / "b.py.comments").exists()
    assert first not in restored.for_model()


def test_a_deleted_comment_comes_back_as_it_was_to_the_byte(tmp_path: Path) -> None:
    comments, *names = _begin(tmp_path)
    names += [comments.add("a.py", 2, f"more {number}", "NOTE").commentId for number in range(2)]
    comments.reply(names[0], "an answer")
    commit(tmp_path, "four comments, three on one line")
    before = sidecar(tmp_path, "a.py")
    for each in names:
        comments.delete("a.py", each)
        assert sidecar(tmp_path, "a.py") != before
        comments.relocating.undo(each)
        assert sidecar(tmp_path, "a.py") == before
    comments.delete("a.py", names[0])
    comments.delete("a.py", names[2])
    comments.relocating.undo(names[0])
    comments.relocating.undo(names[2])
    assert git(tmp_path, "status", "--short") == ""


def test_a_deleted_comment_of_the_extension_comes_back_as_it_was(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"simple.js": SOURCE})
    (raw,) = EXTENSION["comments"]
    keys = dict(sorted(raw.items(), key=lambda each: each[0] != "text"))
    before = json.dumps({**EXTENSION, "comments": [keys]}, indent=2, ensure_ascii=False).encode()
    write(tmp_path, "simple.js.comments", before)
    comments.delete("simple.js", raw["id"])
    comments.relocating.undo(raw["id"])
    assert sidecar(tmp_path, "simple.js") == before
