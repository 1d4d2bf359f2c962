"""The menu of places: every changed block, and always the whole file."""

from pathlib import Path

import pytest

from postil.inbox.lazygit import screen
from postil.inbox.lazygit.menu import LONGEST_LABEL, WHOLE, list_places
from postil.workspace.repository import Repository, find_repository
from tests.workspace.repositories import git, new_repository


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    root = new_repository(tmp_path / "r", a__txt="one\ntwo\nthree\n")
    (root / "a.txt").write_text("one\nTWO\nthree\n\tlong " + "x" * 200 + "\n")
    return find_repository(str(root))


def test_changed_blocks_come_first_and_the_whole_file_last(repository: Repository) -> None:
    places = list_places(repository, repository.root, "a.txt", "files", "", in_tmux=False)
    assert [line for line, _ in places] == ["2", "4", "file"]
    assert places[0] == ("2", "+TWO")
    assert places[-1] == WHOLE


def test_a_label_is_one_short_line(repository: Repository) -> None:
    label = list_places(repository, repository.root, "a.txt", "files", "", in_tmux=False)[1][1]
    assert len(label) == LONGEST_LABEL
    assert label.endswith("…")
    assert "\t" not in label


@pytest.mark.parametrize("file", ["b.txt", "../outside", "/etc/passwd", ""])
def test_whatever_is_asked_the_menu_is_never_empty(repository: Repository, file: str) -> None:
    assert list_places(repository, repository.root, file, "files", "", in_tmux=False)[-1] == WHOLE


def test_the_line_under_the_cursor_is_first_and_not_twice(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = ["@@ -1,3 +1,4 @@", " one", "-two", "+TWO", " three"]
    drawn = "\n".join(f"\x1b[44m{row:<20}\x1b[0m│" if row == "+TWO" else f"{row:<20}│" for row in rows)
    monkeypatch.setattr(screen, "capture_pane", lambda: drawn)
    places = list_places(repository, repository.root, "a.txt", "staging", "", in_tmux=True)
    assert places[0] == ("2", "selected: +TWO")
    assert [line for line, _ in places] == ["2", "4", "file"]
    # in the list of files no line is selected
    assert list_places(repository, repository.root, "a.txt", "files", "", in_tmux=True)[0] == ("2", "+TWO")


def test_a_commit_has_places_of_its_own(repository: Repository) -> None:
    git(Path(repository.root), "commit", "-qam", "change")
    places = list_places(repository, repository.root, "a.txt", "commitFiles", "HEAD", in_tmux=False)
    assert [line for line, _ in places] == ["2", "4", "file"]


def test_a_commit_is_never_an_option_of_git(repository: Repository, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("kept")
    named = f"--output={precious}"
    assert list_places(repository, repository.root, "a.txt", "commitFiles", named, in_tmux=False) == (WHOLE,)
    assert precious.read_text() == "kept"
    head = list_places(repository, repository.root, "a.txt", "commitFiles", "HEAD", in_tmux=False)
    assert [line for line, _ in head] == ["1-3", "file"]
