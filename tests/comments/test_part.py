"""The part as a whole: its line of the status, and what only the shell may call."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from postil.comments.operations.views import ViewTools
from postil.comments.part import CommentsContext
from postil.comments.storage.repair import find_faults
from postil.core import limits
from postil.core.failure import Failure, InvalidArguments, NotFound
from tests.comments.workspaces import Comments, commit, root_of, sidecar, tell_person, workspace, write
from tests.workspace.repositories import git

CODE = "".join(f"value_{n} = {n}\n" for n in range(1, 31))


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    return workspace(tmp_path, **{"a.py": CODE, "lib/b.py": CODE, "lib/deep/c.ts": "const a = 1;\n" * 20})


def test_commands_of_the_shell_cannot_be_called_from_elsewhere(comments: Comments, tmp_path: Path) -> None:
    registry = comments.registry()
    tools = {entry.name for entry in registry.tools}
    assert not tools & {"comments_merge", "comments_import", "comments_setup_git"}
    for name, arguments in (
        ("export_comments", {"format": "json", "output": str(tmp_path / "out.json")}),
        ("comments_relocate", {"batch": True}),
        ("comments_relocate", {"files": ["/etc/passwd"]}),
    ):
        with pytest.raises(InvalidArguments, match="unknown field"):
            registry.operation(name).decode(arguments)


def test_the_status_shows_what_is_open_and_what_is_lost(comments: Comments) -> None:
    assert comments.glance() == "no comments"
    comments.add("a.py", 3, "x", "NOTE")
    assert comments.glance() == "1 open"
    write(root_of(comments), "a.py", "alpha = 'a'\n")
    assert comments.glance() == "1 open, 1 without their code (comments_orphans)"


def test_the_status_names_comment_files_that_cannot_be_read(comments: Comments) -> None:
    comments.add("a.py", 3, "x", "NOTE")
    write(root_of(comments), "b.py.comments", "[")
    assert comments.glance() == "1 open. 1 comment file cannot be read (comments_check)"


def test_a_comment_file_that_is_too_large_is_named_with_its_size(comments: Comments) -> None:
    write(root_of(comments), "b.py", "b = 1\n")
    write(root_of(comments), "b.py.comments", "{")
    os.truncate(root_of(comments) / "b.py.comments", limits.FILE + 1)
    assert comments.glance() == "0 open. 1 comment file cannot be read (comments_check)"
    context, why = comments.context, f"has {limits.FILE + 1} bytes; at most {limits.FILE} are read"
    assert [each.problem for each in context.overview.damaged()] == [why]
    assert [each.problem for each in find_faults(context.store, fix=False)] == [why]
    with pytest.raises(Failure, match="File access denied") as refused:
        comments.add("b.py", 1, "x", "NOTE")
    assert "bring back an older one with git" in refused.value.advice


def test_the_status_tells_what_is_uncertain_from_what_is_lost(
    comments: Comments, monkeypatch: pytest.MonkeyPatch
) -> None:
    comments.add("a.py", 3, "x", "NOTE")
    index = comments.context.overview.index
    monkeypatch.setattr(index, "counts", lambda: {"open": 3, "orphaned": 0, "review": 1})
    assert comments.glance() == "3 open, 1 to decide where they belong (comments_orphans)"
    monkeypatch.setattr(index, "counts", lambda: {"open": 3, "orphaned": 2, "review": 1})
    assert comments.glance().startswith("3 open, 2 without their code, 1 to decide where they belong (")


def test_a_capability_is_one_operation_and_its_old_names_are_answered(comments: Comments) -> None:
    registry = comments.registry()
    assert len({entry.same_as or entry.name for entry in registry.operations.values()}) <= 24
    added = registry.operation("comments_add").run("a.py", 3, "x").commentId
    for old, now in {"comments_edit": "edit_comment", "comments_at": "list_comments"}.items():
        assert registry.find(old) is not None, (old, now)
    edited = registry.operation("comments_edit").decode({"commentId": added, "text": "TODO: y"})
    assert registry.operation("comments_edit").run(**edited).tag == "TODO"
    settled = registry.operations["comments_confirm"].settled
    confirmed = registry.operation("comments_confirm").decode({"commentId": added, **settled})
    assert registry.operation("comments_confirm").run(**confirmed).targetLine == 3


def test_the_contracts_face_takes_the_contracts_arguments_and_no_others(comments: Comments) -> None:
    add = comments.face().operation("add_comment")
    given = {"filePath": "a.py", "line": 1, "text": "x", "tag": "NOTE"}
    assert add.run(**add.decode(given)).line == 1
    with pytest.raises(InvalidArguments, match="anchor"):
        add.decode({**given, "anchor": "text"})
    with pytest.raises(InvalidArguments, match="tag"):
        add.decode({**given, "tag": "HACK"})
    search = comments.face().operation("search_comments")
    assert search.decode({"query": "x", "filters": {"tag": "NOTE"}})
    for filters in ({"state": "exact"}, {"status": "open"}, {"tags": "NOTE"}, {"dateRange": {"from": "2026-01-01"}}):
        with pytest.raises(InvalidArguments, match="unknown field"):
            search.decode({"query": "x", "filters": filters})
    whole = comments.registry().operation("add_comment")
    assert whole.decode({**given, "tag": "HACK", "endLine": 4})["endLine"] == 4


def test_words_in_a_query_are_filters_for_people_and_text_for_tools(comments: Comments) -> None:
    comments.add("a.py", 1, "tag:TODO is only text here", "NOTE")
    comments.add("a.py", 2, "is only text here, too", "TODO")
    command = comments.registry().operation("comments_search")
    asked = command.decode({"query": "tag:TODO only text", "words": True}, from_shell=True)
    assert [each.tag for each in command.run(**asked).comments] == ["TODO"]
    for registry in (comments.registry(), comments.face()):
        tool = registry.operation("search_comments")
        assert [each.tag for each in tool.run(**tool.decode({"query": "tag:TODO"})).comments] == ["NOTE"]
        with pytest.raises(InvalidArguments):
            tool.decode({"query": "tag:TODO", "words": True})


def test_a_person_has_their_name_outside_of_a_repository_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "global").write_text("[user]\n\tname = Ann\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "global"))
    (tmp_path / "folder").mkdir()
    assert CommentsContext(str(tmp_path / "folder"), cache_home=str(tmp_path / "cache")).person() == "Ann"


def test_a_shallow_clone_is_named_where_code_is_lost_or_uncertain(comments: Comments, tmp_path: Path) -> None:
    root = root_of(comments)
    comments.add("a.py", 3, "goes", "NOTE")
    commit(root, "commented")
    write(root, "a.py", CODE.replace("value_3 = 3\n", ""))
    comments.add("lib/b.py", 3, "stays", "NOTE")
    commit(root, "took it out")
    cut = tmp_path.with_name(f"{tmp_path.name}_cut")
    git(tmp_path, "clone", "-q", "--depth", "1", root.as_uri(), str(cut))

    def list_said(folder: Path) -> list[str]:
        each = Comments(str(folder))
        reviewing = each.reviewing
        return [
            each.listed().for_model(),
            reviewing.list_orphans().for_model(),
            tell_person(reviewing.review()),
            each.glance(),
        ]

    assert all("git fetch --unshallow" in said for said in list_said(cut))
    assert not any("--unshallow" in said for said in list_said(root))
    assert "shallow" not in Comments(str(cut)).listed("lib").for_model()


def test_a_source_that_is_gone_is_none_to_complain_of_while_its_comment_file_is_there(comments: Comments) -> None:
    root = root_of(comments)
    identity = comments.add("a.py", 3, "goes", "NOTE").commentId
    empty = json.loads(sidecar(root, "a.py")) | {"comments": [], "ghostMarkers": []}
    comments.delete("a.py", identity)
    write(root, "a.py.comments", json.dumps(empty))
    (root / "a.py").unlink()
    assert comments.listed("a.py").comments == comments.reviewing.list_orphans("a.py").comments == ()
    assert ViewTools(comments.context).view("a.py").comments == ()
    with pytest.raises(NotFound):
        comments.listed("b.py")
