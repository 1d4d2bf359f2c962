"""Where we are, and all parts at a glance."""

from pathlib import Path

from postil.core import call
from postil.workspace.operations.status import Overview
from tests.workspace.repositories import git, workspace


def test_it_says_where_it_works(folder: Path) -> None:
    info = Overview(workspace(folder)).info()
    assert (info.root, info.branch, info.parts) == (str(folder.resolve()), "main", ["workspace", "inbox"])
    assert "Branch: main" in info.for_model()


def test_who_calls_over_http_is_not_told_where_on_this_machine(folder: Path) -> None:
    overview = Overview(workspace(folder))
    call.enter(call.Call(call.Caller("key:x", surface="http")))
    try:
        said = overview.info().for_model() + overview.status().for_model() + overview.overview()
    finally:
        call.enter(call.Call())
    assert folder.name in said
    assert str(folder.parent) not in said


def test_a_detached_head_has_no_branch(folder: Path) -> None:
    git(folder, "checkout", "-q", "--detach")
    info = Overview(workspace(folder)).info()
    assert info.branch is None
    assert "detached" in info.for_model()


def test_outside_a_repository_it_says_so(tmp_path: Path) -> None:
    info = Overview(workspace(tmp_path)).info()
    assert info.root is None
    assert "Not inside a git repository" in info.for_model()


def test_status_has_a_line_from_every_part(folder: Path) -> None:
    assert Overview(workspace(folder)).status().for_model().splitlines()[1:] == [
        "inbox     2 messages waiting",
        "comments  7 comments",
    ]


def test_the_overview_can_be_about_one_part(folder: Path) -> None:
    written = Overview(workspace(folder)).overview(part="inbox")
    assert "2 messages waiting" in written
    assert "7 comments" not in written
    assert Overview(workspace(folder)).offered_parts("in") == ["inbox"]
