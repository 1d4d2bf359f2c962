"""The commits that were found to have taken code out: what a history says of two versions does not change with time.

Kept in the cache by the newest commit that was asked of. Not here: finding them (`git/culprits.py`).
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Sequence
from contextlib import suppress

import msgspec

from postil.comments.git.culprits import Culprits, Suspicion
from postil.comments.index.cache import Index
from postil.comments.model import Commit
from postil.core.others.unreadable import UNREADABLE

MOST_KEPT = 10_000

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Commit | None).decode


def find_known(index: Index, history: str, asked: Sequence[Suspicion]) -> dict[int, Commit | None]:
    """Returns those answers, by the number of the question, that are known of a history."""
    names = [_name(history, each) for each in asked]
    sentence = "SELECT asked, answer FROM culprit WHERE asked IN (SELECT value FROM json_each(?))"
    known = dict[str, bytes](index.select(sentence, (msgspec.json.encode(names).decode(),)))
    try:
        return {number: _decode(known[name]) for number, name in enumerate(names) if name in known}
    except UNREADABLE:  # a damaged cache
        return {}


def keep_known(index: Index, history: str, asked: Sequence[Suspicion], found: Culprits) -> None:
    """Keep answers; that none is to blame only where all of the history was read.

    Who only reads waits for nobody: where another process writes to the cache, they are not kept.
    """
    rows = [
        (_name(history, each), _encode(commit))
        for each, commit in zip(asked, found.commits, strict=True)
        if commit or found.complete
    ]
    if not rows:
        return
    with index.using() as db:
        (patience,) = db.execute("PRAGMA busy_timeout").fetchone()
        db.execute("PRAGMA busy_timeout = 0")
        try:
            with suppress(sqlite3.DatabaseError), db:  # one that cannot be written to now, or is damaged
                db.executemany("INSERT OR REPLACE INTO culprit (asked, answer) VALUES (?, ?)", rows)
                db.execute("DELETE FROM culprit WHERE number <= (SELECT max(number) FROM culprit) - ?", (MOST_KEPT,))
        finally:
            db.execute(f"PRAGMA busy_timeout = {patience}")


def _name(history: str, each: Suspicion) -> str:
    return hashlib.blake2b(_encode((history, each)), digest_size=16).hexdigest()
