"""Comments by their id: threads, resolution, lists, edits."""

from __future__ import annotations

from contextvars import copy_context
from pathlib import Path
from typing import Any
from unittest.mock import patch

import msgspec
import pytest

from postil.comments.model import Candidate
from postil.comments.operations.answers import CommentNow
from postil.comments.operations.by_id import Shown
from postil.comments.storage.store import Store
from postil.core import call
from postil.core.failure import Conflict, InvalidArguments, NotFound
from tests.comments.sidecars import EXTENSION, SOURCE, as_javascript
from tests.comments.workspaces import Comments, Typed, commit, root_of, sidecar, workspace, write

CODE = "".join(f"value_{n} = {n}\n" for n in range(1, 31))


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    return workspace(tmp_path, **{"a.py": CODE, "lib/b.py": CODE, "lib/deep/c.ts": "const a = 1;\n" * 20})


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


def test_an_unknown_id_is_not_found_and_nonsense_is_refused(comments: Comments) -> None:
    with pytest.raises(NotFound):
        comments.show("c_123")
    with pytest.raises(InvalidArguments):
        comments.show("nonsense")
    with pytest.raises(NotFound):
        comments.listed(revision="no-such-branch")
    with pytest.raises(NotFound):
        comments.listed(revision="--output=x")


def test_a_copy_names_the_comment_that_it_repeats(comments: Comments) -> None:
    identity = comments.add("a.py", 1, "why?", "QUESTION").commentId
    short = comments.context.short_names()[identity]
    copied = comments.add("lib/b.py", 4, copyOf=short).commentId
    shown = comments.show(copied)
    assert (shown.comment.text, shown.copyOf) == ("why?", identity)
    assert f", copy of {identity}\n" in shown.for_model()
    assert comments.show(identity).copyOf == ""


def test_a_comment_is_shown_without_reading_its_file_again(comments: Comments) -> None:
    copied = comments.add("lib/b.py", 4, copyOf=comments.add("a.py", 1, "why?", "QUESTION").commentId).commentId
    comments.show(copied)
    seen = patch.object(comments.overview, "refresh")  # files as new as these are read again to be sure
    with seen, patch.object(Store, "read_bytes", side_effect=AssertionError):
        assert comments.show(copied).copyOf


def test_a_reply_of_several_lines_stays_in_its_column(comments: Comments) -> None:
    identity = comments.add("a.py", 1, "why?", "QUESTION").commentId
    comments.reply(identity, "first\nsecond", author="ann")
    assert "\n    first\n    second\n" in comments.show(identity).for_model()


def test_who_resolved_a_comment_is_shown(comments: Comments) -> None:
    identity = comments.add("a.py", 1, "why?", "QUESTION").commentId
    comments.resolve(identity, "wontfix", author="ann")
    assert comments.show(identity).for_model().startswith(f"QUESTION {identity} (wontfix by ann)\n")


def test_a_list_that_is_cut_names_the_argument_as_its_reader_gives_it(comments: Comments) -> None:
    for line in (1, 2, 3):
        comments.add("a.py", line, "x", "NOTE")
    listed = comments.listed(limit=2)
    assert listed.for_model().endswith("… and 1 more (skip 2, or limit)")
    assert listed.for_person().endswith("… and 1 more (--skip 2, or --limit)")
    commit(root_of(comments), "commented")
    assert "… and 1 more (skip 2)" in comments.listed(revision="HEAD", limit=2).for_model()


def test_a_list_goes_on_where_the_page_before_ended(comments: Comments) -> None:
    for file in ("a.py", "lib/b.py"):
        for line in (1, 2, 3):
            comments.add(file, line, "x", "NOTE")
    commit(root_of(comments), "commented")
    whole = [each.id for each in comments.listed().comments]
    write(root_of(comments), "a.py", CODE.replace(" = ", "  =  "))
    write(root_of(comments), "lib/b.py", CODE.replace(" = ", "  =  "))
    every: list[dict[str, Any]] = [{}, {"revision": "HEAD"}, {"changed": "HEAD"}]
    for more in every:
        pages = [comments.listed(limit=2, skip=skip, **more) for skip in (0, 2, 4, 6)]
        found = [each.id for page in pages for each in page.comments]
        assert (found, {page.total for page in pages}) == (whole, {6})
    assert "more" not in comments.listed(limit=2, skip=4).for_model()
    assert comments.listed(skip=6).for_model() == "There are 6, and all of them are left out."


def test_a_filter_that_nothing_fits_says_how_many_comments_there_are(comments: Comments) -> None:
    assert comments.listed(author="bob").for_model() == "No comments."
    comments.add("a.py", 1, "x", "NOTE")
    commit(root_of(comments), "commented")
    assert comments.listed(author="bob").for_model() == "None of 1 comment fits."
    assert comments.listed(revision="HEAD", author="bob").for_model().startswith("None of 1 comment at ")


def test_a_list_takes_a_file_and_lines_in_one_word(comments: Comments) -> None:
    first, second = (comments.add("a.py", line, "x", "NOTE", endLine=end).commentId for line, end in ((3, 5), (9, 0)))
    write(root_of(comments), "odd:4", CODE)
    odd = comments.add("odd:4", 1, "x", "NOTE").commentId
    commit(root_of(comments), "commented")
    both: list[dict[str, Any]] = [{}, {"revision": "HEAD"}]
    for more in both:
        found = {
            given: [each.id for each in comments.listed(given, **more).comments]
            for given in ("a.py:4", "a.py:5-9", "a.py:6-8", "odd:4")
        }
        assert list(found.values()) == [[first], [first, second], [], [odd]]
    with pytest.raises(InvalidArguments, match="ends at line 4, before it begins at 9"):
        comments.listed("a.py:9-4")
    with pytest.raises(InvalidArguments, match="lib is a folder, which has no lines"):
        comments.listed("lib:4")


