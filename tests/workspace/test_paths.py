"""A path that was accepted is inside, at the time of the check and at the time of use."""

import os
import threading
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postil.core.failure import Failure
from postil.workspace import paths
from postil.workspace.failures import FileMissing, UnsafePath
from postil.workspace.files import atomic_write, read_file
from postil.workspace.paths import RelativePath, open_inside, resolve_inside


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("paths")
    root = base / "root"
    (root / "folder" / "deeper").mkdir(parents=True)
    (root / "file").write_text("inside")
    (root / "folder" / "file").write_text("inside")
    (base / "root_evil").mkdir()
    (base / "root_evil" / "file").write_text("outside")
    (root / "out").symlink_to(base / "root_evil")
    (root / "out_file").symlink_to(base / "root_evil" / "file")
    (root / "dangling").symlink_to(base / "nothing")
    (root / "dangling_inside").symlink_to(root / "nothing")
    (root / "loop").symlink_to(root / "loop")
    (root / "in").symlink_to(root / "folder")
    (root / ".git").mkdir()
    return root


PIECES = st.sampled_from(
    ["", ".", "..", "...", "folder", "deeper", "file", "out", "out_file", "in", "loop", "dangling", "root", "root_evil",
     "%2e%2e", "..%2f", "\\..", "file ", "file.", "FILE", "\0", "~", "é", "\udc80", "\ud800", ".git", ".GIT", "x" * 300]
)  # fmt: skip


@settings(max_examples=600)
@given(pieces=st.lists(PIECES, max_size=8), absolute=st.sampled_from(["", "/", "//", "ROOT/", "ROOT"]))
def test_accepted_means_really_inside(root: Path, pieces: list[str], absolute: str) -> None:
    path = absolute.replace("ROOT", str(root)) + "/".join(pieces)
    try:
        inside = resolve_inside(str(root), path)
    except Failure:
        return
    real = os.path.realpath(os.path.join(root, inside))
    assert real.startswith(str(root) + "/")
    assert real == os.path.join(root, inside)
    assert ".git" not in inside.lower().split("/")


@given(pieces=st.lists(PIECES, max_size=4))
def test_a_plain_path_is_answered_as_if_every_link_had_been_followed(root: Path, pieces: list[str]) -> None:
    def answer() -> str:
        try:
            return resolve_inside(str(root), "/".join(pieces))
        except Failure as fault:
            return repr(fault)

    with patch.object(paths, "_is_plain", return_value=False):
        followed = answer()
    assert answer() == followed


def test_a_plain_path_costs_one_look_at_each_of_its_parts(root: Path) -> None:
    with patch.object(os, "lstat", wraps=os.lstat) as look:
        assert resolve_inside(str(root), "folder/file") == "folder/file"
    assert look.call_count == 2


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("../root_evil/file", "outside"),
        ("out/file", "outside"),
        ("out_file", "outside"),
        ("dangling", "outside"),
        ("loop", "leads to itself"),
        ("", "is empty"),
        ("a\0b", "NUL"),
        (".git/config", "git's own folder"),
        ("folder/../.GIT/hooks/x", "git's own folder"),
        ("/etc/passwd", "outside"),
        (".", "the repository itself"),
        ("\ud800", "cannot be a file name"),
    ],
)
def test_what_is_refused_is_refused_with_a_reason(root: Path, path: str, reason: str) -> None:
    with pytest.raises(UnsafePath, match=reason):
        resolve_inside(str(root), path)


def test_a_link_that_stays_inside_is_followed(root: Path) -> None:
    assert resolve_inside(str(root), "in/file") == "folder/file"
    assert resolve_inside(str(root), str(root / "in" / "file")) == "folder/file"


def test_a_relative_path_counts_from_the_base(root: Path) -> None:
    assert resolve_inside(str(root), "../file", base=str(root / "folder")) == "file"
    assert resolve_inside(str(root), "file", base="folder") == "folder/file"


@pytest.mark.parametrize("path", ["out/file", "out_file", "../root_evil/file", "in/file", "loop", "folder/../file"])
def test_opening_follows_no_symlink_at_all(root: Path, path: str) -> None:
    with pytest.raises(UnsafePath):
        open_inside(str(root), RelativePath(path))


def test_a_missing_file_and_a_folder_and_a_pipe_are_told_apart(root: Path) -> None:
    with pytest.raises(FileMissing):
        open_inside(str(root), RelativePath("folder/nothing"))
    with pytest.raises(UnsafePath, match="not a regular file"):
        open_inside(str(root), RelativePath("folder"))
    os.mkfifo(root / "pipe")
    with pytest.raises(UnsafePath, match="not a regular file"):
        open_inside(str(root), RelativePath("pipe"))


def test_a_link_swapped_in_between_check_and_use_leads_nowhere(tmp_path: Path) -> None:
    root, evil = tmp_path / "root", tmp_path / "evil"
    for folder, content in ((root / "a", "inside"), (evil, "outside")):
        folder.mkdir(parents=True)
        (folder / "file").write_text(content)
    done = threading.Event()

    def swap() -> None:
        turn = 0
        while not done.is_set():
            os.rename(root / "a", root / "kept")
            os.symlink(evil, root / "a")
            os.unlink(root / "a")
            os.rename(root / "kept", root / "a")
            turn += 1
            if turn % 3 == 0:  # on a busy machine the folder would else never be there for long enough
                done.wait(0.001)

    swapper = threading.Thread(target=swap)
    swapper.start()
    inside = refused = 0
    try:
        for _ in range(3000):
            try:
                path = resolve_inside(str(root), "a/file")
                assert read_file(str(root), path) in (b"inside", b"written")
                atomic_write(str(root), path, b"written")
                inside += 1
            except Failure:
                refused += 1
    finally:
        done.set()
        swapper.join()
    assert (evil / "file").read_text() == "outside"
    assert sorted(os.listdir(evil)) == ["file"]
    assert inside
    assert refused
