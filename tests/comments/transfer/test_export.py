"""Exports in every format, and what they leave out."""

from __future__ import annotations

import base64
import io
import re
import shlex
import sys
from pathlib import Path

import msgspec
import pytest

from postil.app import read_catalogue
from postil.comments.model import Located
from postil.comments.operations.validation import ExportOptions
from postil.comments.show.one_comment import show_line
from postil.comments.transfer import export
from postil.comments.transfer.documents import redact
from postil.core.content import Embedded, Text
from postil.core.failure import Failure, NotFound
from postil.core.size import bound
from postil.surfaces.shell.argv import find
from postil.surfaces.shell.commands import Words
from tests.comments.workspaces import Comments, commit, root_of, workspace, write

CODE = "".join(f"value_{n} = {n}\n" for n in range(1, 31))


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    return workspace(tmp_path, **{"a.py": CODE, "lib/b.py": CODE, "lib/deep/c.ts": "const a = 1;\n" * 20})


def test_every_format_is_exported(comments: Comments) -> None:
    comments.add("a.py", 5, "TODO: five", "TODO")
    body = msgspec.json.decode(str(comments.export("json").document))
    assert body["totalComments"] == 1
    assert body["files"][0]["comments"][0]["text"] == "TODO: five"
    text = str(comments.export("markdown", options=ExportOptions(includeSourceContext=True)).document)
    assert "## a.py" in text
    assert "value_5 = 5" in text
    assert comments.export("jsonl", "lib/b.py").totalComments == 0
    with pytest.raises(NotFound):
        comments.export("json", "missing.py")


@pytest.mark.parametrize("form", ["json", "markdown", "jsonl", "csv", "html"])
def test_an_export_holds_no_source_unless_it_is_asked_for(comments: Comments, form: str) -> None:
    comments.add("a.py", 5, "five", "TODO")
    assert "value_5 = 5" not in str(comments.export(form).document)
    assert "value_5" in str(comments.export(form, options=ExportOptions(includeSourceContext=True)).document)


