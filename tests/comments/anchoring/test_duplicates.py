"""Copies of a comment's code are offered; the comment stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from postil.comments.anchoring import duplicates
from tests.comments.workspaces import Comments, root_of, tell_person, workspace, write

CODE = "".join(f"def function_{n}(value):\n    return value + {n}\n\n\n" for n in range(8))


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    return workspace(tmp_path, **{"a.py": CODE, "b.py": "import os\n"})


def test_a_copy_of_the_code_is_offered_and_the_comment_stays(comments: Comments) -> None:
    root = root_of(comments)
    identity = comments.add("a.py", 6, "mind the sum", "NOTE").commentId
    assert comments.show(identity).copies == ()
    write(root, "pasted.py", "import os\n\n\n" + CODE[CODE.index("def function_1") : CODE.index("def function_2")])
    write(root, "chance.py", "class Other:\n    return value + 1\n")  # the same line in other company
    shown = comments.show(identity)
    assert (shown.comment.filePath, shown.comment.line) == ("a.py", 6)
    assert [(each.path, each.line) for each in shown.copies] == [("pasted.py", 5)]
    assert "also at pasted.py:5 (add_comment there" in shown.for_model()
    assert f"postil comments copy {identity} pasted.py 5" in tell_person(shown)


def test_a_line_that_stands_everywhere_is_no_reason_to_fail(
    comments: Comments, monkeypatch: pytest.MonkeyPatch
) -> None:
    identity = comments.add("a.py", 6, "mind the sum", "NOTE").commentId
    write(root_of(comments), "pasted.py", CODE)
    assert len(comments.show(identity).copies) == 1
    monkeypatch.setattr(duplicates, "MOST_PRINTED", 10)
    assert comments.show(identity).copies == ()
