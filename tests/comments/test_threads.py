"""Comments by their id: threads, resolution, lists, search, export, inline comments, repair."""

from __future__ import annotations

import base64
import io
import os
import sys
from pathlib import Path

import msgspec
import pytest

from postil.comments.transfer.documents import redact
from postil.comments.transfer.inline import extract_inline, inline_comment, insert_inline
from postil.core import call
from postil.core.failure import Conflict, Failure, InvalidArguments, NotFound
from tests.comments.sidecars import DAMAGED_BY_REFERENCE, EXTENSION, REFERENCE, SOURCE, as_javascript
from tests.comments.workspaces import Comments, commit, sidecar, workspace, write

CODE = "".join(f"value_{n} = {n}\n" for n in range(1, 31))


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    return workspace(tmp_path, **{"a.py": CODE, "lib/b.py": CODE, "lib/deep/c.ts": "const a = 1;\n" * 20})


def root_of(comments: Comments) -> Path:
    return Path(comments.tree.root)


def test_a_thread_has_replies_and_an_end(comments: Comments) -> None:
    identity = comments.add("a.py", 1, "why?", "QUESTION").commentId
    comments.reply(identity, "because", author="ann")
    comments.reply(identity, "I see", author="bob")
    comments.resolve(identity, author="ann")
    shown = comments.show(identity).comment
    assert [(each.author, each.text) for each in shown.replies] == [("ann", "because"), ("bob", "I see")]
    assert (shown.status, shown.resolvedBy) == ("resolved", "ann")
    comments.resolve(identity, "open")
    shown = comments.show(identity).comment
    assert (shown.status, shown.resolvedBy) == ("open", "")


def test_an_edit_that_expects_another_state_is_refused(comments: Comments) -> None:
    identity = comments.add("a.py", 1, "one", "NOTE").commentId
    seen = comments.show(identity).comment.updated
    comments.edit_by_id(identity, "two", expectedUpdated=seen)
    with pytest.raises(Conflict):
        comments.edit_by_id(identity, "three", expectedUpdated="2020-01-01T00:00:00.000Z")
    assert comments.show(identity).comment.text == "two"


def test_an_edit_that_begins_with_another_tag_changes_the_tag(comments: Comments) -> None:
    identity = comments.add("a.py", 1, "one", "NOTE").commentId
    assert comments.edit("a.py", identity, "FIXME: broken").tag == "FIXME"
    assert comments.edit("a.py", identity, "still broken").tag == "FIXME"


def test_comments_of_the_extension_can_be_changed_by_their_uuid(comments: Comments) -> None:
    write(root_of(comments), "simple.js", SOURCE)
    write(root_of(comments), "simple.js.comments", as_javascript(EXTENSION))
    identity = EXTENSION["comments"][0]["id"]
    comments.edit("simple.js", identity, "TODO: done soon")
    comments.move("simple.js", "simple.js", identity, 3)
    written = msgspec.json.decode(sidecar(root_of(comments), "simple.js"))
    assert written["comments"][0]["params"] == EXTENSION["comments"][0]["params"]
    assert written["comments"][0]["aiMetadata"] == EXTENSION["comments"][0]["aiMetadata"]
    assert written["futureKey"] == EXTENSION["futureKey"]
    comments.delete("simple.js", identity)
    assert comments.file_comments("simple.js").comments == ()


def test_moving_within_a_file_leaves_the_others_on_the_line_alone(comments: Comments) -> None:
    first = comments.add("a.py", 3, "stays", "NOTE").commentId
    second = comments.add("a.py", 3, "goes", "NOTE").commentId
    comments.move("a.py", "a.py", second, 9)
    comments.move("a.py", "a.py", second, 9)  # to where it is already
    assert {each.id: each.line for each in comments.file_comments("a.py").comments} == {first: 3, second: 9}


def test_lists_are_narrowed_by_what_is_known(comments: Comments) -> None:
    comments.add("a.py", 1, "TODO: one", "TODO", "ann")
    comments.add("lib/b.py", 2, "two", "NOTE", "bob")
    done = comments.add("lib/deep/c.ts", 3, "three", "TODO", "ann").commentId
    comments.resolve(done, author="bob")
    assert [each.text for each in comments.listed("lib").comments] == ["two", "three"]
    assert [each.text for each in comments.listed("*.ts").comments] == ["three"]
    assert [each.text for each in comments.listed("lib/**/*.ts").comments] == ["three"]
    assert [each.text for each in comments.listed("lib/*.py").comments] == ["two"]
    assert [each.text for each in comments.listed(tag="TODO", status="open").comments] == ["TODO: one"]
    assert [each.text for each in comments.listed(author="bob").comments] == ["two"]
    assert [each.text for each in comments.listed(status="resolved").comments] == ["three"]
    assert comments.listed(state="orphaned").total == 0
    assert comments.listed(limit=1).total == 3