def test_a_comment_is_opened_again_by_a_word_of_its_own(comments: Comments) -> None:
    identity = comments.add("a.py", 1, "x", "NOTE").commentId
    comments.resolve(identity)
    registry = comments.registry()
    opened = registry.operation("comments_reopen")
    opened.run(**opened.decode({"commentId": identity, **registry.operations["comments_reopen"].settled}))
    assert comments.show(identity).comment.status == "open"


def test_an_author_is_found_whatever_the_case(comments: Comments) -> None:
    comments.add("a.py", 1, "x", "NOTE", "Ann")
    commit(root_of(comments), "commented")
    assert len(comments.listed(author="ann").comments) == 1
    assert len(comments.listed(author="ANN", revision="HEAD").comments) == 1
    assert comments.search("x", author="aNN").totalResults == 1


def test_a_tag_may_be_typed_in_small_letters(comments: Comments) -> None:
    identity = comments.add("a.py", 1, "x", "todo").commentId
    assert [each.tag for each in comments.listed(tag="todo").comments] == ["TODO"]
    assert comments.search("x", tag="Todo").totalResults == 1
    comments.edit_by_id(identity, tag="fixme")
    assert comments.show(identity).comment.tag == "FIXME"
    with pytest.raises(InvalidArguments, match="unknown tag 'LATER'"):
        comments.listed(tag="later")


def test_the_past_has_no_changed_lines(comments: Comments) -> None:
    with pytest.raises(InvalidArguments, match="do not go together"):
        comments.listed(revision="HEAD", changed="HEAD")


def test_only_what_was_edited_or_reopened_is_shown_as_changed(comments: Comments) -> None:
    identity = comments.add("a.py", 1, "why?", "QUESTION").commentId
    comments.reply(identity, "because", author="ann")
    assert ", changed" not in comments.show(identity).for_model()
    comments.resolve(identity, author="ann")
    shown = comments.show(identity).for_model()
    assert not [word for word in (", changed", ", edited") if word in shown]
    comments.resolve(identity, "open")
    reopened = comments.show(identity).comment.updated
    assert f", changed {reopened}\n" in comments.show(identity).for_model()
    comments.edit("a.py", identity, "why so?")
    assert f", changed {comments.show(identity).comment.updated}\n" in comments.show(identity).for_model()


def test_code_that_only_moved_is_shown_once(comments: Comments) -> None:
    identity = comments.add("a.py", 3, "here", "NOTE").commentId
    write(root_of(comments), "a.py", "\n\n" + CODE)
    shown = comments.show(identity)
    assert (shown.comment.state, shown.for_model().count("value_3 = 3")) == ("moved", 1)


def test_places_that_are_hardly_likely_are_left_out_of_what_is_shown(comments: Comments) -> None:
    text = "def first(one):\n    return one.weigh(2)\n\n\n" + CODE
    write(root_of(comments), "d.py", text)
    identity = comments.add("d.py", 2, "why weigh?", "NOTE").commentId
    commit(root_of(comments), "commented")
    write(root_of(comments), "d.py", "import os\n" + CODE + "\nprint(os.sep)\n")
    shown = comments.show(identity)
    assert shown.comment.state == "orphaned"
    (near,) = [each.place for each in comments.overview.where("id = ?", identity)]
    unlikely = [each for each in near.candidates if each.confidence < 0.05]
    assert unlikely
    assert not [each for each in shown.comment.candidates if each.confidence < 0.05]
    assert "left out" in shown.comment.reason


def test_what_show_leaves_out_of_a_long_piece_of_code_is_said(tmp_path: Path) -> None:
    code = "".join(f"value_{number} = compute({number})\n" for number in range(60))
    comments = workspace(tmp_path, **{"a.py": code})
    identity = comments.add("a.py", 1, "all of it", endLine=50).commentId
    assert "  … and 30 more lines" in comments.show(identity).for_model()


def test_candidates_of_several_lines_are_shown_on_one_line_each() -> None:
    option = Candidate("b.py", 7, 0.5, "def one():\n    return 1\x1b[2J")
    now = CommentNow("c_1", "a.py", 1, "why?", "Ann", "", "", "review", candidates=(option,))
    rows = Shown(now).for_model().split("\n")
    assert rows[rows.index("may be at:") + 1] == "  1. b.py:7 (0.50) def one(): …"


def test_a_pipe_gets_more_of_what_a_terminal_gets_the_beginning_of(comments: Comments) -> None:
    words = f"{'very ' * 40}long\nand more"
    comments.add("a.py", 3, "word " * 1_900, "NOTE")
    comments.add("a.py", 2, words, "NOTE")
    listed = comments.listed()

    def tell(columns: int) -> str:
        reader = Typed()
        reader.columns = columns
        context = copy_context()
        context.run(call.enter, reader)
        return str(context.run(listed.for_person))

    assert words.replace("\n", " ") in tell(0)
    assert len(tell(0)) < 3_000, "one comment does not push out the others"
    assert "long" not in tell(80)
    assert "…" in tell(80)
    assert "long" not in listed.for_model(), "an assistant asks for the rest"
