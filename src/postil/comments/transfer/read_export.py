"""Exports read back: the comments of a JSON, JSON lines or CSV document, as they were written. Pure; ids are given.

Ids, authors, times, threads and status come back as they were; the code a comment stood on comes along, so that it is
found again where it is now. Not here: files and sidecars.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import asdict, replace

from postil.anchor.fingerprint import line_hash
from postil.anchor.syntax.languages import language_of
from postil.anchor.syntax.symbols import Symbol, innermost, owners, symbols
from postil.comments.anchoring.locate import NOT_KEPT
from postil.comments.anchoring.marker import make_marker
from postil.comments.lines import split_lines
from postil.comments.model import AiMeta, Anchor, LineNumber, NewComment, NewMarker, Reply, Revision, Status
from postil.comments.sidecar.demanded import make_plain_marker
from postil.comments.sidecar.dialects import trim_line
from postil.comments.sidecar.document import LineTexts
from postil.comments.sidecar.format import detect_tag
from postil.comments.source_tree import Source
from postil.comments.transfer.code_marks import MarkedCode, find_marked, mark_lines, mark_symbol, name_marked
from postil.core import limits
from postil.core.failure import InvalidArguments

LONGEST_ID = 200
"""Characters of an id that a comment is asked for by."""
_VERSION = re.compile(r"([0-9a-f]{40,64}):([1-9][0-9]{0,8})(?:-([1-9][0-9]{0,8}))?")
DOCUMENTS = (".json", ".jsonl", ".ndjson", ".csv")


class _About(Struct, frozen=True, kw_only=True):
    filePath: str
    line: LineNumber
    id: str = ""
    endLine: LineNumber = 0
    movedTo: str = ""
    tag: str | None = None
    author: str = ""
    editedBy: str = ""
    created: str = ""
    updated: str = ""
    status: Status = "open"
    resolvedBy: str = ""
    resolvedAt: str = ""
    replies: tuple[Reply, ...] = ()
    revisions: tuple[Revision, ...] = ()
    aiMeta: AiMeta | None = None
    state: str = ""
    stale: bool = False
    newText: str = ""
    oldText: str = ""
    code: str = ""
    """The code it stood on, where the document has it under one name."""
    lineCodes: str = ""
    """What tells that code, and what stood around it."""
    lineVersion: str = ""
    """Of code that is lost or uncertain, the version of its file and the lines in it that it was."""
    anchor: str = ""
    """The function or class it was in, in words."""


class Record(_About, frozen=True, kw_only=True):
    """One comment of a document. What it has not got is made when it is added."""

    text: str

    @property
    def path(self) -> str:
        """The file its code was in."""
        return self.movedTo or self.filePath

    @property
    def remembered(self) -> str:
        """The code it stood on when it was written out, as far as that is known."""
        return self.code or (self.oldText if self.is_lost else self.newText)

    @property
    def is_lost(self) -> bool:
        """Whether its code was gone or uncertain: then its line says nothing about where it belongs."""
        return self.state in ("orphaned", "review")


class _Files(Struct, frozen=True):
    files: list[_File]


class _File(Struct, frozen=True):
    comments: list[Record]


class _Training(Struct, frozen=True):
    completion: str
    metadata: _About


def is_document(name: str) -> bool:
    """Whether a file is an export by its name, and no source with comments in it."""
    return name.lower().endswith(DOCUMENTS)


def refuse_unreadable(names: Sequence[str], find: Callable[[str], str]) -> None:
    """Raises InvalidArguments for what is neither an export that can be read back nor a source of the workspace.

    `find` returns what a caller means by a path: a person names a source from the folder they stand in.
    """
    for name in names:
        there = find(name)
        leads_out = ".." in there.split("/") or there.startswith(("/", "~/"))
        if not is_document(name) and (leads_out or name.lower().endswith(".parquet")):
            raise InvalidArguments(
                f"{name} cannot be imported: it is no export in json, jsonl or csv, and no source of this workspace",
                advice="Of exports these three can be read: postil comments export json --output FILE",
                path="files",
            )


def read_records(name: str, data: bytes) -> list[Record]:
    """Returns the comments of a document. Raises InvalidArguments when it is none of ours.

    What nobody could name a comment by is no id: such a comment gets one when it is added.
    """
    try:
        found = _read(name.lower(), data)
        return [each if not each.id or _is_name(each.id) else replace(each, id="") for each in found]
    except (ValueError, RecursionError) as fault:
        raise InvalidArguments(
            f"{name} is no export of comments: {fault}",
            advice="Import what `postil comments export json`, `jsonl` or `csv` wrote, or a source with `@paired:`",
            path="files",
        ) from None


def count_texts(name: str, data: bytes) -> int:
    """Returns how many comments and replies a document has, before they are held: each takes a kilobyte then."""
    if not name.lower().endswith(".csv"):
        return data.count(b'"text"') + data.count(b'"completion"')
    import csv

    with suppress(csv.Error, UnicodeError):  # whoever reads it says so
        return sum(1 for _ in csv.reader(_open_csv(data))) - 1
    return 0


def _is_name(given: str) -> bool:
    """Whether a comment could be asked for by this id: other programs' ids are of any form."""
    is_typed = given.isprintable() and not given.isspace() and not given.startswith("-")
    return len(given) <= LONGEST_ID and ":" not in given and is_typed


