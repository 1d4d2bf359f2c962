"""The built-in part: where we are, all parts at a glance, and the walk over the tracked files."""

from pathlib import Path

import pytest

from postil.core import call
from postil.core.failure import Cancelled, StorageFailed
from postil.workspace.model import Fault
from postil.workspace.overview import Overview
from postil.workspace.repository import Repository, find_repository
from tests.workspace.repositories import git

GLANCES = [("inbox", "2 messages waiting"), ("comments", "7 comments")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A repository with three tracked files."""
    for name in ("a.txt", "b.txt", "c.txt"):
        (tmp_path / name).write_text(f"{name}\n")
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "first")
    return tmp_path


def overview(folder: Path, damage: list[str] | None = None) -> Overview:
    def find() -> Repository:
        return find_repository(str(folder))

    return Overview(find, lambda: ("workspace", "inbox"), lambda: GLANCES, lambda: ("state.db", damage or []))


def test_it_says_where_it_works(folder: Path) -> None:
    info = overview(folder).info()
    assert (info.root, info.branch, info.parts) == (str(folder.resolve()), "main", ["workspace", "inbox"])
    assert "Branch: main" in info.text()


def test_a_detached_head_has_no_branch(folder: Path) -> None:
    git(folder, "checkout", "-q", "--detach")
    info = overview(folder).info()
    assert info.branch is None
    assert "detached" in info.text()


def test_outside_a_repository_it_says_so(tmp_path: Path) -> None:
    info = overview(tmp_path).info()
    assert info.root is None
    assert "Not inside a git repository" in info.text()
    assert overview(tmp_path).repository_is_found().status == "warning"


def test_status_has_a_line_from_every_part(folder: Path) -> None:
    assert overview(folder).status().text().splitlines()[1:] == [
        "inbox     2 messages waiting",
        "comments  7 comments",
    ]


def test_the_overview_can_be_about_one_part(folder: Path) -> None:
    written = overview(folder).overview(part="inbox")
    assert "2 messages waiting" in written
    assert "7 comments" not in written
    assert overview(folder).offered_parts("in") == ["inbox"]


def test_the_walk_names_what_is_wrong_with_a_file(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    (folder / "a.txt").unlink()
    (folder / "b.txt").write_bytes(b"x\r\n<<<<<<< HEAD\r\n1\r\n=======\r\n2\r\n>>>>>>> other\r\n")
    (folder / "c.txt").unlink()
    (folder / "c.txt").symlink_to(tmp_path_factory.mktemp("elsewhere"))
    found = overview(folder).check_files()
    assert found.files == 3
    assert found.faults == [
        Fault("a.txt", "missing"),
        Fault("b.txt", "conflict-markers", 2),
        Fault("c.txt", "outside-link"),
    ]
    assert found.exit_status == 1


@pytest.mark.parametrize(
    "content",
    [
        "<<<<<<< only the first marker\n",
        "=======\n>>>>>>> no beginning\n",
        "a heading\n=======\n",
        "    <<<<<<< indented\n    =======\n    >>>>>>> quoted\n",
    ],
)
def test_what_only_looks_like_a_conflict_is_none(folder: Path, content: str) -> None:
    (folder / "a.txt").write_text(content)
    assert overview(folder).check_files().faults == []


def test_only_the_given_paths_are_walked(folder: Path) -> None:
    assert overview(folder).check_files(("a.txt", "b.txt")).files == 2


def test_a_path_that_looks_like_a_flag_is_a_path(folder: Path) -> None:
    assert overview(folder).check_files(("--others",)).files == 0


def test_a_walk_that_was_given_up_stops(folder: Path) -> None:
    given_up = call.Call()
    given_up.cancelled = True
    call.enter(given_up)
    try:
        with pytest.raises(Cancelled):
            overview(folder).check_files()
    finally:
        call.enter(call.Call())


def test_a_damaged_state_database_is_an_error_of_the_doctor(folder: Path) -> None:
    assert overview(folder).state_is_sound().status == "ok"
    assert overview(folder, ["row 7 missing"]).state_is_sound().status == "error"

    def broken() -> tuple[str, list[str]]:
        raise StorageFailed("state.db is no database", advice="Move it away")

    finding = Overview(lambda: find_repository(str(folder)), lambda: (), list, broken).state_is_sound()
    assert (finding.status, finding.fix) == ("error", "Move it away")
