"""The changes of a merge request in the shape of the workspace's."""

from __future__ import annotations

import pytest

from postil.core.failure import Failure, NotFound
from postil.workspace.changes.file_diff import DiffLine
from tests.emulator.app import Emulator
from tests.emulator.changes import changed
from tests.gitlab.answers import direct, text
from tests.gitlab.groups import Groups

pytestmark = pytest.mark.anyio
OLD = "import os\n\n\ndef greet(name):\n    return 'hello ' + name\n"
NEW = OLD.replace("'hello '", "'good day '")


async def test_the_files_are_listed_with_what_became_of_each(gitlab: Groups, emulator: Emulator) -> None:
    project = emulator.world.projects[0]
    files = [
        changed("a.txt", "b.txt", "x\n", "x\n"),
        changed("gone.txt", "gone.txt", "x\n", None),
        changed("new.txt", "new.txt", None, "x\ny\n"),
        changed("src/greet.py", "src/greet.py", OLD, NEW),
        changed("big", "big", "x\n", "y\n") | {"diff": "", "too_large": True},
    ]
    version = emulator.world.push(project, project.merge_requests[0], files)
    found = await gitlab.compare.compare_merge_request(123, 1)
    assert {one.file: (one.change, one.added, one.removed) for one in found.files} == {
        "b.txt": ("renamed", 0, 0),
        "gone.txt": ("deleted", 0, 1),
        "new.txt": ("added", 2, 0),
        "src/greet.py": ("modified", 1, 1),
        "big": ("modified", 0, 0),
    }
    assert found.files[0].old_file == "a.txt"
    assert found.version == f"{version['base_sha']}..{version['head_sha']}"
    assert (found.says, found.diffs, found.more) == ("!1 Add greeting", (), 0)


async def test_a_file_comes_with_its_lines_changed_words_and_colours(gitlab: Groups, emulator: Emulator) -> None:
    project = emulator.world.projects[0]
    emulator.world.push(project, project.merge_requests[0], [changed("src/greet.py", "src/greet.py", OLD, NEW)])
    found = await gitlab.compare.compare_merge_request("username/my-project!1", files=("src/greet.py",))
    (diff,) = found.diffs
    lines: dict[str, DiffLine] = {line.sign + line.text: line for hunk in diff.hunks for line in hunk.lines}
    gone, come = lines["-    return 'hello ' + name"], lines["+    return 'good day ' + name"]
    assert (gone.old, gone.new, come.old, come.new) == (5, 0, 0, 5)
    assert "good day" in "".join(come.text[start:end] for start, end in come.words)
    assert "return" in [come.text[start:end] for start, end, kind in come.colors if kind == "k"]
    assert "+    return 'good day ' + name" in text(found)
    assert direct(found)["diffs"][0]["file"]["file"] == "src/greet.py"


async def test_a_long_diff_goes_on_where_it_was_left(gitlab: Groups, emulator: Emulator) -> None:
    project = emulator.world.projects[0]
    long = "".join(f"line {number}\n" for number in range(2_500))
    emulator.world.push(project, project.merge_requests[0], [changed("a", "a", None, long)])
    first = (await gitlab.compare.compare_merge_request(123, 1, files=("a",))).diffs[0]
    rest = (await gitlab.compare.compare_merge_request(123, 1, files=("a",), skip=2_000)).diffs[0]
    assert (first.more, rest.skipped, rest.more, rest.hunks[0].lines[0].new) == (500, 2_000, 0, 2_001)


async def test_a_file_that_did_not_change_there_is_refused(gitlab: Groups) -> None:
    with pytest.raises(NotFound, match="did not change there"):
        await gitlab.compare.compare_merge_request(123, 1, files=("nothing.py",))


async def test_a_merge_request_that_is_not_there_is_refused(gitlab: Groups) -> None:
    with pytest.raises(Failure):
        await gitlab.compare.compare_merge_request(123, 4_000)
