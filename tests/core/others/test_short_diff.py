"""A diff is right for texts of any size, and never slow."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.core.others import short_diff
from postil.core.others.short_diff import MOST_LINES, list_changed

LINES = st.lists(st.sampled_from("abc"), max_size=30)


def apply(before: list[str], rows: list[str], folder: Path) -> list[str]:
    """What git makes of the old text and the diff."""
    (folder / "f").write_text("".join(f"{line}\n" for line in before))
    patch = "\n".join(["--- a/f", "+++ b/f", *rows, ""])
    subprocess.run(["git", "apply", "--unidiff-zero", "-"], cwd=folder, input=patch, text=True, check=True)
    return (folder / "f").read_text().split("\n")[:-1]


@pytest.mark.parametrize("around", [0, 1, 3])
@pytest.mark.parametrize(("head", "tail"), [(0, 400), (400, 0), (200, 200), (2, 400)])
def test_a_large_change_can_be_applied(tmp_path: Path, head: int, tail: int, around: int) -> None:
    before = [*map(str, range(head)), "x", "y", *map(str, range(tail))]
    after = [*map(str, range(head)), "z", *map(str, range(tail))]
    assert len(before) > MOST_LINES
    assert apply(before, list_changed(before, after, around), tmp_path) == after


@given(LINES, LINES)
def test_small_and_large_texts_are_told_alike(before: list[str], after: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(short_diff, "MOST_LINES", -1)
        rows = list_changed(before, after, 40)
    old = [row[1:] for row in rows[1:] if row[0] != "+"]
    new = [row[1:] for row in rows[1:] if row[0] != "-"]
    assert (old, new) == (before, after) if rows else before == after


def test_texts_that_difflib_needs_hours_for_are_told() -> None:
    before, after = ["x"] * 50_000, ["x", "y"] * 25_000
    assert len(list_changed(before, after, 3)) > 50_000


def test_a_diff_begins_with_its_first_block() -> None:
    assert list_changed(["a", "b"], ["a", "c"], 0) == ["@@ -2 +2 @@", "-b", "+c"]
    assert list_changed(["a"], ["a"], 3) == []
