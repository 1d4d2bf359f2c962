"""The contract, example by example: schemas, answers, metadata, errors."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from postil.comments.failures import InvalidFilePath, SourceNotParsed
from postil.comments.operations.validation import AddArguments, Filters
from postil.core import call
from postil.core.content import Embedded
from postil.core.failure import Failure, InvalidArguments
from postil.core.operation import Operation
from tests.comments.workspaces import CONTRACT, FUNCTIONS, Comments, contract_workspace, sidecar, workspace, write


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    return contract_workspace(tmp_path)


def called(comments: Comments, name: str, arguments: dict[str, Any]) -> Any:
    """Call a tool as a client does: arguments decoded, then run."""
    operation: Operation = comments.face().operation(name)
    return operation.run(**operation.decode(arguments))


def example(name: str) -> tuple[dict[str, Any], str, dict[str, Any]]:
    """An example request's arguments, the text of its answer, and the metadata."""
    for exchange in CONTRACT["exchanges"]:
        if exchange["request"]["params"].get("name") == name:
            result = exchange["response"]["result"]
            return (
                exchange["request"]["params"]["arguments"],
                result["content"][0].get("text", ""),
                result.get("metadata"),
            )
    raise AssertionError(name)


def without_ids(text: str) -> str:
    text = re.sub(r"\b(c|gm)_\d+", r"\1_ID", text)
    return re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME", text)


@pytest.mark.parametrize("tool", CONTRACT["tools"], ids=lambda tool: tool["name"])
def test_the_published_schema_is_the_contracts(comments: Comments, tool: dict[str, Any]) -> None:
    entry = comments.face().operations[tool["name"]]
    assert msgspec.json.decode(entry.input_schema) == tool["inputSchema"]
    assert entry.description == tool["description"]


def test_the_tools_are_listed_in_the_contracts_order(comments: Comments) -> None:
    names = [entry.name for entry in comments.face().tools]
    assert names[:7] == [tool["name"] for tool in CONTRACT["tools"]]


def test_adding_a_comment_answers_the_contracts_text(comments: Comments) -> None:
    arguments, text, _ = example("add_comment")
    added = called(comments, "add_comment", arguments)
    assert without_ids(added.for_model()) == without_ids(text)
    assert re.fullmatch(r"c_\d{19}", added.commentId)
    assert re.fullmatch(r"gm_\d{19}", added.ghostMarkerId)


def test_editing_a_comment_answers_the_contracts_text(comments: Comments) -> None:
    added = called(comments, "add_comment", example("add_comment")[0])
    arguments, text, _ = example("edit_comment")
    edited = called(comments, "edit_comment", {**arguments, "commentId": added.commentId})
    assert without_ids(edited.for_model()) == without_ids(text)
    assert arguments["text"].encode() in sidecar(Path(comments.tree.root), "src/services/auth.ts")


def test_deleting_a_comment_answers_the_contracts_text(comments: Comments) -> None:
    added = called(comments, "add_comment", example("add_comment")[0])
    arguments, text, _ = example("delete_comment")
    deleted = called(comments, "delete_comment", {**arguments, "commentId": added.commentId})
    assert without_ids(deleted.for_contract()) == without_ids(text)
    assert called(comments, "get_file_comments", {"filePath": arguments["filePath"]}).comments == ()


def test_searching_answers_the_contracts_text_and_metadata(comments: Comments) -> None:
    # The example asks for AI-enriched comments and shows one model: the others have metadata without one.
    third = {"filePath": "src/middleware/security.ts", "line": 5, "text": "TODO: Configure rate limiter for production"}
    called(comments, "add_comment", {**third, "tag": "TODO", "author": "claude", "aiMeta": {"confidence": 0.5}})
    second = {"filePath": "src/api/login.ts", "line": 18, "text": "TODO: Add rate limiting middleware"}
    called(comments, "add_comment", {**second, "tag": "TODO", "author": "gpt-4", "aiMeta": {"confidence": 0.5}})
    added = called(comments, "add_comment", example("add_comment")[0])
    edit = example("edit_comment")[0]
    called(comments, "edit_comment", {**edit, "commentId": added.commentId})
    called(comments, "add_comment", {**second, "tag": "TODO"})  # no AI metadata: left out
    arguments, text, metadata = example("search_comments")
    found = called(comments, "search_comments", arguments)
    assert without_ids(found.for_contract()) == without_ids(text)
    assert found.metadata() == metadata
    assert f"📝 {added.filePath}:{added.line} (TODO) - {added.commentId}\n" in found.for_model()  # to go on with it