def test_search_filters_by_file_author_date_and_counts_before_the_limit(comments: Comments) -> None:
    for number in range(5):
        comments.add("a.py", number + 1, f"Rate limit {number}", "TODO", "ann")
    comments.add("lib/b.py", 1, "rate of change", "NOTE", "bob")
    found = comments.search("rate", limit=2)
    assert (found.totalResults, len(found.comments)) == (6, 2)
    assert comments.search("rate", file="lib").totalResults == 1
    assert comments.search("rate", author="ann").totalResults == 5
    assert comments.search("rate", until="2020-01-01").totalResults == 0
    assert comments.search("rate", since="2020-01-01T00:00:00+02:00").totalResults == 6
    assert comments.search("^rate.*[34]$").totalResults == 2
    assert comments.search("(?-i)Rate").totalResults == 5
    assert comments.search("limit [0-9", plain=True).totalResults == 0
    assert comments.search("LIMIT 3", plain=True).totalResults == 1


def test_a_changed_comment_is_found_by_its_new_text_only(comments: Comments) -> None:
    identity = comments.add("a.py", 1, "before", "NOTE").commentId
    assert comments.search("before").totalResults == 1
    comments.edit("a.py", identity, "after")
    assert comments.search("before").totalResults == 0
    assert comments.search("after").totalResults == 1
    comments.delete("a.py", identity)
    assert comments.search("after").totalResults == 0


def test_every_format_is_exported(comments: Comments) -> None:
    comments.add("a.py", 5, "TODO: five", "TODO")
    body = msgspec.json.decode(str(comments.export("json").document))
    assert body["totalComments"] == 1
    assert body["files"][0]["comments"][0]["text"] == "TODO: five"
    text = str(comments.export("markdown").document)
    assert "## a.py" in text
    assert "value_5 = 5" in text
    assert comments.export("jsonl", "lib/b.py").totalComments == 0
    with pytest.raises(NotFound):
        comments.export("json", "missing.py")


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
    assert "postil[parquet]" in caught.value.advice


def test_training_data_keeps_no_secret(comments: Comments) -> None:
    key = "AKIA" + "A" * 16
    write(root_of(comments), "secret.py", f'password = "hunter22"\nkey = "{key}"\n')
    comments.add("secret.py", 1, f"the key {key} leaks", "NOTE")
    text = str(comments.export("jsonl").document)
    assert key not in text
    assert "hunter22" not in text
    assert redact("nothing secret: x = 'abc'") == "nothing secret: x = 'abc'"


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
    again = comments.transfer.import_files(("inline.ts",))
    assert (len(again.added), again.skipped) == (0, 2)


@pytest.mark.parametrize("path", ["a.py", "a.ts", "a.html", "a.css", "a.sql", "a.unknown", "a.rb"])
def test_what_is_written_inline_is_read_back(path: str) -> None:
    text = insert_inline(path, "one\n  two\nthree\n", [(2, "first line\nsecond */ --> line")])
    taken = extract_inline(text, remove=True)
    assert taken.without == "one\n  two\nthree\n"
    assert [each.line for each in taken.found] == [2]
    assert "first line\nsecond" in taken.found[0].text
    assert "\n" not in inline_comment(path, "a\nb")


@pytest.mark.parametrize("value", [REFERENCE, DAMAGED_BY_REFERENCE])
def test_files_of_the_reference_server_are_repaired_on_request(comments: Comments, value: object) -> None:
    write(root_of(comments), "simple.js", SOURCE)
    write(root_of(comments), "simple.js.comments", as_javascript(value))
    assert comments.maintenance.check_files().exit_status == 7
    assert comments.maintenance.check_files(fix=True).exit_status == 0
    assert comments.maintenance.check_files().faults == ()


def test_a_damaged_file_is_restored_from_the_newest_backup(comments: Comments) -> None:
    root = root_of(comments)
    write(root, "simple.js", SOURCE)
    write(root, "simple.js.comments", b"{")
    write(root, "simple.js.backup-2025-10-19T09-51-00-011Z.comments", b"{")
    write(root, "simple.js.backup-2025-10-18T09-51-00-011Z.comments", as_javascript(EXTENSION))
    (fault,) = comments.maintenance.check_files(fix=True).faults
    assert "2025-10-18" in fault.fixed
    assert len(comments.file_comments("simple.js").comments) == 1


