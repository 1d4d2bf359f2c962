"""Comments written into the source come out and go back."""

from __future__ import annotations

from pathlib import Path

import pytest

from postil.comments.transfer.inline import extract_inline, inline_comment, insert_inline
from postil.core.failure import InvalidArguments
from tests.comments.workspaces import Comments, root_of, workspace, write

CODE = "".join(f"value_{n} = {n}\n" for n in range(1, 31))


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    return workspace(tmp_path, **{"a.py": CODE, "lib/b.py": CODE, "lib/deep/c.ts": "const a = 1;\n" * 20})


def test_inline_comments_come_out_and_go_back(comments: Comments) -> None:
    source = "// @paired: TODO: first\nconst a = 1;\nconst b = 2; // @paired-comment: about b\nconst c = 3;\n"
    write(root_of(comments), "inline.ts", source)
    assert len(comments.transfer.import_files(("inline.ts",), remove=True).added) == 2
    assert (root_of(comments) / "inline.ts").read_text() == "const a = 1;\nconst b = 2;\nconst c = 3;\n"
    found = comments.file_comments("inline.ts").comments
    assert [(each.line, each.tag, each.text, each.state) for each in found] == [
        (1, "TODO", "TODO: first", "exact"),
        (2, None, "about b", "exact"),
    ]
    assert comments.transfer.write_inline("inline.ts").written == 2
    assert comments.transfer.write_inline("inline.ts").written == 0
    assert "holds no `@paired:` comment" in comments.transfer.import_files(("a.py",)).for_model()
    again = comments.transfer.import_files(("inline.ts",))
    assert (len(again.added), again.skipped) == (0, 2)


def test_open_comments_without_a_sure_place_are_counted(comments: Comments) -> None:
    comments.add("a.py", 3, "stays", "NOTE")
    comments.add("a.py", 30, "goes", "NOTE")
    write(root_of(comments), "a.py", "".join(CODE.splitlines(keepends=True)[:12]))
    done = comments.transfer.write_inline("a.py")
    assert (done.written, done.left) == (1, 1)
    assert "1 comment written into a.py\n1 more is not: nobody knows for sure where its code is" in done.for_model()


@pytest.mark.parametrize("path", ["a.py", "a.ts", "a.html", "a.css", "a.sql", "a.unknown", "a.rb"])
def test_what_is_written_inline_is_read_back(path: str) -> None:
    text = insert_inline(path, "one\n  two\nthree\n", [(2, "first line\nsecond */ --> line")])
    taken = extract_inline(text, remove=True)
    assert taken.without == "one\n  two\nthree\n"
    assert [each.line for each in taken.found] == [2]
    assert "first line\nsecond" in taken.found[0].text
    assert "\n" not in inline_comment(path, "a\nb")


@pytest.mark.parametrize("path", ["d.py", "d.ts", "d.css", "d.html", "d.c", "d.sql"])
def test_what_ends_a_comment_in_another_language_stays(comments: Comments, path: str) -> None:
    """` -->` was cut off in Python, and the comment imported a second time."""
    said = ["cont */ -->", "a --> and */", "ends so */", "a folder C:\\new\\"]
    write(root_of(comments), path, "one\ntwo\nthree\nfour\nfive\n")
    for line, text in enumerate(said, 1):
        comments.add(path, line, text, "NOTE", anchor="text")
    assert comments.transfer.write_inline(path).written == 4
    assert comments.transfer.write_inline(path).written == 0
    taken = comments.transfer.import_files((path,), remove=True)
    assert (len(taken.added), taken.skipped) == (0, 4)
    assert (root_of(comments) / path).read_text() == "one\ntwo\nthree\nfour\nfive\n"


def test_only_what_ends_a_comment_that_began_so_is_taken_off() -> None:
    def read(line: str) -> str:
        return extract_inline(f"{line}\none\n", remove=True).found[0].text

    assert read("# @paired: cont */ -->") == "cont */ -->"
    assert read("// @paired: cont */") == "cont */"
    assert read("/* @paired: cont --> */") == "cont -->"
    assert read("<!-- @paired: cont */ -->") == "cont */"


@pytest.mark.parametrize("end", ["\r", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029", "\0", "\n"])
@pytest.mark.parametrize("path", ["a.py", "a.js", "a.cpp", "a.css", "a.html"])
def test_no_end_of_a_line_turns_a_comment_into_code(path: str, end: str) -> None:
    written = inline_comment(path, f"x{end}import os")
    assert len(written.splitlines()) == 1
    assert end not in written


def test_a_final_backslash_does_not_swallow_the_next_line() -> None:
    assert not inline_comment("a.cpp", "x\\").endswith("\\")


@pytest.mark.parametrize("path", ["package.json", "data/rows.CSV"])
def test_a_file_that_has_no_comments_is_not_written_into(comments: Comments, path: str) -> None:
    root = Path(comments.tree.root)
    write(root, path, '{\n  "name": "shop"\n}\n')
    comments.add(path, 2, "about the name", "NOTE")
    with pytest.raises(InvalidArguments, match="has no comments") as refused:
        comments.transfer.write_inline(path)
    assert refused.value.advice
    assert (root / path).read_text() == '{\n  "name": "shop"\n}\n'
