"""Comments are taken to other lines and files."""

from __future__ import annotations

from pathlib import Path

import pytest

from postil.core.failure import NotFound
from tests.comments.workspaces import FUNCTIONS, Comments, commit, root_of, sidecar, split, workspace, write


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    return workspace(tmp_path, **{"a.py": FUNCTIONS, "b.py": "import os\n"})


def test_all_comments_of_a_file_go_to_the_one_that_has_their_code(comments: Comments) -> None:
    root = root_of(comments)
    goes = [comments.add("a.py", line, f"at {line}", "NOTE").commentId for line in (2, 6)]
    stays = comments.add("a.py", 30, "the last function", "NOTE").commentId
    half = FUNCTIONS[: FUNCTIONS.index("def function_4")]
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
