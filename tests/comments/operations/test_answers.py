"""Answers carry what is needed, and no megabytes."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests.comments.workspaces import Comments, root_of, sidecar, workspace, write

SOURCE = "".join(f"value_{n} = {n}\n" for n in range(1, 11))


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    made = workspace(tmp_path / "work", **{"a.py": SOURCE})
    write(tmp_path, "work-evil/secret.py", "password = 1\n")
    return made


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


def test_a_search_that_finds_nothing_says_what_else_was_asked_for(comments: Comments) -> None:
    comments.add("a.py", 3, "about three", "NOTE", "ann")
    found = comments.search("three", author="bob", tag="NOTE")
    assert found.for_model() == 'No comments found matching query: "three" with tag: NOTE, author: bob'
    assert found.for_contract() == 'No comments found matching query: "three"'
    assert comments.search("four").for_model() == 'No comments found matching query: "four"'
    dated = comments.search("three", since="2020-01-01T00:00:00Z", until="2021-01-01T00:00:00Z")
    assert "since: 2020-01-01T00:00:00Z" in dated.for_model()


def test_what_was_found_has_its_range_and_status(comments: Comments) -> None:
    added = comments.add("a.py", 3, "about three", "NOTE", "ann", endLine=5)
    comments.resolve(added.commentId)
    said = comments.search("three").for_model()
    assert f"a.py:3-5 (NOTE) - {added.commentId}\n" in said
    assert said.endswith(" | Resolved")


def test_whatever_lists_comments_names_the_comment_files_that_it_could_not_read(comments: Comments) -> None:
    write(root_of(comments), "b.py", SOURCE)
    comments.add("a.py", 3, "about three", "NOTE", "ann")
    write(root_of(comments), "b.py.comments", "{")
    for ask in (
        comments.listed,
        lambda: comments.search("three"),
        lambda: comments.search("nothing of this"),
        comments.reviewing.list_orphans,
        comments.reviewing.list_doubts,
        comments.reviewing.review,
        comments.relocate,
    ):
        answer = ask()
        assert "b.py.comments: the file is not JSON" in str(answer.for_model())
        assert "b.py.comments: the file is not JSON" in str(answer.for_person() or answer.for_model())
        assert answer.exit_status == 7
        assert msgspec.to_builtins(answer)["damaged"][0]["filePath"] == "b.py"
    for answer in (comments.listed("a.py"), comments.search("three", file="a.py"), comments.relocate("a.py")):
        assert answer.exit_status == 0
    assert comments.reviewing.list_orphans("a.py").exit_status == 0
