"""The menu of places: what is selected, every change, and always the whole."""

from pathlib import Path

import msgspec
import pytest

from postil.inbox.lazygit.menu import LONGEST_LABEL, MOST_PLACES, Looked, list_lines, list_places
from postil.workspace.repository import Repository, find_repository
from tests.inbox.lazygit.test_selection import draw
from tests.workspace.repositories import git, new_repository


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    root = new_repository(tmp_path / "r", a__txt="one\ntwo\nthree\n")
    (root / "a.txt").write_text("one\nTWO\nthree\n\tlong " + "x" * 200 + "\n")
    return find_repository(str(root))


def places(repository: Repository, screen: str = "", **looked: str) -> list[tuple[str, str]]:
    return [*list_places(repository, repository.root, msgspec.convert(looked, Looked), lambda: screen)]


def test_the_file_list_offers_the_whole_file_first_and_then_each_change(repository: Repository) -> None:
    found = places(repository, context="files", file="a.txt")
    assert [word for word, _ in found] == ["a.txt:whole", "a.txt:2", "a.txt:-2", "a.txt:4"]
    assert found[1] == ("a.txt:2", "2  +TWO")
    assert found[2] == ("a.txt:-2", "  -2  -two")


def test_a_label_is_one_short_line(repository: Repository) -> None:
    assert len(places(repository, context="files", file="a.txt")[3][1]) == LONGEST_LABEL


def test_an_unchanged_file_and_one_that_is_not_there_can_still_be_spoken_of(repository: Repository) -> None:
    git(Path(repository.root), "checkout", "-q", "a.txt")
    for file in ("a.txt", "none.txt", "../out.txt"):
        assert [word for word, _ in places(repository, context="files", file=file)] == [f"{file}:whole"]


def test_every_line_of_a_file_that_git_does_not_know_is_offered(repository: Repository) -> None:
    (Path(repository.root) / "new.txt").write_text("x\ny\n")
    found = [word for word, _ in places(repository, context="staging", file="new.txt")]
    assert found == [f"new.txt:{line} @unstaged" for line in ("whole", "1-2", "1", "2")]


def test_a_folder_offers_the_changes_of_its_files(repository: Repository) -> None:
    folder = Path(repository.root) / "sub" / "deep"
    folder.mkdir(parents=True)
    (folder / "n.txt").write_text("x\n")
    found = places(repository, context="files", file="sub")
    assert [word for word, _ in found] == ["sub:file", "sub/deep/n.txt:1"]
    assert found[0][1] == "the whole of sub"  # a folder has no line to begin with


def selected(repository: Repository, row: int, *diff: str) -> str:
    return draw(git(Path(repository.root), "diff", *diff).split("\n"), range(row, row + 1))


def test_the_line_under_the_cursor_comes_first(repository: Repository) -> None:
    found = places(repository, selected(repository, 7), context="staging", file="a.txt")
    assert found[0] == ("a.txt:2 @unstaged", "2  selected: +TWO")
    found = places(repository, selected(repository, 6), context="staging", file="a.txt")
    assert found[0] == ("a.txt:-2 @unstaged", "-2  selected: -two")


def test_a_selected_block_is_shown_by_a_line_of_the_side_it_is_sent_for(repository: Repository) -> None:
    rows = git(Path(repository.root), "diff").split("\n")
    found = places(repository, draw(rows, range(6, 8)), context="staging", file="a.txt")
    assert found[0] == ("a.txt:2 @unstaged", "2  selected: +TWO")


def test_when_the_line_under_the_cursor_is_not_known_the_menu_says_so_first(repository: Repository) -> None:
    (word, label), *_ = places(repository, "", context="staging", file="a.txt")
    assert word == "a.txt:whole @unstaged"
    assert label.startswith("the line under the cursor is not known")


def test_another_number_of_lines_around_changes_is_understood(repository: Repository) -> None:
    found = places(repository, selected(repository, 6, "-U0"), context="staging", file="a.txt")
    assert found[0] == ("a.txt:2 @unstaged", "2  selected: +TWO")


