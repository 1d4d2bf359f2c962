"""What a remark is about, caught when it is sent."""

from pathlib import Path

import pytest

from postil.core.failure import Failure
from postil.inbox.capture import LARGEST_TEXT, MOST_CODE, MOST_CODE_LINES, MOST_HUNK, WINDOW, capture
from postil.inbox.failures import LineOutOfRange, NoSuchCommit, NothingToCommentOn
from postil.workspace.failures import FileMissing
from postil.workspace.repository import Repository, find_repository
from tests.workspace.repositories import git, new_repository


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return new_repository(tmp_path / "r", a__txt="one\ntwo\nthree\n")


@pytest.fixture
def repository(root: Path) -> Repository:
    return find_repository(str(root))


def test_a_line_comes_with_its_code_its_version_and_the_whole_text(root: Path, repository: Repository) -> None:
    caught = capture(repository, str(root), "a.txt", "2-3", "new", "", "")
    assert (caught.place.line, caught.place.code) == ("2-3", "two\nthree")
    assert caught.place.blob == git(root, "rev-parse", "HEAD:a.txt")
    assert caught.place.branch == "main"
    assert (caught.text, caught.place.start) == (b"one\ntwo\nthree\n", 0)


def test_a_whole_file_has_no_code_and_no_text(root: Path, repository: Repository) -> None:
    caught = capture(repository, str(root), "a.txt", "", "new", "", "")
    assert (caught.place.line, caught.place.code, caught.text) == ("", "", None)


def test_the_last_line_is_taken_and_the_next_is_not(root: Path, repository: Repository) -> None:
    assert capture(repository, str(root), "a.txt", "3", "new", "", "").place.line == "3"
    with pytest.raises(LineOutOfRange, match="between 1 and 3"):
        capture(repository, str(root), "a.txt", "4", "new", "", "")


def test_the_version_is_the_one_looked_at(root: Path, repository: Repository) -> None:
    (root / "a.txt").write_text("one\nSTAGED\nthree\n")
    git(root, "add", "-A")
    (root / "a.txt").write_text("one\nTREE\nthree\n")

    def code(side: str, context: str, commit: str = "") -> str:
        return capture(repository, str(root), "a.txt", "2", side, context, commit).place.code  # type: ignore[arg-type]

    assert code("new", "staging") == "TREE"
    assert code("old", "staging") == "STAGED"
    assert code("new", "stagingSecondary") == "STAGED"
    assert code("old", "stagingSecondary") == "two"
    assert code("new", "commitFiles", "HEAD") == "two"


def test_a_whole_commit_may_be_spoken_of_and_must_exist(root: Path, repository: Repository) -> None:
    caught = capture(repository, str(root), "", "", "new", "commits", "HEAD")
    assert (caught.place.file, caught.place.commit) == ("", git(root, "rev-parse", "HEAD"))
    with pytest.raises(NoSuchCommit):
        capture(repository, str(root), "a.txt", "", "new", "", "--output=x")
    with pytest.raises(NothingToCommentOn):
        capture(repository, str(root), " ", "", "new", "", "")


def test_a_path_counts_from_where_the_person_stands_and_else_from_the_root(root: Path, repository: Repository) -> None:
    (root / "sub").mkdir()
    (root / "sub" / "b.txt").write_text("b\n")
    here = str(root / "sub")
    assert capture(repository, here, "b.txt", "", "new", "", "").place.file == "sub/b.txt"
    assert capture(repository, here, "a.txt", "", "new", "", "").place.file == "a.txt"
    assert capture(repository, "/", "a.txt", "", "new", "", "").place.file == "a.txt"
    with pytest.raises(FileMissing):
        capture(repository, here, "none.txt", "", "new", "", "")


def test_of_a_very_large_file_a_window_is_kept(root: Path, repository: Repository) -> None:
    lines = [f"{number:09d}" for number in range(1, LARGEST_TEXT // 10 + 100)]
    (root / "a.txt").write_text("\n".join(lines) + "\n")
    caught = capture(repository, str(root), "a.txt", "5000", "new", "", "")
    assert caught.place.start == 4999 - WINDOW
    assert caught.text is not None
    assert caught.text.split(b"\n")[WINDOW] == b"000005000"
    (root / "a.txt").write_text("\n".join(["x" * 2000] * 600) + "\n")
    assert capture(repository, str(root), "a.txt", "300", "new", "", "").text is None


def test_code_and_hunk_are_bounded(root: Path, repository: Repository) -> None:
    (root / "a.txt").write_text("".join(f"{number} xxx\n" for number in range(400)))
    caught = capture(repository, str(root), "a.txt", "1-400", "new", "", "")
    assert caught.place.code.count("\n") == MOST_CODE_LINES - 1
    assert len(caught.place.hunk) <= MOST_HUNK + 2
    (root / "a.txt").write_text("x" * 6_000_000)  # a minified file
    caught = capture(repository, str(root), "a.txt", "1", "new", "", "")
    assert len(caught.place.code) == MOST_CODE + 2
    assert "+xxx" in caught.place.hunk
    assert len(caught.place.hunk) < MOST_HUNK


def test_of_a_long_hunk_the_rows_around_the_lines_are_kept(root: Path, repository: Repository) -> None:
    (root / "a.txt").write_text("".join(f"{number} xxx\n" for number in range(1, 2001)))
    hunk = capture(repository, str(root), "a.txt", "1500", "new", "", "").place.hunk
    assert hunk.startswith("@@ -1,3 +1,2000 @@\n…\n+1497 xxx\n")
    assert "+1500 xxx\n" in hunk


def test_a_deleted_line_comes_with_the_code_that_was_deleted(root: Path, repository: Repository) -> None:
    (root / "a.txt").write_text("one\nthree\n")
    caught = capture(repository, str(root), "a.txt", "2", "old", "files", "")
    assert (caught.place.code, caught.place.blob) == ("two", git(root, "rev-parse", "HEAD:a.txt"))
    assert "-two" in caught.place.hunk


def test_a_folder_may_be_spoken_of_and_has_no_lines(root: Path, repository: Repository) -> None:
    (root / "sub").mkdir()
    assert capture(repository, str(root), "sub", "", "new", "", "").place.file == "sub"
    assert capture(repository, str(root), ".", "", "new", "", "").place.file == "."
    with pytest.raises(Failure):
        capture(repository, str(root), "sub", "3", "new", "", "")


def test_a_range_of_commits_is_compared_with_what_was_before_it(root: Path, repository: Repository) -> None:
    first = git(root, "rev-parse", "HEAD")
    for text in ("one\n2\nthree\n", "one\n2\n3\n"):
        (root / "a.txt").write_text(text)
        git(root, "commit", "-qam", "more")
    place = capture(repository, str(root), "a.txt", "2", "old", "commits", "HEAD", first).place
    assert (place.code, place.base) == ("two", first)
    assert "+2\n+3" in place.hunk