def test_the_comments_of_a_file_are_answered_as_the_contract_shows(comments: Comments) -> None:
    path = "src/services/auth.ts"
    for line, tag, author, text in [
        (42, "TODO", "claude", "TODO: Implement rate limiting using Redis (max 5 attempts per minute)"),
        (78, "FIXME", "claude", "FIXME: Hash comparison is vulnerable to timing attacks"),
        (15, "NOTE", "user", "This service handles all authentication logic"),
        (30, "TODO", "user", "Check the new name"),
        (10, "NOTE", "user", "One hour"),
    ]:
        called(comments, "add_comment", {"filePath": path, "line": line, "tag": tag, "author": author, "text": text})
    arguments, text, metadata = example("get_file_comments")
    answer = called(comments, "get_file_comments", arguments)
    assert without_ids(answer.for_model()).startswith(without_ids(text.removesuffix("\n\n...")))
    assert answer.metadata() == metadata


def test_moving_a_comment_answers_the_contracts_text(comments: Comments) -> None:
    added = called(comments, "add_comment", example("add_comment")[0])
    arguments, text, _ = example("move_comment")
    moved = called(comments, "move_comment", {**arguments, "commentId": added.commentId})
    assert without_ids(moved.for_model()) == without_ids(text)
    there = called(comments, "get_file_comments", {"filePath": arguments["targetFile"]}).comments
    assert [(each.id, each.line) for each in there] == [(added.commentId, 25)]
    assert called(comments, "get_file_comments", {"filePath": arguments["sourceFile"]}).comments == ()


def test_training_data_is_exported_as_the_contract_shows(comments: Comments) -> None:
    called(comments, "add_comment", {**example("add_comment")[0], "text": "TODO: Add rate limiting"})
    arguments, _, metadata = example("export_comments")
    answer = called(comments, "export_comments", arguments)
    (block,) = answer.for_model()
    assert isinstance(block, Embedded)
    assert (block.resource.uri, block.resource.mime_type) == ("export://training-data.jsonl", "application/x-ndjson")
    (record,) = [msgspec.json.decode(line) for line in (block.resource.text or "").splitlines()]
    assert record["prompt"].startswith("Analyze this code:\n")
    assert len(record["prompt"].splitlines()) == 1 + 11  # five lines before, the line, five after
    assert record["completion"] == "TODO: Add rate limiting"
    assert (record["metadata"]["tag"], record["metadata"]["author"]) == ("TODO", "claude")
    assert answer.metadata().keys() == metadata.keys()
    assert answer.metadata()["sizeBytes"] == len((block.resource.text or "").encode())


def failing(comments: Comments, name: str, arguments: dict[str, Any]) -> Failure:
    with pytest.raises(Failure) as caught:
        called(comments, name, arguments)
    return caught.value


def error_named(message: str) -> dict[str, Any]:
    return next(error for error in CONTRACT["errors"] if error["message"] == message)


def test_a_missing_file_is_the_contracts_error(comments: Comments) -> None:
    wanted = error_named("File not found")
    failure = failing(comments, "get_file_comments", {"filePath": wanted["data"]["filePath"]})
    assert (failure.code, failure.message) == (wanted["code"], wanted["message"])
    assert failure.details() == {**wanted["data"], "workspaceRoot": comments.tree.root}


def test_an_unknown_comment_is_the_contracts_error(comments: Comments) -> None:
    wanted = error_named("Comment not found")
    arguments = {key: wanted["data"][key] for key in ("filePath", "commentId")}
    failure = failing(comments, "delete_comment", arguments)
    assert {"code": failure.code, "message": failure.message, "data": failure.details()} == wanted


def test_a_line_past_the_end_is_the_contracts_error(comments: Comments) -> None:
    wanted = error_named("Invalid line number")
    arguments = {"filePath": "src/app.ts", "line": 999, "text": "x", "tag": "NOTE"}
    failure = failing(comments, "add_comment", arguments)
    assert {"code": failure.code, "message": failure.message, "data": failure.details()} == wanted


