"""How files differ, line by line."""

from __future__ import annotations

from pathlib import Path

from postil.workspace.changes import file_diff
from postil.workspace.changes.changed_files import list_changed
from postil.workspace.changes.compared import read_compared
from postil.workspace.changes.file_diff import FileDiff, read_diffs
from postil.workspace.repository import find_repository
from tests.workspace.repositories import git, new_repository


def diffs(repo: Path, scope: str = "", context: int = 3, skip: int = 0) -> dict[str, FileDiff]:
    where = find_repository(str(repo))
    compared = read_compared(where, scope)
    return {one.file.file: one for one in read_diffs(where, compared, list_changed(where, compared), context, skip)}


def rows(diff: FileDiff) -> list[tuple[str, int, int, str]]:
    return [(line.sign, line.old, line.new, line.text) for hunk in diff.hunks for line in hunk.lines]


def test_lines_have_their_numbers_on_both_sides(tmp_path: Path) -> None:
    repo = new_repository(tmp_path, a__txt="one\ntwo\nthree\n")
    (repo / "a.txt").write_text("one\n2\nthree\nfour\n")
    assert rows(diffs(repo)["a.txt"]) == [
        (" ", 1, 1, "one"),
        ("-", 2, 0, "two"),
        ("+", 0, 2, "2"),
        (" ", 3, 3, "three"),
        ("+", 0, 4, "four"),
    ]


def test_lines_that_look_like_a_diff_are_lines(tmp_path: Path) -> None:
    repo = new_repository(tmp_path, a__txt="x\n", b__txt="y\n")
    (repo / "a.txt").write_text("x\ndiff --git a/b b/b\n@@ -1 +1 @@\n--- a\n+++ b\n")
    (repo / "b.txt").write_text("z\n")
    found = diffs(repo)
    assert next(text for sign, _, _, text in rows(found["a.txt"]) if sign == "+") == "diff --git a/b b/b"
    assert rows(found["b.txt"]) == [("-", 1, 0, "y"), ("+", 0, 1, "z")]


def test_a_renamed_file_shows_what_changed_in_it(tmp_path: Path) -> None:
    body = "".join(f"line {number}\n" for number in range(20))
    repo = new_repository(tmp_path, a__txt=body, other__txt="x\n")
    git(repo, "mv", "a.txt", "b.txt")
    (repo / "b.txt").write_text(body.replace("line 3\n", "line three\n"))
    (repo / "other.txt").write_text("y\n")
    found = diffs(repo)
    assert [row for row in rows(found["b.txt"]) if row[0] != " "] == [("-", 4, 0, "line 3"), ("+", 0, 4, "line three")]
    assert rows(found["other.txt"]) == [("-", 1, 0, "x"), ("+", 0, 1, "y")]


def test_a_file_that_became_a_link_does_not_shift_the_others(tmp_path: Path) -> None:
    repo = new_repository(tmp_path, a__txt="x\n", b__txt="y\n")
    (repo / "a.txt").unlink()
    (repo / "a.txt").symlink_to("b.txt")
    (repo / "b.txt").write_text("z\n")
    assert rows(diffs(repo)["b.txt"]) == [("-", 1, 0, "y"), ("+", 0, 1, "z")]


def test_words_that_changed_are_marked_and_code_has_colours(tmp_path: Path) -> None:
    repo = new_repository(tmp_path, a__py='def greet():\n    return "hello"\n')
    (repo / "a.py").write_text('def greet():\n    return "good day"\n')
    _, gone, come = diffs(repo)["a.py"].hunks[0].lines
    assert [gone.text[start:end] for start, end in gone.words] == ["hello"]
    assert [come.text[start:end] for start, end in come.words] == ["good day"]
    assert (4, 10, "k") in come.colors
    assert (11, 21, "s") in come.colors


def test_a_long_diff_comes_in_pieces(tmp_path: Path) -> None:
    repo = new_repository(tmp_path)
    (repo / "long.txt").write_text("".join(f"{number}\n" for number in range(file_diff.MOST_LINES + 10)))
    first = diffs(repo)["long.txt"]
    assert (len(rows(first)), first.more) == (file_diff.MOST_LINES, 10)
    rest = diffs(repo, skip=file_diff.MOST_LINES)["long.txt"]
    assert (rows(rest)[0][3], len(rows(rest)), rest.more) == (str(file_diff.MOST_LINES), 10, 0)


def test_a_very_long_line_is_cut(tmp_path: Path) -> None:
    repo = new_repository(tmp_path)
    (repo / "wide.txt").write_text("x" * 100_000 + "\n")
    assert len(rows(diffs(repo)["wide.txt"])[0][3]) == file_diff.LONGEST_LINE + 1


def test_a_repositorys_own_programs_do_not_run(tmp_path: Path) -> None:
    repo = new_repository(tmp_path, a__txt="x\n")
    marker = tmp_path.parent / f"{tmp_path.name}-ran"
    git(repo, "config", "diff.external", f"touch {marker}")
    git(repo, "config", "core.fsmonitor", f"touch {marker}")
    (repo / "a.txt").write_text("y\n")
    assert rows(diffs(repo)["a.txt"])
    assert not marker.exists()
