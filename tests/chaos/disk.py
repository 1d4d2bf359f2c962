"""A disk that loses power: what was synced is there; of the rest any part may be, torn and in any order.

As POSIX allows: data of a file is safe after it was synced, a name after its folder was. Writes are torn at sectors.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

from tests.chaos.recording import Step

SECTOR = 512


class _File:
    def __init__(self, data: bytes = b"") -> None:
        self.safe = bytearray(data)
        self.pending: list[tuple[int, bytes | None]] = []
        """Writes at an offset; None means cut off there."""

    def sync(self) -> None:
        for offset, data in self.pending:
            _apply(self.safe, offset, data)
        self.pending = []

    def after_loss(self, chance: random.Random) -> bytes:
        content = bytearray(self.safe)
        kept = [piece for offset, data in self.pending for piece in _tear(offset, data) if chance.random() < 0.5]
        if chance.random() < 0.5:
            chance.shuffle(kept)
        if chance.random() < 0.2:
            kept = []
        for offset, data in kept:
            _apply(content, offset, data)
        return bytes(content)


class Disk:
    """The files below one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = str(folder)
        self.names: dict[str, _File | None] = {}
        """As programs see it; a folder is None."""
        self.safe: dict[str, _File | None] = {}
        self.unsafe: dict[str, list[_File | bool | None]] = {}
        """By name, what it meant since its folder was last synced; False where it was gone."""
        for path in sorted(folder.rglob("*")):
            if not path.is_symlink():
                self.names[str(path)] = None if path.is_dir() else _File(path.read_bytes())
        self.safe.update(self.names)

    def apply(self, step: Step) -> None:
        """Do one step."""
        if step.kind == "open" and step.path not in self.names:
            self._name(step.path, _File())
        elif step.kind == "write":
            self._file(step.path).pending.append((step.offset, step.data))
        elif step.kind == "truncate":
            self._file(step.path).pending.append((step.offset, None))
        elif step.kind == "sync":
            self._sync(step.path)
        elif step.kind == "mkdir":
            self._name(step.path, None)
        elif step.kind in ("rename", "link") and step.path in self.names:
            self._name(step.other, self.names[step.path])
            if step.kind == "rename":
                self._unname(step.path)
        elif step.kind == "unlink":
            self._unname(step.path)

    def _file(self, path: str) -> _File:
        found = self.names.get(path.removesuffix(" (deleted)"))
        return found if found is not None else _File()

    def _name(self, path: str, what: _File | None) -> None:
        self.names[path] = what
        self.unsafe.setdefault(path, []).append(what)

    def _unname(self, path: str) -> None:
        if path in self.names:
            del self.names[path]
            self.unsafe.setdefault(path, []).append(False)

    def _sync(self, path: str) -> None:
        found = self.names.get(path)
        if isinstance(found, _File):
            found.sync()
            return
        for name in [name for name in self.unsafe if os.path.dirname(name) == path]:
            del self.unsafe[name]
            self.safe.pop(name, None)
            if name in self.names:
                self.safe[name] = self.names[name]

    def lose_power(self, into: Path, chance: random.Random) -> None:
        """Lay out what may be left, in an empty folder."""
        left: dict[str, _File | None] = {}
        for name in {*self.safe, *self.unsafe}:
            choices: list[_File | bool | None] = [self.safe.get(name, False)]
            choices += self.unsafe.get(name, [])
            what = chance.choice(choices) if len(choices) > 1 else choices[0]
            if what is not False:
                left[name] = what  # type: ignore[assignment]
        contents: dict[int, bytes] = {}
        for name, what in sorted(left.items()):
            path = into / os.path.relpath(name, self.folder)
            if any(parent not in left and parent != self.folder for parent in _parents(name, self.folder)):
                continue  # its folder is gone
            if what is None:
                path.mkdir(exist_ok=True)
            else:
                content = contents.setdefault(id(what), what.after_loss(chance))  # two names, one file
                path.write_bytes(content)


def _parents(name: str, folder: str) -> list[str]:
    found: list[str] = []
    above = os.path.dirname(name)
    while len(above) > len(folder):
        found.append(above)
        above = os.path.dirname(above)
    return found


def _apply(content: bytearray, offset: int, data: bytes | None) -> None:
    if data is None:
        content[:] = content[:offset].ljust(offset, b"\0")
        return
    if len(content) < offset:
        content.extend(b"\0" * (offset - len(content)))
    content[offset : offset + len(data)] = data


def _tear(offset: int, data: bytes | None) -> list[tuple[int, bytes | None]]:
    """Returns the pieces of a write that reach the disk by themselves: sectors."""
    if data is None:
        return [(offset, None)]
    pieces: list[tuple[int, bytes | None]] = []
    at = 0
    while at < len(data):
        end = min(len(data), (offset + at) // SECTOR * SECTOR + SECTOR - offset)
        pieces.append((offset + at, data[at:end]))
        at = end
    return pieces
