"""Sources that comments are written into keep every other byte."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from postil.comments.operations.validation import ExportOptions
from postil.core.failure import Failure, InvalidArguments
from tests.comments.workspaces import Comments, root_of, sidecar, workspace, write

CODE = "".join(f"value_{n} = {n}\n" for n in range(1, 31))


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    return workspace(tmp_path / "here", **{"a.py": CODE, "lib/b.py": CODE})


def test_a_source_that_is_not_utf_8_is_never_written_back(comments: Comments) -> None:
    root = root_of(comments)
    content = b"# caf\xe9\n# @paired: TODO: convert\nx = 1\n"
    path = write(root, "latin.py", content)
    comments.add("latin.py", 3, "inline me", "NOTE")
    for command in (
        lambda: comments.transfer.import_files(("latin.py",), remove=True),
        lambda: comments.transfer.write_inline("latin.py"),
    ):
        with pytest.raises(Failure) as caught:
            command()
        assert caught.value.code == -32006
    assert path.read_bytes() == content
    assert len(comments.transfer.import_files(("latin.py",)).added) == 1


def test_line_ends_and_the_byte_order_mark_survive_inline_comments(comments: Comments) -> None:
    root = root_of(comments)
    content = b"\xef\xbb\xbfconst a = 1;\r\nconst b = 2;\r\n"
    path = write(root, "win.ts", content)
    comments.add("win.ts", 2, "look", "NOTE")
    assert comments.transfer.write_inline("win.ts").written == 1
    assert path.read_bytes() == b"\xef\xbb\xbfconst a = 1;\r\n// @paired: look\r\nconst b = 2;\r\n"
    comments.transfer.import_files(("win.ts",), remove=True)
    assert path.read_bytes() == content
    assert len(msgspec.json.decode(sidecar(root, "win.ts"))["comments"]) == 1


def test_an_import_says_where_comments_are_now_and_what_they_are_tied_to(comments: Comments, tmp_path: Path) -> None:
    """It said the lines of the document, no tag, and `line N` of a comment in a function."""
    code = "def one():\n    print(open('log').read())\n\n\ndef two():\n    return 2\n"
    write(root_of(comments), "f.py", code)
    there = comments.add("f.py", 6, "TODO: why?").commentId
    gone = comments.add("f.py", 2, "gone soon", "NOTE").commentId
    comments.export("json", options=ExportOptions(includeSourceContext=True), output=str(tmp_path / "out.json"))
    other = workspace(tmp_path / "there", **{"f.py": "import os\n\n" + code[code.index("def two") :]})
    taken = other.transfer.import_files((str(tmp_path / "out.json"),))
    told = {each.commentId: (each.filePath, each.line, each.tag, each.anchoredTo) for each in taken.added}
    assert told[there] == ("f.py", 4, "TODO", "the function 'two'")
    assert told[gone][2:] == ("NOTE", "code that is not here")
    assert f"  f.py:4  TODO  the function 'two'  {there}" in taken.for_model().split("\n")


def test_an_import_that_takes_comments_out_of_the_source_says_the_lines_of_then(comments: Comments) -> None:
    write(root_of(comments), "i.py", "# @paired: FIXME: one\nvalue = 1\n# @paired: two\nother = 2\n")
    taken = comments.transfer.import_files(("i.py",), remove=True)
    assert [(each.line, each.tag) for each in taken.added] == [(1, "FIXME"), (2, None)]


def test_a_long_import_names_its_first_comments_and_says_how_to_see_the_rest(
    comments: Comments, tmp_path: Path
) -> None:
    rows = [{"filePath": "a.py", "line": 1 + n % 30, "text": f"number {n}"} for n in range(500)]
    rows += [{"filePath": f"gone{n}.py", "line": 1, "text": "no file"} for n in range(500)]
    given = write(tmp_path, "long.json", msgspec.json.encode({"files": [{"comments": rows}]}))
    said = comments.transfer.import_files((str(given),)).for_model().split("\n")
    assert len(said) < 50
    assert "  … and 480 more comments: `postil comments list` shows them" in said
    assert "  … and 480 more such files" in said


def test_exports_that_are_too_large_together_are_refused_with_what_to_do(
    comments: Comments, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of 55 MB took 36 s and 484 MB; of 512 MB it would have been ten times that."""
    document = tmp_path / "two.json"
    document.write_text('{"files":[]}')
    monkeypatch.setattr("postil.core.limits.IMPORTED_COMMENTS", 2 * document.stat().st_size)
    assert comments.transfer.import_files((str(document),) * 2).added == ()
    with pytest.raises(InvalidArguments, match="too large") as refused:
        comments.transfer.import_files((str(document),) * 3)
    assert "one by one" in refused.value.advice


@pytest.mark.parametrize("name", ["many.json", "many.jsonl", "many.csv"])
def test_exports_of_too_many_comments_are_refused_before_they_are_held(
    comments: Comments, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """One of 55 MB had 714,528 of a word each, which took 70 s and 824 MB; a million replies took 500 MB."""
    reply = {"id": "r", "text": 'says "text"', "author": "ann", "created": "2026-01-01T00:00:00Z"}
    for line in range(1, 4):
        comments.add("a.py", line, f"word {line}", "NOTE")
    document = tmp_path / name
    comments.export(document.suffix[1:], output=str(document))
    monkeypatch.setattr("postil.core.limits.IMPORTED_TEXTS", 4)
    assert comments.transfer.import_files((str(document),)).skipped == 3
    with pytest.raises(InvalidArguments, match="4 comments and replies are imported together"):
        comments.transfer.import_files((str(document),) * 2)
    rows = [{"filePath": "a.py", "line": 9, "text": "x", "replies": [reply] * 4}]
    (tmp_path / "replies.json").write_bytes(msgspec.json.encode({"files": [{"comments": rows}]}))
    with pytest.raises(InvalidArguments, match="comments and replies"):
        comments.transfer.import_files((str(tmp_path / "replies.json"),))
