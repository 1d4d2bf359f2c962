"""Parameters of a text are filled in when it is shown."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests.comments.sidecars import EXTENSION, SOURCE, as_javascript
from tests.comments.workspaces import Comments, root_of, sidecar, workspace, write

CODE = "class Basket:\n    def total(self):\n        return 0\n\n\ndef gross(price):\n    return price\n"


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    return workspace(tmp_path, **{"a.py": CODE})


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
