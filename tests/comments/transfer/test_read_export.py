"""Exports are read back once, and lead nowhere outside."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest

from postil.comments.anchoring.locate import NOT_KEPT
from postil.comments.operations.validation import ExportOptions
from postil.core import call
from postil.core.failure import Failure, InvalidArguments, NotFound
from tests.comments.shop import BITS
from tests.comments.sidecars import extension_accepts
from tests.comments.workspaces import Comments, commit, root_of, sidecar, workspace, write
from tests.workspace.repositories import git

CODE = "".join(f"value_{n} = {n}\n" for n in range(1, 31))


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    return workspace(tmp_path / "here", **{"a.py": CODE, "lib/b.py": CODE})


def fill(comments: Comments) -> list[str]:
    """Three comments: on a range, with a thread, and by an assistant."""
    first = comments.add("a.py", 5, 'TODO: =SUM(1)\n"two" lines', endLine=7, author="ann").commentId
    comments.reply(first, "yes, and?", author="bob")
    comments.resolve(first, author="bob")
    second = comments.add("a.py", 9, "it's fine", "NOTE", "claude", {"model": "m", "confidence": 0.5, "own": [1]})
    third = comments.add("lib/b.py", 30, "the last line", "STAR")
    return [first, second.commentId, third.commentId]


def as_told(comments: Comments) -> dict[str, object]:
    told = {each.id: msgspec.to_builtins(each) for each in comments.listed().comments}
    for each in told.values():
        each.pop("markerId")
    return told


@pytest.mark.parametrize("format_", ["json", "jsonl", "csv"])
def test_an_export_is_taken_in_again_once(comments: Comments, tmp_path: Path, format_: str) -> None:
    ids = fill(comments)
    out = str(tmp_path / f"out.{format_}")
    assert comments.export(format_, output=out).totalComments == 3
    before = as_told(comments)
    again = comments.transfer.import_files((out,))
    assert (again.added, again.skipped) == ((), 3)
    other = workspace(tmp_path / "there", **{"a.py": CODE, "lib/b.py": CODE})
    taken = other.transfer.import_files((out,))
    assert sorted(each.commentId for each in taken.added) == sorted(ids)
    assert other.transfer.import_files((out,)).skipped == 3
    after = as_told(other)
    kept = ("id", "text", "author", "created", "updated", "line", "endLine", "tag", "status", "state", "filePath")
    kept += ("replies", "resolvedBy", "resolvedAt", "aiMeta") if format_ == "json" else ()
    for identity in ids:
        old, new = (msgspec.convert(told[identity], dict[str, object]) for told in (before, after))
        assert {key: old.get(key) for key in kept} == {key: new.get(key) for key in kept}
    assert other.maintenance.check_files().faults == ()


def test_imported_comments_are_found_where_their_code_is_now(comments: Comments, tmp_path: Path) -> None:
    fill(comments)
    out = str(tmp_path / "out.json")
    comments.export("json", output=out, options=ExportOptions(includeSourceContext=True))
    other = workspace(tmp_path / "there", **{"a.py": "# new\n# lines\n" + CODE, "lib/b.py": CODE.replace("_30", "_x")})
    other.transfer.import_files((out,))
    found = {each.text[:8]: (each.line, each.state) for each in other.listed().comments}
    assert found["it's fin"][0] == 11
    assert found["TODO: =S"][0] == 7
    assert found["the last"][1] in ("orphaned", "review", "modified")


@pytest.mark.parametrize("format_", ["json", "jsonl", "csv"])
def test_without_its_source_an_export_is_not_taken_for_other_code_on_the_same_lines(
    comments: Comments, tmp_path: Path, format_: str
) -> None:
    moved = comments.add("a.py", 12, "about twelve").commentId
    wide = comments.add("a.py", 4, "a range", endLine=6).commentId
    gone = comments.add("lib/b.py", 7, "about seven").commentId
    out = str(tmp_path / f"out.{format_}")
    comments.export(format_, output=out)
    assert "value_12" not in Path(out).read_text()
    other = workspace(tmp_path / "there", **{"a.py": "# new\n# lines\n" + CODE, "lib/b.py": "other = 1\n" * 30})
    other.transfer.import_files((out,))
    found = {each.id: (each.line, each.endLine, each.state) for each in other.listed().comments}
    assert found[moved] == (14, 0, "exact")
    assert found[wide] == (6, 8, "exact")
    assert found[gone][2] == "orphaned"


TWO = """def get_version(v):
    if not v:
        return
    print("1.0")


