"""Digests are the same from hashlib and from Python's own code."""

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from postil.workspace.digest import blob_id, sha256
from tests.workspace.repositories import git


@pytest.mark.parametrize("content", [b"", b"hello\n", bytes(range(256)) * 1000])
def test_they_are_what_hashlib_says(content: bytes) -> None:
    assert sha256(content) == hashlib.sha256(content).hexdigest()
    assert blob_id(content) == hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
    assert blob_id(content, 64) == hashlib.sha256(b"blob %d\0" % len(content) + content).hexdigest()


@pytest.mark.parametrize("kind", ["sha1", "sha256"])
def test_a_blob_has_the_id_that_git_gives_it(tmp_path: Path, kind: str) -> None:
    git(tmp_path, "init", "-q", f"--object-format={kind}")
    (tmp_path / "a").write_bytes(b"one\r\n\0two")
    named = git(tmp_path, "hash-object", "a")
    assert blob_id(b"one\r\n\0two", len(named)) == named


def test_a_short_command_does_not_load_openssl() -> None:
    code = (
        "import sys; from postil.workspace.digest import blob_id, sha256; before = 'hashlib' in sys.modules;"
        "first = blob_id(b'x'), blob_id(b'x', 64), sha256(b'x'); after = 'hashlib' in sys.modules; import hashlib;"
        "assert first == (blob_id(b'x'), blob_id(b'x', 64), sha256(b'x')); print(before, after)"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).split() == ["False", "False"]
