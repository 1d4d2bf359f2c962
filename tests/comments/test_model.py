"""What an assistant says of its own comment is kept whole."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from postil.core.failure import InvalidArguments
from tests.comments.workspaces import Comments, root_of, sidecar, workspace, write

CODE = "class Basket:\n    def total(self):\n        return 0\n\n\ndef gross(price):\n    return price\n"


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    return workspace(tmp_path, **{"a.py": CODE})


def test_what_an_assistant_says_of_its_comment_is_kept_whole(comments: Comments) -> None:
    given = {"model": "m", "confidence": 1, "prompt": {"tokens": 12, "list": [1.5]}, "enrichedAt": "2026-01-01"}
    added = comments.add("a.py", 3, "x", "NOTE", "claude", given)
    (kept,) = msgspec.json.decode(sidecar(root_of(comments), "a.py"))["comments"]
    assert kept["aiMeta"] == given
    assert comments.show(added.commentId).comment.aiMeta == given
    assert "AI: m (confidence: 1)" in comments.search("x").for_model()


@pytest.mark.parametrize(
    ("given", "path"), [({"confidence": 2}, "aiMeta.confidence"), ({"model": 1, "other": 2}, "aiMeta.model")]
)
def test_what_the_contract_knows_of_it_is_checked(comments: Comments, given: dict[str, object], path: str) -> None:
    with pytest.raises(InvalidArguments) as caught:
        comments.add("a.py", 3, "x", "NOTE", "claude", given)
    assert caught.value.data["path"] == path


def test_a_number_too_large_for_any_cache_hides_no_comment(comments: Comments) -> None:
    comments.add("a.py", 3, "x", "NOTE", "claude", {"model": "m", "seed": 0})
    text = sidecar(root_of(comments), "a.py").replace(b'"seed": 0', b'"seed": 123456789012345678901234567890')
    write(root_of(comments), "a.py.comments", text)
    (found,) = comments.listed().comments
    assert found.aiMeta is not None
    assert found.aiMeta["model"] == "m"