def load_plugins(self):
    if self._loaded:
        return
    self.go()
"""


@pytest.mark.parametrize("source", [True, False])
@pytest.mark.parametrize("format_", ["json", "jsonl", "csv"])
@pytest.mark.parametrize("left", ["".join(TWO.splitlines(True)[:4]), "#\n" * 6 + "".join(TWO.splitlines(True)[:4])])
def test_the_same_line_in_another_function_is_not_the_code_of_an_imported_comment(
    tmp_path: Path, format_: str, source: bool, left: str
) -> None:
    comments = workspace(tmp_path / "here", **{"cli.py": TWO})
    comments.add("cli.py", 9, "plugins load once only")
    out = str(tmp_path / f"out.{format_}")
    comments.export(format_, output=out, options=ExportOptions(includeSourceContext=source))
    other = workspace(tmp_path / "there", **{"cli.py": left})
    other.transfer.import_files((out,))
    (found,) = other.listed().comments
    assert (found.state, found.movedTo, found.candidates) == ("orphaned", "", ())
    same = workspace(tmp_path / "same", **{"cli.py": "#\n" + TWO.replace("self.go()", "self.run()")})
    same.transfer.import_files((out,))
    (found,) = same.listed().comments
    assert (found.state, found.line) == ("exact", 10)


@pytest.mark.parametrize("context", [0, 5])
def test_edited_code_is_not_looked_for_in_the_twin_of_its_function(tmp_path: Path, context: int) -> None:
    twin = "def close(stream):\n    stream.stop()\n    began = {0}\n    return began\n\n\n"
    text = twin + twin.replace("def close", "async def aclose")
    there = workspace(tmp_path / "there", **{"a.py": text.format("clock()")})
    there.add("a.py", 8, "of the second", "NOTE", endLine=9)
    out = str(tmp_path / "out.json")
    there.export("json", output=out, context=context)
    here = workspace(tmp_path / "here", **{"a.py": "import os\n" * 4 + text.format("now()")})
    here.transfer.import_files((out,))
    (found,) = here.listed().comments
    assert found.state == "orphaned" or found.line == 12


def test_an_export_without_the_code_of_its_function_is_judged_by_its_words(tmp_path: Path) -> None:
    comments = workspace(tmp_path / "here", **{"cli.py": TWO})
    comments.add("cli.py", 9, "plugins load once only")
    out = tmp_path / "out.json"
    comments.export("json", output=str(out))
    (codes,) = [part for part in out.read_text().split('"') if part.count(".") == 3]
    out.write_text(out.read_text().replace(codes, codes.rpartition(".")[0]))
    for name, text, state in (("there", "".join(TWO.splitlines(True)[:4]), "orphaned"), ("same", "#\n" + TWO, "exact")):
        other = workspace(tmp_path / name, **{"cli.py": text})
        other.transfer.import_files((str(out),))
        assert [each.state for each in other.listed().comments] == [state]


def test_comments_of_files_that_are_not_here_are_named(comments: Comments, tmp_path: Path) -> None:
    fill(comments)
    out = str(tmp_path / "out.jsonl")
    comments.export("jsonl", output=out)
    other = workspace(tmp_path / "there", **{"a.py": CODE})
    taken = other.transfer.import_files((out,))
    assert (len(taken.added), taken.skipped, taken.missing) == (2, 0, ("lib/b.py",))
    assert "lib/b.py is not here" in taken.for_model()
    assert taken.for_model().startswith("2 imported, 0 were there already, 1 left out: their files are not here\n")
    assert (taken.leftOut, taken.exit_status) == (1, 5)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.json", b"{"),
        ("x.json", b"[1]"),
        ("x.jsonl", b'{"prompt": "p"}\n'),
        ("x.jsonl", b"\xff\xfe\n"),
        ("x.csv", b"id,filePath,line,text\r\nc_1,a.py,first,hello\r\n"),
        ("x.csv", b"one,two\r\n1,2\r\n"),
        ("x.csv", b"\xff"),
    ],
)
def test_a_document_that_is_none_changes_nothing(comments: Comments, tmp_path: Path, name: str, content: bytes) -> None:
    write(tmp_path, name, content)
    with pytest.raises(InvalidArguments) as caught:
        comments.transfer.import_files((str(tmp_path / name),))
    assert caught.value.advice
    assert comments.listed().total == 0


def test_a_document_cannot_lead_out_of_the_workspace(comments: Comments, tmp_path: Path) -> None:
    row = {"completion": "x", "metadata": {"filePath": "a.py", "line": 1}}
    evil = {"completion": "x", "metadata": {"filePath": "../here-too/a.py", "line": 1}}
    write(tmp_path, "evil.jsonl", b"\n".join(map(msgspec.json.encode, (row, evil))))
    with pytest.raises(Failure) as caught:
        comments.transfer.import_files((str(tmp_path / "evil.jsonl"),))
    assert caught.value.code == -32003
    assert comments.listed().total == 0
    with pytest.raises(NotFound):
        comments.transfer.import_files((str(tmp_path / "missing.json"),))


@pytest.mark.parametrize("context", [False, True])
@pytest.mark.parametrize("format_", ["json", "jsonl", "csv"])
def test_a_comment_without_its_code_is_not_tied_to_other_code_by_an_import(
    comments: Comments, tmp_path: Path, format_: str, context: bool
) -> None:
    identity = comments.add("a.py", 12, "about twelve", "NOTE").commentId
    kept = "".join(f"entirely_{n} = other({n})\n" for n in range(30))
    write(Path(comments.tree.root), "a.py", kept)
    assert comments.show(identity).comment.state == "orphaned"
    out = str(tmp_path / f"out.{format_}")
    comments.export(format_, output=out, options=ExportOptions(includeSourceContext=context))
    other = workspace(tmp_path / "there", **{"a.py": kept, "lib/b.py": CODE})
    other.transfer.import_files((out,))
    assert other.show(identity).comment.state in ("orphaned", "review")
    assert other.maintenance.check_files().faults == ()


def test_a_comment_without_its_code_finds_it_where_the_import_has_it(comments: Comments, tmp_path: Path) -> None:
    identity = comments.add("a.py", 12, "about twelve", "NOTE").commentId
    write(Path(comments.tree.root), "a.py", "".join(f"entirely_{n} = other({n})\n" for n in range(30)))
    out = str(tmp_path / "out.json")
    comments.export("json", output=out, options=ExportOptions(includeSourceContext=True))
    other = workspace(tmp_path / "there", **{"a.py": "# above\n" + CODE})
    other.transfer.import_files((out,))
    assert other.show(identity).comment.line == 13


@pytest.mark.parametrize("line", ["1" + "0" * 27, str(2**31), str(-(2**40))])
def test_a_line_that_no_sidecar_can_hold_is_refused_and_changes_nothing(
    comments: Comments, tmp_path: Path, line: str
) -> None:
    fill(comments)
    before = (Path(comments.tree.root) / "a.py.comments").read_bytes()
    given = tmp_path / "given.json"
    document = '{"files":[{"comments":[{"filePath":"a.py","line":LINE,"text":"far"}]}]}'
    given.write_text(document.replace("LINE", line))
    with pytest.raises(InvalidArguments):
        comments.transfer.import_files((str(given),))
    assert (Path(comments.tree.root) / "a.py.comments").read_bytes() == before


def test_an_id_that_a_file_gives_twice_is_taken_once_and_said_so(comments: Comments, tmp_path: Path) -> None:
    given = tmp_path / "given.json"
    rows = [{"filePath": "a.py", "line": n, "text": f"number {n}", "id": "same"} for n in (1, 2)]
    given.write_bytes(msgspec.json.encode({"files": [{"comments": rows}]}))
    taken = comments.transfer.import_files((str(given),))
    assert (len(taken.added), taken.skipped) == (1, 1)
    assert [each.text for each in comments.listed().comments] == ["number 1"]
    assert comments.maintenance.check_files().faults == ()


def test_what_no_comment_can_be_asked_for_by_is_not_taken_as_an_id(comments: Comments, tmp_path: Path) -> None:
    given = tmp_path / "given.json"
    names = ["a:b", " ", "two\nlines", "x" * 201, "--all", "odd but fine"]
    rows = [{"filePath": "a.py", "line": n, "text": f"number {n}", "id": name} for n, name in enumerate(names, 1)]
    given.write_bytes(msgspec.json.encode({"files": [{"comments": rows}]}))
    assert len(comments.transfer.import_files((str(given),)).added) == len(names)
    found = [each.id for each in comments.listed().comments]
    assert [name for name in names if name in found] == names[-1:]
    assert [comments.show(name).comment.id for name in found] == found
    assert comments.transfer.import_files((str(given),)).added == ()


def test_deep_nesting_is_refused_and_long_cells_are_read(comments: Comments, tmp_path: Path) -> None:
    deep, long, odd = tmp_path / "deep.json", tmp_path / "long.csv", tmp_path / "odd.csv"
    deep.write_text('{"files":' + "[" * 100_000 + "]" * 100_000 + "}")
    long.write_text("filePath,line,text\na.py,3," + "x" * 200_000 + "\n")
    odd.write_bytes(b'filePath,line,text\na.py,3,"a\rb\0c\n')
    with pytest.raises(InvalidArguments):
        comments.transfer.import_files((str(deep),))
    assert len(comments.transfer.import_files((str(long),)).added) == 1
    with suppress(InvalidArguments):  # not every Python refuses it
        comments.transfer.import_files((str(odd),))


@pytest.mark.parametrize("source", [True, False])
@pytest.mark.parametrize("format_", ["json", "jsonl", "csv"])
def test_a_stale_comment_is_stale_where_it_is_imported_and_no_other_is(
    comments: Comments, tmp_path: Path, format_: str, source: bool
) -> None:
    root = root_of(comments)
    stale = [comments.add("a.py", 12, text).commentId for text in ("about twelve", "twelve, too")]
    for step in ("12 + 0", "round(12 + 0, 2)", "round(tax(12) + 0, 2)"):  # each a small change
        write(root, "a.py", CODE.replace("value_12 = 12\n", f"value_12 = {step}\n"))
        comments.relocate()
    fresh = comments.add("a.py", 12, "about the new one").commentId
    assert {each.id for each in comments.listed(stale=True).comments} == {*stale}
    out = str(tmp_path / f"out.{format_}")
    comments.export(format_, output=out, options=ExportOptions(includeSourceContext=source))
    changed = (root / "a.py").read_text()
    for name, text in (("there", changed), ("below", "# new\n" + changed)):
        other = workspace(tmp_path / name, **{"a.py": text})
        other.add("a.py", text.split("\n").index("value_12 = round(tax(12) + 0, 2)") + 1, "said here")
        other.transfer.import_files((out,))
        assert extension_accepts(sidecar(tmp_path / name, "a.py"))
        assert {each.id for each in other.listed(stale=True).comments} == {*stale}
        assert fresh in {each.id for each in other.listed().comments}
        other.contract.move(stale[0])
        assert {each.id for each in other.listed(stale=True).comments} == {stale[1]}


def test_the_words_that_stand_for_lost_code_are_never_found_in_a_source(comments: Comments, tmp_path: Path) -> None:
    comments.add("a.py", 12, "about twelve")
    write(root_of(comments), "a.py", "other = 1\n")
    commit(root_of(comments), "gone")
    assert comments.listed(state="orphaned").total == 1
    out = str(tmp_path / "out.json")
    comments.export("json", output=out)
    text = f"one = 1\n{NOT_KEPT}\n# {NOT_KEPT}\n" + "other = 2\n" * 12
    other = workspace(tmp_path / "there", **{"a.py": text, "b.py": text})
    other.transfer.import_files((out,))
    (found,) = other.listed().comments
    assert (found.state, found.movedTo, found.candidates) == ("orphaned", "", ())
    assert found.reason == "The export that the comment came with does not hold its code"


def test_what_holds_nothing_to_import_ends_with_a_status(comments: Comments, tmp_path: Path) -> None:
    write(root_of(comments), "x.html", "<p>nothing</p>\n")
    write(root_of(comments), "y.py", "# @paired: look\none = 1\n")
    assert comments.transfer.import_files(("x.html",)).exit_status == 5
    (tmp_path / "empty.jsonl").write_text("")
    assert comments.transfer.import_files((str(tmp_path / "empty.jsonl"),)).exit_status == 5
    assert comments.transfer.import_files(("x.html", "y.py")).exit_status == 0
    assert comments.transfer.import_files(("y.py",)).exit_status == 0, "it is here already"


@pytest.mark.parametrize("name", ["html", "parquet", "markdown", "txt"])
def test_an_export_that_is_not_read_back_is_refused_with_those_that_are(
    comments: Comments, tmp_path: Path, name: str
) -> None:
    """It said that the path leads upwards, though of json it does so, too."""
    fill(comments)
    (tmp_path / f"exp.{name}").write_bytes(b"anything")
    with pytest.raises(InvalidArguments) as refused:
        comments.transfer.import_files((f"../exp.{name}",))
    assert f"../exp.{name} cannot be imported" in refused.value.message
    assert "json, jsonl or csv" in refused.value.message


def test_a_source_is_taken_from_the_folder_that_a_person_stands_in(
    comments: Comments, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def resolve(_: call.Call, path: str, root: str) -> str:
        return os.path.relpath(os.path.join(root, "lib", path), root)

    monkeypatch.setattr(call.Call, "resolve", resolve)
    (tmp_path / "here" / "y.py").write_text("# @paired: NOTE: look\nx = 1\n")
    assert len(comments.transfer.import_files(("../y.py",)).added) == 1
    assert comments.transfer.import_files((str(tmp_path / "here" / "y.py"),)).skipped == 1


def test_a_parquet_export_inside_the_workspace_is_refused_the_same_way(comments: Comments, tmp_path: Path) -> None:
    (tmp_path / "here" / "exp.parquet").write_bytes(b"PAR1")
    with pytest.raises(InvalidArguments, match="json, jsonl or csv"):
        comments.transfer.import_files(("exp.parquet",))


EDITED = BITS.replace("range(4, 9)", "self.list_bits(4, self.last, step=1)").replace(
    "append(bit)", "self.add(bit, bit)"
)
FOR_BIT = "for bit in range(4, 9):"


def export_lost(comments: Comments, out: Path, *, source: bool = False) -> str:
    """Export a comment whose code is edited beyond being sure of it."""
    identity = comments.add("style.py", 5, "why 9?", "NOTE").commentId
    commit(root_of(comments), "said")
    write(root_of(comments), "style.py", EDITED)
    commit(root_of(comments), "edited")
    assert comments.show(identity).comment.state in ("review", "orphaned")
    comments.export(out.suffix[1:], output=str(out), options=ExportOptions(includeSourceContext=source))
    assert ("range(4, 9)" in out.read_text()) == source, "an export holds no source unless it is asked"
    return identity


@pytest.mark.parametrize("format_", ["json", "jsonl", "csv"])
def test_lost_code_is_found_where_it_stands_as_it_was_and_alone(tmp_path: Path, format_: str) -> None:
    comments, out = workspace(tmp_path / "here", **{"style.py": BITS}), tmp_path / f"out.{format_}"
    identity = export_lost(comments, out)
    for name, there, line in (("same", "# a\n# b\n" + BITS, 7), ("edited", BITS.replace("append(bit)", "add(bit)"), 5)):
        other = workspace(tmp_path / name, **{"style.py": there})
        other.transfer.import_files((str(out),))
        found = other.show(identity)
        assert (found.comment.line, found.comment.state, found.code.strip()) == (line, "exact", FOR_BIT)
        assert other.maintenance.check_files().faults == ()


def test_lost_code_that_stands_twice_or_elsewhere_is_no_place(tmp_path: Path) -> None:
    comments, out = workspace(tmp_path / "here", **{"style.py": BITS}), tmp_path / "out.json"
    identity = export_lost(comments, out)
    twice = BITS.replace(
        "                    append(bit)\n", f"                    {FOR_BIT}\n                        pass\n"
    )
    for name, there in (("twice", twice), ("other", f"def other():\n    {FOR_BIT}\n        print(bit)\n")):
        other = workspace(tmp_path / name, **{"style.py": there})
        other.transfer.import_files((str(out),))
        assert other.show(identity).comment.state in ("orphaned", "review")


@pytest.mark.parametrize("format_", ["json", "jsonl", "csv"])
def test_the_code_of_what_is_uncertain_is_what_it_was_and_not_a_candidate(tmp_path: Path, format_: str) -> None:
    comments, out = workspace(tmp_path / "here", **{"style.py": BITS}), tmp_path / f"out.{format_}"
    identity = export_lost(comments, out, source=True)
    other = workspace(tmp_path / "other", **{"style.py": EDITED})
    other.transfer.import_files((str(out),))
    found = other.show(identity).comment
    assert (found.state in ("orphaned", "review"), FOR_BIT in found.oldText) == (True, True)


@pytest.mark.parametrize("format_", ["json", "jsonl", "csv"])
def test_where_git_has_the_old_version_lost_code_is_kept_by_an_import(tmp_path: Path, format_: str) -> None:
    comments, out = workspace(tmp_path / "here", **{"style.py": BITS}), tmp_path / f"out.{format_}"
    identity = export_lost(comments, out)
    before = comments.show(identity).comment
    git(tmp_path, "clone", "-q", str(tmp_path / "here"), "clone")
    (tmp_path / "clone" / "style.py.comments").unlink()
    other = Comments(str(tmp_path / "clone"))
    other.transfer.import_files((str(out),))
    after = other.show(identity).comment
    assert (after.state, after.oldText, after.candidates) == (before.state, before.oldText, before.candidates)
    assert FOR_BIT in after.oldText
    write(tmp_path / "clone", "style.py", "# put back\n" + BITS)
    assert (other.show(identity).comment.line, other.show(identity).comment.state) == (6, "moved")


@pytest.mark.parametrize("lie", ["line", "blob", "codes", "form"])
def test_an_old_version_that_does_not_hold_that_code_is_not_believed(tmp_path: Path, lie: str) -> None:
    comments, out = (
        workspace(tmp_path / "here", **{"style.py": BITS, "secret.py": "key = 1\n" * 9}),
        tmp_path / "out.json",
    )
    export_lost(comments, out)
    document = msgspec.json.decode(out.read_bytes())
    (told,) = document["files"][0]["comments"]
    blob, _, line = told["lineVersion"].partition(":")
    other_blob = git(root_of(comments), "rev-parse", "HEAD:secret.py").strip()
    told["lineVersion"] = {
        "line": f"{blob}:6",
        "blob": f"{other_blob}:{line}",
        "codes": told["lineVersion"],
        "form": f"{blob}:x-{'9' * 30}",
    }[lie]
    if lie == "codes":
        told["lineCodes"] = "AAAA.BBBB.CCCC"
    told["id"] = "c_9"
    out.write_bytes(msgspec.json.encode(document))
    comments.transfer.import_files((str(out),))
    found = comments.show("c_9").comment
    assert (found.state, found.oldText) == ("orphaned", NOT_KEPT)
