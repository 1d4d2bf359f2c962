"""The lines of an entity that are too many to hold, in a file without a name."""

from __future__ import annotations

import os


class LineFile:
    """Lines that are written once and then read piece by piece; they are gone when nobody refers to them any more."""

    def __init__(self, folder: str | None) -> None:
        import tempfile  # hardly an entity is so large

        self._file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115 - closed with this object
        self._size = 0

    def write(self, lines: bytes) -> None:
        """Add some lines, or a part of them."""
        rest = memoryview(lines)
        while rest:
            rest = rest[self._file.write(rest) :]
        self._size += len(lines)

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, part: slice, /) -> bytes:
        begin, end, _ = part.indices(self._size)
        found = os.pread(self._file.fileno(), max(0, end - begin), begin)
        while begin + len(found) < end:  # a system call returns at most two gigabytes
            more = os.pread(self._file.fileno(), end - begin - len(found), begin + len(found))
            if not more:
                raise OSError(5, "a temporary file became shorter")
            found += more
        return found

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            self._file.close()
