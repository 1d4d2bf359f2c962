"""Moves are complete or did not happen, and can be undone step by step."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from postil.comments.anchoring.marker import MOST_EVENTS
from postil.comments.model import Anchor, Comment, Event, Marker
from postil.comments.storage.move_journal import list_moves
from postil.core.failure import NotFound
from tests.comments.sidecars import EXTENSION, SOURCE, as_javascript, extension_accepts
from tests.comments.workspaces import FUNCTIONS, Comments, commit, root_of, sidecar, split, workspace, write

VALUES = "".join(f"value_{n} = {n}\n" for n in range(1, 101))


MOVER = """
import os, sys
from postil.comments.storage import move_journal as moves
from tests.comments.workspaces import Comments
comments = Comments(sys.argv[1])
step, left = sys.argv[3], int(sys.argv[4])
def dying(original):
    def wrapper(*arguments, **named):
        global left
        left -= 1
        if left < 0:
            os._exit(137)
        return original(*arguments, **named)
    return wrapper
owner = comments.store if step == "write" else moves
setattr(owner, step, dying(getattr(owner, step)))
comments.move("a.py", "b.py", sys.argv[2], 3)
"""


def test_a_move_killed_at_any_step_leaves_the_comment_in_one_place(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"a.py": VALUES, "b.py": VALUES})
    for step, left in [("_note", 0), ("write", 0), ("write", 1), ("_forget", 0)]:
        added = comments.add("a.py", 1, f"moving {step} {left}", "NOTE")
        command = [sys.executable, "-c", MOVER, str(tmp_path), added.commentId, step, str(left)]
        assert subprocess.run(command, timeout=60).returncode == 137
        comments.add("a.py", 50, "whoever writes next finishes the move", "NOTE")
        holding = [
            path
            for path in ("a.py", "b.py")
            if os.path.exists(tmp_path / f"{path}.comments")
            and any(each.id == added.commentId for each in comments.file_comments(path).comments)
        ]
        assert len(holding) == 1, (step, left)


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    return workspace(tmp_path, **{"a.py": FUNCTIONS, "b.py": "import os\n"})


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
    said = undone.for_model()
    assert "taken back and tied again to the code that was at a.py:30\nThat code is at b.py:5 now" in said
    assert said.endswith("\nAnchor: function_7()")
    assert "moved successfully" not in said
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
    write(root, "a.py", "# above\n" + FUNCTIONS)
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


@pytest.mark.parametrize("source", ["../outside", "/etc/passwd", "folder", "x\\u0000y"])
def test_a_journal_that_leads_elsewhere_stops_no_write(comments: Comments, source: str) -> None:
    root = root_of(comments)
    (root / "folder.comments").mkdir()
    comments.add("a.py", 1, "here", "NOTE")
    journal = Path(comments.tree.folder) / f"comments-{comments.tree.key}.move"
    journal.write_text(f'{{"comment":"c_1","source":"{source}","target":"a.py"}}')
    comments.add("a.py", 2, "all the same", "NOTE")
    journal.unlink(missing_ok=True)
    journal.mkdir()
    comments.add("a.py", 3, "and here", "NOTE")
    assert len(comments.file_comments("a.py").comments) == 3


def test_a_journal_that_an_archive_brought_takes_nothing_out_of_the_folder_of_git(comments: Comments) -> None:
    root = root_of(comments)
    name = comments.add("a.py", 1, "here", "NOTE").commentId
    copy = root / ".git/kept.comments"
    copy.write_bytes((root / "a.py.comments").read_bytes())
    journal = Path(comments.tree.folder) / f"comments-{comments.tree.key}.move"
    journal.write_text(json.dumps({"comment": name, "source": ".git/kept", "target": "a.py"}))
    comments.add("a.py", 2, "another", "NOTE")
    assert [each["id"] for each in json.loads(copy.read_bytes())["comments"]] == [name]


def test_of_a_sidecar_with_very_many_moves_the_last_are_told() -> None:
    """Sixty thousand in a file of 4 MB were shown one by one."""
    events = tuple(Event(f"2026-{n:05d}", "moved", line=n) for n in range(1000))
    marker = Marker("gm_1", 1, ("c_1",), anchor=Anchor(blob="0" * 40, line=1, history=events))
    assert list_moves(Comment("c_1", "text", "a", "2026", "2026"), marker) == events[-MOST_EVENTS:]
