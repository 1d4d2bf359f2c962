"""A comment that was deleted comes back as it was, as long as the log knows it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from postil.comments.failures import CommentNotFound
from postil.comments.operations.restore import Restored
from postil.comments.storage import write_log
from postil.core.failure import InvalidArguments
from tests.comments.workspaces import commit, sidecar, tell_person, workspace, write

CODE = "".join(f"value_{number} = {number}\n" for number in range(9))


def test_a_deleted_comment_comes_back_with_its_thread_and_its_place(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"a.py": CODE})
    identity = comments.add("a.py", 5, "why five?", "QUESTION", endLine=6).commentId
    comments.add("a.py", 2, "stays", "NOTE")
    comments.reply(identity, "because", author="bob")
    comments.resolve(identity)
    whole = json.loads(sidecar(tmp_path, "a.py"))
    deleted = comments.delete("a.py", identity)
    assert deleted.undo == f"postil comments restore {identity}"
    assert deleted.undo in deleted.for_person()
    assert f"comments_undo {identity}" in deleted.for_model()
    back = comments.maintenance.restore(identity[-4:])
    assert back.comments[0].id == identity
    assert json.loads(sidecar(tmp_path, "a.py")) == whole
    assert back.for_model().endswith(f"To undo it: delete_comment with commentId {identity} and filePath a.py")
    assert tell_person(back).endswith(f"To undo it: `postil comments delete {identity}`")


def test_what_another_program_wrote_and_we_deleted_comes_back(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"a.py": CODE})
    identity = comments.add("a.py", 5, "mine", "NOTE").commentId
    theirs = sidecar(tmp_path, "a.py").replace(b"mine", b"edited elsewhere")
    write(tmp_path, "a.py.comments", theirs)
    for log in Path(comments.tree.folder).glob("comments-*.log*"):
        log.unlink()
    assert comments.delete("a.py", identity).undo
    assert not (tmp_path / "a.py.comments").exists()  # the last one takes its file along
    write(tmp_path, "a.py", "import os\n" + CODE)
    undone = comments.relocating.undo(identity)
    assert isinstance(undone, Restored)
    assert "edited elsewhere" in undone.for_model()
    (back,) = comments.listed().comments
    assert (back.text, back.line, back.state) == ("edited elsewhere", 6, "moved")


def test_a_deleted_comment_is_not_told_as_erased_and_all_leaves_it_gone(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"a.py": CODE})
    identity = comments.add("a.py", 5, "first", "NOTE").commentId
    comments.add("a.py", 6, "second", "NOTE")
    comments.delete("a.py", identity)
    assert comments.maintenance.check_files().erased == ()
    assert comments.maintenance.restore(all=True).comments == ()
    assert comments.listed().total == 1


def test_a_comment_that_was_moved_and_then_erased_is_not_taken_for_deleted(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"a.py": CODE, "b.py": CODE})
    identity = comments.add("a.py", 5, "moves", "NOTE").commentId
    comments.add("b.py", 2, "stays", "NOTE")
    in_memory = sidecar(tmp_path, "b.py")
    comments.move("a.py", "b.py", identity, 7)
    write(tmp_path, "b.py.comments", in_memory)
    assert comments.maintenance.restore(identity).comments[0].filePath == "b.py"


def test_what_git_brought_back_is_not_written_twice(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"a.py": CODE})
    identity = comments.add("a.py", 5, "committed", "NOTE").commentId
    commit(tmp_path, "with the comment")
    held = sidecar(tmp_path, "a.py")
    comments.delete("a.py", identity)
    write(tmp_path, "a.py.comments", held)  # as `git checkout` does
    with pytest.raises(InvalidArguments, match="is not gone"):
        comments.maintenance.restore(identity)
    assert comments.listed().total == 1


def test_a_comment_that_is_there_is_not_gone_by_its_short_name_either(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"a.py": CODE})
    identity = comments.add("a.py", 5, "here", "NOTE").commentId
    with pytest.raises(InvalidArguments, match=f"{identity} is not gone"):
        comments.maintenance.restore(identity[-6:])
    with pytest.raises(CommentNotFound):
        comments.maintenance.restore("c_1234567890123456789")


def test_an_undo_is_promised_only_where_the_log_knows_the_comment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    comments = workspace(tmp_path, **{"a.py": CODE})
    monkeypatch.setattr(write_log, "LONGEST", 1000)
    identity = comments.add("a.py", 5, "long " * 500, "NOTE").commentId
    deleted = comments.delete("a.py", identity)
    assert deleted.undo == ""
    assert "To undo it" not in deleted.for_model() + deleted.for_person()
    assert "This cannot be undone here" in deleted.for_model()
    with pytest.raises(CommentNotFound):
        comments.maintenance.restore(identity)
    with pytest.raises(CommentNotFound):
        comments.relocating.undo(identity)


def test_without_a_name_it_says_what_was_deleted_last(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"a.py": CODE})
    names = [comments.add("a.py", line, f"number {line}", "NOTE", author="ann").commentId for line in range(1, 6)]
    for each in names:
        comments.delete("a.py", each)
    with pytest.raises(InvalidArguments) as caught:
        comments.maintenance.restore()
    told = str(caught.value.details()["suggestion"])
    assert f"{names[4]} (ann: number 5)" in told
    assert names[1] not in told


def test_two_that_a_short_name_fits_are_told(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"a.py": CODE})
    for line in range(1, 9):
        identity = comments.add("a.py", line, f"number {line}", "NOTE").commentId
        write(tmp_path, "a.py.comments", sidecar(tmp_path, "a.py").replace(identity.encode(), b"c_%d777777" % line))
        comments.delete("a.py", f"c_{line}777777")
    with pytest.raises(InvalidArguments, match="8 comments that are gone"):
        comments.maintenance.restore("777777")
    assert comments.listed().total == 0


def test_what_check_tells_an_assistant_to_call_brings_comments_and_replies_back(tmp_path: Path) -> None:
    """It named a tool that assistants have only where the settings say so."""
    comments = workspace(tmp_path, **{"a.py": CODE})
    first = comments.add("a.py", 5, "first", "NOTE").commentId
    in_memory = sidecar(tmp_path, "a.py")
    second = comments.add("a.py", 6, "second", "NOTE").commentId
    reply = comments.reply(first, "an answer").replyId
    write(tmp_path, "a.py.comments", in_memory)
    told = comments.maintenance.check_files().for_model()
    assert "comments_restore" not in told
    for name in (second, reply):
        assert f"comments_undo with commentId {name} brings it back" in told
        assert isinstance(comments.relocating.undo(name), Restored)
    assert comments.maintenance.check_files().exit_status == 0
