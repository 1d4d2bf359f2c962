"""A comment on code that one commit deleted: what a later commit put in its place is other code, however alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.comments.workspaces import Comments, commit, root_of, workspace, write
from tests.workspace.repositories import git

GO = """package m

func (s *Server) handleLogin(w http.ResponseWriter, r *http.Request) {
\tif err := s.auth(r); err != nil {
\t\thttp.Error(w, err.Error(), 401)
\t\treturn
\t}
\tw.WriteHeader(200)
}

func (s *Server) handleLogout(w http.ResponseWriter, r *http.Request) {
\tif err := s.auth(r); err != nil {
\t\thttp.Error(w, err.Error(), 401)
\t\treturn
\t}
\tw.WriteHeader(204)
}
"""
GO_DELETED = GO[: GO.index("\nfunc (s *Server) handleLogout")]
GO_REFRESH = GO.replace("handleLogout", "handleRefresh").replace("204", "202")

PACKAGE = """{
  "name": "shop",
  "dependencies": {
    "express": "^4.18.2",
    "lodash": "^4.17.21",
    "moment": "^2.29.4",
    "pino": "^8.11.0",
    "zod": "^3.21.4"
  }
}
"""
COMMANDS = """import { register } from "./commands";

register("create", createFile);
register("open", openFile);
register("delete", deleteFile);
register("close", closeFile);
register("save", saveFile);
"""
STYLE = """.title {
  color: black;
  margin: 0 auto;
}

.warning {
  color: red;
  margin: 0 auto;
}

.footer {
  color: gray;
  margin: 0 auto;
}
"""
ENUM = """export enum Shape {
  Circle = "circle",
  Square = "square",
  Hexagon = "hexagon",
  Line = "line",
}
"""
PYTEST = """def test_the_page_of_a_user_is_shown(client):
    answer = client.get("/user")
    assert answer.status == 200


def test_the_page_of_an_admin_is_shown(client):
    answer = client.get("/admin")
    assert answer.text == "hello"


def test_the_page_of_a_guest_is_shown(client):
    answer = client.get("/guest")
    assert answer.status == 200