def _read(name: str, data: bytes) -> list[Record]:
    if name.endswith(".csv"):
        return list(_from_csv(data))
    if name.endswith(".json"):
        return [each for file in msgspec.json.decode(data, type=_Files).files for each in file.comments]
    return [_from_training(msgspec.json.decode(row, type=_Training)) for row in data.splitlines() if row.strip()]


def _from_training(row: _Training) -> Record:
    return Record(text=row.completion, **asdict(row.metadata))


def _from_csv(data: bytes) -> Iterator[Record]:
    import csv  # only for this format

    rows = csv.DictReader(_open_csv(data))
    for number, row in enumerate(_take_rows(rows), 2):
        plain = {key: unguard_cell(value) for key, value in row.items() if value}
        wanted = {key: value for key, value in plain.items() if key in Record.__struct_fields__}
        try:
            yield msgspec.convert(wanted, Record, strict=False)
        except msgspec.ValidationError as fault:
            raise ValueError(f"row {number}: {fault}") from None


def _open_csv(data: bytes) -> Iterable[str]:
    """Returns the lines of a document: it is never held as characters."""
    import csv
    import io

    csv.field_size_limit(limits.FILE)  # the code of a comment may be long
    return io.TextIOWrapper(io.BytesIO(data), "utf-8-sig", newline="")


def _take_rows(rows: Iterator[dict[str, str]]) -> Iterator[dict[str, str]]:
    """Yields the rows. Raises ValueError for what is no CSV."""
    import csv

    try:
        yield from rows
    except csv.Error as fault:
        raise ValueError(str(fault)) from None


_FORMULA = ("=", "+", "-", "@", "\t", "\r", "'")


def guard_cell(cell: str) -> str:
    """Returns a cell that no spreadsheet takes for a formula."""
    return f"'{cell}" if cell.startswith(_FORMULA) else cell


def unguard_cell(cell: str) -> str:
    """Returns what `guard_cell` was given."""
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(_FORMULA) else cell


def make_comment(record: Record, name: str, now: str) -> NewComment:
    """Returns a comment for a sidecar. `name` becomes its id and `now` its time where the record has none."""
    is_closed = record.status != "open"
    made = record.created or now
    return NewComment(
        id=record.id or name,
        line=record.line,
        text=record.text,
        author=record.author or "unknown",
        created=made,
        updated=record.updated or made,
        startLine=record.line,
        endLine=record.endLine or UNSET,
        tag=record.tag or detect_tag(record.text),
        status=record.status,
        resolvedBy=record.resolvedBy if is_closed else UNSET,
        resolvedAt=record.resolvedAt if is_closed else UNSET,
        replies=record.replies or UNSET,
        revisions=record.revisions or UNSET,
        editedBy=record.editedBy or UNSET,
        aiMeta=record.aiMeta or UNSET,
    )


def list_old_versions(some: Iterable[Record]) -> set[str]:
    """Returns the versions, by blob id, in which code was that is lost or uncertain."""
    return {found[1] for each in some if each.is_lost and (found := _VERSION.fullmatch(each.lineVersion))}


