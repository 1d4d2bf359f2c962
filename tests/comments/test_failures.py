"""Failures say to a person why."""

from __future__ import annotations

from pathlib import Path

import pytest

from postil.core.failure import Failure
from tests.comments.workspaces import Comments, workspace, write

SOURCE = "".join(f"value_{n} = {n}\n" for n in range(1, 11))


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    made = workspace(tmp_path / "work", **{"a.py": SOURCE})
    write(tmp_path, "work-evil/secret.py", "password = 1\n")
    return made


@pytest.mark.parametrize(
    ("path", "why"), [("a.py.comments", "this is a comment file"), (".env", "files with secrets are closed")]
)
def test_a_person_reads_why(comments: Comments, path: str, why: str) -> None:
    with pytest.raises(Failure) as caught:
        comments.add(path, 1, "x", "NOTE")
    assert why in caught.value.text()
    assert why not in caught.value.message  # which is the contract's
