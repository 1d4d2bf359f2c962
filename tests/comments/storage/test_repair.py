"""Damaged sidecars are repaired on request, and no byte of them is lost."""

from __future__ import annotations

import os
from pathlib import Path
from subprocess import CalledProcessError

import pytest

from postil.comments.failures import CommentNotFound, SidecarDamaged
from postil.comments.storage import set_aside
from postil.comments.storage.repair import find_faults
from tests.comments.sidecars import DAMAGED_BY_REFERENCE, EXTENSION, REFERENCE, SOURCE, as_javascript
from tests.comments.workspaces import Comments, commit, plain_workspace, root_of, sidecar, workspace, write
from tests.workspace.repositories import git

CODE = "".join(f"value_{n} = {n}\n" for n in range(1, 31))


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    return workspace(tmp_path, **{"a.py": CODE, "lib/b.py": CODE, "lib/deep/c.ts": "const a = 1;\n" * 20})


@pytest.mark.parametrize("value", [REFERENCE, DAMAGED_BY_REFERENCE])
def test_files_of_the_reference_server_are_repaired_on_request(comments: Comments, value: object) -> None:
    write(root_of(comments), "simple.js", SOURCE)
    write(root_of(comments), "simple.js.comments", as_javascript(value))
    assert comments.maintenance.check_files().exit_status == 7
    assert comments.maintenance.check_files(fix=True).exit_status == 0
    assert comments.maintenance.check_files().faults == ()


def test_a_damaged_file_is_restored_from_the_newest_backup(comments: Comments) -> None:
    root = root_of(comments)
    write(root, "simple.js", SOURCE)
    write(root, "simple.js.comments", b"{")
    write(root, "simple.js.backup-2025-10-19T09-51-00-011Z.comments", b"{")
    write(root, "simple.js.backup-2025-10-18T09-51-00-011Z.comments", as_javascript(EXTENSION))
    (fault,) = comments.maintenance.check_files(fix=True).faults
    assert "2025-10-18" in fault.fixed
    assert len(comments.file_comments("simple.js").comments) == 1


def test_a_damaged_file_is_restored_from_the_last_commit_or_set_aside(comments: Comments) -> None:
    root = root_of(comments)
    comments.add("a.py", 1, "committed", "NOTE")
    commit(root, "commented")
    write(root, "a.py.comments", b"broken")
    write(root, "lib/b.py.comments", b"broken too")
    assert comments.maintenance.doctor_files().status == "error"
    first, second = comments.maintenance.check_files(fix=True).faults
    assert "last commit" in first.fixed
    assert "set aside" in second.fixed
    assert [each.text for each in comments.listed().comments] == ["committed"]
    assert comments.maintenance.doctor_files().status == "ok"
    checked = comments.maintenance.check_files()
    assert {(root / name).read_bytes() for name in checked.aside} == {b"broken", b"broken too"}
    assert all(name in checked.for_model() for name in checked.aside)


def test_who_repaired_a_file_is_not_told_to_undo_it(comments: Comments) -> None:
    comments.add("a.py", 1, "committed", "NOTE")
    commit(root_of(comments), "commented")
    write(root_of(comments), "a.py.comments", b"broken")
    repaired, checked = comments.maintenance.check_files(fix=True), comments.maintenance.check_files()
    for each in (repaired, checked):
        assert each.replaced == each.aside
        assert "delete the copy when you miss nothing" in each.for_model()
        assert "put it in the place" not in each.for_model()
    write(root_of(comments), "lib/b.py.comments", b"broken too")
    lost = comments.maintenance.check_files(fix=True)
    assert [name in lost.replaced for name in lost.aside] == [True, False]
    assert "put it in the place" in lost.for_model()


def test_what_was_written_since_the_last_commit_comes_back_with_it(comments: Comments) -> None:
    first = comments.add("a.py", 1, "committed", "NOTE").commentId
    dropped = comments.add("a.py", 3, "dropped", "NOTE").commentId
    commit(root_of(comments), "commented")
    comments.add("a.py", 2, "later", "NOTE")
    comments.reply(first, "and this")
    comments.delete("a.py", dropped)
    write(root_of(comments), "a.py.comments", sidecar(root_of(comments), "a.py")[:-40])
    (fault,) = comments.maintenance.check_files(fix=True).faults
    assert "what was written here since" in fault.fixed
    assert [each.text for each in comments.listed().comments] == ["committed", "later"]
    assert [each.text for each in comments.show(first).comment.replies] == ["and this"]
    assert comments.maintenance.check_files().exit_status == 0