def make_record_marker(
    record: Record, source: Source, name: str, now: str, versions: Mapping[str, str] | None = None
) -> NewMarker:
    """Returns the marker of an imported comment: on its code if that is surely here, else by the code it remembers.

    Code that is here, and not surely this one, is none: a marker that remembered it would find it again, surely. Of
    code that was lost, the version that it was in is followed, where it is one of `versions`.
    """
    if record.is_lost and versions and (made := _make_old_marker(record, source, name, now, versions)):
        return made
    line, end = max(record.line, 1), record.endLine
    remembered = record.remembered.split("\n")
    first = trim_line(remembered[0])
    marks = record.lineCodes or (mark_lines(remembered, 1, len(remembered)) if first else "")
    if marks:
        places = _find_places(record, marks, source, 0 if record.is_lost else line)
        if record.is_lost and places.count > 1:
            places = MarkedCode(places.count)
        line, end = places.line, end + places.line - line if end else 0
        at = 0 if line or places.count else _find_first(record, marks, source, first)
        if not line and (at is None or places.count or not first):
            remembered, first = [], NOT_KEPT
    elif record.is_lost:
        line, first = 0, NOT_KEPT
    wrote = (NOT_KEPT,) if record.stale else ()  # what it was written about is not said, only that it was other code
    if 0 < line <= len(source.lines):
        end = end if line < end <= len(source.lines) else 0
        symbol = innermost(symbols(source.text, language_of(source.path)), line)
        return make_marker(source, symbol, line, end, name=name, now=now, wrote=wrote)
    texts = LineTexts(line_hash(first), first, nextLineText=trim_line(remembered[1]) if len(remembered) > 1 else "")
    plain = make_plain_marker(name, max(record.line, 1), texts, now, record.endLine)
    return replace(plain, anchor=Anchor(wrote=wrote)) if wrote else plain


def _make_old_marker(
    record: Record, source: Source, name: str, now: str, versions: Mapping[str, str]
) -> NewMarker | None:
    """Returns a marker on the version that a document names, if its lines are those that it tells by their codes."""
    found = _VERSION.fullmatch(record.lineVersion)
    text = versions.get(found[1]) if found else None
    if found is None or text is None:
        return None
    old, line, end = Source(source.path, text, found[1]), int(found[2]), int(found[3] or 0)
    told = mark_lines(old.lines, line, end) if 1 <= line <= max(line, end) <= len(old.lines) else ""
    if not told or told.split(".") != record.lineCodes.split(".")[:3]:
        return None
    symbol = innermost(symbols(text, language_of(source.path)), line)
    wrote = (NOT_KEPT,) if record.stale else ()
    return make_marker(old, symbol, line, end if end > line else 0, name=name, now=now, wrote=wrote)


def _find_first(record: Record, marks: str, source: Source, first: str) -> int | None:
    """Returns where the first line of code is that was edited: 0 where it is not; None where that is not sure.

    It is where it is the only such line of the function that it was in.
    """
    there = [number for number, each in enumerate(source.lines, 1) if trim_line(each) == first]
    name, named = _name_code(record, marks, source)
    if not there or name is None:
        return 0
    inside = [number for number in there if named[number - 1] == name]
    return there[0] if len(there) == len(inside) == 1 else None


def _find_places(record: Record, marks: str, source: Source, line: int) -> MarkedCode:
    """Returns where the code of a comment is in a source, by its codes and by what it was in."""
    return find_marked(marks, source.text, line, *_name_code(record, marks, source))


def _name_code(record: Record, marks: str, source: Source) -> tuple[str | None, Sequence[str]]:
    """Returns what the code of a comment was in, where that is told, and what each line of the source is in."""
    name = name_marked(marks)
    if name is not None:
        return name, _name_lines(source.text, source.path, _mark)
    if not record.anchor:
        return None, ()
    words = "" if record.anchor.startswith("line ") else record.anchor
    return words, _name_lines(source.text, source.path, _describe)


def _mark(symbol: Symbol | None) -> str:
    return mark_symbol(symbol.path if symbol else ())


def _describe(symbol: Symbol | None) -> str:
    return symbol.short if symbol else ""


@lru_cache(maxsize=2)
def _name_lines(text: str, path: str, tell: Callable[[Symbol | None], str]) -> tuple[str, ...]:
    """Returns what each line is in: many comments of one file are looked for, one after the other."""
    return tuple(map(tell, owners(symbols(text, language_of(path)), len(split_lines(text)))[1:]))
