"""Lines that are kept as codes are read again from today's text."""

from __future__ import annotations

from pathlib import Path

from postil.comments.anchoring.line_codes import code_lines, know_lines, recall_lines
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
