"""The search for `.git`; reading what others may have put there, and that nothing of the tree opens files otherwise."""

from __future__ import annotations

import ast
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from postil.workspace.disk import find_git_roots, open_regular, read_named, read_regular, read_whole

SOURCE = Path(__file__).parents[2] / "src" / "postil"

READERS = {
    "workspace/disk.py": "the door itself",
    "app.py": "the catalogue, a file of this package",
    "secret.py": "the user's own state folder",
    "storage/steady_clock.py": "a file of /proc",
    "storage/holder.py": "files of /proc",
    "inbox/drafting/editing.py": "a file in a temporary folder of ours, after the user's own editor",
    "surfaces/shell/main.py": "the three standard streams",
    "workspace/paths.py": "opens without blocking, and looks at what it opened",
    "workspace/files.py": "opens without blocking or to lock, and reads nothing of it",
    "wire/transports/stdio.py": "the null device",
    "storage/sqlite.py": "a folder, to make a new entry of it durable",
    "tracker/index/index.py": "a file that we have just made, to make it durable",
}
WRITERS = {
    "secret.py": "exclusively",
    "workspace/files.py": "exclusively; or a lock, opened for both, which waits for nobody",
    "workspace/git_folder.py": "a name of ours in the user's own cache",
    "storage/backup.py": "exclusively",
    "storage/sqlite.py": "exclusively",
    "comments/storage/group_commit.py": "exclusively; or a file that a living process of ours holds a lock on",
    "comments/search/text_file.py": "opened for both, which waits for nobody, and follows no link",
    "comments/transfer/export.py": "exclusively",
    "inbox/lazygit/start_check.py": "in a temporary folder of ours",
    "inbox/drafting/editing.py": "in a temporary folder of ours",
    "tracker/shell/input.py": "in a temporary folder of ours",
    "surfaces/shell/main.py": "the three standard streams",
    "surfaces/shell/run.py": "the null device",
}


DOORS = ("self.read_bytes", "store.read_bytes", "reader.store.read_bytes")
"""The sidecars' own, which read through `workspace.files`."""


def list_opens() -> Iterator[tuple[str, str, int]]:
    """Yields the file, how it opens something ("r" or "w") and the line, of every call that opens a file."""
    for file in sorted(SOURCE.rglob("*.py")):
        text = file.read_text()
        if not any(word in text for word in ("open(", "read_text", "read_bytes", "copyfile")):
            continue
        for node in ast.walk(ast.parse(text)):
            if not isinstance(node, ast.Call):
                continue
            called = ast.unparse(node.func)
            rest = " ".join(map(ast.unparse, [*node.args[1:], *node.keywords]))
            name = file.relative_to(SOURCE).as_posix()
            if called in ("os.open", "posix.open"):
                if "O_DIRECTORY" not in rest:
                    yield name, "w" if "O_CREAT" in rest or "O_WRONLY" in rest or "O_RDWR" in rest else "r", node.lineno
            elif called in ("open", "io.open", "gzip.open", "bz2.open", "lzma.open", "tarfile.open", "codecs.open"):
                mode = ast.unparse(node.args[1]) if len(node.args) > 1 else ""
                yield name, "w" if set(mode) & set("wxa+") else "r", node.lineno
            elif called.endswith((".copyfile", ".copyfileobj", ".read_text", ".read_bytes")) and called not in DOORS:
                yield name, "r", node.lineno


def test_files_are_opened_through_the_door_or_with_a_reason() -> None:
    opens = [*list_opens()]
    for kind, reasons in (("r", READERS), ("w", WRITERS)):
        found = {(name, line) for name, mode, line in opens if mode == kind}
        assert sorted(f"{name}:{line}" for name, line in found if name not in reasons) == []
        assert {name for name, _ in found} >= set(reasons), "a reason is left over"


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


def test_it_imports_next_to_nothing() -> None:
    code = "import sys; import postil.workspace.disk; print(*sorted(sys.modules))"
    loaded = set(subprocess.check_output([sys.executable, "-c", code], text=True).split())
    assert {name for name in loaded if name.startswith("postil")} == {
        "postil", "postil.workspace", "postil.workspace.disk",
    }  # fmt: skip
    assert loaded & {"msgspec", "subprocess", "re", "typing"} == set()
