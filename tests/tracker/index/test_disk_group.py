"""Lines are given back by entity, whether they fitted into memory or went to the disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from postil.tracker import events as ev
from postil.tracker.index import disk_group
from postil.tracker.index.disk_group import DiskGroup


def lines(count: int) -> list[bytes]:
    ids = [ev.new_entity_id() for _ in range(7)]
    return [
        ev.encode(ev.Set(ent=ids[i % 7], id=ev.new_event_id(), r="a" * 13, n=i + 1, l=i + 1, f="title", value="x" * 50))
        for i in range(count)
    ]


@pytest.mark.parametrize("memory", [8 << 20, 1000])
def test_every_line_comes_back_once_with_its_entity(memory: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(disk_group, "_IN_MEMORY", memory)
    given = lines(100)
    group = DiskGroup(str(tmp_path))
    for at in range(0, 100, 10):
        group.add(b"\n".join(given[at : at + 10]) + b"\n")
    group.add(given[0] + b"\nno event at all\n")
    found = dict(group.entities())
    assert sorted(line for own in found.values() for line in own) == sorted(given)
    assert all(ev.entity_of(line) == id_ for id_, own in found.items() for line in own)


def test_the_order_depends_on_the_entities_alone(tmp_path: Path):
    given = lines(50)
    orders: list[list[str]] = []
    for run in (given, given[::-1]):
        group = DiskGroup(str(tmp_path))
        group.add(b"\n".join(run))
        orders.append([id_ for id_, _ in group.entities()])
    assert orders[0] == orders[1]


def test_only_the_wanted_are_kept(tmp_path: Path):
    given = lines(14)
    wanted = str(ev.entity_of(given[3]))
    group = DiskGroup(str(tmp_path), {wanted})
    group.add(b"\n".join(given))
    assert [id_ for id_, _ in group.entities()] == [wanted]
