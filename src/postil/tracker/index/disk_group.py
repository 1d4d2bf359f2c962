"""Lines of events parted by entity, on disk beyond a few megabytes: for what needs all events but cannot hold them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO

from postil.tracker.events import entity_of

_BUCKETS = 64
_IN_MEMORY = 8 << 20

Lines = dict[str, list[bytes]]


class DiskGroup:
    """Takes runs of lines in any order and gives back all lines of each entity together, some entities at a time."""

    def __init__(self, folder: str | None, wanted: set[str] | None = None) -> None:
        self._folder, self._wanted = folder, wanted
        self._held: list[list[bytes]] = [[] for _ in range(_BUCKETS)]
        self._files: list[IO[bytes]] = []
        self._size = 0

    def add(self, lines: bytes) -> None:
        """Take a run of lines."""
        held, wanted = self._held, self._wanted
        for line in lines.split(b"\n"):
            entity = entity_of(line) if line else None
            if entity and (wanted is None or entity in wanted):
                held[_choose_bucket(entity)].append(line)
        self._size += len(lines)
        if self._size > _IN_MEMORY:
            self._spill()

    def entities(self) -> Iterator[tuple[str, list[bytes]]]:
        """Yields every entity with its lines, each line once; always in the same order for the same entities."""
        if self._files:
            self._spill()
        for number, held in enumerate(self._held):
            lines = held
            if self._files:
                with self._files[number] as file:
                    file.seek(0)
                    lines = file.read().split(b"\n")
            yield from sorted(_group_lines(lines).items())
            held.clear()

    def _spill(self) -> None:
        if not self._files:
            import tempfile  # only a build beyond a few megabytes pays for it

            self._files = [tempfile.TemporaryFile(dir=self._folder) for _ in range(_BUCKETS)]  # noqa: SIM115 - closed one by one
        for file, bucket in zip(self._files, self._held, strict=True):
            if bucket:
                file.write(b"\n".join(bucket) + b"\n")
                bucket.clear()
        self._size = 0


def _choose_bucket(entity: str) -> int:
    return (ord(entity[0]) * 7 + ord(entity[1])) % _BUCKETS


def _group_lines(lines: list[bytes]) -> Lines:
    found: dict[str, dict[bytes, None]] = {}
    for line in lines:
        entity = entity_of(line) if line else None
        if entity:
            found.setdefault(entity, {})[line] = None
    return {entity: list(own) for entity, own in found.items()}
