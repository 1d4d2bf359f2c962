"""Comments that another program made larger than can be changed here."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import pytest

from postil.comments.failures import CommentFileFull, CommentTooLarge, ThreadFull
from postil.comments.storage import store
from postil.comments.storage.giants import merge_or_keep, refuse_giants
from postil.core import limits
from tests.comments.workspaces import Comments, root_of, workspace


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    return workspace(tmp_path, **{"a.py": "one = 1\ntwo = 2\n", "b.py": "one = 1\n"})


def lengthen(comments: Comments, comment: str, text: str) -> bytes:
    """Give a comment a text as another program would. Returns the file."""
    kept = root_of(comments) / "a.py.comments"
    held = json.loads(kept.read_text())
    for each in held["comments"]:
        if each["id"] == comment:
            each["text"] = text
    kept.write_text(json.dumps(held))
    return kept.read_bytes()


def test_a_file_that_holds_a_giant_is_left_as_it_is_and_says_which_comment_it_is(comments: Comments) -> None:
    small, giant = (comments.add("a.py", line, "x", "NOTE").commentId for line in (1, 2))
    before = lengthen(comments, giant, "x" * limits.CHANGED_COMMENT)
    with pytest.raises(CommentTooLarge, match=giant):
        comments.add("a.py", 1, "y", "NOTE")
    with pytest.raises(CommentTooLarge, match=giant):
        comments.resolve(small)
    with pytest.raises(CommentTooLarge, match=giant):
        comments.move("a.py", "b.py", small, 1)
    assert (root_of(comments) / "a.py.comments").read_bytes() == before
    assert comments.show(small).comment.text == "x"


def test_a_thread_takes_no_reply_long_before_it_could_not_be_changed_any_more(comments: Comments) -> None:
    comment = comments.add("a.py", 1, "x", "NOTE").commentId
    lengthen(comments, comment, "x" * limits.THREAD)
    with pytest.raises(ThreadFull, match=comment):
        comments.reply(comment, "more")
    comments.resolve(comment)
    assert comments.show(comment).comment.status == "resolved"


def plant_markers(comments: Comments, count: int) -> bytes:
    """Give a comment file very many short markers, as another program would. Returns the file."""
    kept = root_of(comments) / "a.py.comments"
    held = json.loads(kept.read_text())
    held["ghostMarkers"] += [{"id": f"g{number}", "line": 1} for number in range(count)]
    kept.write_text(json.dumps(held, separators=(",", ":")))
    return kept.read_bytes()


def test_a_file_with_very_many_markers_is_left_as_it_is(comments: Comments) -> None:
    """Half a million of them took 290 MB."""
    comments.add("a.py", 1, "x", "NOTE")
    before = plant_markers(comments, 100_000)
    with pytest.raises(CommentFileFull, match="holds more than 40,000 markers"):
        comments.add("a.py", 2, "y", "NOTE")
    assert (root_of(comments) / "a.py.comments").read_bytes() == before


def test_no_write_makes_a_file_so_long_that_it_cannot_be_read_again(
    comments: Comments, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the extension demands was added to short markers: 3 MB became 23, and every comment was gone from sight."""
    name = comments.add("a.py", 1, "x", "NOTE").commentId
    before = plant_markers(comments, 200)
    monkeypatch.setattr(limits, "FILE", 30_000)
    monkeypatch.setattr(store, "MOST_KEPT", 20_000)
    for change in (
        lambda: comments.add("a.py", 2, "y", "NOTE"),
        lambda: comments.reply(name, "y"),
        lambda: comments.maintenance.check_files(fix=True),
    ):
        with suppress(CommentFileFull):
            change()
        assert (root_of(comments) / "a.py.comments").read_bytes() == before
    assert comments.show(name).comment.text == "x"


def test_a_file_that_is_no_sidecar_is_left_to_who_reads_it() -> None:
    refuse_giants("a.py", b"[" * (limits.CHANGED_COMMENT + 1))
    refuse_giants("a.py", None)


def test_a_comment_of_tiny_values_is_not_written_so_long_that_it_cannot_be_changed_again(comments: Comments) -> None:
    """Indented it is six times as long: a move made a comment of 6 MB, which nobody could move back."""
    comment = comments.add("a.py", 1, "x", "NOTE").commentId
    kept = root_of(comments) / "a.py.comments"
    held = json.loads(kept.read_text())
    held["comments"][0]["junk"] = [[]] * 300_000
    kept.write_text(json.dumps(held, separators=(",", ":")))
    before = kept.read_bytes()
    assert len(before) < limits.CHANGED_COMMENT
    for change in (
        lambda: comments.move("a.py", "b.py", comment, 1),
        lambda: comments.resolve(comment),
        lambda: comments.edit("a.py", comment, "other words"),
    ):
        with pytest.raises(CommentTooLarge, match=comment):
            change()
    assert kept.read_bytes() == before
    assert not (root_of(comments) / "b.py.comments").exists()
    comments.add("a.py", 2, "another one", "NOTE")
    comments.delete("a.py", comment)
    assert comments.listed().total == 1


def test_a_file_that_holds_a_giant_marker_is_left_as_it_is(comments: Comments) -> None:
    """To change one of 8 MB took 280 MB."""
    comments.add("a.py", 1, "x", "NOTE")
    kept = root_of(comments) / "a.py.comments"
    held = json.loads(kept.read_text())
    held["ghostMarkers"][0]["junk"] = [[]] * 600_000
    kept.write_text(json.dumps(held))
    with pytest.raises(CommentTooLarge, match="holds a marker of"):
        comments.add("a.py", 2, "y", "NOTE")


def test_a_shared_workspace_goes_on_with_what_it_has_where_a_comment_file_cannot_be_merged() -> None:
    """Whoever pushed a damaged or giant one ended every turn of its hosts."""
    ours, theirs = (b'{"comments":[{"id":"%s","text":"a","line":1}]}' % each for each in (b"1", b"2"))
    both = json.loads(merge_or_keep("a.py.comments", None, ours, theirs))
    assert [each["id"] for each in both["comments"]] == ["1", "2"]
    for other in (b"<<<<<<< ours", ours.ljust(limits.MERGED, b" ")):
        assert merge_or_keep("a.py.comments", None, ours, other) == ours
        assert merge_or_keep("a.py.comments", b"{", None, other) == other


def test_a_giant_whose_id_cannot_be_read_is_refused_as_any_other() -> None:
    giant = b'{"comments":[{"id":"\xff","text":"%s"}]}' % (b"x" * limits.CHANGED_COMMENT)
    with pytest.raises(CommentTooLarge, match="without an id"):
        refuse_giants("a.py", giant)
    assert merge_or_keep("a.py.comments", None, giant, b'{"comments":[]}') == giant
