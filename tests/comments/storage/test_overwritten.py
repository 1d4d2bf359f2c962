"""Words and decisions that an editor's old copy overwrote are told and come back; what git put back is not told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from postil.comments.operations.restore import Restored
from postil.comments.storage.erased import Overwritten
from postil.core.failure import InvalidArguments
from tests.comments.storage.test_erased import plant
from tests.comments.workspaces import Comments, commit, sidecar, tell_person, workspace, write
from tests.workspace.repositories import git

CODE = "".join(f"value_{number} = {number}\n" for number in range(9))


def _begin(root: Path) -> tuple[Comments, str]:
    comments = workspace(root, **{"a.py": CODE})
    return comments, comments.add("a.py", 5, "first words", "NOTE", author="ann").commentId


def _overwritten(comments: Comments) -> tuple[Overwritten, ...]:
    return comments.maintenance.check_files().overwritten


def _say(comments: Comments, identity: str) -> tuple[str, str]:
    found = comments.show(identity).comment
    return found.text, found.status


def test_words_and_a_decision_that_a_stale_editor_overwrote_are_told_and_come_back(tmp_path: Path) -> None:
    comments, identity = _begin(tmp_path)
    in_memory = sidecar(tmp_path, "a.py")
    comments.edit("a.py", identity, "TODO: new words")
    comments.resolve(identity, author="bob")
    assert comments.maintenance.check_files().exit_status == 0
    whole = json.loads(sidecar(tmp_path, "a.py"))
    write(tmp_path, "a.py.comments", in_memory)
    checked = comments.maintenance.check_files()
    told = Overwritten(identity, "a.py", "ann", "TODO: new words", "first words", "resolved", "open")
    assert checked.overwritten == (told,)
    assert checked.exit_status == 7
    said = "(“first words”, not “TODO: new words”, open, not resolved)"
    assert f"a.py.comments: another program made {identity} again what it was {said}" in checked.for_model()
    assert f"comments_undo with commentId {identity}" in checked.for_model()
    assert f"`postil comments restore {identity}`" in tell_person(checked)
    assert comments.maintenance.doctor_erased().status == "warning"
    back = comments.maintenance.restore(identity[-6:])
    assert f"{identity} in a.py.comments says again “TODO: new words” and is resolved again" in back.for_model()
    assert tell_person(back).endswith(f"To undo it: `postil comments undo {identity}`")
    now = json.loads(sidecar(tmp_path, "a.py"))
    for each in (*whole["comments"], *now["comments"]):
        del each["updated"]
    assert now["comments"] == whole["comments"]
    assert _overwritten(comments) == ()
    assert comments.maintenance.doctor_erased().status == "ok"
    with pytest.raises(InvalidArguments, match="is not gone"):
        comments.maintenance.restore(identity)


def test_all_come_back_and_are_taken_back_again(tmp_path: Path) -> None:
    comments, first = _begin(tmp_path)
    second = comments.add("a.py", 7, "second", "NOTE").commentId
    in_memory = sidecar(tmp_path, "a.py")
    comments.resolve(first, "wontfix")
    comments.edit("a.py", second, "edited once")
    comments.edit("a.py", second, "edited twice")
    write(tmp_path, "a.py.comments", in_memory)
    back = comments.maintenance.restore(all=True)
    assert {each.id for each in back.overwritten} == {first, second}
    assert back.for_model().endswith("To undo it, for each of them: comments_undo")
    assert tell_person(back).endswith("To undo it, for each of them: `postil comments undo ID`")
    assert (_say(comments, first), _say(comments, second)) == (("first words", "wontfix"), ("edited twice", "open"))
    comments.relocating.undo(second)
    assert _say(comments, second) == ("second", "open")
    assert _overwritten(comments) == ()
    assert comments.maintenance.restore(all=True).for_model() == "Nothing was taken out by another program."


def test_an_undo_of_what_an_editor_took_back_writes_it_again(tmp_path: Path) -> None:
    comments, identity = _begin(tmp_path)
    in_memory = sidecar(tmp_path, "a.py")
    comments.edit("a.py", identity, "new words")
    write(tmp_path, "a.py.comments", in_memory)
    assert isinstance(comments.relocating.undo(identity), Restored)
    assert _say(comments, identity) == ("new words", "open")


def test_only_what_was_put_back_is_told_of_several_changes(tmp_path: Path) -> None:
    comments, identity = _begin(tmp_path)
    comments.edit("a.py", identity, "new words")
    in_memory = sidecar(tmp_path, "a.py")
    comments.resolve(identity)
    write(tmp_path, "a.py.comments", in_memory)
    assert _overwritten(comments) == (Overwritten(identity, "a.py", "ann", status="resolved", statusNow="open"),)


def test_what_somebody_else_really_changed_is_not_told(tmp_path: Path) -> None:
    comments, identity = _begin(tmp_path)
    in_memory = sidecar(tmp_path, "a.py")
    comments.edit("a.py", identity, "new words")
    write(tmp_path, "a.py.comments", in_memory.replace(b"first words", b"words of an editor"))
    assert _overwritten(comments) == ()
    later = json.loads(in_memory)
    later["comments"][0]["updated"] = "2999-01-01T00:00:00.000Z"
    write(tmp_path, "a.py.comments", json.dumps(later))  # the old words, said anew
    assert _overwritten(comments) == ()


def test_what_we_took_back_or_said_again_is_not_told(tmp_path: Path) -> None:
    comments, identity = _begin(tmp_path)
    comments.edit("a.py", identity, "new words")
    comments.relocating.undo(identity)
    assert _overwritten(comments) == ()
    in_memory = sidecar(tmp_path, "a.py")
    comments.edit("a.py", identity, "other words")
    comments.edit("a.py", identity, "first words")
    assert _overwritten(comments) == ()
    write(tmp_path, "a.py.comments", in_memory)
    assert _overwritten(comments) == ()
    comments.delete("a.py", identity)
    comments.maintenance.restore(identity)
    assert _overwritten(comments) == ()


def test_what_git_put_back_is_not_told(tmp_path: Path) -> None:
    comments, identity = _begin(tmp_path)
    commit(tmp_path, "on the first branch")
    git(tmp_path, "checkout", "-q", "-b", "side")
    comments.edit("a.py", identity, "words of the branch")
    commit(tmp_path, "on the second")
    git(tmp_path, "checkout", "-q", "-")
    comments.add("a.py", 7, "so that the file is not the committed one", "NOTE")
    assert _overwritten(comments) == ()
    comments.edit("a.py", identity, "discarded")
    git(tmp_path, "checkout", "--", "a.py.comments")
    comments.add("a.py", 7, "and again", "NOTE")
    assert _overwritten(comments) == ()
    comments.edit("a.py", identity, "stashed")
    git(tmp_path, "stash", "-q")
    comments.add("a.py", 8, "once more", "NOTE")
    assert _overwritten(comments) == ()


def test_a_version_that_git_has_staged_is_not_told(tmp_path: Path) -> None:
    comments, identity = _begin(tmp_path)
    commit(tmp_path, "before")
    comments.edit("a.py", identity, "committed words")
    commit(tmp_path, "after")
    in_memory = sidecar(tmp_path, "a.py")
    git(tmp_path, "checkout", "HEAD~1", "--", "a.py.comments")
    assert _overwritten(comments) == ()
    git(tmp_path, "reset", "-q")
    assert [each.text for each in _overwritten(comments)] == ["committed words"]
    write(tmp_path, "a.py.comments", in_memory)
    assert _overwritten(comments) == ()


def test_a_comment_that_was_moved_is_compared_where_it_is(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"a.py": CODE, "b.py": CODE})
    identity = comments.add("a.py", 5, "first words", "NOTE").commentId
    comments.edit("a.py", identity, "before the move")
    comments.move("a.py", "b.py", identity, 7)
    assert _overwritten(comments) == ()
    in_memory = sidecar(tmp_path, "b.py")
    comments.edit("b.py", identity, "after the move")
    write(tmp_path, "b.py.comments", in_memory)
    assert [(each.filePath, each.text) for each in _overwritten(comments)] == [("b.py", "after the move")]


@pytest.mark.parametrize("said", [{"text": 5}, {"tag": {}}, {"id": "another"}])
def test_a_planted_change_writes_nothing_that_could_not_be_read(tmp_path: Path, said: dict[str, object]) -> None:
    comments, identity = _begin(tmp_path)
    made = {"id": identity, "text": "planted", "updated": "2998-01-01T00:00:00.000Z", **said}
    was = {"text": "first words", **{key: "NOTE" if key == "tag" else "first words" for key in said if key != "id"}}
    plant(tmp_path, {"at": "2998-01-01T00:00:00Z", "path": "a.py", "id": identity, "comment": made, "was": was})
    assert _overwritten(comments) == ()
    assert comments.maintenance.restore(all=True).overwritten == ()
    assert comments.listed().total == 1
