"""What a process wrote last is used again only while the file is that."""

from __future__ import annotations

import pytest

from postil.comments.sidecar.document import Sidecar
from postil.comments.storage import last_written
from postil.comments.storage.last_written import LastWritten


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
