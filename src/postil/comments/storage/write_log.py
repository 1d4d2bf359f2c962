"""What this computer wrote into sidecars, comment by comment: from it one learns what another program erased.

An editor that keeps a file in memory and saves it later takes out what was written meanwhile. A line of JSON for each
comment that was added, changed or taken out; two files of a bounded size. It is not synced: the sidecars are.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress

import msgspec
from msgspec import Struct

from postil.comments.sidecar.json_edit import JsonObject
from postil.comments.sidecar.noted import LONGEST, MOST_STEPS, Noted
from postil.core.failure import Failure
from postil.workspace.clones.sharing import make_own_file
from postil.workspace.disk import read_regular
from postil.workspace.files import atomic_write
from postil.workspace.paths import RelativePath

LARGEST = 4 * 1024 * 1024


class Written(Struct, frozen=True, omit_defaults=True):
    """One comment as it was written, or (without one) that it was taken out."""

    at: str
    path: str
    id: str
    comment: JsonObject | None = None
    marker: JsonObject | None = None
    was: JsonObject | None = None
    undoes: bool = False


_CAREFUL = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_decode = msgspec.json.Decoder(Written).decode
_encode = msgspec.json.Encoder().encode


class WriteLog:
    """The log of one workspace."""

    def __init__(self, path: str) -> None:
        self._path = path

    def note(self, path: str, at: str, steps: Sequence[Noted]) -> None:
        """Keep what was done to some comments of a file."""
        head = _encode({"at": at, "path": path})[:-1] + b","
        rows = [head + _encode(each)[1:] for each in steps[:MOST_STEPS]]
        rows = [row + b"\n" for row in rows if len(row) < LONGEST]
        while len(data := b"".join(rows)) > LARGEST:
            rows = rows[: len(rows) // 2]  # more could not be read again
        with suppress(OSError, Failure):  # it helps where it can: the comment itself is safe
            try:
                file = os.open(self._path, os.O_RDWR | os.O_APPEND | _CAREFUL)
            except FileNotFoundError:
                make_own_file(self._path)
                file = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT | _CAREFUL, 0o600)
            try:
                os.write(file, data)
                large = os.fstat(file).st_size > LARGEST
            finally:
                os.close(file)
            if large:
                self._begin_anew()

    def _begin_anew(self) -> None:
        data = read_regular(self._path, 2 * LARGEST)
        if data is not None:
            folder, name = os.path.split(self._path)
            atomic_write(folder, RelativePath(f"{name}.old"), data)
            os.truncate(self._path, 0)

    def knows(self, comment: str) -> bool:
        """Returns whether it holds what a comment said."""
        wanted = b'"id":%s,"comment":{' % _encode(comment)
        return any(wanted in (read_regular(name, 2 * LARGEST) or b"") for name in self._names)

    @property
    def _names(self) -> tuple[str, str]:
        return f"{self._path}.old", self._path

    def list_written(self) -> Iterator[Written]:
        """Yields what was written, oldest first. A line that a dying process left half is passed over."""
        for name in self._names:
            for row in (read_regular(name, 2 * LARGEST) or b"").split(b"\n"):
                with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                    if 0 < len(row) < LONGEST:
                        yield _decode(row)
