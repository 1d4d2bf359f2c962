"""What this computer wrote into sidecars, comment by comment: from it one learns what another program erased.

An editor that keeps a file in memory and saves it later takes out what was written meanwhile. A line of JSON for each
comment that was added, changed or taken out; two files of a bounded size. It is not synced: the sidecars are.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from io import BufferedReader

import msgspec
from msgspec import Raw, Struct

from postil.comments.sidecar.json_edit import JsonObject
from postil.comments.sidecar.noted import LONGEST, MOST_BYTES, Noted, Steps
from postil.core.failure import Failure
from postil.core.others.unreadable import UNREADABLE
from postil.workspace.clones.sharing import make_own_file
from postil.workspace.disk import open_regular

LARGEST = MOST_BYTES
"""Bytes of one file after which the next is begun."""
PIECE = 1024 * 1024
LAST = 16 * 1024
"""Bytes of the end of a file that are read first, where what was written last is looked for."""
MOST_UNKNOWN = 1000
MOST_READ = LARGEST + PIECE + LONGEST
"""Bytes of one file that are read: ours has no more."""
MOST_LINES = 100_000
"""Lines of one file that are read. Ours are longer than those of a file that has more."""
LONGEST_NAME = 1024
"""Characters of a path or id that is believed."""
MOST_PATHS = 50_000
MOST_VALUES = 100_000
"""Values in one line: many tiny ones take fifty times its bytes when they are understood."""


class Written(Struct, frozen=True, omit_defaults=True):
    """One comment as it was written, or (without one) that it was taken out."""

    at: str
    path: str
    id: str
    comment: JsonObject | None = None
    marker: JsonObject | None = None
    was: JsonObject | None = None
    undoes: bool = False
    reply: str = ""
    part: bool = False
    """Whether `comment` holds only what changed."""


class Row(Struct, frozen=True):
    """A line of the log: what it is about, and where it is."""

    at: str
    path: str
    id: str
    has_comment: bool
    has_marker: bool
    part: bool
    place: int
    base: str = ""
    """The git blob that the file was before."""
    has_was: bool = False
    """Whether it changed words or a decision."""


class _Head(Struct, frozen=True):
    at: str
    path: str
    id: str
    comment: Raw = Raw(b"")
    marker: Raw = Raw(b"")
    was: Raw = Raw(b"")
    part: bool = False
    base: str = ""


_CAREFUL = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_NOTHING = (b"", b"null")
_SECOND = 1 << 40
"""What is added to a place in the second file."""
_decode = msgspec.json.Decoder(Written).decode
_decode_head = msgspec.json.Decoder(_Head).decode
_encode = msgspec.json.Encoder().encode


class WriteLog:
    """The log of one workspace."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._unknown: set[str] = set()

    def note(self, path: str, at: str, steps: Sequence[Noted], base: str = "") -> None:
        """Keep what was done to some comments of a file, which was `base` before (a git blob), where that is known."""
        if self._unknown:
            self._unknown.difference_update(each.id for each in steps)
        if isinstance(steps, Steps):
            self._miss(steps.missed)
        later = _encode({"at": at, "path": path})[:-1] + b","
        head = _encode({"at": at, "base": base, "path": path})[:-1] + b"," if base else later
        left = LARGEST
        held: list[bytes] = []
        names: list[str] = []  # those of the held rows
        size = 0
        for each in steps:
            row, head = head + _encode(each)[1:] + b"\n", later
            if len(row) > min(LONGEST, left):
                self._miss([each.id])
                continue
            held.append(row)
            names.append(each.id)
            left -= len(row)
            size += len(row)
            if size > PIECE:
                self._append(b"".join(held), names)
                held, names, size = [], [], 0
        if held:
            self._append(b"".join(held), names)

    def _append(self, data: bytes, names: Sequence[str]) -> None:
        """Write some rows. Where that fails it is remembered: the comments themselves are safe."""
        try:
            try:
                file = os.open(self._path, os.O_RDWR | os.O_APPEND | _CAREFUL)
            except FileNotFoundError:
                make_own_file(self._path)
                file = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT | _CAREFUL, 0o600)
            try:
                size = os.fstat(file).st_size
                if size > LARGEST:  # it could not be put aside, and begins anew: what is new can be undone
                    os.ftruncate(file, 0)
                    size = 0
                if size and os.pread(file, 1, size - 1) != b"\n":  # a full disk, or a dying process, left half a line
                    data = b"\n" + data
                if os.write(file, data) < len(data):
                    self._miss(names)
                large = size + len(data) > LARGEST
            finally:
                os.close(file)
            if large:
                with suppress(OSError):  # a folder of that name, say
                    os.rename(self._path, f"{self._path}.old")
        except (OSError, Failure):
            self._miss(names)

    def _miss(self, names: Sequence[str]) -> None:
        if len(self._unknown) > MOST_UNKNOWN:
            self._unknown.clear()
        self._unknown.update(names)

    def has_missed(self, comment: str) -> bool:
        """Returns, once, whether the log could not keep what this process wrote last of a comment."""
        if comment not in self._unknown:
            return False
        self._unknown.discard(comment)
        return True

    @contextmanager
    def open(self) -> Generator[LogReader]:
        """Yields the log as it is now, for reading; what is written meanwhile is not in it."""
        with ExitStack() as stack:
            files: list[BufferedReader | None] = []
            for name in (f"{self._path}.old", self._path):
                file = None
                with suppress(OSError):
                    file = stack.enter_context(open_regular(name, follow=False))
                files.append(file)
            yield LogReader(files)


