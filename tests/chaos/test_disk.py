"""The model of a disk: what was synced stays, the rest may be lost, torn or reordered."""

from __future__ import annotations

import random
from pathlib import Path

from tests.chaos.disk import Disk
from tests.chaos.recording import Step, read


def states(disk: Disk, base: Path, tries: int = 60) -> set[tuple[tuple[str, bytes], ...]]:
    found: set[tuple[tuple[str, bytes], ...]] = set()
    for number in range(tries):
        left = base / f"left{number}"
        left.mkdir()
        disk.lose_power(left, random.Random(number))
        found.add(tuple(sorted((path.name, path.read_bytes()) for path in left.iterdir())))
    return found


def test_what_was_synced_is_there_and_the_rest_may_be(tmp_path: Path) -> None:
    folder = tmp_path / "disk"
    folder.mkdir()
    (folder / "a").write_bytes(b"old")
    disk, path = Disk(folder), str(folder / "a")
    disk.apply(Step("write", path, 0, b"new"))
    assert states(disk, tmp_path) == {(("a", b"old"),), (("a", b"new"),)}
    disk.apply(Step("sync", path))
    (tmp_path / "again").mkdir()
    assert states(disk, tmp_path / "again") == {(("a", b"new"),)}


def test_a_rename_without_a_sync_of_the_data_may_leave_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "disk"
    folder.mkdir()
    (folder / "a").write_bytes(b"old")
    disk, path, draft = Disk(folder), str(folder / "a"), str(folder / "draft")
    for step in (Step("open", draft), Step("write", draft, 0, b"new"), Step("rename", draft, other=path)):
        disk.apply(step)
    disk.apply(Step("sync", str(folder)))
    assert states(disk, tmp_path) == {(("a", b""),), (("a", b"new"),)}


def test_a_trace_is_read_with_its_bytes_and_acknowledgements() -> None:
    trace = (
        '7 openat(AT_FDCWD</x>, "\\x2f", O_WRONLY|O_CREAT|O_EXCL, 0600) = 3</w/a>\n'
        '7 write(3</w/a>, "\\x68\\x69", 2) = 2\n7 write(3</w/a>, "\\x21", 1) = 1\n'
        "7 fsync(3</w/a>) = 0\n"
        '7 write(1</dev/pts/0>, "\\x61\\x63\\x6b\\x20\\x31\\x0a", 6) = 6\n'
        '7 rename("\\x2f\\x77\\x2f\\x61", "\\x2f\\x77\\x2f\\x62") = 0\n'
        '7 unlink("\\x2f\\x65") = -1 ENOENT\n'
    )
    assert read(trace, "/w") == [
        Step("open", "/w/a"),
        Step("write", "/w/a", 0, b"hi"),
        Step("write", "/w/a", 2, b"!"),
        Step("sync", "/w/a"),
        Step("ack", "", data=b"ack 1\n"),
        Step("rename", "/w/a", other="/w/b"),
    ]
