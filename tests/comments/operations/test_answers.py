"""Answers carry what is needed, and no megabytes."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests.comments.workspaces import Comments, root_of, sidecar, workspace, write

SOURCE = "".join(f"value_{n} = {n}\n" for n in range(1, 11))


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    made = workspace(tmp_path / "work", **{"a.py": SOURCE})
    write(tmp_path, "work-evil/secret.py", "password = 1\n")
    return made


def test_a_minified_file_is_copied_neither_into_its_sidecar_nor_into_answers(comments: Comments) -> None:
    root = root_of(comments)
    line = "!function(){" + "var a=1;if(a){b(a)};" * 20_000 + "}();\n"
    write(root, "app.min.js", line)
    identity = comments.add("app.min.js", 1, "minified", "NOTE").commentId
    comments.add("app.min.js", 1, "again", "NOTE")
    assert len(sidecar(root, "app.min.js")) < 20_000
    shown = comments.show(identity)
    assert (shown.comment.state, shown.comment.line) == ("exact", 1)
    assert len(msgspec.json.encode(shown)) < 100_000
    write(root, "app.min.js", "// a licence\n" + line)
    assert [each.line for each in comments.file_comments("app.min.js").comments] == [2, 2]
    comments.relocate()
    assert len(sidecar(root, "app.min.js")) < 20_000
