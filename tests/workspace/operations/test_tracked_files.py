"""The walk over the tracked files names what is wrong with them."""

import subprocess
from pathlib import Path

import pytest

from postil.core import call
from postil.core.failure import Cancelled
from postil.workspace.operations.answers import Fault
from postil.workspace.operations.tracked_files import TrackedFiles
from tests.workspace.repositories import git, workspace


def test_the_walk_names_what_is_wrong_with_a_file(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    (folder / "a.txt").unlink()
    (folder / "b.txt").write_bytes(b"x\r\n<<<<<<< HEAD\r\n1\r\n=======\r\n2\r\n>>>>>>> other\r\n")
    (folder / "c.txt").unlink()
    (folder / "c.txt").symlink_to(tmp_path_factory.mktemp("elsewhere"))
    found = TrackedFiles(workspace(folder)).check_files()
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
    assert TrackedFiles(workspace(folder)).check_files().faults == []


def test_a_file_that_an_unfinished_merge_left_is_not_merged_and_not_missing(folder: Path) -> None:
    git(folder, "checkout", "-q", "-b", "other")
    git(folder, "mv", "a.txt", "theirs.txt")
    git(folder, "rm", "-q", "b.txt")
    git(folder, "commit", "-q", "-m", "theirs")
    git(folder, "checkout", "-q", "-")
    git(folder, "mv", "a.txt", "ours.txt")
    (folder / "b.txt").write_text("edited\n")
    git(folder, "commit", "-q", "-a", "-m", "ours")
    with pytest.raises(subprocess.CalledProcessError):
        git(folder, "merge", "-q", "other")
    found = TrackedFiles(workspace(folder)).check_files()
    unmerged = [Fault(name, "unmerged") for name in ("a.txt", "b.txt", "ours.txt", "theirs.txt")]
    assert found.faults == unmerged
    assert "not merged yet" in found.for_model()


def test_what_a_sparse_checkout_leaves_out_is_not_missing(folder: Path) -> None:
    git(folder, "sparse-checkout", "set", "--no-cone", "/a.txt")
    assert not (folder / "b.txt").exists()
    (folder / "a.txt").unlink()
    found = TrackedFiles(workspace(folder)).check_files()
    assert (found.files, found.faults) == (3, [Fault("a.txt", "missing")])


def test_only_the_given_paths_are_walked(folder: Path) -> None:
    assert TrackedFiles(workspace(folder)).check_files(("a.txt", "b.txt")).files == 2


def test_a_path_that_looks_like_a_flag_is_a_path(folder: Path) -> None:
    assert TrackedFiles(workspace(folder)).check_files(("--others",)).files == 0


def test_a_walk_that_was_given_up_stops(folder: Path) -> None:
    given_up = call.Call()
    given_up.cancelled = True
    call.enter(given_up)
    try:
        with pytest.raises(Cancelled):
            TrackedFiles(workspace(folder)).check_files()
    finally:
        call.enter(call.Call())
