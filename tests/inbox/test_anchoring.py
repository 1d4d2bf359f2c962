"""Where the code of a message is now."""

import shutil
from pathlib import Path

import pytest

from postil.inbox.anchoring import LARGEST_READ, Anchor, anchor
from postil.inbox.capture import capture
from postil.inbox.model import Message, Place
from postil.workspace.repository import find_repository
from tests.workspace.repositories import new_repository

BEFORE = "import os\n\n\ndef first():\n    return os.getcwd()\n\n\ndef second():\n    return os.getpid()\n"


@pytest.mark.parametrize(
    ("after", "line", "found"),
    [
        (BEFORE, "5", Anchor("exact", "5")),
        ("# new\n" + BEFORE, "5", Anchor("moved", "6")),
        (BEFORE, "", Anchor("exact")),
        (None, "5", Anchor("gone")),
        ("", "5", Anchor("gone")),
    ],
)
def test_lines_are_found_again(tmp_path: Path, after: str | None, line: str, found: Anchor) -> None:
    root = new_repository(tmp_path / "r", a__py=BEFORE)
    repository = find_repository(str(root))
    caught = capture(repository, str(root), "a.py", line, "new", "", "")
    if after is None:
        (root / "a.py").unlink()
    else:
        (root / "a.py").write_text(after)
    assert anchor(repository, Message(1, caught.place, "x", "t"), caught.text) == found


@pytest.mark.parametrize("named", ["sub", ".", "sub/large.bin"])
def test_a_whole_folder_or_large_file_is_there_until_it_is_deleted(tmp_path: Path, named: str) -> None:
    root = new_repository(tmp_path / "r", a__py=BEFORE)
    (root / "sub").mkdir()
    with (root / "sub" / "large.bin").open("wb") as file:
        file.truncate(LARGEST_READ + 1)
    message = Message(1, Place(named), "x", "t")
    assert anchor(find_repository(str(root)), message, None) == Anchor("exact")
    repository = find_repository(str(root))
    shutil.rmtree(root)
    assert anchor(repository, message, None) == Anchor("gone")


def test_without_its_text_only_the_number_is_known(tmp_path: Path) -> None:
    repository = find_repository(str(new_repository(tmp_path / "r", a__py=BEFORE)))
    assert anchor(repository, Message(1, Place("a.py", "5"), "x", "t"), None) == Anchor("unknown", "5")
    assert anchor(repository, Message(1, Place("", commit="c"), "x", "t"), None) == Anchor("exact")


def test_a_window_of_a_large_file_counts_from_its_first_line(tmp_path: Path) -> None:
    repository = find_repository(str(new_repository(tmp_path / "r", a__py="# top\n" * 3 + BEFORE)))
    message = Message(1, Place("a.py", "8", start=3), "x", "t")
    assert anchor(repository, message, BEFORE.encode()) == Anchor("exact", "8")
