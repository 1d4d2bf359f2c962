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


async def test_a_giant_message_leaves_room_for_the_changes(gitlab: Groups, emulator: Emulator) -> None:
    project = emulator.world.projects[0]
    large = emulator.world.commit_files(project, "Words\n" * 200_000, "Jane", {"s.txt": b"x\n"})
    found = await gitlab.history.get_commit(123, large)
    assert len(text(found).encode()) <= 24_000
    assert "of 1200000 characters are shown, max_bytes gets more" in text(found)
    assert "+++ s.txt" in text(found)
    assert len(direct(found)["message"]) == 1_200_000
    more = await gitlab.history.get_commit(123, large, max_bytes=100_000)
    assert 40_000 < len(text(more)) < 100_000


async def test_commits_with_giant_titles_leave_room_for_each_other(gitlab: Groups, emulator: Emulator) -> None:
    project = emulator.world.projects[0]
    last = project.branches["main"]
    for number in range(120):
        head = emulator.world.commit_files(project, f"{number} " + "x" * 9000, "Jane", {})
        project.commits[head]["parents"], last = [last], head
    project.branches["new"] = last
    found = await gitlab.history.compare_refs(123, "main", "new")
    assert len(text(found).encode()) <= 24_000
    shown = [int((one.title or "").partition(" ")[0]) for one in found.commits]
    assert shown == [*range(120 - len(shown), 120)], "the newest ones"
    assert f"{120 - len(shown)} commits are left out: list_commits with ref shows them" in text(found)
    assert len(direct(found)["commits"]) == 120


async def test_a_file_that_one_commit_wrote_is_blamed_piece_by_piece(gitlab: Groups, emulator: Emulator) -> None:
    project = emulator.world.projects[0]
    content = b"".join(b"line %d\n" % number for number in range(1, 30_001))
    emulator.world.commit_files(project, "Lines", "Jane", {"l.txt": content, "one.txt": b"y" * 100_000})
    found = await gitlab.history.blame_file(123, "l.txt")
    assert len(text(found).encode()) <= 24_000
    last = int(found.ranges[0].lines.partition("-")[2])
    assert found.ranges[0].text.endswith(f"line {last}")
    assert found.left_out == f"lines={last + 1}- goes on"
    assert len(direct(found)["ranges"][0]["text"].split("\n")) == 30_000
    cut = await gitlab.history.blame_file(123, "one.txt")
    assert len(text(cut).encode()) <= 24_000
    assert cut.left_out == "the line is cut: max_bytes gets more"
