"""The sources that can be commented, and the contract's codes for those that cannot."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from postil.comments.failures import InvalidFilePath, SourceNotParsed
from postil.comments.source_tree import SourceTree
from postil.workspace.paths import RelativePath
from tests.comments.workspaces import Comments, code_of, root_of, workspace, write
from tests.workspace.repositories import new_repository

SOURCE = "".join(f"value_{n} = {n}\n" for n in range(1, 11))


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    made = workspace(tmp_path / "work", **{"a.py": SOURCE})
    write(tmp_path, "work-evil/secret.py", "password = 1\n")
    return made


@pytest.mark.parametrize(
    "path",
    [
        "",
        "  ",
        "../work-evil/secret.py",
        "sub/../../work-evil/secret.py",
        "/etc/passwd",
        "C:\\windows\\x.py",
        "a.py\0.txt",
        "..",
        "a.py.comments",
        "x" * 501,
    ],
)
def test_a_path_that_cannot_be_one_is_invalid(comments: Comments, path: str) -> None:
    assert code_of(comments, path) == -32003


@pytest.mark.parametrize("path", [".git/config", ".GIT/config", "sub/.git/hooks/x", ".env", ".env.local", "sub/.env"])
def test_git_and_secrets_are_closed(comments: Comments, path: str) -> None:
    if ".env" in path:
        write(root_of(comments), path, "TOKEN=1\n")
    assert code_of(comments, path) == -32004


def test_a_symlink_out_of_the_workspace_is_closed(comments: Comments) -> None:
    root = root_of(comments)
    (root / "link.py").symlink_to(root.parent / "work-evil/secret.py")
    (root / "folder").symlink_to(root.parent / "work-evil")
    (root / "loop").symlink_to(root / "loop")
    assert code_of(comments, "link.py") == -32004
    assert code_of(comments, "folder/secret.py") == -32004
    assert code_of(comments, "loop") == -32004


def test_a_symlink_inside_the_workspace_is_its_target(comments: Comments) -> None:
    (root_of(comments) / "link.py").symlink_to("a.py")
    assert comments.add("link.py", 1, "x", "NOTE").filePath == "a.py"


@pytest.mark.parametrize(("line", "code"), [(11, -32005), (2**31, -32005), (10**18, -32005)])
def test_a_line_past_the_end_is_refused(comments: Comments, line: int, code: int) -> None:
    assert code_of(comments, "a.py", line) == code


def test_the_end_of_the_last_line_begins_no_other(comments: Comments) -> None:
    assert comments.add("a.py", 10, "last", "NOTE").line == 10
    write(root_of(comments), "open.py", "one\ntwo")
    assert comments.add("open.py", 2, "no newline at the end", "NOTE").line == 2


def test_an_empty_file_has_one_line(comments: Comments) -> None:
    write(root_of(comments), "empty.py", "")
    assert comments.add("empty.py", 1, "to be written", "TODO").line == 1
    assert code_of(comments, "empty.py", 2) == -32005


def test_a_missing_file_and_a_folder_are_not_found(comments: Comments) -> None:
    (root_of(comments) / "folder").mkdir()
    assert code_of(comments, "missing.py") == -32001
    assert code_of(comments, "folder") == -32001


def test_a_binary_file_is_not_parsed(comments: Comments) -> None:
    write(root_of(comments), "image.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    assert code_of(comments, "image.png") == -32006


def test_a_file_without_permission_is_closed(comments: Comments, monkeypatch: pytest.MonkeyPatch) -> None:
    write(root_of(comments), "closed.py", "x = 1\n")
    really_open = os.open

    def refusing(path: str, *more: Any, **named: Any) -> int:
        if path == "closed.py":
            raise PermissionError(13, "Permission denied")
        return really_open(path, *more, **named)

    monkeypatch.setattr(os, "open", refusing)
    assert code_of(comments, "closed.py") == -32004


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("crlf.ts", b"const a = 1;\r\nconst b = 2;\r\nfunction f() {\r\n  return a;\r\n}\r\n", 4),
        ("bom.py", b"\xef\xbb\xbfdef first():\n    return 1\n", 1),
        ("tabs.go", b"package main\n\nfunc main() {\n\tprintln(1)\n}\n", 4),
        ("latin.py", b"# caf\xe9\nvalue = 'na\xefve'\n", 2),
        ("old_mac.txt", b"one\rtwo\rthree\r", 2),
        ("minified.js", b"var a=1;" * 50_000 + b"\nvar b=2;\n", 2),
        ("long.py", b"".join(b"value_%d = %d\n" % (n, n) for n in range(30_000)), 29_000),
        ("name with space é.py", "x = 'ü'\n".encode(), 1),
        ("no_extension", b"alpha\nbeta\n", 2),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_odd_text_files_can_be_commented_and_followed(comments: Comments, name: str, text: bytes, line: int) -> None:
    root = root_of(comments)
    write(root, name, text)
    added = comments.add(name, line, "here", "NOTE")
    assert added.line == line
    head, rest = (text[:3], text[3:]) if text.startswith(b"\xef\xbb\xbf") else (b"", text)
    newline = b"\r" if b"\n" not in text else b"\n"
    write(root, name, head + b"inserted above" + newline + rest)
    (found,) = comments.file_comments(name).comments
    assert (found.state, found.line) == ("moved", line + 1)


def test_a_syntax_error_elsewhere_is_a_warning(comments: Comments) -> None:
    write(root_of(comments), "half.py", "def good():\n    return 1\n\n\ndef bad(:\n    return (\n")
    added = comments.add("half.py", 2, "fine", "NOTE")
    assert added.line == 2
    assert "syntax error" in added.for_model()


def test_a_macro_that_the_grammar_cannot_read_is_no_syntax_error(comments: Comments) -> None:
    """A compiler sees what the macro stands for: this is code of a library that compiles."""
    code = (
        "static FASTCALL_ATTR JSOBJ FASTCALL_MSVC decode_array(struct DecoderState *ds)\n{\n  return decode(ds);\n}\n"
    )
    write(root_of(comments), "decode.c", code)
    added = comments.add("decode.c", 3, "why not here?", "NOTE")
    assert added.line == 3
    assert "a macro that is not understood, or a syntax error" in added.for_model()
    write(root_of(comments), "decode.c", "\n" + code)
    (found,) = comments.file_comments("decode.c").comments
    assert (found.state, found.line) == ("moved", 4)


def test_code_with_a_syntax_error_can_be_commented_by_its_text(comments: Comments) -> None:
    write(root_of(comments), "broken.ts", "function f() {\n  return (1 +;\n}\n")
    assert code_of(comments, "broken.ts", 2) == -32006
    assert comments.add("broken.ts", 2, "broken here", anchor="text").line == 2


def test_a_config_of_empty_lines_is_read_at_once(tmp_path: Path) -> None:
    """Each of them was the beginning of a search through all others: hours for a megabyte, in every command."""
    root = new_repository(tmp_path / "r")
    with (root / ".git" / "config").open("a") as config:
        config.write("\n" * 900_000)
    assert SourceTree(str(root)).id_width == 40


def test_a_source_of_too_many_lines_is_not_taken(tmp_path: Path) -> None:
    root = new_repository(tmp_path / "r", a__txt="\n" * 600_000)
    with pytest.raises(SourceNotParsed) as refused:
        SourceTree(str(root)).source(RelativePath("a.txt"))
    assert "500000 lines" in str(refused.value.data) + refused.value.advice


@pytest.mark.parametrize("where", ["..", "../work-evil", "/etc", "sub/../../x"])
def test_a_look_outside_of_the_workspace_is_refused(comments: Comments, where: str) -> None:
    for look in (comments.listed, comments.reviewing.list_orphans, comments.reviewing.review, comments.relocate):
        with pytest.raises(InvalidFilePath, match="Invalid file path"):
            look(where)
    with pytest.raises(InvalidFilePath):
        comments.search("x", file=where)
    with pytest.raises(InvalidFilePath):
        comments.export("json", file=where)
