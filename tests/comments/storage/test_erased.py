"""What another program took out of a sidecar is told and can be had back; what git or we took out is not told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from postil.comments.failures import CommentNotFound
from postil.comments.storage import write_log
from postil.core.failure import InvalidArguments
from postil.workspace.paths import RelativePath
from tests.comments.workspaces import commit, sidecar, tell_person, workspace, write
from tests.workspace.repositories import git

CODE = "".join(f"value_{number} = {number}\n" for number in range(9))


def test_what_a_stale_editor_erased_is_told_and_comes_back(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"a.py": CODE})
    comments.add("a.py", 2, "known to the editor", "NOTE")
    in_memory = sidecar(tmp_path, "a.py")
    identity = comments.add("a.py", 5, "written meanwhile", "TODO").commentId
    comments.reply(identity, "and answered")
    assert comments.maintenance.check_files().exit_status == 0
    whole = json.loads(sidecar(tmp_path, "a.py"))
    write(tmp_path, "a.py.comments", in_memory)  # the editor saves what it had in memory
    checked = comments.maintenance.check_files()
    (erased,) = checked.erased
    assert (erased.id, erased.filePath, erased.text) == (identity, "a.py", "written meanwhile")
    assert checked.exit_status == 7
    assert f"comments_undo with commentId {identity}" in checked.for_model()
    assert comments.maintenance.doctor_erased().status == "warning"
    assert identity in comments.maintenance.restore(identity).for_model()
    assert json.loads(sidecar(tmp_path, "a.py")) == whole
    assert comments.maintenance.check_files().erased == ()
    assert comments.maintenance.doctor_erased().status == "ok"


def test_what_we_or_git_took_out_is_not_told(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"a.py": CODE, "b.py": CODE})
    deleted = comments.add("a.py", 2, "deleted", "NOTE").commentId
    moved = comments.add("a.py", 3, "moved", "NOTE").commentId
    comments.add("a.py", 4, "stays", "NOTE")
    comments.delete("a.py", deleted)
    comments.move("a.py", "b.py", moved, 6)
    assert comments.maintenance.check_files().erased == ()
    commit(tmp_path, "on the first branch")
    git(tmp_path, "checkout", "-q", "-b", "side")
    comments.add("a.py", 7, "on the other branch alone", "NOTE")
    commit(tmp_path, "on the second")
    git(tmp_path, "checkout", "-q", "-")
    assert comments.maintenance.check_files().erased == ()


def test_all_are_brought_back_and_taken_out_again(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"a.py": CODE})
    first = comments.add("a.py", 1, "first", "NOTE").commentId
    in_memory = sidecar(tmp_path, "a.py")
    others = [comments.add("a.py", line, f"number {line}", "NOTE").commentId for line in (4, 4, 6)]
    write(tmp_path, "a.py.comments", in_memory)
    back = comments.maintenance.restore(all=True)
    assert [each.id for each in back.comments] == others
    assert back.for_model().count("To undo it: ") == 3
    assert sorted(each.id for each in comments.listed().comments) == sorted([first, *others])
    comments.edit_by_id(others[0], "edited after")
    comments.by_id.resolve(others[1])
    for each in others:
        comments.delete("a.py", each)
    assert comments.maintenance.check_files().erased == ()
    assert comments.maintenance.restore(all=True).comments == ()


def test_how_to_undo_is_said_of_all_that_came_back(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"a.py": CODE})
    first = comments.add("a.py", 1, "first", "NOTE").commentId
    in_memory = sidecar(tmp_path, "a.py")
    for line in range(2, 7):
        comments.add("a.py", line, f"number {line}", "NOTE")
    comments.reply(first, "written meanwhile")
    write(tmp_path, "a.py.comments", in_memory)
    back = comments.maintenance.restore(all=True)
    said = "To undo it, for each of these 5 comments: `postil comments delete ID`\nNo command takes out a reply again"
    assert tell_person(back).endswith(said)
    assert "for each of these 5 comments: delete_comment with commentId, filePath" in back.for_model()


def test_what_was_never_erased_cannot_be_restored(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"a.py": CODE})
    identity = comments.add("a.py", 1, "first", "NOTE").commentId
    with pytest.raises(InvalidArguments, match="is not gone"):
        comments.maintenance.restore(identity)
    with pytest.raises(CommentNotFound):
        comments.maintenance.restore("c_123456789")
    with pytest.raises(InvalidArguments):
        comments.maintenance.restore()


def test_a_damaged_log_and_one_that_cannot_be_written_hinder_nothing(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"a.py": CODE})
    comments.add("a.py", 1, "first", "NOTE")
    (log,) = Path(comments.tree.folder).glob("comments-*.log")
    with log.open("ab") as file:
        file.write(b'{"at": 5}\nnot json\n\xff\xfe\n{"at":"')
    assert comments.maintenance.check_files().erased == ()
    log.unlink()
    log.mkdir()
    comments.add("a.py", 2, "second", "NOTE")
    assert comments.listed().total == 2


def test_the_log_stays_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_log, "LARGEST", 5000)
    comments = workspace(tmp_path, **{"a.py": CODE})
    for number in range(40):
        comments.add("a.py", 1 + number % 9, f"number {number}", "NOTE")
    assert sum(each.stat().st_size for each in Path(comments.tree.folder).glob("comments-*.log*")) < 20_000


def test_what_another_branch_holds_is_not_told_while_the_file_is_edited(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"a.py": CODE})
    comments.add("a.py", 2, "on both", "NOTE")
    commit(tmp_path, "on the first branch")
    git(tmp_path, "checkout", "-q", "-b", "side")
    comments.add("a.py", 7, "on the other branch alone", "NOTE")
    commit(tmp_path, "on the second")
    git(tmp_path, "checkout", "-q", "-")
    in_memory = sidecar(tmp_path, "a.py")
    mine = comments.add("a.py", 4, "not committed", "NOTE").commentId
    assert comments.maintenance.check_files().erased == ()
    write(tmp_path, "a.py.comments", in_memory.replace(b"on both", b"edited in an editor"))
    assert [each.id for each in comments.maintenance.check_files().erased] == [mine]


def test_a_comment_of_the_last_commit_that_an_editor_took_out_is_told(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"a.py": CODE})
    comments.add("a.py", 2, "known to the editor", "NOTE")
    in_memory = sidecar(tmp_path, "a.py")
    identity = comments.add("a.py", 5, "committed meanwhile", "TODO").commentId
    commit(tmp_path, "both")
    write(tmp_path, "a.py.comments", in_memory)
    assert [each.id for each in comments.maintenance.check_files().erased] == [identity]


def test_the_comments_of_a_damaged_file_are_not_told_as_erased(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"a.py": CODE})
    comments.add("a.py", 2, "inside", "NOTE")
    write(tmp_path, "a.py.comments", sidecar(tmp_path, "a.py") + b"<<<<<<< ours\n")
    checked = comments.maintenance.check_files()
    assert len(checked.faults) == 1
    assert checked.erased == ()


def test_a_reply_that_a_stale_editor_erased_is_told_and_comes_back(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"a.py": CODE})
    identity = comments.add("a.py", 2, "known to the editor", "NOTE").commentId
    comments.reply(identity, "known, too", author="ann")
    in_memory = sidecar(tmp_path, "a.py")
    lost = comments.reply(identity, "written meanwhile", author="bob").replyId
    assert comments.maintenance.check_files().exit_status == 0
    write(tmp_path, "a.py.comments", in_memory)
    comments.reply(identity, "and later", author="ann")
    checked = comments.maintenance.check_files()
    (erased,) = checked.erased
    assert (erased.id, erased.replyTo, erased.text) == (lost, identity, "written meanwhile")
    assert (
        f"reply {lost} to {identity} was taken out by another program (bob: written meanwhile)" in checked.for_model()
    )
    assert comments.maintenance.doctor_erased().status == "warning"
    assert "comments delete" not in comments.maintenance.restore(lost).for_model()
    said = [each.text for each in comments.show(identity).comment.replies]
    assert said == ["known, too", "written meanwhile", "and later"]
    assert comments.maintenance.check_files().erased == ()
    assert comments.maintenance.restore(all=True).comments == ()


def test_replies_that_went_with_their_comment_or_are_on_another_branch_are_not_told(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"a.py": CODE, "b.py": CODE})
    moved = comments.add("a.py", 2, "moves", "NOTE").commentId
    comments.reply(moved, "goes along")
    deleted = comments.add("a.py", 3, "is deleted", "NOTE").commentId
    comments.reply(deleted, "goes, too")
    stays = comments.add("a.py", 4, "stays", "NOTE").commentId
    comments.move("a.py", "b.py", moved, 5)
    comments.delete("a.py", deleted)
    assert comments.maintenance.check_files().erased == ()
    commit(tmp_path, "on the first branch")
    git(tmp_path, "checkout", "-q", "-b", "side")
    comments.reply(stays, "on the other branch alone")
    commit(tmp_path, "on the second")
    git(tmp_path, "checkout", "-q", "-")
    comments.reply(stays, "not committed")
    assert comments.maintenance.check_files().erased == ()


def test_every_comment_of_an_import_is_noted(tmp_path: Path) -> None:
    """An import noted its first 200 comments, and what was erased of the rest was never missed."""
    comments = workspace(tmp_path, **{"a.py": "".join(f"value_{number} = {number}\n" for number in range(300))})
    comments.add("a.py", 1, "before", "NOTE")
    in_memory = sidecar(tmp_path, "a.py")
    rows = [{"id": f"c_{n}", "filePath": "a.py", "line": n, "text": f"number {n}"} for n in range(1, 301)]
    write(tmp_path, "all.json", json.dumps({"files": [{"comments": rows}]}))
    comments.transfer.import_files((str(tmp_path / "all.json"),))
    write(tmp_path, "a.py.comments", in_memory)
    assert len(comments.maintenance.check_files().erased) == 300
    assert len(comments.maintenance.restore(all=True).comments) == 300
    assert comments.maintenance.check_files().exit_status == 0
    assert comments.listed().total == 301


# A log that the repository brought


def plant(root: Path, *rows: object) -> None:
    (log,) = (root / ".git" / "postil").glob("comments-*.log")
    with log.open("ab") as file:
        file.writelines(json.dumps(row).encode() + b"\n" if not isinstance(row, bytes) else row + b"\n" for row in rows)


def deleted(path: str, name: str, **said: object) -> list[dict[str, object]]:
    head: dict[str, object] = {"at": "2026-01-01T00:00:00Z", "path": path, "id": name}
    return [{**head, "comment": {"id": name, "line": 1, "text": "planted", **said}}, head]


@pytest.mark.parametrize(
    "path",
    [
        "../out",
        "/etc/out",
        "a/../../out",
        ".git/hooks/pre-commit",
        ".GIT/config",
        "a\0b",
        "",
        ".",
        "a.py/../b.py",
        ".env",
    ],
)
def test_a_planted_log_reaches_no_file_that_nobody_may_name(tmp_path: Path, path: str) -> None:
    """`.git/hooks/pre-commit.comments` was written."""
    root = tmp_path / "repository"
    root.mkdir()
    comments = workspace(root, **{"a.py": CODE})
    comments.add("a.py", 2, "ours", "NOTE")
    plant(root, *deleted(path, "c_gone"), deleted(path, "c_lost")[0])
    before = {each: each.read_bytes() for each in tmp_path.rglob("*.comments")}
    for name in ("c_gone", "c_lost"):
        with pytest.raises(CommentNotFound):
            comments.maintenance.restore(name)
    assert comments.maintenance.restore(all=True).comments == ()
    assert comments.maintenance.check_files().erased == ()
    assert {each: each.read_bytes() for each in tmp_path.rglob("*.comments")} == before


@pytest.mark.parametrize(
    "said",
    [{"line": "x"}, {"text": 5}, {"id": "another"}, {"id": ""}, {"line": 10**30}, {"tag": {}}],
)
def test_a_planted_comment_does_not_make_a_file_unreadable(tmp_path: Path, said: dict[str, object]) -> None:
    """A comment whose line was a word took the whole file with it, and ours in it."""
    comments = workspace(tmp_path, **{"a.py": CODE})
    ours = comments.add("a.py", 2, "ours", "NOTE").commentId
    plant(tmp_path, *deleted("a.py", "c_odd", **said), deleted("a.py", "c_odder", **said)[0])
    for name in ("c_odd", "c_odder"):
        with pytest.raises(CommentNotFound):
            comments.maintenance.restore(name)
    assert [each["id"] for each in json.loads(sidecar(tmp_path, "a.py"))["comments"]] == [ours]


def test_a_planted_marker_is_left_out(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"a.py": CODE})
    ours = comments.add("a.py", 2, "ours", "NOTE").commentId
    head, gone = deleted("a.py", "c_odd")
    plant(tmp_path, {**head, "marker": {"id": 5, "line": "x", "commentIds": "no"}}, gone)
    assert comments.maintenance.restore("c_odd").comments[0].id == "c_odd"
    assert {each.id for each in comments.store.read(RelativePath("a.py")).comments} == {ours, "c_odd"}


@pytest.mark.parametrize(
    "row", [b"[" * 60_000, b'{"at":"","path":"a.py","id":"d","comment":' + b'{"a":' * 5000, b"null"]
)
def test_a_planted_line_that_is_nothing_is_passed_over(tmp_path: Path, row: bytes) -> None:
    """One that nests deep ended every command that looked for deleted comments."""
    comments = workspace(tmp_path, **{"a.py": CODE})
    ours = comments.add("a.py", 2, "ours", "NOTE").commentId
    comments.delete("a.py", ours)
    plant(tmp_path, row)
    assert comments.maintenance.restore(ours).comments[0].id == ours
