"""The sidecar that this process wrote last, so that the next addition need not read through the file again."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from postil.comments.sidecar.document import Sidecar

MOST_KEPT = 4 * 1024 * 1024
"""Bytes of the largest sidecar that is kept."""


class LastWritten:
    """Holds one sidecar, or none. Whoever uses it has the lock."""

    def __init__(self) -> None:
        self._kept: Sidecar | None = None

    def take(self, path: str, data: bytes) -> Sidecar | None:
        """Returns the sidecar of this source when the file is still what was written, to the byte. Holds none then."""
        kept, self._kept = self._kept, None
        return kept if kept is not None and kept.path == path and kept.original == data else None

    def keep(self, sidecar: Sidecar, content: bytes | None) -> None:
        """Hold a sidecar whose file is exactly `content` now; none when it is something else."""
        self._kept = None
        if content is not None and len(content) <= MOST_KEPT:
            sidecar.original, sidecar.changed = content, False  # further changes are changes of that
            self._kept = sidecar
