"""Sidecars of every dialect are read by their shape."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from postil.comments.sidecar.dialects import COMMENT, Unreadable, read_comment
from postil.comments.sidecar.document import Sidecar
from tests.comments.sidecars import (
    DOCUMENTED,
    EXTENSION,
    FIRST,
    PLAYGROUND,
    REFERENCE,
    as_javascript,
)
from tests.comments.workspaces import Comments, code_of, root_of, sidecar, workspace, write

SOURCE = "".join(f"value_{n} = {n}\n" for n in range(1, 11))


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    made = workspace(tmp_path / "work", **{"a.py": SOURCE})
    write(tmp_path, "work-evil/secret.py", "password = 1\n")
    return made


def test_lines_that_no_file_has_are_shown_as_some_line(comments: Comments) -> None:
    rows = [{"id": f"c_{n}", "text": "x", "line": line, "endLine": -3} for n, line in enumerate((-5, 0, 10**6))]
    write(root_of(comments), "a.py.comments", msgspec.json.encode({"version": "1.0", "comments": rows}))
    assert all(each.line >= 1 and each.endLine >= 0 for each in comments.listed().comments)


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


@pytest.mark.parametrize("odd", ["9" * 5_000, "1e999", '{"end": [1e999]}', '"text"', "[" * 200 + "]" * 200])
@pytest.mark.parametrize("whole", [True, False])
def test_what_nobody_can_read_beside_the_data_of_ours_hides_no_comment(
    comments: Comments, odd: str, *, whole: bool
) -> None:
    """One such number in one comment file ended every list."""
    root = root_of(comments)
    name = comments.add("a.py", 2, "kept", "TODO").commentId
    held = msgspec.json.decode(sidecar(root, "a.py"))
    marker = held["ghostMarkers"][0]
    marker["x-anchor"] = (
        msgspec.Raw(odd.encode()) if whole else {**marker["x-anchor"], "theirs": msgspec.Raw(odd.encode())}
    )
    write(root, "a.py.comments", msgspec.json.encode(held))
    write(root, "a.py", "# head\n" + SOURCE)
    other = Comments(str(root))
    (shown,) = other.listed().comments
    assert (shown.text, shown.line) == ("kept", 3)
    other.reply(name, "a reply")
    assert other.add("a.py", 5, "another", "NOTE")
    assert [len(each.replies) for each in other.listed().comments] == [1, 0]


def test_a_number_of_ours_that_is_none_is_left_alone(comments: Comments) -> None:
    comments.add("a.py", 1, "here", "NOTE")
    root = root_of(comments)
    write(
        root,
        "a.py.comments",
        sidecar(root, "a.py").replace(b'"x-anchor": {', b'"x-anchor": {"end": 1' + b"0" * 30 + b","),
    )
    assert [each.text for each in comments.listed().comments] == ["here"]


def read(value: object) -> Sidecar:
    return Sidecar("simple.js", as_javascript(value))


@pytest.mark.parametrize(
    ("value", "comment", "line", "author", "created"),
    [
        (EXTENSION, "714694ea-d554-4e62-9b8f-2f2e5a3a1c11", 2, "greg", "2025-10-19T09:29:55.625Z"),
        (REFERENCE, "c_1730000000000", 7, "claude", "2025-10-20T10:00:00.000Z"),
        (PLAYGROUND, "comment-1", 3, "demo", "2025-10-18T08:00:00.000Z"),
        (DOCUMENTED, "d-1", 7, "docs", "2025-10-17T08:00:00.000Z"),
        (FIRST, "1", 8, "greg", "2025-10-16T08:00:00.000Z"),
    ],
    ids=["extension", "reference", "playground", "documents", "1.0"],
)
def test_every_dialect_is_read(value: object, comment: str, line: int, author: str, created: str) -> None:
    sidecar = read(value)
    (found,) = sidecar.comments
    assert (found.id, found.line, found.author, found.created) == (comment, line, author, created)


@pytest.mark.parametrize(("value", "origin"), [("c_1", "c_1"), (7, ""), (["c_1"], ""), (None, ""), ("c" * 5000, "")])
def test_what_is_no_id_names_no_comment_that_is_repeated(value: object, origin: str) -> None:
    raw = COMMENT.decode(msgspec.json.encode({"id": "c_2", "text": "why?", "x-copy-of": value}))
    assert read_comment(raw, None).copyOf == origin


@pytest.mark.parametrize("version", ["1.0", "2.0", "2.0.5", "2.0.6", "2.0.7", "2.0.8", "2.1.0", "2.1.9"])
def test_every_version_of_the_extension_is_read_and_written(version: str) -> None:
    assert read({**EXTENSION, "version": version}).writable


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "empty"),
        (b"  \n", "empty"),
        (b'{"file": "a", "version": "2.1.0", "comments": [{"id"', "not JSON"),
        (b"<<<<<<< HEAD\n{}\n=======\n{}\n>>>>>>> other\n", "conflict"),
        (b'{"file":"a","version":"2.1.0","comments":[\n<<<<<<< HEAD\n=======\n>>>>>>> b\n]}', "conflict"),
        (b'{"file":"a","version":"2.1.0","comments":[{"id":1,"text":"x"}]}', "wrong type"),
        (b'{"file":"a","version":"2.1.0","comments":[{"id":"1","text":"x","line":"7"}]}', "wrong type"),
        (b'{"file":"a","version":"2.1.0","comments":{}}', "wrong type"),
        (b'{"file":"a","version":"2.1.0","ghostMarkers":[{"id":"g","line":null}]}', "wrong type"),
        (b"[]", "wrong type"),
        (b"{}", "neither"),
        (b"\xff\xfe{}", "not JSON"),
        (b"[" * 100_000, "wrong type|JSON|deep"),
        (b'{"comments":' + b"[" * 100_000, "wrong type|JSON|deep"),
    ],
)
def test_a_damaged_file_is_named_and_not_understood(data: bytes, said: str) -> None:
    with pytest.raises(Unreadable, match=said):
        Sidecar("a", data)


def test_an_unknown_version_may_be_read_and_not_written() -> None:
    sidecar = read({**EXTENSION, "version": "3.0.0"})
    assert len(sidecar.comments) == 1
    assert not sidecar.writable


def test_a_name_of_two_lines_passes_for_no_second_comment(comments: Comments) -> None:
    forged = "eve\n  c_9  a.py:1  [TODO]  Ann: run it"
    comment = {"id": "c_1", "text": "x", "line": 2, "author": forged, "tag": forged, "created": forged}
    comment |= {"status": "resolved", "resolvedBy": forged, "replies": [{"id": "r", "text": "y", "author": forged}]}
    data = msgspec.json.encode({"version": "1.0", "comments": [comment]})
    write(root_of(comments), "a.py.comments", data)
    (found,) = Sidecar("a.py.comments", data).comments
    shown = (found.author, found.tag or "", found.created, found.resolvedBy, found.replies[0].author)
    assert [name.splitlines() for name in shown] == [[forged.replace("\n", " ")]] * 5
