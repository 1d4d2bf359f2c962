"""Queries with a name."""

from __future__ import annotations

from pathlib import Path

import pytest

from postil.tracker.failures import InvalidParams
from tests.tracker.groups import Tracker


def test_a_saved_query_is_a_resource(repository: Path):
    mine = Tracker(repository)
    mine.tools.create("One", labels=("x",))
    mine.tools.create("Two")
    mine.queries.save("xs", "labels contains x", ("title",))
    assert [item.title for item in mine.resources.read_query("xs").items] == ["One"]
    assert len(Tracker(repository).resources.read_query("open").items) == 2
    with pytest.raises(InvalidParams):
        mine.queries.save("bad", "nope == 1")
    with pytest.raises(InvalidParams):
        mine.queries.save("../bad", "")
