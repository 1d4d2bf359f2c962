"""The search for `.git`, and reading what others may have put there."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from postil.core import limits
from postil.workspace import disk
from postil.workspace.disk import find_git_roots, open_regular, read_named, read_regular, read_whole


def test_what_is_no_regular_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "to-device").symlink_to("/dev/zero")
    (tmp_path / "to-fifo").symlink_to("fifo")
    with socket.socket(socket.AF_UNIX) as listening:
        here = os.getcwd()
        os.chdir(tmp_path)  # the name of a socket is short
        try:
            listening.bind("socket")
        finally:
            os.chdir(here)
        for name in ("fifo", "to-device", "to-fifo", "socket", ".", "missing"):
            with pytest.raises(OSError):
                open_regular(str(tmp_path / name))
            assert read_regular(str(tmp_path / name), 10) is None
            with pytest.raises(OSError):
                read_named(str(tmp_path / name), 10)


def test_no_more_than_the_bound_is_read(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"12345")
    assert read_whole(str(file), 5) == b"12345"
    with pytest.raises(OSError, match="larger than 4 bytes"):
        read_whole(str(file), 4)
    assert read_regular(str(file), 4) is None


def test_links_do_not_lead_out_of_the_folder_that_is_named(tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside-not").write_text("secret")
    (tmp_path / "inside/a").write_text("a")
    (tmp_path / "inside/b").symlink_to("a")
    (tmp_path / "inside/c").symlink_to("../inside-not")
    inside = str(tmp_path / "inside")
    assert read_whole(f"{inside}/b", 9, inside) == b"a"
    with pytest.raises(OSError, match="leads out"):
        read_whole(f"{inside}/c", 9, inside)
    with pytest.raises(OSError):
        open_regular(f"{inside}/b", follow=False)


def test_a_pipe_that_the_person_gives_is_read() -> None:
    reader, writer = os.pipe()
    os.write(writer, b"said")
    os.close(writer)
    assert read_named(f"/dev/fd/{reader}", 10) == b"said"
    os.close(reader)


def test_every_folder_with_a_git_entry_is_found_the_nearest_first(tmp_path: Path) -> None:
    inner = tmp_path / "outer" / "between" / "inner"
    inner.mkdir(parents=True)
    (tmp_path / "outer" / ".git").mkdir()
    (inner / ".git").write_text("gitdir: elsewhere")
    roots = [root for root in find_git_roots(str(inner)) if root.startswith(str(tmp_path))]
    assert roots == [str(inner), str(tmp_path / "outer")]
    assert next(find_git_roots(str(inner.parent))) == str(tmp_path / "outer")


def test_a_link_that_leads_nowhere_is_an_entry_too(tmp_path: Path) -> None:
    (tmp_path / ".git").symlink_to("nowhere")
    assert next(find_git_roots(str(tmp_path))) == str(tmp_path)


def test_the_search_ends_at_the_root_of_the_file_system() -> None:
    assert list(find_git_roots("/")) in ([], ["/"])


def test_what_is_large_is_said_as_in_the_table() -> None:
    assert disk.LARGE == limits.LARGE


def test_it_imports_next_to_nothing() -> None:
    code = "import sys; import postil.workspace.disk; print(*sorted(sys.modules))"
    loaded = set(subprocess.check_output([sys.executable, "-c", code], text=True).split())
    assert {name for name in loaded if name.startswith("postil")} == {
        "postil", "postil.workspace", "postil.workspace.disk",
    }  # fmt: skip
    assert loaded & {"msgspec", "subprocess", "re", "typing"} == set()
