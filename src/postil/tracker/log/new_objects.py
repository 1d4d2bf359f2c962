"""The objects of one append: written durably, and written again if git collects them before a ref names them."""

from __future__ import annotations

import os
import threading
import time
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress

import msgspec

from postil.core.failure import StorageFailed
from postil.workspace.digest import sha1
from postil.workspace.disk import sync
from postil.workspace.failures import GitFailed
from postil.workspace.git import DURABLE, find_object_folder, run_git, try_git
from postil.workspace.repository import Repository

_COLLECTION = 60.0
"""Seconds that a writer waits for a `git gc` which is running."""


_TRIES = 20
_NEW = os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


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
        self._asked_git = False
        self._unsynced: set[str] = set()

    def write(self, kind: str, content: bytes) -> str:
        """Write an object. Returns its name. (Trees too: `mktree` never syncs what it writes.)"""
        oid = self._write_file(kind, content) or self._ask_git(kind, content)
        self._written[oid] = (kind, content)
        return oid

    def _write_file(self, kind: str, content: bytes) -> str:
        """Write an object as git does it, without a process; `begin_sync` syncs the folder that names it.

        Returns its name; empty where only git can do it, or say why not.
        """
        objects = find_object_folder(self._repository.root)
        if objects is None:
            return ""
        whole = b"%s %d\0%s" % (kind.encode(), len(content), content)
        oid = sha1(whole)
        folder = os.path.join(objects, oid[:2])
        # What a writer that is killed leaves under this name, `git gc` takes away.
        temporary = os.path.join(folder, f"tmp_obj_{os.urandom(6).hex()}")
        try:
            with suppress(FileExistsError):
                os.mkdir(folder)
                self._unsynced.add(objects)
            with open(os.open(temporary, os.O_WRONLY | _NEW, 0o444), "wb") as file:
                try:
                    file.write(zlib.compress(whole, 1))
                    file.flush()
                    os.fsync(file.fileno())
                    with suppress(FileExistsError):  # a tree that has not changed
                        os.link(temporary, os.path.join(folder, oid[2:]))
                finally:
                    os.unlink(temporary)
        except OSError:
            return ""
        self._unsynced.add(folder)
        return oid

    def _ask_git(self, kind: str, content: bytes) -> str:
        self._asked_git = True
        command = ("hash-object", "-t", kind, "-w", "--stdin")
        done, tries = try_git(self._repository.root, *command, input=content, mode=DURABLE), 1
        while b"No such file" in done.err and tries < _TRIES:  # a `git gc` has just removed the empty folder
            done, tries = try_git(self._repository.root, *command, input=content, mode=DURABLE), tries + 1
        if done.status != 0:
            raise GitFailed("hash-object", done.status, done.err.decode("utf-8", "replace"))
        return done.out.decode().strip()

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

    @property
    def are_files(self) -> bool:
        """Whether all was written as files of their own, without git."""
        return bool(self._written) and not self._asked_git

    def begin_sync(self) -> Callable[[], None]:
        """Begin to sync the folders of what was written without git. Returns what waits for it: StorageFailed."""
        paths, self._unsynced = sorted(self._unsynced), set()
        return _begin_sync(paths)

    def outlive_collection(self) -> bool:
        """Wait for a `git gc` that looked at the refs before ours moved: it may delete what it took for garbage.

        And for one that ended since: it may have deleted a tree before the ref moved and its commit after that.
        Returns whether something had to be written again.
        """
        restored = False
        running = os.path.join(self._repository.common_dir, "gc.pid")
        deadline = time.monotonic() + _COLLECTION
        while os.path.exists(running) and time.monotonic() < deadline:
            restored |= self.restore()
            time.sleep(0.02)
        if not all(map(self.is_loose, self._written)):  # deleted, or in a pack: git knows
            restored |= self.restore()
        return restored

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
        _begin_sync([os.path.join(self._repository.common_dir, folder) for folder in sorted(folders)])()


def _begin_sync(paths: Sequence[str]) -> Callable[[], None]:
    """Sync files and folders at once: the disk then flushes once or twice, and not once for each.

    Returns what waits for it, and raises StorageFailed.
    """
    faults: list[StorageFailed] = []

    def sync_path(path: str) -> None:
        try:
            _sync_path(path)
        except StorageFailed as fault:
            faults.append(fault)

    threads = [threading.Thread(target=sync_path, args=(path,), daemon=True) for path in paths]
    for thread in threads:
        thread.start()

    def finish() -> None:
        for thread in threads:
            thread.join()
        if faults:
            raise faults[0]

    return finish


def _sync_path(path: str) -> None:
    try:
        sync(path)
    except (FileNotFoundError, NotADirectoryError):  # refs in a table, objects in a pack, or collected: none is there
        return
    except OSError as error:
        raise StorageFailed(
            f"{os.path.basename(path)} could not be synced: {error.strerror}",
            advice="Look at the disk; whether the change survives a power cut is not known",
        ) from error
