"""Lines in a file without a name, and entities read from it."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from postil.tracker import events as ev
from postil.tracker.index import entity_lines, index
from postil.tracker.index.line_file import LineFile
from postil.tracker.state import fold as folding
from postil.tracker.state.fold import fold
from postil.tracker.store import Store
from postil.workspace.repository import find_repository


def test_what_is_written_is_read_in_pieces(tmp_path: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    lines = LineFile(str(folder))
    lines.write(b"one\n")
    lines.write(b"two\n")
    assert (len(lines), lines[2:6], lines[6:99], lines[99:], lines[:]) == (8, b"e\ntw", b"o\n", b"", b"one\ntwo\n")
    assert os.listdir(folder) == []


def test_an_entity_with_very_many_events_is_read_from_a_file_and_the_second_time_not_from_git(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(find_repository(str(repository)))
    with store.transaction("Ann", "ann@example.org") as tx:
        id_ = ev.new_entity_id()
        tx.write(ev.Created, id_, kind="issue", title="Long")
        for at in range(700):
            tx.write(ev.Commented, id_, c=f"c{at}", body=f"body {at}")
    expected = fold(store.events(id_))
    store.index.forget()
    for module in (entity_lines, index, folding):
        monkeypatch.setattr(module, "LARGE", 1000)
    monkeypatch.setattr(entity_lines, "_MANY", 1)
    store = Store(find_repository(str(repository)))
    store.refresh()
    entity = store.entity(id_)
    assert entity is not None
    assert not isinstance(entity.comments, tuple)
    assert entity == expected

    def no_git(_: str) -> None:
        raise AssertionError("git was asked")

    monkeypatch.setattr(entity_lines, "open_objects", no_git)
    assert store.entity(id_) == expected
    with store.transaction("Ann", "ann@example.org") as tx:
        tx.write(ev.Commented, id_, c="last", body="and one more")
    after = store.entity(id_)
    assert after is not None
    assert after.comments[-1].body == "and one more"
    assert msgspec.structs.replace(after, comments=()) != expected
    assert len(after.comments) == 701
