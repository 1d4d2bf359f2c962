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
from collections.abc import Generator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from postil.core.failure import Conflict, StorageFailed
from postil.workspace.failures import UnsafePath, WriteFailed
from postil.workspace.files import atomic_write
from postil.workspace.paths import RelativePath

if TYPE_CHECKING:
    from postil.core.ports import Dumpable, RecordRow

FORMAT = 1


class BadBackup(StorageFailed):
    """A file that is no whole backup."""


class StateInUse(Conflict):
    """There is something in the state already."""


class Saved(NamedTuple):
    """What a backup holds."""

    records: int
    counters: int
    made: float
    secret: bytes


def save(state: Dumpable, path: str, secret: bytes, version: str) -> Saved:
    """Write a backup, whole or not at all. Raises BadBackup where the file cannot be written."""
    made = time.time()
    kept = 0
    counters, records = state.dump()
    digest, written = hashlib.sha256(), io.BytesIO()
    with gzip.GzipFile("", "wb", 6, written, 0) as out:

        def put(line: object) -> None:
            text = msgspec.json.encode(line) + b"\n"
            digest.update(text)
            out.write(text)

        put({"postil": "backup", "format": FORMAT, "made": made, "version": version, "secret": secret})
        for name, number in counters:
            put(["c", name, number])
        for record in records:
            put(["r", *record])
            kept += 1
        end = {"end": kept + len(counters), "sha256": digest.hexdigest()}
        out.write(msgspec.json.encode(end) + b"\n")
    folder, name = os.path.split(path)
    try:
        with suppress(FileExistsError):  # its mode is kept
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        atomic_write(folder, RelativePath(name), written.getvalue())
    except (OSError, WriteFailed, UnsafePath) as error:
        raise BadBackup(f"The backup {path} cannot be written: {error}", advice="Name another place") from error
    return Saved(kept, len(counters), made, secret)


def restore(state: Dumpable, path: str, *, force: bool) -> Saved:
    """Replace the state by a backup, all or nothing. Raises BadBackup; StateInUse unless it is empty or `force`."""
    whole = check(path)  # before anything is changed
    if not force and next(state.dump()[1], None) is not None:
        raise StateInUse(
            "The state is not empty", advice="Back it up first, then restore with --force: what is there is replaced"
        )
    since = max(0.0, time.time() - whole.made)
    counters = [(name, number) for kind, name, number, *_ in _read(path) if kind == "c"]
    state.load(counters, _read_living(path, since))
    return whole


def check(path: str) -> Saved:
    """Read a backup to its end. Raises BadBackup where it is not whole."""
    digest, count, end = hashlib.sha256(), 0, None
    header: dict[str, Any] = {}
    counted = {"r": 0, "c": 0}
    for number, line in enumerate(_lines(path)):
        if number == 0:
            header = _decode(path, line)
            if header.get("postil") != "backup":
                raise BadBackup(f"{path} is no backup of Postil")
            if int(header.get("format", 0)) > FORMAT:
                raise BadBackup(f"{path} was made by a later version", advice="Update Postil, then restore it")
        elif line.startswith(b'{"end"'):
            end = _decode(path, line)
            break
        else:
            count += 1
            counted[line[2:3].decode()] += 1
        digest.update(line)
    if end is None or end.get("end") != count or end.get("sha256") != digest.hexdigest():
        raise BadBackup(f"The backup {path} is not whole", advice="Use another one; nothing was changed")
    secret = msgspec.convert(header.get("secret", ""), bytes)
    return Saved(counted["r"], counted["c"], float(header["made"]), secret)


def _read_living(path: str, since: float) -> Generator[RecordRow]:
    """Yields the records that are still alive after so many seconds."""
    for kind, *values in _read(path):
        if kind == "r":
            space, key, value, lives = values
            if lives is None or lives > since:
                yield space, key, msgspec.convert(value, bytes), None if lives is None else lives - since


def _read(path: str) -> Generator[list[Any]]:
    for line in _lines(path):
        if line.startswith(b"["):
            yield msgspec.json.decode(line)


def _lines(path: str) -> Generator[bytes]:
    try:
        with gzip.open(path, "rb") as file:
            yield from file
    except (OSError, EOFError) as error:  # a gzip that ends too early is an EOFError
        raise BadBackup(f"The backup {path} cannot be read: {error}", advice="Use another one") from error
    except Exception as error:
        if type(error).__module__ == "zlib":
            raise BadBackup(f"The backup {path} is damaged: {error}", advice="Use another one") from error
        raise


def _decode(path: str, line: bytes) -> dict[str, Any]:
    try:
        return msgspec.json.decode(line, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise BadBackup(f"{path} is no backup of Postil") from error
