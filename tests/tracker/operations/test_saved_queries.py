"""Queries with a name."""

from __future__ import annotations

from pathlib import Path

import pytest

from postil.tracker.failures import InvalidParams
from tests.tracker.groups import Tracker
from tests.tracker.programs import answered, run, said


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


def test_the_shell_lists_what_a_saved_query_finds(repository: Path):
    one = answered(repository, "create", "issue", "Pressing", "--priority", "high")["id"]
    answered(repository, "create", "issue", "Whenever")
    said(repository, "save", "urgent", "priority:high", "--include-closed")
    said(repository, "close", one)
    assert [item["title"] for item in answered(repository, "list", "--saved", "urgent")["items"]] == ["Pressing"]
    wrong = run(repository, "list", "--saved", "urgnt")
    assert (wrong.returncode, "did you mean `urgent`" in wrong.stderr) == (2, True)
    assert run(repository, "list", "crash", "--saved", "urgent").returncode == 2