def test_parquet_can_be_read_again(comments: Comments, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    comments.add("a.py", 5, "TODO: five", "TODO")
    export_document = comments.export("parquet")
    table = parquet.read_table(io.BytesIO(base64.b64decode(str(export_document.blob))))
    assert table.to_pylist()[0]["text"] == "TODO: five"
    written = comments.export("parquet", output=str(tmp_path / "out.parquet"))
    assert written.sizeBytes == (tmp_path / "out.parquet").stat().st_size


def test_parquet_without_its_library_says_what_to_install(comments: Comments, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(Failure) as caught:
        comments.export("parquet")
    assert "'.[parquet]'" in caught.value.advice


def test_training_data_keeps_no_secret(comments: Comments) -> None:
    key = "AKIA" + "A" * 16
    write(root_of(comments), "secret.py", f'password = "hunter22"\nkey = "{key}"\n')
    comments.add("secret.py", 1, f"the key {key} leaks", "NOTE")
    text = str(comments.export("jsonl").document)
    assert key not in text
    assert "hunter22" not in text
    assert redact("nothing secret: x = 'abc'") == "nothing secret: x = 'abc'"


@pytest.mark.parametrize("form", ["json", "jsonl", "csv", "html", "markdown"])
def test_an_export_that_is_too_large_for_a_model_is_whole_or_left_out(comments: Comments, form: str) -> None:
    for number in range(1, 31):
        comments.add("a.py", number, f"TODO: {number} " + "much to say, " * 90, "TODO")
    answer = comments.export(form)
    *kept, note = bound(answer.for_model(), answer.rest())
    assert isinstance(note, Text)
    (command,) = re.findall(r"`postil (comments export [^`]+)`", note.text)
    found = find(read_catalogue(["comments"]).operations, shlex.split(command))
    assert found is not None
    reader = Words(found[0], "postil")
    reader.check(reader.read(found[1])[0])
    texts = [str(block.resource.text) for block in kept if isinstance(block, Embedded)]
    if form == "json":
        (read,) = [msgspec.json.decode(text) for text in texts]
        assert (read["totalComments"], 0 < len(read["files"][0]["comments"]) < 30) == (30, True)
    elif form == "jsonl":
        assert 0 < len([msgspec.json.decode(line) for text in texts for line in text.splitlines()]) < 30
    else:
        assert bool(texts) == (form == "markdown")


def test_code_in_another_file_is_named_with_both_files_in_every_format(comments: Comments) -> None:
    """Its line is of the file that it is in now."""
    root = root_of(comments)
    body = "def greet(name):\n    message = 'good day to you, ' + name\n    return message.title()\n"
    write(root, "app.py", CODE + body)
    commit(root, "greets")
    comments.add("app.py", 32, "NOTE: why so polite?", "NOTE")
    write(root, "app.py", CODE)
    write(root, "greeter.py", "# greetings\n\n" + body)
    (moved,) = comments.listed().comments
    assert (moved.movedTo, moved.line) == ("greeter.py", 4)
    assert "greeter.py:4 (was in app.py)" in show_line(moved)
    markdown = str(comments.export("markdown").document)
    assert "\n## greeter.py\n" in markdown
    assert "line 4 (greet(), moved, was in app.py)" in markdown
    page = str(comments.export("html").document)
    assert "<h2>greeter.py</h2>" in page
    assert "greeter.py:4 (was in app.py)" in page
    (row,) = str(comments.export("csv").document).splitlines()[1:]
    assert ",greeter.py,4," in row
    told = msgspec.json.decode(str(comments.export("json").document))["files"][0]["comments"][0]
    assert (told["filePath"], told["movedTo"], told["line"]) == ("app.py", "greeter.py", 4)


def test_an_answer_that_gets_too_large_ends_before_all_of_it_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    comments = workspace(tmp_path, **{"a.py": "".join(f"value_{n} = {n}\n" for n in range(100))})
    for line in range(1, 41):
        comments.add("a.py", line, "x" * 100, "NOTE")
    monkeypatch.setattr(export, "LARGEST_ANSWER", 2000)
    shown: list[str] = []
    without_source = export._without_source  # pyright: ignore[reportPrivateUsage]

    def show(each: Located, marks: str) -> object:
        shown.append(each.comment.id)
        return without_source(each, marks)

    monkeypatch.setattr(export, "_without_source", show)
    for format_ in ("json", "jsonl", "csv"):
        shown.clear()
        with pytest.raises(Failure, match="more than an answer may hold"):
            comments.export(format_)
        assert len(shown) < 30
    assert comments.export("json", output=str(tmp_path / "out.json")).totalComments == 40


def test_an_export_of_a_folder_or_a_glob_holds_what_is_in_it(tmp_path: Path) -> None:
    code = "value = 1\n" * 5
    comments = workspace(tmp_path, **{"a.py": code, "lib/b.py": code, "lib/c.py": code})
    for path in ("a.py", "lib/b.py", "lib/c.py"):
        comments.add(path, 2, f"about {path}", "NOTE")
    counted = [comments.export("csv", file=where).totalComments for where in ("lib", "lib/b.py", "lib/*.py", "")]
    assert counted == [2, 1, 2, 3]
    with pytest.raises(NotFound):
        comments.export("csv", file="none")


def test_an_export_holds_every_word_however_long_a_comment_is(comments: Comments) -> None:
    """The cache keeps the beginning of what another program made longer than anybody writes."""
    for line in (5, 6):
        comments.add("a.py", line, f"on line {line}", "NOTE")
    file = root_of(comments) / "a.py.comments"
    held = msgspec.json.decode(file.read_bytes())
    held["comments"][0]["text"] = text = "long " * 40_000 + "end"
    held["comments"][1]["replies"] = [
        {
            "id": f"r{number}",
            "author": "a",
            "text": f"{number} " + "word " * 4000,
            "created": "2026-01-01T00:00:00.000Z",
        }
        for number in range(30)
    ]
    file.write_bytes(msgspec.json.encode(held))
    first, second = msgspec.json.decode(str(comments.export("json").document))["files"][0]["comments"]
    assert first["text"] == text
    assert [each["text"] for each in second["replies"]] == [each["text"] for each in held["comments"][1]["replies"]]


def test_who_exports_again_gets_the_codes_of_the_lines_as_they_are_then(comments: Comments) -> None:
    comments.add("a.py", 5, "five")
    codes = [_read_codes(comments) for _ in range(2)]
    write(root_of(comments), "a.py", CODE.replace("value_6 = 6", "value_6 = 66"))
    codes += [_read_codes(comments) for _ in range(2)]
    assert codes[0] == codes[1] != codes[2] == codes[3]


def _read_codes(comments: Comments) -> str:
    return msgspec.json.decode(str(comments.export("json").document))["files"][0]["comments"][0]["lineCodes"]


def test_what_was_cut_of_one_file_says_how_to_have_that_file(comments: Comments) -> None:
    comments.add("lib/b.py", 3, "of b", "NOTE")
    whole, one = comments.export("json"), comments.export("json", filePath="lib/b.py")
    assert whole.rest().startswith("Ask for one file with filePath; `postil comments export json --output FILE` in")
    assert one.rest().startswith("`postil comments export json --output FILE -f lib/b.py` in a shell writes all 1 ")
    assert msgspec.to_builtins(one.plain()).get("asked") is None