"""
PYTEST_DELETED = (
    PYTEST[: PYTEST.index("def test_the_page_of_an_admin")] + PYTEST[PYTEST.index("def test_the_page_of_a_gu") :]
)
IMPORTS = """from .globals import g as g
from .globals import request as request
from .helpers import flash as flash
from .helpers import get_template_attribute as get_template_attribute
from .helpers import safe_join as safe_join
from .helpers import send_file as send_file
from .helpers import stream_with_context as stream_with_context
"""

REPLACED = [
    pytest.param("m.go", GO, GO_DELETED, GO_REFRESH, "handleLogout", id="the head of a function"),
    pytest.param("m.go", GO, GO_DELETED, GO_REFRESH, "s.auth(r)@2", id="a line of it that stands twice"),
    pytest.param("m.go", GO, GO_DELETED, GO_REFRESH, "204", id="a line of it that is edited"),
    pytest.param(
        "package.json",
        PACKAGE,
        PACKAGE.replace('    "moment": "^2.29.4",\n', ""),
        PACKAGE.replace('"moment": "^2.29.4"', '"mongoose": "^7.0.3"'),
        "moment",
        id="a dependency",
    ),
    pytest.param(
        "commands.ts",
        COMMANDS,
        COMMANDS.replace('register("delete", deleteFile);\n', ""),
        COMMANDS.replace("delete", "rename"),
        "deleteFile",
        id="a call among its like",
    ),
    pytest.param(
        "style.css",
        STYLE,
        STYLE[: STYLE.index(".warning")] + STYLE[STYLE.index(".footer") :],
        STYLE.replace(".warning", ".warnings"),
        ".warning",
        id="the head of a rule",
    ),
    pytest.param(
        "style.css",
        STYLE,
        STYLE[: STYLE.index(".warning")] + STYLE[STYLE.index(".footer") :],
        STYLE.replace(".warning", ".notice").replace("red", "blue"),
        "margin@2",
        id="a line of a rule that stands three times",
    ),
    pytest.param(
        "shape.ts",
        ENUM,
        ENUM.replace('  Hexagon = "hexagon",\n', ""),
        ENUM.replace("Hexagon", "Heptagon").replace("hexagon", "heptagon"),
        "Hexagon",
        id="a case of an enum",
    ),
    pytest.param(
        "test_pages.py",
        PYTEST,
        PYTEST_DELETED,
        PYTEST.replace("an_admin", "an_owner").replace("/admin", "/owner"),
        'assert answer.text == "hello"',
        id="the only line of its kind, in another test",
    ),
    pytest.param(
        "__init__.py",
        IMPORTS,
        IMPORTS.replace("from .helpers import safe_join as safe_join\n", ""),
        IMPORTS.replace("safe_join", "redirect"),
        "safe_join",
        id="an import",
    ),
]


def line_of(code: str, words: str) -> int:
    """Returns the line of some words; `words@2` is their second one."""
    wanted, _, number = words.partition("@")
    return [at for at, row in enumerate(code.split("\n"), 1) if wanted in row][int(number or 1) - 1]


def begin(folder: Path, name: str, code: str, *words: str) -> tuple[Comments, list[str]]:
    """Returns a workspace with a comment on each of some lines, committed."""
    comments = workspace(folder, **{name: code})
    made = [comments.add(name, line_of(code, each), f"about {each}").commentId for each in words]
    commit(root_of(comments), "commented")
    return comments, made


def put(comments: Comments, name: str, code: str, message: str) -> str:
    write(root_of(comments), name, code)
    return commit(root_of(comments), message)


@pytest.mark.parametrize("looked", [True, False])
@pytest.mark.parametrize(("name", "first", "deleted", "later", "words"), REPLACED)
def test_a_comment_does_not_jump_to_what_a_later_commit_added(
    tmp_path: Path, name: str, first: str, deleted: str, later: str, words: str, looked: bool
) -> None:
    comments, (identity,) = begin(tmp_path, name, first, words)
    culprit = put(comments, name, deleted, "delete it")
    if looked:
        assert comments.show(identity).comment.state in ("orphaned", "review")
    put(comments, name, later, "something else")
    found = comments.show(identity)
    assert found.comment.state in ("orphaned", "review"), found.comment.reason
    assert culprit[:7] in found.comment.reason
    assert found.commit
    assert found.commit.id == culprit
    assert [each.id for each in comments.reviewing.list_orphans().comments] == [identity]


def test_no_addition_and_no_relocation_writes_such_a_place(tmp_path: Path) -> None:
    comments, made = begin(tmp_path, "m.go", GO, "handleLogout", "s.auth(r)@2", "204")
    put(comments, "m.go", GO_DELETED, "no logout")
    put(comments, "m.go", GO_REFRESH, "refresh")
    comments.add("m.go", 3, "another one")
    comments.relocate()
    assert all(comments.show(each).comment.state in ("orphaned", "review") for each in made)


def test_uncommitted_code_in_its_place_is_other_code_too(tmp_path: Path) -> None:
    comments, (identity,) = begin(tmp_path, "commands.ts", COMMANDS, "deleteFile")
    put(comments, "commands.ts", COMMANDS.replace('register("delete", deleteFile);\n', ""), "delete it")
    write(root_of(comments), "commands.ts", COMMANDS.replace("delete", "rename"))
    assert comments.show(identity).comment.state == "review"


def test_the_place_is_what_is_offered_first(tmp_path: Path) -> None:
    comments, (identity,) = begin(tmp_path, "m.go", GO, "handleLogout")
    put(comments, "m.go", GO_DELETED, "no logout")
    put(comments, "m.go", GO_REFRESH, "refresh")
    found = comments.show(identity).comment
    assert found.state == "review"
    assert [(each.path, each.line) for each in found.candidates] == [("m.go", 11)]
    comments.contract.move(identity, "m.go", 11)
    assert comments.show(identity).comment.state == "exact"


@pytest.mark.parametrize("words", ["handleLogout", "s.auth(r)@2", "204", "}@4", "return@2"])
def test_code_that_came_back_as_it_was_is_where_it_was(tmp_path: Path, words: str) -> None:
    comments, (identity,) = begin(tmp_path, "m.go", GO, words)
    put(comments, "m.go", GO_DELETED, "no logout")
    put(comments, "m.go", GO.replace("package m", "package main"), "logout again")
    assert comments.show(identity).comment.state == "exact"


def test_a_file_that_was_deleted_and_restored_keeps_its_comments(tmp_path: Path) -> None:
    comments, made = begin(tmp_path, "m.go", GO, "handleLogout", "s.auth(r)@2", "204")
    root = root_of(comments)
    (root / "m.go").unlink()
    commit(root, "all gone")
    put(comments, "m.go", GO, "all back")
    assert {comments.show(each).comment.state for each in made} == {"exact"}
    (root / "m.go").unlink()
    commit(root, "all gone")
    put(comments, "m.go", GO.replace("package m", "package main"), "all back")
    assert {comments.show(each).comment.state for each in made} == {"exact"}


def test_another_file_of_the_name_of_a_deleted_one_holds_other_code(tmp_path: Path) -> None:
    comments, (identity,) = begin(tmp_path, "commands.ts", COMMANDS, "deleteFile")
    (root_of(comments) / "commands.ts").unlink()
    commit(root_of(comments), "all gone")
    put(comments, "commands.ts", COMMANDS.replace("delete", "rename"), "others")
    assert comments.show(identity).comment.state in ("orphaned", "review")


def test_code_that_is_edited_again_and_again_is_followed(tmp_path: Path) -> None:
    comments, (identity,) = begin(tmp_path, "m.go", GO, "204")
    edited = GO
    for number, (old, new) in enumerate(
        [
            ("204", "205"),
            ("handleLogout", "handleSignOut"),
            ("w.WriteHeader(205)", "w.WriteHeader(http.StatusNoContent)"),
            ("package m\n", "package m\n\nvar count = 0\n"),
        ]
    ):
        edited = edited.replace(old, new)
        put(comments, "m.go", edited, f"edit {number}")
    found = comments.show(identity).comment
    assert (found.state, found.line) == ("modified", line_of(edited, "NoContent"))


@pytest.mark.parametrize("half", ["", "package m\n", "<<<<<<< ours\n" + GO_DELETED + "=======\n>>>>>>> theirs\n"])
def test_a_version_that_was_never_finished_says_nothing(tmp_path: Path, half: str) -> None:
    comments, (identity,) = begin(tmp_path, "m.go", GO, "204")
    put(comments, "m.go", half, "oh")
    put(comments, "m.go", GO.replace("204", "205"), "better")
    assert comments.show(identity).comment.state == "modified"


def test_what_was_moved_to_another_file_is_found_there(tmp_path: Path) -> None:
    comments, (identity,) = begin(tmp_path, "m.go", GO, "handleLogout")
    root = root_of(comments)
    write(root, "out.go", "package m\n\n" + GO[GO.index("func (s *Server) handleLogout") :])
    put(comments, "m.go", GO_DELETED, "logout has its own file")
    put(comments, "m.go", GO_REFRESH, "refresh")
    found = comments.show(identity).comment
    assert (found.movedTo, found.line, found.state) == ("out.go", 3, "moved")


def test_code_deleted_on_a_merged_branch_is_gone(tmp_path: Path) -> None:
    comments, (identity,) = begin(tmp_path, "commands.ts", COMMANDS, "deleteFile")
    root = root_of(comments)
    git(root, "checkout", "-q", "-b", "side")
    deleted = COMMANDS.replace('register("delete", deleteFile);\n', "")
    culprit = put(comments, "commands.ts", deleted, "delete it")
    git(root, "checkout", "-q", "-")
    put(comments, "commands.ts", COMMANDS.replace("import", "// Commands.\nimport"), "say what it is")
    git(root, "merge", "-q", "-m", "merged", "side")
    put(comments, "commands.ts", "// Commands.\n" + COMMANDS.replace("delete", "rename"), "rename files")
    found = comments.show(identity).comment
    assert found.state == "review"
    assert culprit[:7] in found.reason or "deleted by" in found.reason


def test_a_revision_says_what_was_known_then(tmp_path: Path) -> None:
    comments, (identity,) = begin(tmp_path, "commands.ts", COMMANDS, "deleteFile")
    put(comments, "commands.ts", COMMANDS.replace('register("delete", deleteFile);\n', ""), "delete it")
    then = put(comments, "commands.ts", COMMANDS.replace("delete", "rename"), "rename files")
    put(comments, "commands.ts", "\n" + COMMANDS, "as it was")
    at = comments.listed(revision=then)
    assert [(each.id, each.state) for each in at.comments] == [(identity, "review")]


def test_many_files_and_large_ones_are_told_the_same(tmp_path: Path) -> None:
    large = COMMANDS + "".join(f"call({number}, {number * number});\n" for number in range(8000))
    files = {f"f{number}.ts": COMMANDS for number in range(120)} | {"large.ts": large}
    comments = workspace(tmp_path, **files)
    made = [comments.add(name, 5, "look").commentId for name in files]
    root = root_of(comments)
    commit(root, "commented")
    for old, new in (
        ('register("delete", deleteFile);\n', ""),
        ('register("close"', 'register("move", m);\nregister("close"'),
    ):
        for name, code in files.items():
            files[name] = code.replace(old, new)
            write(root, name, files[name])
        commit(root, "next")
    for name, code in files.items():
        write(root, name, code.replace('register("move", m)', 'register("rename", renameFile)'))
    commit(root, "last")
    states = {each.comment.id: each.place.state for each in comments.overview.everything()}
    assert {states[each] for each in made} <= {"review", "orphaned"}