class LogReader:
    """The two files of a log, the older one first. A line that a dying process left half is passed over."""

    def __init__(self, files: Sequence[BufferedReader | None]) -> None:
        self._files = files

    def rows(self) -> Iterator[Row]:
        """Yields what each line is about, oldest first."""
        for place, line in self.lines():
            with suppress(*UNREADABLE):
                head = _decode_head(line)
                if max(len(head.path), len(head.id), len(head.base)) > LONGEST_NAME:
                    continue
                has = [bytes(each) not in _NOTHING for each in (head.comment, head.marker, head.was)]
                yield Row(head.at, head.path, head.id, has[0], has[1], head.part, place, head.base, has[2])

    def paths(self) -> set[str]:
        """Returns the files that are named, by the heads of the lines as we write them: quicker than `rows`."""
        heads: set[bytes] = set()
        for _, line in self.lines():
            head = line[: line.find(b',"id":', 0, 2 * LONGEST_NAME)].partition(b',"path":')[2]
            if len(head) <= LONGEST_NAME and len(heads) < MOST_PATHS:
                heads.add(head)
        found: set[str] = set()
        for head in heads:
            with suppress(*UNREADABLE):
                found.add(msgspec.json.decode(head, type=str))
        return found

    def lines(self, is_wanted: Callable[[bytes], bool] | None = None) -> Iterator[tuple[int, bytes]]:
        """Yields every line, or those that are wanted, and where it is."""
        for file, base in zip(self._files, (0, _SECOND), strict=True):
            if file is None:
                continue
            at = file.seek(0)
            is_whole = True
            for _ in range(MOST_LINES):
                if at >= MOST_READ or not (line := file.readline(LONGEST + 1)):
                    break
                ends = line.endswith(b"\n")
                if is_whole and ends and len(line) > 1 and (is_wanted is None or is_wanted(line)):
                    yield base + at, line
                    file.seek(at + len(line))  # another may be read meanwhile
                is_whole = ends
                at += len(line)

    def lines_back(self, text: bytes) -> Iterator[tuple[int, bytes]]:
        """Yields the lines that hold a text, the newest first, and where each is: no more is read than is asked for."""
        for file, base in zip(reversed(self._files), (_SECOND, 0), strict=True):
            end = min(os.fstat(file.fileno()).st_size, MOST_READ) if file else 0
            size = LAST
            while file is not None and end:
                begin = max(0, end - size)
                file.seek(begin)
                read = file.read(end - begin)
                first = read.find(b"\n", 0, -1) + 1 if begin else 0  # where the first whole line begins
                if first or not begin or size > LONGEST:
                    for at, line in _find_back(read, first, text):
                        yield base + begin + at, line
                    end = begin + first  # a line that goes on before it is nothing that we wrote
                size = min(2 * size, PIECE + LONGEST)

    def read(self, place: int) -> Written | None:
        """Returns what a line says."""
        file = self._files[place // _SECOND]
        if file is None:
            return None
        file.seek(place % _SECOND)
        return decode_line(file.readline(LONGEST + 1))


def _find_back(piece: bytes, first: int, text: bytes) -> Iterator[tuple[int, bytes]]:
    """Yields the whole lines of a piece that hold a text, the last first, from the place of the first one on."""
    end = piece.rfind(b"\n") + 1
    while (found := piece.rfind(text, first, end)) >= 0:
        begin, end = max(first, piece.rfind(b"\n", 0, found) + 1), piece.index(b"\n", found) + 1
        if end - begin <= LONGEST + 1:
            yield begin, piece[begin:end]
        end = begin


def decode_line(line: bytes) -> Written | None:
    """Returns what a line says; None for one that is nothing."""
    if len(line) > MOST_VALUES and sum(map(line.count, (b",", b"{", b"["))) > MOST_VALUES:
        return None
    try:
        return _decode(line)
    except UNREADABLE:
        return None
