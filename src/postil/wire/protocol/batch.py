"""A batch in progress: the answers of its items, until all are there."""

from __future__ import annotations


class Batch:
    """The answers so far, by the items' positions."""

    def __init__(self, wanted: int) -> None:
        self.missing = wanted
        self._frames: dict[int, bytes] = {}

    def end(self, position: int, frame: bytes = b"") -> bytes:
        """Take an item's answer, or that it has none. Returns the whole answer after the last item, else nothing."""
        self.missing -= 1
        if frame:
            self._frames[position] = frame
        if self.missing or not self._frames:
            return b""
        return b"[" + b",".join(self._frames[at] for at in sorted(self._frames)) + b"]"
