"""Changes are seen with and without the kernel's help."""

from __future__ import annotations

from contextvars import copy_context
from pathlib import Path

import pytest

from postil.comments.failures import CommentNotFound, SeveralHold
from postil.core import call
from postil.core.failure import Cancelled
from postil.workspace import watch
from tests.comments.shop import CODE, add_at
from tests.comments.workspaces import Comments, sidecar, workspace, write


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    return workspace(tmp_path, **{"shop.py": CODE})


def test_without_watches_left_a_change_is_still_seen_at_once(
    comments: Comments, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "_source", watch._Polling)  # pyright: ignore[reportPrivateUsage]
    identity = add_at(comments, "taxed = ", "before")
    for number in range(8):
        comments.edit("shop.py", identity, f"edit {number}")
        assert comments.search(f"edit {number}").totalResults == 1


@pytest.fixture
def watched(comments: Comments, tmp_path: Path) -> tuple[Comments, str]:
    """Comments whose files are watched, and one of them."""
    write(tmp_path, "other.py", CODE)
    identity = add_at(comments, "taxed = ", "a question")
    comments.add("other.py", 3, "beside it", "NOTE")
    for _ in range(4):
        comments.listed()
    return comments, identity


def count_writes(comments: Comments) -> int:
    """How often the cache was written to."""
    with comments.overview.index.using() as db:
        return db.total_changes


def test_replies_and_decisions_read_nothing_again_until_somebody_lists(watched: tuple[Comments, str]) -> None:
    comments, identity = watched
    before = count_writes(comments)
    for number in range(20):
        comments.reply(identity, f"reply {number}")
        comments.resolve(identity, "open" if number % 2 else "resolved")
        comments.edit_by_id(identity, f"text {number}")
    assert count_writes(comments) == before
    shown = comments.show(identity).comment
    assert [each.text for each in shown.replies] == [f"reply {number}" for number in range(20)]
    assert (shown.text, shown.status) == ("text 19", "open")


def test_what_is_taken_back_reads_nothing_again_while_the_code_is_unchanged(
    watched: tuple[Comments, str], tmp_path: Path
) -> None:
    comments, identity = watched
    line = comments.show(identity).comment.line
    comments.listed()
    before = count_writes(comments)
    for number in (1, 2, 3):
        comments.move("shop.py", "shop.py", identity, number)
        undone = comments.undo(identity)
        assert (undone.sourceLine, undone.targetFile, undone.targetLine, undone.codeNow) == (
            number,
            "shop.py",
            line,
            "",
        )
    assert count_writes(comments) == before
    comments.move("shop.py", "shop.py", identity, 1)
    write(tmp_path, "shop.py", f"# one line more\n{CODE}")
    undone = comments.undo(identity)
    assert (undone.targetLine, undone.codeNow) == (line, f"at shop.py:{line + 1}")


def test_comments_of_several_files_read_nothing_again_either(watched: tuple[Comments, str]) -> None:
    comments, identity = watched
    other = next(each.id for each in comments.listed().comments if each.id != identity)
    before = count_writes(comments)
    for number in range(4):
        assert comments.reply(identity, f"reply {number}").filePath == "shop.py"
        assert comments.reply(other, f"reply {number}").filePath == "other.py"
    assert count_writes(comments) == before
    assert [len(each.replies) for each in comments.listed().comments] == [4, 4]


@pytest.mark.parametrize("spelling", ["c_", "\\u0063_", "\\u0063\\u005f"])
def test_a_copy_that_another_program_makes_meanwhile_is_noticed(
    watched: tuple[Comments, str], tmp_path: Path, spelling: str
) -> None:
    comments, identity = watched
    comments.reply(identity, "first")
    (tmp_path / "other.py.comments").write_bytes(sidecar(tmp_path, "shop.py").replace(b'"c_', f'"{spelling}'.encode()))
    with pytest.raises(SeveralHold):
        comments.reply(identity, "second")


def test_a_folder_with_a_copy_is_noticed(watched: tuple[Comments, str], tmp_path: Path) -> None:
    comments, identity = watched
    comments.reply(identity, "first")
    (tmp_path / "new.comments").mkdir()
    write(tmp_path, "new.comments/shop.py", CODE)
    write(tmp_path, "new.comments/shop.py.comments", sidecar(tmp_path, "shop.py"))
    with pytest.raises(SeveralHold):
        comments.reply(identity, "second")


def test_a_comment_that_another_program_takes_to_another_file_is_found_there(
    watched: tuple[Comments, str], tmp_path: Path
) -> None:
    comments, identity = watched
    comments.reply(identity, "first")
    write(tmp_path, "third.py", CODE)
    (tmp_path / "shop.py.comments").rename(tmp_path / "third.py.comments")
    assert comments.reply(identity, "second").filePath == "third.py"
    (tmp_path / "third.py.comments").unlink()
    with pytest.raises(CommentNotFound):
        comments.resolve(identity)
    assert not (tmp_path / "third.py.comments").exists()


def test_what_a_call_that_was_given_up_has_not_seen_the_next_one_sees(watched: tuple[Comments, str]) -> None:
    comments, identity = watched
    comments.reply(identity, "said")
    given_up = call.Call()
    given_up.cancelled = True

    def look() -> None:
        call.enter(given_up)
        comments.listed()

    with pytest.raises(Cancelled):
        copy_context().run(look)
    assert [each.text for each in comments.show(identity).comment.replies] == ["said"]
