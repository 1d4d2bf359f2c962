"""The texts of all comments, or all replies, as one run of bytes in a file: even a first search only searches.

The cache's database says which file counts and how much of it; the rest is read from the database itself. Like it, the
file may be lost at any time. Texts are only added: those that are gone are known by number, until it is made anew.
"""

from __future__ import annotations

import os
import sqlite3
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, filterfalse
from mmap import ACCESS_READ, mmap
from typing import IO

from msgspec import Struct

from postil.comments.index.remembered import read_moment
from postil.comments.search.patterns import END, GAP, Letters, Pattern
from postil.core import limits
from postil.workspace.clones.sharing import make_own_file
from postil.workspace.disk import open_regular


class Kind(Struct, frozen=True):
    """A kind of texts: the tables they are in, and those that say which are in the file, and which are gone."""

    texts: str
    numbers: str
    key: str
    state: str
    gone: str

    @property
    def tables(self) -> str:
        return f"""
CREATE TABLE IF NOT EXISTS {self.state} (name TEXT NOT NULL, texts INTEGER NOT NULL, bytes INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS {self.gone} (number INTEGER PRIMARY KEY AUTOINCREMENT, seq INTEGER NOT NULL);
"""


COMMENTS = Kind("body", "note", "seq", "corpus", "gone")
REPLIES = Kind("reply", "reply", "number", "reply_corpus", "reply_gone")
TABLES = COMMENTS.tables + REPLIES.tables
MOST_LOOSE = 500
"""So many texts are read from the database by every process before one of them adds them to the file."""
LARGEST_LOOSE = 2 * limits.MIB
"""Characters of them."""
FEW = 1_000
"""So many numbers are held at once without a thought."""
_BEGIN = GAP[-1:]


class Run:
    """Texts one behind the other, the number of each, and where it ends."""

    def __init__(self, run: bytes | mmap = _BEGIN, numbers: Sequence[int] = (), ends: Sequence[int] = ()) -> None:
        self.run, self.numbers, self.ends = run, numbers, ends

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def last(self) -> int:
        """The highest number."""
        return self.numbers[-1] if len(self.numbers) else 0

    def search(self, pattern: Pattern) -> list[int] | Letters | None:
        """Returns where the texts that match end, as a pattern says it."""
        return pattern.ends(self.run, self.ends) if len(self.numbers) else []


class Matches:
    """The texts of one run that match, known by where they end."""

    def __init__(self, run: Run, found: list[int] | Letters | None) -> None:
        self._run = run
        self._ends = run.ends if found is None else found

    def __len__(self) -> int:
        return self._ends.count if isinstance(self._ends, Letters) else len(self._ends)

    def __contains__(self, number: int) -> bool:
        run, ends = self._run, self._ends
        at = bisect_left(run.numbers, number)
        if at == len(run.numbers) or run.numbers[at] != number:
            return False
        end = run.ends[at]
        if isinstance(ends, Letters):
            return ends.within(run.ends[at - 1] if at else 0, end)
        place = bisect_left(ends, end)
        return place < len(ends) and ends[place] == end

    def __iter__(self) -> Iterator[int]:
        """Yields the number of each, in order: very many are never held at once."""
        run, ends = self._run, self._ends.ends() if isinstance(self._ends, Letters) else self._ends
        if isinstance(ends, list) and len(run) <= FEW:
            wanted = {*ends}
            return iter([number for number, end in zip(run.numbers, run.ends, strict=True) if end in wanted])
        if len(self) > len(run) // 16:
            return self._pass_through(ends)
        return (run.numbers[bisect_left(run.ends, end)] for end in ends)

    def _pass_through(self, ends: Iterable[int]) -> Iterator[int]:
        """Yields the numbers of many; all are in order."""
        known = zip(self._run.numbers, self._run.ends, strict=True)
        for wanted in ends:
            for number, end in known:
                if end == wanted:
                    yield number
                    break


class Marked:
    """Numbers, kept as a byte each up to the highest: a million of them take a set 60 MB."""

    def __init__(self, numbers: Iterable[int]) -> None:
        self._marks = bytearray()
        self._count = 0
        for number in numbers:
            if number >= len(self._marks):
                self._marks.extend(bytes(number + 1024 - len(self._marks)))
            self._count += not self._marks[number]
            self._marks[number] = 1

    def __len__(self) -> int:
        return self._count

    def __contains__(self, number: int) -> bool:
        return number < len(self._marks) and self._marks[number] == 1

    def numbers(self) -> list[int]:
        """Their numbers, in order."""
        return [number for number, mark in enumerate(self._marks) if mark]