def test_the_screen_decides_which_of_several_diffs_is_looked_at(repository: Repository) -> None:
    root = Path(repository.root)
    git(root, "add", "-A")
    (root / "a.txt").write_text("ONE\nTWO\nthree\n")
    head = git(root, "rev-parse", "HEAD")[:12]
    about = {"context": "normal", "file": "a.txt", "commit_file": "a.txt", "commit": "HEAD"}
    rows = git(root, "diff", "--cached").split("\n")
    assert places(repository, draw(rows, range(7, 8)), **about)[0][0] == "a.txt:2 @staged"
    rows = git(root, "diff").split("\n")
    assert places(repository, draw(rows, range(6, 7)), **about)[0][0] == "a.txt:1 @unstaged"
    rows = git(root, "show").split("\n")
    at = rows.index("+three")
    assert places(repository, draw(rows, range(at, at + 1)), **about)[0][0] == f"a.txt:3 @{head}"
    at = rows.index("+++ b/a.txt")
    assert places(repository, draw(rows, range(at, at + 1)), **about)[0][0] == f"a.txt:whole @{head}"


def test_a_stash_and_a_range_of_commits_are_commits(repository: Repository) -> None:
    root = Path(repository.root)
    git(root, "stash", "-q")
    stash = git(root, "rev-parse", "stash@{0}")[:12]
    assert places(repository, context="stash", stash="stash@{0}")[0][0] == f"@{stash}"
    found = places(repository, context="commitFiles", commit_file="a.txt", commit="HEAD", stash="stash@{0}")
    assert f"a.txt:2 @{stash}" in [word for word, _ in found]
    (root / "b.txt").write_text("b\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "second")
    first, last = git(root, "rev-parse", "HEAD~1"), git(root, "rev-parse", "HEAD")
    found = places(repository, context="commits", commit=last, first=first, last=last)
    assert found[0][1] == "these commits"
    assert found[0][0].endswith(f"..{last[:12]}")
    assert f"b.txt:1 {found[0][0]}" in [word for word, _ in found]


@pytest.mark.parametrize("named", ["nothing", "--output=x"])
def test_a_commit_that_git_does_not_know_leaves_the_work_tree(repository: Repository, named: str) -> None:
    found = places(repository, context="commitFiles", commit_file="a.txt", commit=named)
    assert found[0][0] == ".:file"


def test_a_long_menu_is_cut_and_says_how_to_name_the_rest(repository: Repository) -> None:
    (Path(repository.root) / "many.txt").write_text("".join(f"{number}\n" for number in range(300)))
    found = places(repository, context="files", file="many.txt")
    assert len(found) == MOST_PLACES + 2
    assert found[-1] == ("many.txt:whole", "101 more changes: begin with the line")


def test_older_bindings_still_get_bare_lines(repository: Repository) -> None:
    looked = Looked("files", "a.txt")
    found = list_lines(repository, repository.root, looked, lambda: "")
    assert [line for line, _ in found] == ["2", "4", "file"]
    assert found[0] == ("2", "+TWO")


def test_comment_files_are_told_in_one_line_and_no_row_of_them_is_offered(repository: Repository) -> None:
    root = Path(repository.root)
    (root / "a.txt.comments").write_text('{\n  "comments": []\n}\n')
    git(root, "add", ".")
    git(root, "commit", "-qm", "both")
    commit = git(root, "rev-parse", "--short=12", "HEAD").strip()
    found = places(repository, context="normal", file="a.txt", commit="HEAD")
    assert not [word for word, _ in found if ".comments" in word]
    assert found[-1][1] == f"1 comment file not listed: postil comments diff {commit}^"
    assert "a.txt:2" in [word.partition(" ")[0] for word, _ in found]


def test_a_comment_file_that_is_selected_itself_is_offered(repository: Repository) -> None:
    (Path(repository.root) / "a.txt.comments").write_text('{\n  "comments": []\n}\n')
    found = places(repository, context="files", file="a.txt.comments")
    assert "a.txt.comments:1-3" in [word for word, _ in found]
