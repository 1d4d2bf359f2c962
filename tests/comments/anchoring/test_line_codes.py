"""Lines that are kept as codes are read again from today's text."""

from __future__ import annotations

from binascii import b2a_base64
from pathlib import Path

from postil.comments.anchoring.line_codes import AROUND, LONGEST, code_lines, know_lines, recall_lines
from postil.comments.anchoring.locate import MOST_KEPT, fingerprint_of
from postil.comments.model import Anchor, Marker
from tests.comments.workspaces import Comments, commit, workspace, write
from tests.workspace.repositories import git

LINES = ["def total(values):", "    return sum(values)", "", "x = 'ü'", "\udc80"]


def test_what_is_still_there_is_recalled_and_the_rest_is_blank() -> None:
    codes = code_lines(LINES)
    assert len(codes) == 4 * len(LINES)
    known = know_lines(["  return sum(values)", "something = new", "x = 'ü'  "])
    assert recall_lines(codes, known) == ("", "  return sum(values)", "", "x = 'ü'  ", "")
    assert recall_lines(codes, know_lines(LINES)) == tuple(LINES)


def test_nothing_known_or_codes_that_somebody_edited_say_nothing() -> None:
    assert recall_lines(code_lines(LINES), {}) == ()
    assert recall_lines("", know_lines(LINES)) == ()
    assert recall_lines("äö", know_lines(LINES)) == recall_lines("A", know_lines(LINES)) == ()


def test_more_codes_than_anybody_writes_and_very_long_lines_take_no_memory() -> None:
    known = know_lines(["y" * 60_000])
    (code,) = known
    assert recall_lines(code_lines(["y" * 60_000] * AROUND), known) == ("y" * LONGEST,) * AROUND
    assert recall_lines(b2a_base64(code * (AROUND + 1)).decode(), known) == ()  # 80 kB of them became 2.4 GB


def test_a_marker_with_a_million_lines_is_read_as_far_as_one_may_be_kept() -> None:
    many = ("x" * 10_000,) * 1000
    anchor = Anchor(blob="0" * 40, line=1, pre=many, post=many, body=many)
    found = fingerprint_of(Marker("gm_1", 1, ("c_1",), lineText="x", anchor=anchor), {})
    assert len(found.before) == len(found.after) == MOST_KEPT
    assert len(found.text) + sum(map(len, found.before)) < 300_000


def test_a_clone_without_history_looks_for_edited_code_where_the_full_one_does(tmp_path: Path) -> None:
    comments = workspace(tmp_path / "work", **{"a.py": STEPS})
    asked = ("step_8(", "take(8)", "offset_8", "second * 8", "(third, 8)")
    for line, text in enumerate(STEPS.split("\n"), 1):
        if any(each in text for each in asked):
            comments.add("a.py", line, text, "NOTE")
    commit(tmp_path / "work", "commented")
    new = STEPS
    for before, after in EDITS.items():
        new = new.replace(before, after)
    write(tmp_path / "work", "a.py", new)
    commit(tmp_path / "work", "edited")
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{tmp_path}/work", "shallow")
    git(tmp_path, "clone", "-q", f"file://{tmp_path}/work", "full")
    places = [[each.line for each in Comments(str(tmp_path / name)).listed().comments] for name in ("full", "shallow")]
    assert places == [[50, 52, 53, 54, 55]] * 2  # with five lines on each side it was 4, 5, 10, 65 and 66


STEPS = "".join(
    f"def step_{n}(state):\n    first = state.take({n})\n    second = first + offset_{n}\n"
    f"    third = second * {n}\n    return Result(third, {n})\n\n\n"
    for n in range(1, 15)
)
EDITS = {
    "    second = first + offset_8\n": "    second = first + self.offset(8)\n",
    "    first = state.take(8)\n": "    begun = state.begin()\n    first = begun.take(8)\n",
    "third = second * 8": "last = second * 8",
    "Result(third, 8)": "Result(last)",
    "def step_8(state)": "def step_eight(state, more)",
    "    return Result(third, 7)\n": "    return None\n",
    "def step_9(state)": "def ninth(state)",
}


def test_blank_lines_are_found_again_in_a_clone_without_history(tmp_path: Path) -> None:
    def work(number: int) -> str:
        return f"def work_{number}(first, second):\n    value = first * {number}\n\n    return value + second\n\n\n"

    comments = workspace(tmp_path / "full", **{"a.py": "".join(map(work, range(8)))})
    root = Path(comments.tree.root)
    inside, between, deleted, last = 9, 11, 21, 48
    ids = [comments.add("a.py", line, f"on {line}", "NOTE").commentId for line in (inside, between, deleted, last)]
    commit(root, "commented")
    write(root, "a.py", "import os\n\n" + "".join(work(number) for number in range(8) if number != 3))
    commit(root, "edited")
    git(tmp_path, "clone", "-q", "--depth", "1", root.as_uri(), "shallow")
    there = Comments(str(tmp_path / "shallow"))
    for one in (comments, there):
        found = {each.id: each for each in one.listed().comments}
        assert [found[ids[at]].line for at in (0, 1, 3)] == [inside + 2, between + 2, last + 2 - 6]
        assert [found[ids[at]].state for at in (0, 1, 3)] == ["moved"] * 3
        assert found[ids[2]].state in ("review", "orphaned")
