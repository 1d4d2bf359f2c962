"""Bad input and faults: each has the contract's code and advice, and nothing is lost."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from postil.core.failure import Failure, InvalidArguments
from tests.comments.sidecars import EXTENSION, as_javascript
from tests.comments.workspaces import Comments, sidecar, workspace, write

SOURCE = "".join(f"value_{n} = {n}\n" for n in range(1, 11))


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    made = workspace(tmp_path / "work", **{"a.py": SOURCE})
    write(tmp_path, "work-evil/secret.py", "password = 1\n")
    return made


def root_of(comments: Comments) -> Path:
    return Path(comments.tree.root)


def code_of(comments: Comments, path: str, line: int = 1) -> int:
    with pytest.raises(Failure) as caught:
        comments.add(path, line, "x", "NOTE")
    assert caught.value.details().get("suggestion"), "a failure says what to do next"
    return caught.value.code


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


def test_a_sidecar_that_is_a_symlink_is_neither_read_nor_written(comments: Comments) -> None:
    outside = write(root_of(comments).parent, "work-evil/x.comments", as_javascript(EXTENSION))
    (root_of(comments) / "a.py.comments").symlink_to(outside)
    assert code_of(comments, "a.py") == -32004
    with pytest.raises(Failure) as caught:
        comments.file_comments("a.py")
    assert caught.value.code == -32004
    assert outside.read_bytes() == as_javascript(EXTENSION)


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


def test_code_with_a_syntax_error_can_be_commented_by_its_text(comments: Comments) -> None:
    write(root_of(comments), "broken.ts", "function f() {\n  return (1 +;\n}\n")
    assert code_of(comments, "broken.ts", 2) == -32006
    assert comments.add("broken.ts", 2, "broken here", anchor="text").line == 2


DAMAGED = {
    "empty": b"",
    "truncated": as_javascript(EXTENSION)[:-40],
    "conflict": b"{\n<<<<<<< HEAD\n" + as_javascript(EXTENSION)[2:] + b"\n=======\n}\n>>>>>>> other\n",
    "unknown version": as_javascript({**EXTENSION, "version": "7.0.0"}),
    "wrong type": as_javascript({**EXTENSION, "comments": [{"id": "c_1", "text": 5}]}),
    "not an object": b"[1, 2]",
    "not JSON": b"hello",
    "not text": b"\xff\xfe\x00",
}


@pytest.mark.parametrize("kind", DAMAGED)
def test_a_damaged_sidecar_is_never_overwritten(comments: Comments, kind: str) -> None:
    write(root_of(comments), "a.py.comments", DAMAGED[kind])
    identity = "714694ea-d554-4e62-9b8f-2f2e5a3a1c11"
    for call in (
        lambda: comments.add("a.py", 1, "x", "NOTE"),
        lambda: comments.edit("a.py", identity, "x"),
        lambda: comments.delete("a.py", identity),
        lambda: comments.move("a.py", "a.py", identity, 2),
    ):
        with pytest.raises(Failure) as caught:
            call()
        assert caught.value.code == -32007
        assert caught.value.details()["commentFile"] == "a.py.comments"
        assert "comments check" in str(caught.value.details()["suggestion"])
    assert sidecar(root_of(comments), "a.py") == DAMAGED[kind]


def test_a_damaged_sidecar_does_not_hide_the_others(comments: Comments) -> None:
    write(root_of(comments), "b.py", SOURCE)
    comments.add("b.py", 1, "still here", "NOTE")
    write(root_of(comments), "a.py.comments", b"{")
    assert [each.text for each in comments.listed().comments] == ["still here"]
    assert [each.filePath for each in comments.overview.damaged()] == ["a.py"]


def test_backups_of_the_extension_are_not_counted(comments: Comments) -> None:
    comments.add("a.py", 1, "once", "NOTE")
    content = sidecar(root_of(comments), "a.py")
    write(root_of(comments), "a.py.backup-2025-10-19T09-51-00-011Z.comments", content)
    assert comments.listed().total == 1


@pytest.mark.parametrize("pattern", ["(a+)+$", "(x+x+)+y", "(.*)*b", "(?:a|a?)+$", "(a|aa)+$", "^(([a-z])+.)+[A-Z]$"])
def test_a_hostile_pattern_takes_no_time(comments: Comments, pattern: str) -> None:
    import time

    comments.add("a.py", 1, "a" * 9_000 + "!", "NOTE")
    comments.add("a.py", 2, "x" * 9_000, "NOTE")
    comments.search("warm up")
    began = time.perf_counter()
    comments.search(pattern)
    assert time.perf_counter() - began < 2


@pytest.mark.parametrize("glob", ["*" * 60 + "x", "**/" * 30 + "x", "[", "[!", "a[z-a]"])
def test_a_hostile_glob_takes_no_time(comments: Comments, glob: str) -> None:
    comments.add("a.py", 1, "x", "NOTE")
    with suppress(InvalidArguments):
        assert comments.search("x", file=glob).totalResults == 0


def test_a_full_disk_leaves_the_old_file_whole(comments: Comments, monkeypatch: pytest.MonkeyPatch) -> None:
    comments.add("a.py", 1, "first", "NOTE")
    before = sidecar(root_of(comments), "a.py")

    def full(file: int, data: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        with pytest.raises(Failure) as caught:
            comments.add("a.py", 2, "second", "NOTE")
    assert caught.value.exit_status == 7
    assert sidecar(root_of(comments), "a.py") == before
    assert comments.add("a.py", 2, "second", "NOTE").line == 2  # it goes on when there is space again
    assert not [name for name in os.listdir(root_of(comments)) if name.endswith(".tmp")]


@pytest.mark.parametrize(
    ("path", "why"), [("a.py.comments", "this is a comment file"), (".env", "files with secrets are closed")]
)
def test_a_person_reads_why(comments: Comments, path: str, why: str) -> None:
    with pytest.raises(Failure) as caught:
        comments.add(path, 1, "x", "NOTE")
    assert why in caught.value.text()
    assert why not in caught.value.message  # which is the contract's


@pytest.mark.parametrize("author", ["a\nb", "\x1b[31mann", "x" * 101])
def test_an_author_is_a_name_on_one_line(comments: Comments, author: str) -> None:
    with pytest.raises(InvalidArguments):
        comments.add("a.py", 1, "x", "NOTE", author)


def test_lines_that_no_file_has_are_shown_as_some_line(comments: Comments) -> None:
    rows = [{"id": f"c_{n}", "text": "x", "line": line, "endLine": -3} for n, line in enumerate((-5, 0, 10**6))]
    write(root_of(comments), "a.py.comments", msgspec.json.encode({"version": "1.0", "comments": rows}))
    assert all(each.line >= 1 and each.endLine >= 0 for each in comments.listed().comments)


def test_a_minified_file_is_copied_neither_into_its_sidecar_nor_into_answers(comments: Comments) -> None:
    root = root_of(comments)
    line = "!function(){" + "var a=1;if(a){b(a)};" * 20_000 + "}();\n"
    write(root, "app.min.js", line)
    identity = comments.add("app.min.js", 1, "minified", "NOTE").commentId
    comments.add("app.min.js", 1, "again", "NOTE")
    assert len(sidecar(root, "app.min.js")) < 20_000
    shown = comments.show(identity)
    assert (shown.comment.state, shown.comment.line) == ("exact", 1)
    assert len(msgspec.json.encode(shown)) < 100_000
    write(root, "app.min.js", "// a licence\n" + line)
    assert [each.line for each in comments.file_comments("app.min.js").comments] == [2, 2]
    comments.relocate()
    assert len(sidecar(root, "app.min.js")) < 20_000


@pytest.mark.parametrize(
    "damage",
    [
        (b'"tag": "TODO"', b'"tag": true'),
        (b'"tag": "TODO"', b'"tag": "TODO", "status": 5'),
        (b'"tag": "TODO"', b'"tag": "TODO", "replies": [{"text": 1}]'),
        (b'"line": 2', b'"line": 100000000000000000000'),
        (b'"symbolKind": "Function"', b'"symbolKind": []'),
        (b'"pluginKey": true', b'"pluginKey": "\xed\xa0\xbd"'),
        (b'"pluginKey": true', b'"pluginKey": "\\ud83d"'),
    ],
)
def test_a_field_of_the_wrong_type_anywhere_hides_no_other_file(
    comments: Comments, damage: tuple[bytes, bytes]
) -> None:
    root = root_of(comments)
    comments.add("a.py", 1, "still here", "NOTE")
    write(root, "simple.js", "// one\n// two\n// three\n")
    broken = as_javascript(EXTENSION).replace(*damage)
    assert broken != as_javascript(EXTENSION)
    write(root, "simple.js.comments", broken)
    listed = comments.listed()
    assert [each.text for each in listed.comments] == ["still here"]
    assert [each.filePath for each in listed.damaged] == ["simple.js"]
    assert code_of(comments, "simple.js") == -32007
    assert sidecar(root, "simple.js") == broken


def test_a_number_of_ours_that_is_none_is_left_alone(comments: Comments) -> None:
    comments.add("a.py", 1, "here", "NOTE")
    root = root_of(comments)
    write(
        root,
        "a.py.comments",
        sidecar(root, "a.py").replace(b'"x-anchor": {', b'"x-anchor": {"end": 1' + b"0" * 30 + b","),
    )
    assert [each.text for each in comments.listed().comments] == ["here"]
