"""History: commits, comparison, blame, branches and tags, in answers that fit."""

from __future__ import annotations

import pytest

from postil.core.failure import Failure
from tests.emulator.app import Emulator
from tests.gitlab.answers import direct, text
from tests.gitlab.groups import Groups

pytestmark = pytest.mark.anyio


async def test_commits_are_listed_by_ref_and_author(gitlab: Groups) -> None:
    found = await gitlab.history.list_commits(123, "main")
    assert [item.title for item in found.commits] == ["Update README"]
    assert "John Doe: Update README" in text(found)
    assert (await gitlab.history.list_commits(123, author="nobody")).commits == []


async def test_a_commit_comes_with_its_changes(gitlab: Groups, emulator: Emulator) -> None:
    found = await gitlab.history.get_commit(123, "main")
    assert [change.new_path for change in found.diffs] == ["README.md"]
    assert "commit " in text(found)
    project = emulator.world.projects[0]
    large = emulator.world.commit_files(project, "Large", "Jane", {"big.txt": b"line\n" * 100_000, "s.txt": b"x\n"})
    cut = await gitlab.history.get_commit(123, large)
    assert len(text(cut).encode()) <= 24_000
    assert "path=big.txt lines=" in text(cut)
    only = await gitlab.history.get_commit(123, large, path="s.txt")
    assert [change.new_path for change in only.diffs] == ["s.txt"]
    assert len(str(direct(cut))) > 500_000


async def test_two_refs_are_compared(gitlab: Groups, emulator: Emulator) -> None:
    project = emulator.world.projects[0]
    project.branches["new"] = emulator.world.commit_files(project, "More", "Jane", {"more.txt": b"x\n"})
    found = await gitlab.history.compare_refs(123, "main", "new")
    assert [commit.title for commit in found.commits] == ["More"]
    assert [change.new_path for change in found.diffs] == ["more.txt"]
    with pytest.raises(Failure, match="base"):
        await gitlab.history.compare_refs(123, "a..b", "new")


async def test_blame_says_who_wrote_each_line(gitlab: Groups, emulator: Emulator) -> None:
    project = emulator.world.projects[0]
    emulator.world.commit_files(project, "Lines", "Jane", {"l.txt": b"one\ntwo\nthree\n"})
    found = await gitlab.history.blame_file(123, "l.txt", lines="2-3")
    assert [(one.lines, one.author_name, one.text) for one in found.ranges] == [("2-3", "Jane", "two\nthree")]


async def test_branches_and_tags_are_listed(gitlab: Groups) -> None:
    branches = await gitlab.history.list_refs(123, search="ma")
    assert [(item.name, item.is_default) for item in branches.refs] == [("main", True)]
    assert [item.name for item in (await gitlab.history.list_refs(123, "tags")).refs] == ["v0.1"]
    assert "main (default, protected)" in text(branches)