def test_a_damaged_file_is_restored_from_the_last_commit_or_set_aside(comments: Comments) -> None:
    root = root_of(comments)
    comments.add("a.py", 1, "committed", "NOTE")
    commit(root, "commented")
    write(root, "a.py.comments", b"broken")
    write(root, "lib/b.py.comments", b"broken too")
    assert comments.maintenance.doctor_files().status == "error"
    first, second = comments.maintenance.check_files(fix=True).faults
    assert "last commit" in first.fixed
    assert "set aside" in second.fixed
    assert [each.text for each in comments.listed().comments] == ["committed"]
    assert comments.maintenance.doctor_files().status == "ok"
    kept = {path.read_bytes() for path in root.rglob("*.damaged-*")}
    assert kept == {b"broken", b"broken too"}


def test_a_comment_moved_here_and_edited_there_is_joined_on_request(comments: Comments) -> None:
    root = root_of(comments)
    identity = comments.add("a.py", 1, "before", "NOTE").commentId
    before = sidecar(root, "a.py")
    write(root, "moved.py", "import os\n" + CODE)
    comments.move("a.py", "moved.py", identity, 2)
    write(root, "a.py", "gone = True\n")
    edited = before.replace(b'"before"', b'"edited there"').replace(b'"updated": "2', b'"updated": "3')
    write(root, "a.py.comments", edited)  # as a merge of two branches leaves it
    assert "also in a.py" in comments.maintenance.check_files().faults[0].problem
    (fault,) = comments.maintenance.check_files(fix=True).faults
    assert fault.fixed == "joined in moved.py"
    assert comments.maintenance.check_files().faults == ()
    (found,) = comments.listed().comments
    assert (found.filePath, found.line, found.text) == ("moved.py", 2, "edited there")
    assert [each.text for each in found.revisions] == ["before"]


def test_a_person_reviews_uncertain_comments_at_a_terminal(comments: Comments, monkeypatch: pytest.MonkeyPatch) -> None:
    root = root_of(comments)
    for line in (3, 13, 23):
        comments.add("a.py", line, f"about {line}", "NOTE")
    write(root, "a.py", "alpha = 'a'\nbeta = 'b'\n")
    assert len(comments.reviewing.list_orphans().comments) == 3
    assert len(comments.reviewing.review().waiting) == 3  # nobody to ask
    person = call.Call()
    person.interactive = True
    call.enter(person)
    monkeypatch.setattr(sys, "stdin", io.StringIO("nonsense\n2\nd\nq\n"))
    try:
        reviewed = comments.reviewing.review()
    finally:
        call.enter(call.Call())
    assert (reviewed.placed, reviewed.deleted, reviewed.skipped) == (1, 1, 1)
    assert [(each.text, each.line) for each in comments.listed(state="exact").comments] == [("about 3", 2)]


def test_the_review_keeps_ranges_and_asks_about_stale_comments(
    comments: Comments, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = root_of(comments)
    lost = comments.add("a.py", 3, "about three lines", endLine=5).commentId
    stale = comments.add("a.py", 20, "about twenty", "NOTE").commentId
    edited = CODE.replace("value_20 = 20", "value_20 = compute(20, [1, 2, 3], deep=True) or other(value_19)")
    write(root, "a.py", edited.replace("value_3 = 3\nvalue_4 = 4\nvalue_5 = 5\n", ""))
    waiting = {each.id: each for each in comments.reviewing.review().waiting}
    assert lost in waiting
    person = call.Call()
    person.interactive = True
    call.enter(person)
    said = {lost: "a.py:7\n", stale: "k\n" if stale in waiting and waiting[stale].stale else "s\n"}
    monkeypatch.setattr(sys, "stdin", io.StringIO("".join(said[identity] for identity in waiting)))
    try:
        comments.reviewing.review()
    finally:
        call.enter(call.Call())
    found = {each.id: each for each in comments.listed().comments}
    assert (found[lost].line, found[lost].endLine) == (7, 9)
    assert not found[stale].stale


def test_an_unknown_id_is_not_found_and_nonsense_is_refused(comments: Comments) -> None:
    with pytest.raises(NotFound):
        comments.show("c_123")
    with pytest.raises(InvalidArguments):
        comments.show("nonsense")
    with pytest.raises(NotFound):
        comments.listed(revision="no-such-branch")
    with pytest.raises(NotFound):
        comments.listed(revision="--output=x")


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
    assert comments.contract.glance() == "no comments"
    comments.add("a.py", 3, "x", "NOTE")
    assert comments.contract.glance() == "1 open"
    write(root_of(comments), "a.py", "alpha = 'a'\n")
    assert comments.contract.glance() == "1 open, 1 without their code (postil comments orphans)"


def test_a_name_that_is_not_text_hides_no_other(comments: Comments) -> None:
    comments.add("a.py", 3, "x", "NOTE")
    with open(os.fsencode(root_of(comments)) + b"/caf\xe9.py.comments", "wb") as file:
        file.write(b"{}")
    assert comments.listed().total == 1
    assert comments.maintenance.check_files().faults == ()
