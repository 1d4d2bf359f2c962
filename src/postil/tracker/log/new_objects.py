"""The objects of one append: written durably, and written again if git collects them before a ref names them."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence

import msgspec

from postil.core.failure import StorageFailed
from postil.workspace.failures import GitFailed
from postil.workspace.git import DURABLE, run_git, try_git
from postil.workspace.repository import Repository

_COLLECTION = 60.0
"""Seconds that a writer waits for a `git gc` which is running."""


_TRIES = 20


class Author(msgspec.Struct, frozen=True):
    """Who writes: a name and an address."""

    name: str
    mail: str

    def __str__(self) -> str:
        return f"{self.name} <{self.mail}>"


def sign(author: Author) -> bytes:
    return f"{author.name} <{author.mail}> {int(time.time())} +0000".encode("utf-8", "replace")


class NewObjects:
    """What one command writes into git."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._written: dict[str, tuple[str, bytes]] = {}

    def write(self, kind: str, content: bytes) -> str:
        """Write an object. Returns its name. (Trees too: `mktree` never syncs what it writes.)"""
        command = ("hash-object", "-t", kind, "-w", "--stdin")
        done, tries = try_git(self._repository.root, *command, input=content, mode=DURABLE), 1
        while b"No such file" in done.err and tries < _TRIES:  # a `git gc` has just removed the empty folder
            done, tries = try_git(self._repository.root, *command, input=content, mode=DURABLE), tries + 1
        if done.status != 0:
            raise GitFailed("hash-object", done.status, done.err.decode("utf-8", "replace"))
        oid = done.out.decode().strip()
        self._written[oid] = (kind, content)
        return oid

    def write_tree(self, entries: Sequence[tuple[str, str, str]]) -> str:
        """Write a tree of (mode, name, object), already in order."""
        raw = (b"%s %s\0%s" % (mode.encode(), name.encode(), bytes.fromhex(oid)) for mode, name, oid in entries)
        return self.write("tree", b"".join(raw))

    def write_commit(self, tree: str, parent: str | None, author: Author, message: bytes) -> str:
        """Write a commit."""
        stamp = sign(author)
        head = b"tree %s\n" % tree.encode()
        if parent:
            head += b"parent %s\n" % parent.encode()
        return self.write("commit", head + b"author %s\ncommitter %s\n\n%s" % (stamp, stamp, message))

    def restore(self) -> bool:
        """Write again what is missing. Returns whether anything was."""
        asked = "".join(f"{oid}\n" for oid in self._written).encode()
        told = run_git(self._repository.root, "cat-file", "--batch-check", input=asked).decode().splitlines()
        missing = [oid for oid, line in zip(self._written, told, strict=True) if line.endswith(" missing")]
        for oid in missing:
            self.write(*self._written[oid])
        return bool(missing)

    def outlive_collection(self) -> None:
        """Wait for a `git gc` that looked at the refs before ours moved: it may delete what it took for garbage.

        And for one that ended since: it may have deleted a tree before the ref moved and its commit after that.
        """
        running = os.path.join(self._repository.common_dir, "gc.pid")
        deadline = time.monotonic() + _COLLECTION
        while os.path.exists(running) and time.monotonic() < deadline:
            self.restore()
            time.sleep(0.02)
        if not all(map(self.is_loose, self._written)):  # deleted, or in a pack: git knows
            self.restore()

    def is_loose(self, oid: str) -> bool:
        """Returns whether an object is there in a file of its own, which is not empty."""
        try:
            return os.stat(os.path.join(self._repository.common_dir, "objects", oid[:2], oid[2:])).st_size > 0
        except OSError:
            return False

    def sync_folders(self, ref: str) -> None:
        """Sync the folders that name the objects and the ref: git syncs only the files. Raises StorageFailed."""
        folders = {
            "objects",
            os.path.join("objects", "pack"),
            os.path.dirname(ref),
            os.path.dirname(os.path.dirname(ref)),
        }
        folders |= {os.path.join("objects", oid[:2]) for oid in self._written}
        _sync_together([os.path.join(self._repository.common_dir, folder) for folder in sorted(folders)])


def _sync_together(folders: list[str]) -> None:
    """Sync them at once: the disk then flushes once or twice, and not once for each."""
    faults: list[StorageFailed] = []

    def sync(folder: str) -> None:
        try:
            _sync_folder(folder)
        except StorageFailed as fault:
            faults.append(fault)

    threads = [threading.Thread(target=sync, args=(folder,), daemon=True) for folder in folders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if faults:
        raise faults[0]


def _sync_folder(path: str) -> None:
    try:
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):  # refs in a table, objects in a pack: then there is no such folder
        return
    try:
        os.fsync(folder)
    except OSError as error:
        raise StorageFailed(
            f"The folder {os.path.basename(path)} could not be synced: {error.strerror}",
            advice="Look at the disk; whether the change survives a power cut is not known",
        ) from error
    finally:
        os.close(folder)
