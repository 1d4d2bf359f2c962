"""Markers remember what a comment was written about."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.comments.workspaces import Comments, root_of, workspace, write

CODE = "class Basket:\n    def total(self):\n        return 0\n\n\ndef gross(price):\n    return price\n"


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    return workspace(tmp_path, **{"a.py": CODE})


def test_a_stale_comment_stays_stale_until_somebody_confirms_it(comments: Comments) -> None:
    root = root_of(comments)
    identity = comments.add("a.py", 7, "gives back the price", author="ann").commentId
    for step in ("price + 0", "round(price + 0, 2)", "round(tax(price) + 0, 2)"):  # each a small change
        write(root, "a.py", CODE.replace("    return price\n", f"    return {step}\n"))
        comments.relocate()
    found = comments.show(identity).comment
    assert (found.state, found.stale) == ("exact", True)
    assert [each.id for each in comments.listed(stale=True).comments] == [identity]
    assert "[stale]" in comments.listed().for_model()
    fresh = comments.add("a.py", 7, "about the code as it is", "NOTE").commentId
    assert comments.show(fresh).comment.stale is False
    said = comments.contract.move(identity).for_model()
    assert said.startswith("✅ Comment confirmed for the code at a.py:7\n")
    assert comments.listed(stale=True).total == 0
    comments.undo(identity)
    assert comments.show(identity).comment.line == 7