def test_no_commit_takes_a_damaged_file_along(comments: Comments) -> None:
    root = root_of(comments)
    write(root, "lib/b.py.comments", b"broken")
    assert comments.maintenance.check_files(fix=True).to_commit == ()  # git never had it
    git(root, "add", "-A")
    assert git(root, "diff", "--cached", "--name-only") == ""


@pytest.mark.parametrize("above", [False, True])
def test_what_lies_behind_a_link_is_no_copy_of_a_damaged_file(comments: Comments, tmp_path: Path, above: bool) -> None:
    root = root_of(comments)
    inside = root / ".git" / "postil" / "damaged" / comments.tree.key
    write(tmp_path.parent, f"{tmp_path.name}-outside/{comments.tree.key}/secret.txt", b"x")
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    link, leads = (inside.parent, outside) if above else (inside, outside / comments.tree.key)
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(leads)
    assert comments.maintenance.check_files().aside == ()


def test_of_very_many_copies_not_all_are_held(comments: Comments, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(set_aside, "MOST_LISTED", 3)
    write(root_of(comments), f".git/postil/damaged/{comments.tree.key}/.postil-1-a.tmp", b"of a killed process")
    for number in range(5):
        write(root_of(comments), f".git/postil/damaged/{comments.tree.key}/{number}/a.py", b"x")
    assert [name.split("/")[-2] for name in comments.maintenance.check_files().aside] == ["0", "1", "2"]


def test_a_damaged_file_with_the_longest_name_is_set_aside(comments: Comments) -> None:
    name = "ä" * ((255 - len(".comments")) // 2)
    write(root_of(comments), f"{name}.comments", b"broken")
    (fault,) = comments.maintenance.check_files(fix=True).faults
    assert "set aside" in fault.fixed
    (aside,) = comments.maintenance.check_files().aside
    assert (root_of(comments) / aside).read_bytes() == b"broken"


def test_without_git_a_damaged_file_stays_beside_its_place(tmp_path: Path) -> None:
    comments = plain_workspace(tmp_path, **{"a.py": CODE})
    write(tmp_path, "a.py.comments", b"broken")
    (fault,) = comments.maintenance.check_files(fix=True).faults
    (aside,) = tmp_path.glob("a.py.comments.damaged-*")
    assert aside.name in fault.fixed
    assert aside.read_bytes() == b"broken"


def test_what_comes_back_of_a_conflict_is_joined_with_what_was_moved_at_once(comments: Comments) -> None:
    root = root_of(comments)
    write(root, "b.py", CODE)
    moved = comments.add("a.py", 1, "before", "NOTE").commentId
    comments.add("a.py", 2, "stays", "NOTE")
    commit(root, "said")
    git(root, "checkout", "-qb", "side")
    comments.move("a.py", "b.py", moved, 1)
    commit(root, "moved")
    git(root, "checkout", "-q", "-")
    comments.edit_by_id(moved, "edited there")
    commit(root, "edited")
    with pytest.raises(CalledProcessError):
        git(root, "merge", "side")
    comments.maintenance.check_files(fix=True)
    assert comments.maintenance.check_files().faults == ()
    assert [each.text for each in comments.listed(file="b.py").comments] == ["edited there"]


def test_a_comment_moved_here_and_edited_there_is_joined_on_request(comments: Comments) -> None:
    root = root_of(comments)
    identity = comments.add("a.py", 1, "before", "NOTE").commentId
    before = sidecar(root, "a.py")
    write(root, "moved.py", "import os\n" + CODE)
    comments.move("a.py", "moved.py", identity, 2)
    write(root, "a.py", "gone = True\n")
    edited = before.replace(b'"before"', b'"edited there"').replace(b'"updated": "2', b'"updated": "3')
    write(root, "a.py.comments", edited)  # as a merge of two branches leaves it
    assert "also in a.py" in comments.maintenance.check_files().faults[0].problem
    (fault,) = comments.maintenance.check_files(fix=True).faults
    assert fault.fixed == "joined in moved.py"
    assert comments.maintenance.check_files().faults == ()
    (found,) = comments.listed().comments
    assert (found.filePath, found.line, found.text) == ("moved.py", 2, "edited there")
    assert [each.text for each in found.revisions] == ["before"]


def test_a_name_that_is_not_text_hides_no_other(comments: Comments) -> None:
    comments.add("a.py", 3, "x", "NOTE")
    with open(os.fsencode(root_of(comments)) + b"/caf\xe9.py.comments", "wb") as file:
        file.write(b"{}")
    assert comments.listed().total == 1
    assert comments.maintenance.check_files().faults == ()


def test_joining_a_comment_that_is_in_two_files_never_undoes_a_move(tmp_path: Path) -> None:
    code = "".join(f"value_{number} = {number}\n" for number in range(9))
    comments = workspace(tmp_path, **{"a.py": code, "b.py": "# another head\n" + code})
    identity = comments.add("a.py", 3, "moves", "NOTE").commentId
    before = (tmp_path / "a.py.comments").read_bytes()
    comments.move("a.py", "b.py", identity, 4)
    (tmp_path / "a.py.comments").write_bytes(before)  # a merge brought it back: it was edited on the other branch
    (fault,) = find_faults(comments.store, fix=True)
    assert fault.fixed == "joined in b.py"
    assert [each.id for each in comments.file_comments("b.py").comments] == [identity]


def test_a_comment_that_is_in_three_files_is_joined_at_once(tmp_path: Path) -> None:
    code = "".join(f"value_{number} = {number}\n" for number in range(9))
    comments = workspace(tmp_path, **dict.fromkeys(("a.py", "b.py", "c.py"), code))
    identity = comments.add("a.py", 3, "moves", "NOTE").commentId
    before = (tmp_path / "a.py.comments").read_bytes()
    comments.move("a.py", "b.py", identity, 3)
    between = (tmp_path / "b.py.comments").read_bytes()
    comments.move("b.py", "c.py", identity, 3)
    (tmp_path / "a.py.comments").write_bytes(before)
    (tmp_path / "b.py.comments").write_bytes(between)
    assert [fault.fixed for fault in find_faults(comments.store, fix=True)] == ["joined in b.py", "joined in c.py"]
    assert [*find_faults(comments.store, fix=False)] == []
    assert [each.id for each in comments.file_comments("c.py").comments] == [identity]


def test_a_sidecar_that_is_no_file_is_named(comments: Comments) -> None:
    root = root_of(comments)
    comments.add("a.py", 3, "kept", "NOTE")
    os.mkfifo(root / "lib" / "b.py.comments")
    os.symlink("a.py.comments", root / "c.py.comments")
    found = comments.maintenance.check_files()
    assert {fault.filePath for fault in found.faults} == {"lib/b.py", "c.py"}
    assert all("it is not read" in fault.problem and fault.byHand for fault in found.faults)
    assert found.exit_status == 7
    doctor = comments.maintenance.doctor_files()
    assert (doctor.status, doctor.fix) == ("error", "Mend them by hand"), "`check --fix` would say the same again"
    listed = comments.listed()
    assert ({each.filePath for each in listed.damaged}, listed.exit_status) == ({"lib/b.py", "c.py"}, 7)
    (root / "c.py.comments").unlink()
    (root / "lib" / "b.py.comments").unlink()
    assert (comments.listed().damaged, comments.listed().total) == ((), 1)


def test_a_comment_of_a_file_that_cannot_be_read_is_not_said_to_be_nowhere(comments: Comments) -> None:
    identity = comments.add("a.py", 3, "kept", "NOTE").commentId
    write(root_of(comments), "a.py.comments", b"{")
    for name in (identity, identity[-6:]):
        with pytest.raises(CommentNotFound) as caught:
            comments.show(name)
        assert "could not be read (a.py.comments)" in caught.value.advice


def test_a_version_that_only_a_newer_postil_knows_is_not_said_to_be_repaired(comments: Comments) -> None:
    comments.add("a.py", 3, "kept", "NOTE")
    held = sidecar(root_of(comments), "a.py")
    write(root_of(comments), "a.py.comments", held.replace(b'"2.1.0"', b'"9.0.0"'))
    with pytest.raises(SidecarDamaged) as caught:
        comments.add("a.py", 4, "more", "NOTE")
    assert "Update Postil" in caught.value.advice
    assert "--fix" not in caught.value.advice
    assert comments.maintenance.doctor_files().fix == "Mend them by hand"


def test_a_file_that_the_extension_would_not_take_says_what_to_do(comments: Comments) -> None:
    write(root_of(comments), "simple.js", SOURCE)
    write(root_of(comments), "simple.js.comments", as_javascript(REFERENCE))
    (fault,) = comments.maintenance.check_files().faults
    assert "`check --fix`" in fault.problem
