"""Issues by their address, and watching them."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from postil.core.registry import ResourceNotFound
from tests.tracker.groups import Tracker
from tests.tracker.programs import git, said


def test_an_issue_has_an_address(repository: Path):
    mine = Tracker(repository)
    id_ = mine.tools.create("Hello").id
    assert mine.resources.read_issue(id_).title == "Hello"
    with pytest.raises(ResourceNotFound):
        mine.resources.read_milestone(id_)
    with pytest.raises(ResourceNotFound):
        mine.resources.read_query("none-such")


def test_a_change_by_another_process_is_noticed_within_a_second(repository: Path):
    mine = Tracker(repository)
    id_ = mine.tools.create("Watched").id
    other = mine.tools.create("Other").id
    noticed = threading.Event()
    stop = mine.resources.watch_logs(f"issue://{id_}", noticed.set)
    try:
        said(repository, "issue", "comment", other, "not this one", program="main")
        said(repository, "issue", "comment", id_, "hi", program="main")
        assert noticed.wait(1.0)
        assert len(mine.resources.read_issue(id_).comments) == 1
    finally:
        stop()


def test_the_first_write_and_a_fetch_are_noticed_too(repository: Path, tmp_path: Path):
    mine = Tracker(repository)
    noticed = threading.Event()
    stop = mine.resources.watch_logs("issues://query/open", noticed.set)
    try:
        git(tmp_path, "init", "--quiet", "theirs")
        Tracker(tmp_path / "theirs").tools.create("Fetched")
        git(repository, "fetch", "--quiet", str(tmp_path / "theirs"), "+refs/postil/log/*:refs/postil/remote/theirs/*")
        assert noticed.wait(2.0)
        assert [item.title for item in mine.resources.read_query("open").items] == ["Fetched"]
    finally:
        stop()


def test_a_watch_that_ended_says_nothing(repository: Path):
    mine = Tracker(repository)
    noticed = threading.Event()
    mine.resources.watch_logs("issues://query/open", noticed.set)()
    mine.tools.create("x")
    assert not noticed.wait(0.2)