def test_a_syntax_error_at_the_line_is_the_contracts_error(comments: Comments) -> None:
    wanted = error_named("Failed to parse source code")
    broken = "".join(f"const a{n} = {n};\n" for n in range(40)) + "function f() {\n  return (1 +;\n}\n"
    (Path(comments.tree.root) / "src/broken.ts").write_text(broken)
    failure = failing(comments, "add_comment", {"filePath": "src/broken.ts", "line": 42, "text": "x", "tag": "NOTE"})
    assert (failure.code, failure.message) == (wanted["code"], wanted["message"])
    assert failure.details()["filePath"] == "src/broken.ts"
    assert "line 42" in str(failure.details()["parseError"])
    assert str(failure.details()["suggestion"]).startswith(wanted["data"]["suggestion"])


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("add_comment", {"filePath": "src/app.ts", "line": 0, "text": "x", "tag": "NOTE"}),
        ("add_comment", {"filePath": "src/app.ts", "line": 1, "text": "", "tag": "NOTE"}),
        ("add_comment", {"filePath": "src/app.ts", "line": 1, "text": "x" * 10_001, "tag": "NOTE"}),
        ("add_comment", {"filePath": "src/app.ts", "line": 1, "text": "x", "tag": "HACK"}),
        ("add_comment", {"filePath": "src/app.ts", "line": 1, "text": "x"}),
        ("add_comment", {"filePath": "src/app.ts", "line": 1, "text": "x", "tag": "NOTE", "aiMeta": {"confidence": 2}}),
        ("add_comment", {"filePath": "src/app.ts", "line": 1, "text": "x", "tag": "NOTE", "author": ""}),
        ("edit_comment", {"filePath": "src/app.ts", "commentId": "no id", "text": "x"}),
        ("search_comments", {"query": ""}),
        ("search_comments", {"query": "x", "limit": 1001}),
        ("search_comments", {"query": "x", "limit": 0}),
        ("search_comments", {"query": "x", "filters": {"tag": "HACK"}}),
        ("search_comments", {"query": "x", "filters": {"dateRange": {"start": "yesterday"}}}),
        ("search_comments", {"query": "(unclosed"}),
        ("search_comments", {"query": r"(a)\1"}),
        ("search_comments", {"query": "(?=look)"}),
        ("export_comments", {"format": "xml"}),
        ("export_comments", {"format": "json", "options": {"contextLines": 21}}),
        ("move_comment", {"sourceFile": "a", "targetFile": "b", "commentId": "c_1", "targetLine": 0}),
    ],
)
def test_arguments_outside_the_contract_are_invalid_params(
    comments: Comments, name: str, arguments: dict[str, Any]
) -> None:
    failure = failing(comments, name, arguments)
    assert isinstance(failure, InvalidArguments)
    assert failure.code == -32602


def test_text_and_limits_at_their_edges_are_taken(comments: Comments) -> None:
    add = {"filePath": "src/app.ts", "line": 150, "text": "x" * 10_000, "tag": "STAR"}
    assert called(comments, "add_comment", add).line == 150
    assert called(comments, "search_comments", {"query": "x{100}", "limit": 1000}).totalResults == 1


def test_a_syntax_error_is_told_in_the_words_of_a_parser_and_its_advice_is_on_the_face(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"a.ts": "function f() {\n  return (1;\n}\n"})
    with pytest.raises(SourceNotParsed) as refused:
        comments.add("a.ts", 2, "text", "NOTE")
    assert re.fullmatch(r"(Unexpected token|Expected) '.+' at line \d+", str(refused.value.data["parseError"]))
    assert 'anchor: "text"' in refused.value.advice
    by_contract = AddArguments(filePath="a.ts", line=2, text="text", tag="NOTE")
    with pytest.raises(SourceNotParsed) as plain:
        comments.contract.add(**msgspec.structs.asdict(by_contract))
    assert plain.value.advice == "Fix syntax errors before adding comments"


def test_a_part_of_an_argument_s_name_is_told_as_it(tmp_path: Path) -> None:
    registry = workspace(tmp_path, **{"a.py": "x = 1\n"}).registry()
    with pytest.raises(InvalidArguments) as refused:
        registry.operation("add_comment").decode({"path": "a.py", "line": 1, "text": "x"})
    assert refused.value.advice == "Did you mean `filePath`?"


def test_an_unknown_filter_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"tag": "TODO", "file": "a.py"}, Filters)


@pytest.mark.parametrize("folder", ["node_modules", ".venv", "lib/node_modules/x"])
def test_a_comment_where_nobody_would_see_it_is_refused(tmp_path: Path, folder: str) -> None:
    comments = workspace(tmp_path, **{f"{folder}/a.py": "value = 1\n", "b.py": "value = 1\n"})
    with pytest.raises(InvalidFilePath):
        comments.add(f"{folder}/a.py", 1, "text", "NOTE")
    identity = comments.add("b.py", 1, "text", "NOTE").commentId
    with pytest.raises(InvalidFilePath):
        comments.move("b.py", f"{folder}/a.py", identity, 1)
    with pytest.raises(InvalidFilePath):
        comments.move_all("b.py", f"{folder}/a.py")
    (tmp_path / folder / "inline.py").write_text("# @paired: NOTE: seen by nobody\nvalue = 1\n")
    with pytest.raises(InvalidFilePath):
        comments.transfer.import_files((f"{folder}/inline.py",))
    exported = tmp_path / "exported.json"
    record = {"filePath": f"{folder}/a.py", "line": 1, "text": "seen by nobody"}
    exported.write_bytes(msgspec.json.encode({"files": [{"comments": [record]}]}))
    with pytest.raises(InvalidFilePath):
        comments.transfer.import_files((str(exported),))


