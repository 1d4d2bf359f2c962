"""Changes are seen with and without the kernel's help."""

from __future__ import annotations

from pathlib import Path

import pytest

from postil.workspace import watch
from tests.comments.shop import CODE, add_at
from tests.comments.workspaces import Comments, workspace


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
