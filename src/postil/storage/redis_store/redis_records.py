"""The records of a state in Redis, as one block sees them: what is stored, through the block's own changes."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any, cast

from postil.core.ports import CounterRow, RecordRow
from postil.storage.last_seen import LastSeen
from postil.storage.redis_store.redis_connection import PREFIX, text, translate_errors

COUNTERS = PREFIX + "counters"


class RedisRecords:
    """The Changes port over one connection. `changes()` says what a commit has to do."""

    def __init__(self, client: Any, seen: LastSeen | None = None) -> None:
        self._redis, self._seen = client, seen
        self._now = time.time()
        self._puts: dict[tuple[str, str], bytes | None] = {}
        self._counters: dict[str, int] = {}

    def get(self, space: str, key: str) -> bytes | None:
        if (space, key) in self._puts:
            stored = self._puts[space, key]
        else:
            with translate_errors():
                stored = cast("bytes | None", self._redis.hget(_values_key(space), key))
        alive = self._unless_expired(stored)
        if self._seen is not None:
            self._seen.note(("get", space, key, None), alive)
        return alive

    def range(self, space: str, after: str = "", limit: int | None = None) -> list[tuple[str, bytes]]:
        changed = {key: value for (of, key), value in self._puts.items() if of == space and key > after}
        found: dict[str, bytes] = {}
        start = b"(" + after.encode() if after else b"-"
        while True:
            # Expired and changed ones fall out below: ask for more until there are enough.
            size = 1000 if limit is None else max(100, limit)
            with translate_errors():
                names: list[bytes] = self._redis.zrangebylex(_names_key(space), start, b"+", 0, size)
                stored: list[bytes | None] = self._redis.hmget(_values_key(space), names) if names else []
            for name, value in zip(names, stored, strict=True):
                alive = self._unless_expired(value)
                if alive is not None and text(name) not in changed:
                    found[text(name)] = alive
            if len(names) < size or (limit is not None and len(found) >= limit):
                break
            start = b"(" + names[-1]
        for key, value in changed.items():  # one behind the last name that was read falls to the limit below
            alive = self._unless_expired(value)
            if alive is not None:
                found[key] = alive
        ordered = sorted(found.items())
        ordered = ordered if limit is None else ordered[:limit]
        if self._seen is not None:
            self._seen.note(("range", space, after, limit), ordered)
        return ordered

    def count(self, space: str) -> int:
        return len(self.range(space))

    def put(self, space: str, key: str, value: bytes, expires: float | None = None) -> None:
        self._puts[space, key] = f"{expires or 0:.6f}\n".encode() + value

    def delete(self, space: str, key: str) -> None:
        self._puts[space, key] = None

    def next(self, counter: str) -> int:
        if counter not in self._counters:
            with translate_errors():
                self._counters[counter] = int(self._redis.hget(COUNTERS, counter) or 0)
        self._counters[counter] += 1
        return self._counters[counter]

    def read_all(self) -> tuple[list[CounterRow], list[RecordRow]]:
        """Returns all counters and living records."""
        with translate_errors():
            counted = cast("dict[bytes, bytes]", self._redis.hgetall(COUNTERS))
            spaces = [text(name).removeprefix(_values_key("")) for name in self._redis.scan_iter(_values_key("*"))]
            stored = {space: cast("dict[bytes, bytes]", self._redis.hgetall(_values_key(space))) for space in spaces}
        rows: list[RecordRow] = []
        for space, values in sorted(stored.items()):
            for key, value in sorted(values.items()):
                alive = self._unless_expired(value)
                if alive is not None:
                    expires = float(value.partition(b"\n")[0])
                    rows.append((space, text(key), alive, expires - self._now if expires else None))
        return [(text(name), int(value)) for name, value in counted.items()], rows

    def replace_all(self, counters: Iterable[CounterRow], records: Iterable[RecordRow]) -> None:
        """Put this in the place of everything."""
        for space, key, _, _ in self.read_all()[1]:
            self.delete(space, key)
        for space, key, value, lives in records:
            self.put(space, key, value, None if lives is None else self._now + lives)
        self._counters.update(counters)

    def changed_spaces(self) -> set[str]:
        """Returns the spaces that the block changed, or would have."""
        return {space for space, _ in self._puts}

    def changes(self) -> tuple[list[list[object]], list[bytes]]:
        """Returns what the commit has to do: commands, and the values they point to."""
        commands: list[list[object]] = []
        values: list[bytes] = []
        for (space, key), value in self._puts.items():
            if value is None:
                commands.append(["delete", _names_key(space), _values_key(space), key, f"{space}\n{key}"])
            else:
                values.append(value)
                expires = float(value.partition(b"\n")[0])
                names = [_names_key(space), _values_key(space), key]
                commands.append(["put", *names, len(values) + 2, expires, f"{space}\n{key}"])
        for name, value in self._counters.items():
            commands.append(["count", name, value])
        return commands, values

    def _unless_expired(self, stored: bytes | None) -> bytes | None:
        if stored is None:
            return None
        expires, _, value = stored.partition(b"\n")
        return None if 0 < float(expires) <= self._now else value


def _names_key(space: str) -> str:
    return f"{PREFIX}names:{space}"


def _values_key(space: str) -> str:
    return f"{PREFIX}values:{space}"