class Hits:
    """The comments whose text matches: counted without being looked at one by one."""

    def __init__(
        self, parts: Sequence[Matches], gone: set[int], among: int, others: frozenset[int] = frozenset()
    ) -> None:
        self._parts, self._gone, self._others = parts, gone, others
        self.among = among
        """How many comments were searched."""

    def with_others(self, others: Iterable[int]) -> Hits:
        """Returns the same, and comments of which something else matches."""
        more = {*others}
        known = {*self} if len(self) <= FEW else self
        return Hits(self._parts, self._gone, self.among, frozenset([each for each in more if each not in known]))

    @property
    def has_others(self) -> bool:
        """Whether of some of them not the text matches, but something else."""
        return bool(self._others)

    def __len__(self) -> int:
        found = sum(map(len, self._parts))
        gone = sum(number in part for part in self._parts for number in self._gone) if found else 0
        return found - gone + len(self._others)

    def __contains__(self, number: int) -> bool:
        if number in self._others:
            return True
        if number in self._gone:
            return False
        for part in self._parts:  # noqa: SIM110 - asked of each comment: a generator costs more than the answer
            if number in part:
                return True
        return False

    def __iter__(self) -> Iterator[int]:
        """Yields their numbers, in no order: very many are never held at once."""
        return chain(filterfalse(self._gone.__contains__, chain.from_iterable(self._parts)), self._others)

    def numbers(self) -> list[int]:
        """Their numbers, in order."""
        return sorted(self)


class TextFile:
    """The texts of one kind in a cache. `base` is what the names of its files begin with."""

    def __init__(self, base: str, kind: Kind = COMMENTS) -> None:
        self.base, self._kind = base, kind
        self._name: str = ""
        self._file = Run()
        self._loose = Run()
        self._gone: set[int] = set()
        """The texts that went and are in the file."""
        self._gone_seen = self._gone_count = 0
        self._moment: object = None
        """What was said of the database when it was last read."""

    def search(self, db: sqlite3.Connection, pattern: Pattern) -> Hits:
        """Returns the comments whose text matches."""
        self.catch_up(db)
        parts = [Matches(run, run.search(pattern)) for run in (self._file, self._loose)]
        return Hits(
            [part for part in parts if len(part)], self._gone, len(self._file) + len(self._loose) - len(self._gone)
        )

    def catch_up(self, db: sqlite3.Connection) -> None:
        """Take in the texts that came since the last time, and those that went."""
        moment = read_moment(db)
        if moment == self._moment:
            return
        self._open(db)
        kind = self._kind
        gone = f"SELECT number, seq FROM {kind.gone} WHERE number > ?"  # noqa: S608 - names of ours, here and below
        for number, seq in db.execute(gone, (self._gone_seen,)):
            self._gone_seen = number
            self._gone_count += 1
            if seq <= self._file.last:
                self._gone.add(seq)
            elif seq <= self._loose.last:
                self._loose = Run()  # read again without it: so it is not asked about in every search
        (highest,) = db.execute(f"SELECT coalesce(max({kind.key}), 0) FROM {kind.numbers}").fetchone()  # noqa: S608
        is_behind = highest > max(self._file.last, self._loose.last)
        if self._too_many_gone() or (is_behind and self._is_much_loose(db)):
            with suppress(OSError):  # no room for it: then every process reads the texts
                self._write(db)
        self._read_loose(db)
        self._moment = moment

    def _is_much_loose(self, db: sqlite3.Connection) -> bool:
        """Whether more texts are not in the file than every process should read by itself."""
        kind, after = self._kind, (self._file.last,)
        (count,) = db.execute(f"SELECT count(*) FROM {kind.numbers} WHERE {kind.key} > ?", after).fetchone()  # noqa: S608
        if count > MOST_LOOSE:
            return True
        size = f"SELECT coalesce(sum(length(text)), 0) FROM {kind.texts} WHERE {kind.key} > ?"  # noqa: S608
        return db.execute(size, after).fetchone()[0] > LARGEST_LOOSE

    def _too_many_gone(self) -> bool:
        return self._gone_count > len(self._file) // 4 + MOST_LOOSE

    def _read_loose(self, db: sqlite3.Connection) -> None:
        """Hold the texts that are not in the file."""
        if len(self._loose) and self._loose.numbers[0] <= self._file.last:
            self._loose = Run()
        after = max(self._file.last, self._loose.last)
        rows = self._select_texts(db, after).fetchall()
        if rows:
            added = _Texts(len(self._loose.run))
            run = self._loose.run[:] + added.take(rows)
            self._loose = Run(run, [*self._loose.numbers, *added.numbers], [*self._loose.ends, *added.ends])

    def _select_texts(self, db: sqlite3.Connection, after: int) -> sqlite3.Cursor:
        key = self._kind.key
        return db.execute(f"SELECT {key}, text FROM {self._kind.texts} WHERE {key} > ? ORDER BY {key}", (after,))  # noqa: S608

    def _read_state(self, db: sqlite3.Connection) -> tuple[str, int, int]:
        held = db.execute(f"SELECT name, texts, bytes FROM {self._kind.state}").fetchone()  # noqa: S608
        name, texts, size = held or ("", 0, 0)
        return str(name), int(texts), int(size)

    def _open(self, db: sqlite3.Connection) -> None:
        """See what the file holds now, as far as the database vouches for it."""
        name, texts, size = self._read_state(db)
        if name == self._name and texts == len(self._file):
            return
        if name != self._name:
            self._gone, self._gone_seen, self._gone_count, self._loose = set(), 0, 0, Run()
        try:
            self._file = _map_file(self.base, name, texts, size) if texts else Run()
            self._name = name
        except (OSError, ValueError):
            self._file, self._name = Run(), ""

    def _write(self, db: sqlite3.Connection) -> None:
        """Add to the file what it lacks, or make it anew when much in it is gone. Safe on disk before it counts."""
        db.execute("BEGIN IMMEDIATE")  # of several processes one writes; what it wrote the others find
        try:
            self._open(db)
            anew = not self._name or self._too_many_gone()
            name, texts, size = (os.urandom(6).hex(), 0, 0) if anew else self._read_state(db)
            with (
                _open_file(self.base, name, "texts", size) as out,
                _open_file(self.base, name, "rows", 16 * texts) as rows,
            ):
                if not size:
                    size += out.write(_BEGIN)
                after = 0 if anew else self._file.last
                for some in _in_pieces(self._select_texts(db, after)):
                    added = _Texts(size)
                    size += out.write(added.take(some))
                    rows.write(added.table())
                    texts += len(some)
                for file in (out, rows):
                    file.flush()
                    os.fsync(file.fileno())
            db.execute(f"DELETE FROM {self._kind.state}")  # noqa: S608
            db.execute(f"INSERT INTO {self._kind.state} VALUES (?, ?, ?)", (name, texts, size))  # noqa: S608
            if anew:
                db.execute(f"DELETE FROM {self._kind.gone}")  # noqa: S608
            db.commit()
        except BaseException:
            db.rollback()
            raise
        self._open(db)
        if anew:
            self._remove_others()

    def _remove_others(self) -> None:
        folder, begin = os.path.split(self.base)
        for file in os.listdir(folder):
            if file.startswith(f"{begin}.") and file.endswith((".texts", ".rows")) and f".{self._name}." not in file:
                with suppress(OSError):
                    os.unlink(os.path.join(folder, file))


