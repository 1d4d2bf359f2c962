"""Comments taken to other places, by people or after their code, and taken back."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from postil.comments.operations.validation import Filters
from postil.comments.sidecar.dialects import extension_accepts
from postil.core.failure import NotFound
from tests.comments.sidecars import EXTENSION, SOURCE, as_javascript
from tests.comments.test_resources import subscribed
from tests.comments.workspaces import Comments, commit, sidecar, workspace, write

CODE = "".join(f"def function_{n}(value):\n    return value + {n}\n\n\n" for n in range(8))


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    return workspace(tmp_path, **{"a.py": CODE, "b.py": "import os\n"})


def root_of(comments: Comments) -> Path:
    return Path(comments.tree.root)


def split(root: Path, number: int) -> None:
    """Take a function out of a.py and into b.py."""
    piece = f"def function_{number}(value):\n    return value + {number}\n\n\n"
    write(root, "a.py", CODE.replace(piece, ""))
    write(root, "b.py", "import os\n\n\n" + piece)


def test_undoing_a_migration_ties_the_comment_to_the_code_it_had(comments: Comments) -> None:
    root = root_of(comments)
    identity = comments.add("a.py", 30, "the last function", "NOTE").commentId
    before = msgspec.json.decode(sidecar(root, "a.py"))
    commit(root, "commented")
    split(root, 7)
    commit(root, "split")
    assert len(comments.relocate().moved) == 1
    undone = comments.undo(identity)
    assert (undone.sourceFile, undone.targetFile, undone.targetLine) == ("b.py", "a.py", 30)
    after = msgspec.json.decode(sidecar(root, "a.py"))
    old, new = before["ghostMarkers"][0], after["ghostMarkers"][0]
    assert {**new, "id": "", "lastVerified": ""} == {**old, "id": "", "lastVerified": ""}
    assert extension_accepts(sidecar(root, "a.py"))
    place = comments.show(identity).comment  # a.py has 28 lines now: no other code is taken for it
    assert (place.movedTo, place.newText) == ("b.py", "    return value + 7")
    with pytest.raises(NotFound):
        comments.undo(identity)


def test_undoing_a_relocation_and_a_move_by_hand_goes_back_step_by_step(comments: Comments) -> None:
    root = root_of(comments)
    identity = comments.add("a.py", 6, "step by step", "NOTE").commentId
    write(root, "a.py", "# above\n" + CODE)
    comments.relocate()
    comments.move("a.py", "b.py", identity, 1)
    assert comments.undo(identity).targetLine == 7
    assert comments.show(identity).comment.newText == "    return value + 1"
    assert comments.undo(identity).targetLine == 6
    place = comments.show(identity).comment
    assert (place.state, place.line, place.newText) == ("moved", 7, "    return value + 1")


def test_a_comment_that_came_later_is_not_undone_by_the_moves_of_its_neighbour(comments: Comments) -> None:
    first = comments.add("a.py", 2, "moves", "NOTE").commentId
    comments.move("a.py", "a.py", first, 10)
    second = comments.add("a.py", 10, "came later", "NOTE").commentId
    third = comments.add("a.py", 14, "joins them", "NOTE").commentId
    comments.move("a.py", "a.py", third, 10)
    with pytest.raises(NotFound):
        comments.undo(second)
    assert comments.undo(third).targetLine == 14
    assert comments.undo(first).targetLine == 2
    assert {each.id: each.line for each in comments.file_comments("a.py").comments} == {first: 2, second: 10, third: 14}


def test_a_marker_of_the_extension_comes_back_with_the_texts_it_kept(comments: Comments) -> None:
    root = root_of(comments)
    write(root, "simple.js", SOURCE)
    write(root, "simple.js.comments", as_javascript(EXTENSION))
    identity, line = EXTENSION["comments"][0]["id"], EXTENSION["ghostMarkers"][0]["line"]
    comments.move("simple.js", "simple.js", identity, 1)
    comments.undo(identity)
    marker = msgspec.json.decode(sidecar(root, "simple.js"))["ghostMarkers"][0]
    assert marker["line"] == line
    assert marker["lineHash"] == EXTENSION["ghostMarkers"][0]["lineHash"]
    assert marker["lineText"] == EXTENSION["ghostMarkers"][0]["lineText"]


def test_a_journal_whose_files_are_damaged_stops_no_other_write(comments: Comments) -> None:
    root = root_of(comments)
    comments.add("a.py", 1, "here", "NOTE")
    write(root, "b.py.comments", b"{")
    journal = Path(comments.tree.folder) / f"comments-{comments.tree.key}.move"
    journal.write_bytes(b'{"comment":"c_1","source":"b.py","target":"a.py"}')
    comments.add("a.py", 2, "all the same", "NOTE")
    assert len(comments.file_comments("a.py").comments) == 2
    assert journal.exists()


def test_code_moved_in_shows_at_once_wherever_its_file_is_asked_for(comments: Comments) -> None:
    root = root_of(comments)
    identity = comments.add("a.py", 30, "the last function", "NOTE").commentId
    commit(root, "commented")
    split(root, 7)  # in an editor: git has seen nothing of it
    (listed,) = comments.listed("b.py").comments
    assert (listed.id, listed.movedTo, listed.line) == (identity, "b.py", 5)
    assert [each.id for each in comments.file_comments("b.py").comments] == [identity]
    assert [each.movedTo for each in comments.file_comments("a.py").comments] == ["b.py"]
    assert comments.search("last", Filters(filePath="b.py")).totalResults == 1
    assert [each.id for each in comments.resources.read_file("b.py").comments] == [identity]


def test_lost_code_is_found_when_it_turns_up_later_and_lost_when_it_leaves(comments: Comments) -> None:
    root = root_of(comments)
    identity = comments.add("a.py", 30, "the last function", "NOTE").commentId
    commit(root, "commented")
    piece = CODE[CODE.index("def function_7") :]
    write(root, "a.py", CODE.replace(piece, ""))
    assert comments.show(identity).comment.state == "orphaned"  # cut, and not yet pasted
    write(root, "later.py", "import sys\n\n\n" + piece)
    assert comments.show(identity).comment.movedTo == "later.py"
    write(root, "later.py", "import sys\n\n\n# a heading\n\n" + piece)
    assert comments.show(identity).comment.line == 7
    (root / "later.py").unlink()
    assert comments.show(identity).comment.state == "orphaned"
    assert comments.show(identity).comment.movedTo == ""


def test_a_subscriber_hears_that_lost_code_turned_up(comments: Comments) -> None:
    root = root_of(comments)
    comments.add("a.py", 30, "the last function", "NOTE")
    commit(root, "commented")
    piece = CODE[CODE.index("def function_7") :]
    write(root, "a.py", CODE.replace(piece, ""))
    bell, stop = subscribed(comments, "comment://workspace/later.py.comments")
    write(root, "later.py", "import sys\n\n\n" + piece)
    assert bell.waits_for(1)
    stop()


def test_all_comments_of_a_file_go_to_the_one_that_has_their_code(comments: Comments) -> None:
    root = root_of(comments)
    goes = [comments.add("a.py", line, f"at {line}", "NOTE").commentId for line in (2, 6)]
    stays = comments.add("a.py", 30, "the last function", "NOTE").commentId
    half = CODE[: CODE.index("def function_4")]
    write(root, "half.py", "import os\n\n\n" + half)  # a copy: a.py has the code, too
    done = comments.move_all("a.py", "half.py")
    assert [each.commentId for each in done.moved] == goes
    assert [each.id for each in done.left] == [stays]
    assert {each.id: each.line for each in comments.listed("half.py").comments} == {goes[0]: 5, goes[1]: 9}
    assert comments.undo(goes[0]).targetFile == "a.py"


def test_a_copy_is_a_comment_of_its_own(comments: Comments) -> None:
    original = comments.add("a.py", 2, "TODO: both", "TODO", "ann").commentId
    copied = comments.add("a.py", 6, copyOf=original).commentId
    assert copied != original
    assert [(each.line, each.text, each.tag) for each in comments.listed().comments] == [
        (2, "TODO: both", "TODO"),
        (6, "TODO: both", "TODO"),
    ]
    assert f'"x-copy-of": "{original}"'.encode() in sidecar(root_of(comments), "a.py")
    comments.delete("a.py", original)
    assert comments.listed().total == 1


def test_a_file_that_is_not_there_is_said_and_an_empty_folder_is_not(comments: Comments) -> None:
    with pytest.raises(NotFound):
        comments.listed("no-such-file.py")
    assert comments.listed("b.py").total == 0
    assert comments.listed("*.rs").total == 0


def test_a_comment_can_be_changed_by_the_file_its_code_is_in(comments: Comments) -> None:
    root = root_of(comments)
    ids = [comments.add("a.py", line, f"about line {line}", "NOTE").commentId for line in (29, 30)]
    commit(root, "commented")
    split(root, 7)
    assert {each.id for each in comments.file_comments("b.py").comments} == set(ids)
    comments.edit("b.py", ids[0], "edited where its code is")
    assert comments.show(ids[0]).comment.text == "edited where its code is"
    moved = comments.move("b.py", "b.py", ids[0], 4)
    assert moved.targetFile == "b.py"
    comments.delete("b.py", ids[1])
    assert [each.id for each in comments.listed().comments] == [ids[0]]
    with pytest.raises(NotFound):
        comments.edit("b.py", ids[1], "gone")


def test_a_copy_of_the_code_is_offered_and_the_comment_stays(comments: Comments) -> None:
    root = root_of(comments)
    identity = comments.add("a.py", 6, "mind the sum", "NOTE").commentId
    assert comments.show(identity).copies == ()
    write(root, "pasted.py", "import os\n\n\n" + CODE[CODE.index("def function_1") : CODE.index("def function_2")])
    write(root, "chance.py", "class Other:\n    return value + 1\n")  # the same line in other company
    shown = comments.show(identity)
    assert (shown.comment.filePath, shown.comment.line) == ("a.py", 6)
    assert [(each.path, each.line) for each in shown.copies] == [("pasted.py", 5)]
    assert f"postil comments copy {identity} pasted.py 5" in shown.for_model()
