"""What a worker found of a file, and how it tells that: the comments in pieces, so that nobody holds all of them twice.

The pieces of a file with many comments go into a file without a name, and are read again when they are put into the
cache. Not here: reading and locating.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import IO

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from postil.comments.index.notes import Note
from postil.comments.model import Located
from postil.core import limits
from postil.core.others.unreadable import UNREADABLE

_notes = msgspec.msgpack.Decoder(list[Note])


class Read(Struct, frozen=True):
    """One file that was read."""

    path: str
    content: str = ""
    notes: Collection[Note] | None = ()
    """None when sidecar and source hold what they held before."""
    orphans: Collection[Located] = ()
    """The comments whose code is not in the file any more, or perhaps not; of a file that was `searched`, one."""
    problem: str = ""
    searched: bool = False
    """Whether other files were looked in for what is lost."""
    versions: frozenset[str] = frozenset()
    """The other versions of the source that its comments were made on."""

    @property
    def blob(self) -> str:
        """What the source holds, by its id; empty where it is gone."""
        return (*self.content.split(" "), "")[1]


class StoredNotes(Collection[Note]):
    """Comments that lie in a temporary file, which is gone with them."""

    def __init__(self) -> None:
        import tempfile  # only where a file has very many comments

        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed with this object
        self._count = 0

    def add(self, piece: bytes) -> None:
        """Take some more, as they were sent."""
        self._count += len(_notes.decode(piece))
        self._file.write(_frame(piece))

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Note]:
        self._file.seek(0)
        while piece := _read_frame(self._file):
            yield from _notes.decode(piece)

    def __contains__(self, note: object) -> bool:
        return any(each == note for each in self)

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            self._file.close()


def write_answer(pipe: IO[bytes], read: Read) -> None:
    """Tell what was found of a file."""
    pipe.write(_frame(msgspec.msgpack.encode(replace(read, notes=None if read.notes is None else ()))))
    piece: list[Note] = []
    size = 0
    for note in read.notes or ():
        piece.append(note)
        size += len(note.body)
        if size > limits.LARGE:
            pipe.write(_frame(msgspec.msgpack.encode(piece)))
            piece, size = [], 0
    if piece:
        pipe.write(_frame(msgspec.msgpack.encode(piece)))
    pipe.write(_frame(b""))
    pipe.flush()


def read_answer(pipe: IO[bytes]) -> Read | None:
    """Returns the next answer of a worker; None when it has ended."""
    try:
        read = msgspec.msgpack.decode(_read_frame(pipe) or b"", type=Read)
        first = _read_frame(pipe)
        if not first:
            return None if first is None else read
        piece = _read_frame(pipe)
        if not piece:
            return None if piece is None else replace(read, notes=_notes.decode(first))
        stored = StoredNotes()
        stored.add(first)
        while piece:
            stored.add(piece)
            piece = _read_frame(pipe)
        return None if piece is None else replace(read, notes=stored)
    except UNREADABLE:
        return None


def _frame(data: bytes) -> bytes:
    return len(data).to_bytes(8, "big") + data


def _read_frame(pipe: IO[bytes]) -> bytes | None:
    """Returns the next piece; None where it is cut off."""
    head = pipe.read(8)
    size = int.from_bytes(head, "big")
    data = pipe.read(size) if len(head) == 8 else b""
    return data if len(head) == 8 and len(data) == size else None