def _in_pieces(rows: Iterable[tuple[int, str]]) -> Iterator[list[tuple[int, str]]]:
    """Yields rows, some at a time."""
    piece: list[tuple[int, str]] = []
    size = 0
    for row in rows:
        piece.append(row)
        size += len(row[1])
        if size > limits.MIB:
            yield piece
            piece, size = [], 0
    if piece:
        yield piece


class _Texts:
    """Texts as a piece of a run that begins at an offset."""

    def __init__(self, offset: int) -> None:
        self._at = offset
        self.numbers: list[int] = []
        self.ends: list[int] = []

    def take(self, rows: Iterable[tuple[int, str]]) -> bytes:
        """Returns the texts as bytes, each with its gap behind it."""
        pieces: list[bytes] = []
        at = self._at
        for number, text in rows:
            piece = text.encode("utf-8", "replace") + GAP
            pieces.append(piece)
            at += len(piece)
            self.numbers.append(number)
            self.ends.append(at - len(GAP) + GAP.index(END))
        return b"".join(pieces)

    def table(self) -> bytes:
        """Returns the number and the end of each, as the file beside the texts has them."""
        table = array("Q", bytes(16 * len(self.numbers)))
        table[0::2], table[1::2] = array("Q", self.numbers), array("Q", self.ends)
        return table.tobytes()


def _path(base: str, name: str, kind: str) -> str:
    return f"{base}.{name}.{kind}"


def _open_file(base: str, name: str, kind: str, size: int) -> IO[bytes]:
    """Returns a file to add to, without what a process that died left behind its end."""
    make_own_file(path := _path(base, name, kind))
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    os.ftruncate(file, size)
    os.lseek(file, size, os.SEEK_SET)
    return os.fdopen(file, "wb")


def _map_file(base: str, name: str, texts: int, size: int) -> Run:
    """Returns the file as it is on disk. Raises ValueError when it is not what the database vouches for."""
    with open_regular(_path(base, name, "texts")) as file:
        run = mmap(file.fileno(), size, access=ACCESS_READ)
    with open_regular(_path(base, name, "rows")) as file:
        table = memoryview(mmap(file.fileno(), 16 * texts, access=ACCESS_READ)).cast("Q")
    numbers, ends = table[0::2], table[1::2]
    if run[-len(GAP) :] != GAP or ends[-1] != size - len(GAP) + GAP.index(END):
        raise ValueError(name)
    return Run(run, numbers, ends)
