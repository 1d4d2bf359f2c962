"""What a process wrote last is used again only while the file is that."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from postil.comments.sidecar.document import Sidecar
from postil.comments.storage import last_written
from postil.comments.storage.last_written import LastWritten
from tests.comments.workspaces import workspace


def test_a_sidecar_is_given_once_and_only_for_its_own_bytes() -> None:
    last, sidecar = LastWritten(), Sidecar("a.py", None)
    for path, data, given in (("a.py", b"{}", True), ("b.py", b"{}", False), ("a.py", b"{ }", False)):
        last.keep(sidecar, b"{}")
        assert (last.take(path, data) is sidecar) == given
        assert last.take("a.py", b"{}") is None


def test_what_is_large_or_was_merged_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(last_written, "MOST_KEPT", 2)
    last = LastWritten()
    last.keep(Sidecar("a.py", None), b"{ }")
    assert last.take("a.py", b"{ }") is None
    last.keep(Sidecar("a.py", None), None)
    assert last.take("a.py", b"{}") is None


def test_what_killed_writers_left_goes_away_with_the_next_comment_beside_it(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"src/a.py": "a = 1\n", "b.py": "b = 1\n"})
    left = [tmp_path / name for name in ("src/.postil-1-a.tmp", "src/.postil-2-b.tmp", ".postil-3-c.tmp")]
    for each in left:
        each.write_text("half")
        os.utime(each, (1, 1))
    os.utime(left[1])  # so new that its writer may live
    comments.add("src/a.py", 1, "first", "NOTE")
    assert [each.exists() for each in left] == [False, True, True]
