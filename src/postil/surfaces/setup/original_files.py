"""What stood where we wrote, and which folders we made for it: kept in the state folder until our entry goes again."""

from __future__ import annotations

import os
from collections.abc import Iterator

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from postil.core import limits
from postil.core.failure import StorageFailed
from postil.core.others.unreadable import UNREADABLE
from postil.workspace.disk import read_whole
from postil.workspace.files import atomic_write
from postil.workspace.paths import RelativePath

LARGEST = limits.SMALL_FILE * 4
"""Bytes of a file of the user's own; one in a repository is somebody else's, and ordinary ones have some kilobytes."""


class Remembered(Struct, frozen=True, omit_defaults=True):
    """What a file held before our first edit (base64; None: there was no file), and what we left in it."""

    path: str
    before: str | None
    after: str
    folders: tuple[str, ...] | None = None
    """The folders that we made for it, outermost first; None in notes of an older Postil."""
    entry: str = ""
    """A fingerprint of the entry that we left there; empty in notes of an older Postil."""


class OriginalFiles:
    """The notes, one an entry of ours."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def recall(self, name: str) -> Remembered | None:
        """Returns what was kept under a name."""
        try:
            return msgspec.json.decode(read_whole(os.path.join(self._folder, name), LARGEST * 2), type=Remembered)
        except (OSError, *UNREADABLE):
            return None

    def keep(self, name: str, what: Remembered) -> None:
        """Keep it durably. Raises StorageFailed."""
        try:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
        except OSError as error:
            raise StorageFailed(
                f"{self._folder} cannot be made: {error.strerror}", advice="Check its permissions; nothing was changed"
            ) from error
        atomic_write(self._folder, RelativePath(name), msgspec.json.encode(what))

    def forget(self, name: str) -> None:
        """Keep it no longer."""
        try:
            os.unlink(os.path.join(self._folder, name))
        except FileNotFoundError:
            return

    def list_others(self, name: str) -> Iterator[tuple[str, Remembered]]:
        """Yield what is kept under all other names."""
        for other in sorted(os.listdir(self._folder)) if os.path.isdir(self._folder) else ():
            if other != name and (found := self.recall(other)):
                yield other, found

    def remove_folders(self, name: str, folders: tuple[str, ...]) -> None:
        """Remove folders that we made, if they are empty; one that another entry of ours is in goes with that one."""
        left: list[str] = []
        for folder in reversed(folders):
            try:
                if os.path.realpath(folder) == folder:
                    os.rmdir(folder)
            except OSError:
                left.insert(0, folder)
        if not left:
            return
        for other, found in self.list_others(name):
            inside = tuple(folder for folder in left if found.path.startswith(f"{folder}/"))
            if inside and found.folders is not None:
                self.keep(other, replace(found, folders=(*inside, *found.folders)))


def list_missing(folder: str) -> tuple[str, ...]:
    """Returns the folders on the way to this one that are not there, outermost first."""
    missing: list[str] = []
    while folder and not os.path.lexists(folder):
        missing.insert(0, folder)
        folder = os.path.dirname(folder)
    return tuple(os.path.join(os.path.realpath(folder), os.path.relpath(each, folder)) for each in missing)