def test_a_comment_on_a_blank_line_is_told_what_that_means(tmp_path: Path) -> None:
    code = "\nfirst = 1\n\n\nsecond = 2\n\n"
    comments = workspace(tmp_path, **{"a.py": code, "a b.py": code, "empty.txt": "\n\n"})
    assert (
        "The nearest code is line 5, `second = 2`: move_comment to a.py 5" in comments.add("a.py", 3, "x").for_model()
    )
    assert "line 5, `second = 2`" in comments.add("a.py", 6, "x").warning
    assert comments.add("empty.txt", 1, "x").warning.endswith("lost when that line goes")
    assert comments.add("a.py", 2, "x").warning == comments.add("a.py", 1, "x", endLine=2).warning == ""
    person = call.Call()
    person.person = True
    call.enter(person)
    try:
        said, spaced = comments.add("a.py", 4, "x"), comments.add("a b.py", 4, "x")
    finally:
        call.enter(call.Call())
    assert f"`postil comments move {said.commentId} a.py 5`" in said.warning
    assert f"`postil comments move {spaced.commentId} 'a b.py' 5`" in spaced.warning
    arguments = {"filePath": "a.py", "line": 3, "text": "x", "tag": "NOTE"}
    assert called(comments, "add_comment", arguments).warning == "", "the contract has no such words"


def test_a_comment_that_git_ignores_is_said_to_stay_here(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"a.py": "one = 1\n", "build/b.py": "two = 2\n", ".gitignore": "build/\n"})
    said = comments.add("build/b.py", 1, "first", "NOTE").warning
    assert "git ignores build/b.py.comments" in said
    assert "stays on this computer" in said
    assert comments.add("build/b.py", 1, "second", "NOTE").warning == "", "it was said when the file was made"
    assert comments.add("a.py", 1, "third", "NOTE").warning == ""


def test_a_comment_on_a_file_that_git_ignores_is_said_to_travel_alone(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"a.py": "one = 1\n", "out.log": "two\n", ".gitignore": "*.log\n"})
    said = "git ignores out.log: a commit takes the comment along, and not the file it is about"
    identity = comments.add("out.log", 1, "first", "NOTE").commentId
    comments.delete("out.log", identity)
    assert comments.add("out.log", 1, "first", "NOTE").warning == said


def test_a_comment_that_is_moved_or_imported_into_an_ignored_file_is_said_to_stay_here(tmp_path: Path) -> None:
    files = {"a.py": FUNCTIONS, "build/b.py": FUNCTIONS, "build/c.py": "# @paired: look\none = 1\n"}
    comments = workspace(tmp_path, **files, **{".gitignore": "build/\n"})
    first, second = (comments.add("a.py", line, f"at {line}", "NOTE").commentId for line in (1, 2))
    said = "git ignores build/{}.py.comments: the comment stays on this computer, no commit takes it along"
    moved = comments.move("a.py", "build/b.py", first, 1)
    assert moved.warning == said.format("b")
    assert moved.for_model().endswith(f"⚠️ {moved.warning}")
    assert moved.warning not in moved.for_contract(), "the contract has no words for it"
    assert comments.move("a.py", "build/b.py", second, 2).warning == said.format("b"), "each leaves what is committed"
    assert comments.move("build/b.py", "build/b.py", second, 5).warning == "", "it was there before"
    taken = comments.transfer.import_files(("build/c.py",))
    assert taken.warnings == (said.format("c"),)
    assert taken.for_model().endswith(f"⚠️ {said.format('c')}")
    write(tmp_path, "build/d.py", files["build/b.py"])
    comments.add("a.py", 6, "third", "NOTE")
    all_moved = comments.move_all("a.py", "build/d.py")
    assert all_moved.for_model().endswith(f"⚠️ {said.format('d')}")


def test_who_moves_a_comment_onto_a_blank_line_is_told(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"a.py": "one = 1\n\n\ntwo = 2\n"})
    identity = comments.add("a.py", 1, "moves", "NOTE").commentId
    moved = comments.move("a.py", "a.py", identity, 2)
    assert "Line 2 is blank" in moved.for_model()
    assert "The nearest code is line 4, `two = 2`: move_comment to a.py 4" in moved.for_model()
    assert "blank" not in moved.for_contract()
    there = comments.contract.move(identity, "a.py", 3, 4)
    assert there.warning == "", "the range has a line of code"
