"""The overview of a workspace never keeps one file waiting for all others."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from tests.comments.shop import CODE, add_at, root_of
from tests.comments.workspaces import Comments, sidecar, workspace, write


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    return workspace(tmp_path, **{"shop.py": CODE})


def test_one_file_does_not_wait_until_all_others_are_read(comments: Comments, monkeypatch: pytest.MonkeyPatch) -> None:
    identity = add_at(comments, "taxed = ")
    root = root_of(comments)
    for number in range(6):
        write(root, f"other{number}.py", CODE)
        write(root, f"other{number}.py.comments", sidecar(root, "shop.py").replace(b"c_", b"c_%d" % number))
    monkeypatch.setattr("postil.comments.index.overview.MANY_UNREAD", 3)
    fresh = Comments(str(root))
    may_read = threading.Event()
    catch_up = fresh.overview.refresh
    monkeypatch.setattr(fresh.overview, "refresh", lambda: may_read.wait(20) and catch_up())
    assert [each.id for each in fresh.file_comments("shop.py").comments] == [identity]
    assert fresh.overview.index.paths() == []  # nothing but that file was read for it
    may_read.set()
    assert fresh.overview._meanwhile is not None  # pyright: ignore[reportPrivateUsage]
    fresh.overview._meanwhile.join(20)  # pyright: ignore[reportPrivateUsage]
    assert len(fresh.overview.index.paths()) == 7
    assert [each.id for each in fresh.file_comments("shop.py").comments] == [identity]
