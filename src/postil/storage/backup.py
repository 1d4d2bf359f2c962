"""A backup of the state, whatever keeps it: every record and counter of one moment, and the secret, in one file.

Lines of JSON, compressed: a header, what there was, and an end that says how much and its SHA-256; so half a backup is
never restored. It can be made while servers run, and be restored into another kind of state than it came from.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import time
import zlib
from collections.abc import Generator, Iterable, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Annotated, NamedTuple, Protocol, TypeVar

import msgspec

from postil.core import limits
from postil.core.failure import Conflict, Failure, StorageFailed
from postil.storage.audit.audit_records import COUNTER as AUDIT
from postil.workspace.disk import open_regular
from postil.workspace.files import atomic_write
from postil.workspace.paths import RelativePath

if TYPE_CHECKING:
    from postil.core.ports import CounterRow, Dumpable, RecordRow, State

    class Restorable(State, Dumpable, Protocol):
        """A state that can be written as a whole, and one record of it."""


FORMAT = 1
COUNTERS = 8 * limits.MIB
"""The names of all counters together: unlike records they are held at once."""
LONGEST_NAME = 32 * limits.KIB
"""Characters of the space or the key of a record."""
HALF = ("restore", "half")
"""The record of a restore whose secret is not in its place yet: which backup it is of."""


class BadBackup(StorageFailed):
    """A file that is no whole backup."""


class FileInUse(Conflict):
    """A file that is no backup stands where one is to be written."""


class StateInUse(Conflict):
    """There is something in the state already."""


class Saved(NamedTuple):
    """What a backup holds."""

    records: int
    counters: int
    made: float
    secret: bytes
    digest: str = ""


def save(state: Dumpable, path: str, secret: bytes, version: str) -> Saved:
    """Write a backup, whole or not at all. Raises BadBackup where the file cannot be written.

    An older backup is replaced. Raises FileInUse where there is any other file: it may be the only copy of something.
    """
    _check_free(path)
    made = time.time()
    kept = size = 0
    counters, records = state.dump()
    digest, written = hashlib.sha256(), io.BytesIO()
    with gzip.GzipFile("", "wb", 6, written, 0) as out:

        def put(line: object) -> None:
            nonlocal size
            text = msgspec.json.encode(line) + b"\n"
            size += len(text)
            if len(text) > limits.BACKUP_LINE or size > limits.BACKUP:  # it could not be restored
                raise BadBackup("The state is larger than a backup may be", advice="Use the database's own backup")
            digest.update(text)
            out.write(text)

        put({"postil": "backup", "format": FORMAT, "made": made, "version": version, "secret": secret})
        for name, number in counters:
            put(["c", name, number])
        if size > COUNTERS:
            raise BadBackup("The state has more counters than a backup holds", advice="Use the database's own backup")
        for record in records:
            if max(map(len, record[:2])) > LONGEST_NAME:
                raise BadBackup("A record's name is longer than a backup holds", advice="Use the database's own backup")
            put(["r", *record])
            kept += 1
        put({"end": kept + len(counters), "sha256": digest.hexdigest()})
    folder, name = os.path.split(path)
    try:
        atomic_write(folder, RelativePath(name), written.getvalue(), mode=0o600)
    except (OSError, Failure) as error:
        raise BadBackup(f"The backup {path} cannot be written: {error}", advice="Name another place") from error
    return Saved(kept, len(counters), made, secret)


def restore(state: Restorable, path: str, *, force: bool) -> Saved:
    """Replace the state by a backup, all or nothing. Raises BadBackup; StateInUse unless it is empty or `force`.

    The secret is the caller's to put in its place, who then calls `finish`. Until then the same backup may be restored
    once more, unless something was written since: the first time was interrupted.
    """
    whole = check(path)  # before anything is changed
    given: dict[str, int] = {}
    try:
        counters, records = state.dump()
        given = dict(counters)
        first = next(records, None)
        is_empty = first is None or (
            _is_half(state, whole)
            and dict(_read_counters(path, given)) == given
            and _sum_lasting(chain([first], records)) == _sum_lasting(_read_living(path, 0.0))
        )
    except Failure:
        if not force:
            raise
        is_empty = True  # it cannot be read: that may be why it is restored
    if not force and not is_empty:
        raise StateInUse(
            "The state is not empty", advice="Back it up first, then restore with --force: what is there is replaced"
        )
    since = max(0.0, time.time() - whole.made)
    half = (*HALF, whole.digest.encode(), None)
    state.load([*_read_counters(path, given)], chain(_read_living(path, since), [half]))
    return whole


def finish(state: State) -> None:
    """Note that a restore is whole: the state is not replaced again without being told to."""
    with state.writing() as changes:
        changes.delete(*HALF)


def _is_half(state: State, whole: Saved) -> bool:
    """Returns whether this backup was restored, and its secret not."""
    with state.reading() as records:
        return records.get(*HALF) == whole.digest.encode()


def _sum_lasting(records: Iterable[RecordRow]) -> int:
    """Returns a number that two sets of records have in common when those that do not expire are the same."""
    total = 0
    for space, key, value, lives in records:
        if lives is None and (space, key) != HALF:
            digest = hashlib.sha256(msgspec.msgpack.encode((space, key, value))).digest()
            total += int.from_bytes(digest, "big")
    return total


def check(path: str) -> Saved:
    """Read a backup to its end, every value of it. Raises BadBackup where it is not whole."""
    digest, records, counters, named = hashlib.sha256(), 0, 0, 0
    lines = _lines(path)
    first = next(lines, b"")
    header = _decode(path, first, _HEADER)
    if header.postil != "backup":
        raise BadBackup(f"{path} is no backup of Postil", advice="Name a file that `postil backup` wrote")
    if header.format > FORMAT:
        raise BadBackup(f"{path} was made by a later version", advice="Update Postil, then restore it")
    digest.update(first)
    for line in lines:
        if line.startswith(b'{"end"'):
            end = _decode(path, line, _END)
            if end.end != records + counters or end.sha256 != digest.hexdigest():
                break
            return Saved(records, counters, header.made, header.secret, end.sha256)
        if isinstance(_decode_row(path, line), _Counter):
            counters += 1
            named += len(line)
            if named > COUNTERS:
                raise BadBackup(f"{path} has more counters than Postil writes", advice="Use another one")
        else:
            records += 1
        digest.update(line)
    raise BadBackup(f"The backup {path} is not whole", advice="Use another one; nothing was changed")


def _check_free(path: str) -> None:
    """Raises FileInUse where a file is replaced that is neither a backup nor empty."""
    try:
        size = os.stat(path).st_size
    except OSError:  # none is there, or the write will say what is wrong
        return
    if size:
        try:
            is_backup = _decode(path, next(_lines(path), b""), _HEADER).postil == "backup"
        except BadBackup:
            is_backup = False
        if not is_backup:
            raise FileInUse(f"{path} is there, and no backup: it was left as it is", advice="Name another file")


class _Header(msgspec.Struct):
    postil: str
    format: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
    made: Annotated[float, msgspec.Meta(ge=0, le=1e11)]
    secret: Annotated[bytes, msgspec.Meta(min_length=1, max_length=4096)]


class _End(msgspec.Struct):
    end: int
    sha256: str


class _Counter(msgspec.Struct, array_like=True, tag="c", forbid_unknown_fields=True):
    name: str
    number: Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)]


class _Record(msgspec.Struct, array_like=True, tag="r", forbid_unknown_fields=True):
    space: Annotated[str, msgspec.Meta(max_length=LONGEST_NAME)]
    key: Annotated[str, msgspec.Meta(max_length=LONGEST_NAME)]
    value: bytes
    lives: Annotated[float, msgspec.Meta(ge=-1e11, le=1e11)] | None


_HEADER, _END, _ROW = (msgspec.json.Decoder(each) for each in (_Header, _End, _Counter | _Record))
Read = TypeVar("Read")


def _read_counters(path: str, given: Mapping[str, int]) -> Generator[CounterRow]:
    """Yields the counters, none below what was given out since: who knows message 7 must not mean another one by it.

    The audit's alone goes back: its records say where they end, and a gap among them would be a fault.
    """
    for row in _rows(path):
        if isinstance(row, _Counter):
            yield row.name, row.number if row.name == AUDIT else max(row.number, given.get(row.name, row.number))


def _read_living(path: str, since: float) -> Generator[RecordRow]:
    """Yields the records that are still alive after so many seconds."""
    for row in _rows(path):
        if isinstance(row, _Record) and (row.lives is None or row.lives > since) and (row.space, row.key) != HALF:
            yield row.space, row.key, row.value, None if row.lives is None else row.lives - since


def _rows(path: str) -> Generator[_Counter | _Record]:
    for line in _lines(path):
        if line.startswith(b"["):
            yield _decode_row(path, line)


def _lines(path: str) -> Generator[bytes]:
    """Yields one line at a time: a file that is small compressed may unpack to anything."""
    left = limits.BACKUP
    try:
        with open_regular(path) as compressed, gzip.GzipFile(fileobj=compressed) as file:
            while line := file.readline(limits.BACKUP_LINE + 1):
                left -= len(line)
                if len(line) > limits.BACKUP_LINE or left < 0:
                    raise BadBackup(
                        f"The backup {path} is larger than Postil writes any", advice="Use another one; nothing changed"
                    )
                yield line
    except (OSError, EOFError, zlib.error) as error:  # a gzip that ends too early is an EOFError
        raise BadBackup(f"The backup {path} cannot be read: {error}", advice="Use another one") from error


def _decode_row(path: str, line: bytes) -> _Counter | _Record:
    return _decode(path, line, _ROW)


def _decode(path: str, line: bytes, decoder: msgspec.json.Decoder[Read]) -> Read:
    try:
        return decoder.decode(line)
    except (ValueError, RecursionError) as error:  # also of bytes that are no UTF-8
        raise BadBackup(
            f"{path} is no backup of Postil: {error}", advice="Name a file that `postil backup` wrote"
        ) from error
