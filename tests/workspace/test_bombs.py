"""Small repositories that claim, or unpack to, giants: nothing large is held, and the rest still works."""

import os
import subprocess
import sys
import zlib
from hashlib import sha1
from pathlib import Path

import pytest

from postil.comments.git.objects import read_objects
from postil.core import limits
from postil.workspace.failures import GitFailed, GitTooLarge
from postil.workspace.git import git_lines, read_blob, run_git, try_git
from tests.workspace.repositories import commit_folders, git, new_repository


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return new_repository(tmp_path / "repository", a__txt="one\n")


def plant(root: Path, kind: str, size: int, content: bytes = b"") -> str:
    """Write a loose object that claims a size; its content is shorter."""
    name = sha1(b"%d" % size + content + kind.encode()).hexdigest()
    folder = root / ".git/objects" / name[:2]
    folder.mkdir(exist_ok=True)
    (folder / name[2:]).write_bytes(zlib.compress(f"{kind} {size}\0".encode() + content))
    return name


def plant_zeros(root: Path, size: int) -> str:
    """Write a true blob of zeros, a thousandth of that on the disk."""
    name, packer, chunk = sha1(f"blob {size}\0".encode()), zlib.compressobj(9), bytes(1 << 20)
    packed = [packer.compress(f"blob {size}\0".encode())]
    for _ in range(size // len(chunk)):
        name.update(chunk)
        packed.append(packer.compress(chunk))
    folder = root / ".git/objects" / name.hexdigest()[:2]
    folder.mkdir(exist_ok=True)
    (folder / name.hexdigest()[2:]).write_bytes(b"".join([*packed, packer.flush()]))
    return name.hexdigest()


@pytest.mark.parametrize("kind", ["commit", "tree", "tag"])
def test_git_does_not_take_the_memory_that_an_object_claims(repository: Path, kind: str) -> None:
    giant = plant(repository, kind, 1 << 40)
    done = try_git(str(repository), "cat-file", kind, giant)
    assert done.status != 0
    assert b"over limit" in done.err or b"attempting to allocate" in done.err or b"corrupt" in done.err


def test_a_blob_larger_than_the_limit_is_not_read(repository: Path) -> None:
    small = git(repository, "rev-parse", "HEAD:a.txt")
    giant = plant_zeros(repository, 96 << 20)
    assert read_blob(str(repository), giant) is None
    assert read_objects(str(repository), [giant, small]) == {small: b"one\n"}
    with pytest.raises(GitTooLarge, match="printed more than"):
        run_git(str(repository), "cat-file", "blob", giant)
    lines = git_lines(str(repository), "cat-file", "blob", giant)
    with pytest.raises((GitTooLarge, GitFailed)):
        next(lines)


def test_a_diff_takes_a_giant_for_binary(repository: Path) -> None:
    with (repository / "a.txt").open("r+b") as file:
        os.truncate(file.fileno(), limits.GIT_OBJECT + 1)  # a hole: it takes no space
    shown = run_git(str(repository), "diff")
    assert b"Binary files" in shown
    assert len(shown) < 1000


IN_ANOTHER = """
import resource, sys
from postil.core.failure import Failure
from postil.workspace.git import git_lines, run_git, try_git
from postil.core import limits
limits.GIT_ALL_MEMORY = 64 << 20
root, bomb = sys.argv[1:]
assert try_git(root, "log", "--raw", "-z").status == 128
for ask in (lambda: [*git_lines(root, "log", "--raw", "--format=%H", "--follow", "--", "a.txt")],
            lambda: run_git(root, "diff-tree", "-r", "--raw", bomb, "HEAD")):
    try:
        print("listed", len(ask()))
    except Failure as fault:
        print(fault.message, fault.advice, fault.lacks_memory)
assert try_git(root, "log", "--raw", "-z", "--", "a.txt").status == 0
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux bounds the memory of another process")
def test_folders_that_name_each_other_end_git_and_not_the_machine(repository: Path) -> None:
    """A clone of two kilobytes made git take ten gigabytes; who names a file is answered."""
    bomb = commit_folders(repository, *[10] * 6)
    done = subprocess.run([sys.executable, "-c", IN_ANOTHER, repository, bomb], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    listed, compared, peak = done.stdout.splitlines()
    assert listed == "listed 3"
    assert "out of memory" in compared.lower()
    assert compared.endswith("True")
    assert int(peak) < 100_000  # kB
