"""What comments say: parameters in their texts, and what assistants say about them."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from postil.core.failure import InvalidArguments
from tests.comments.sidecars import EXTENSION, SOURCE, as_javascript
from tests.comments.workspaces import Comments, sidecar, workspace, write

CODE = "class Basket:\n    def total(self):\n        return 0\n\n\ndef gross(price):\n    return price\n"


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    return workspace(tmp_path, **{"a.py": CODE})


def root_of(comments: Comments) -> Path:
    return Path(comments.tree.root)


def test_a_text_names_its_code_as_it_is_called_now(comments: Comments) -> None:
    identity = comments.add("a.py", 3, "${className}.${functionName} costs ${price}", "NOTE").commentId
    assert comments.show(identity).comment.shown == "Basket.total costs ${price}"
    write(root_of(comments), "a.py", CODE.replace("def total", "def sum_of_items"))
    shown = comments.show(identity)
    assert shown.comment.text == "${className}.${functionName} costs ${price}"
    assert "Basket.sum_of_items costs ${price}" in shown.for_model()
    assert "Basket.sum_of_items" in comments.listed().for_model()
    assert "Basket.sum_of_items" in comments.file_comments("a.py").for_model()
    assert "Basket.sum_of_items" in str(comments.export("markdown").document)


def test_parameters_of_the_extension_are_filled_in_and_stay_as_they_are(comments: Comments) -> None:
    text = as_javascript(EXTENSION).replace("überprüfen".encode(), b"look at ${name} and ${other}")
    write(root_of(comments), "simple.js", SOURCE)
    write(root_of(comments), "simple.js.comments", text)
    (found,) = comments.file_comments("simple.js").comments
    assert found.shown == "TODO: look at add and ${other}"
    comments.reply(found.id, "seen")
    (kept,) = msgspec.json.decode(sidecar(root_of(comments), "simple.js"))["comments"]
    assert (kept["text"], kept["params"]) == (found.text, EXTENSION["comments"][0]["params"])


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
    comments.contract.move(identity)
    assert comments.listed(stale=True).total == 0
    comments.undo(identity)
    assert comments.show(identity).comment.line == 7
