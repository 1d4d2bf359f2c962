"""Exports read back: the comments of a JSON, JSON lines or CSV document, as they were written. Pure; ids are given.

Ids, authors, times, threads and status come back as they were; the code a comment stood on comes along, so that it is
found again where it is now. Not here: files and sidecars.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import asdict, replace

from postil.anchor.fingerprint import line_hash
from postil.anchor.syntax.languages import language_of
from postil.anchor.syntax.symbols import innermost, symbols
from postil.comments.anchoring.locate import NOT_KEPT
from postil.comments.anchoring.marker import make_marker
from postil.comments.model import AiMeta, Anchor, LineNumber, NewComment, NewMarker, Reply, Revision, Status
from postil.comments.sidecar.demanded import make_plain_marker
from postil.comments.sidecar.dialects import trim_line
from postil.comments.sidecar.document import LineTexts
from postil.comments.sidecar.format import detect_tag
from postil.comments.source_tree import Source
from postil.comments.transfer.code_marks import find_marked
from postil.core import limits
from postil.core.failure import InvalidArguments

DOCUMENTS = (".json", ".jsonl", ".ndjson", ".csv")


class _About(Struct, frozen=True, kw_only=True):
    filePath: str
    line: LineNumber
    id: str = ""
    endLine: LineNumber = 0
    movedTo: str = ""
    tag: str | None = None
    author: str = ""
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
    """What tells that code where the document does not hold it."""


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


def read_records(name: str, data: bytes) -> list[Record]:
    """Returns the comments of a document. Raises InvalidArguments when it is none of ours."""
    try:
        if name.lower().endswith(".csv"):
            return list(_from_csv(data))
        if name.lower().endswith(".json"):
            return [each for file in msgspec.json.decode(data, type=_Files).files for each in file.comments]
        return [_from_training(msgspec.json.decode(row, type=_Training)) for row in data.splitlines() if row.strip()]
    except (msgspec.DecodeError, ValueError, RecursionError) as fault:
        raise InvalidArguments(
            f"{name} is no export of comments: {fault}",
            advice="Import what `postil comments export json`, `jsonl` or `csv` wrote, or a source with `@paired:`",
            path="files",
        ) from None


def _from_training(row: _Training) -> Record:
    return Record(text=row.completion, **asdict(row.metadata))


def _from_csv(data: bytes) -> Iterator[Record]:
    import csv  # only for this format
    import io

    rows = csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline=""))
    csv.field_size_limit(limits.FILE)  # the code of a comment may be long
    for number, row in enumerate(_take_rows(rows), 2):
        plain = {key: unguard_cell(value) for key, value in row.items() if value}
        wanted = {key: value for key, value in plain.items() if key in Record.__struct_fields__}
        try:
            yield msgspec.convert(wanted, Record, strict=False)
        except msgspec.ValidationError as fault:
            raise ValueError(f"row {number}: {fault}") from None


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
        aiMeta=record.aiMeta or UNSET,
    )


def make_record_marker(record: Record, source: Source, name: str, now: str) -> NewMarker:
    """Returns the marker of an imported comment: on its line if its code is there, else by the code it remembers."""
    line, end = max(record.line, 1), record.endLine
    remembered = record.remembered.split("\n")
    first = trim_line(remembered[0])
    lines = source.lines
    wrote = (NOT_KEPT,) if record.stale else ()  # what it was written about is not said, only that it was other code
    if not first and record.lineCodes and not record.is_lost:
        found, is_sure = find_marked(record.lineCodes, source.text, line)
        if is_sure:
            line, end = found, end + found - line if end else 0
        else:  # by what that line says now, or by nothing
            remembered = list(lines[found - 1 : found + 1]) if found else [NOT_KEPT]
            first = trim_line(remembered[0]) or NOT_KEPT
    if record.is_lost:
        first = first or NOT_KEPT
    elif line <= len(lines) and first in ("", trim_line(lines[line - 1])):
        end = end if line < end <= len(lines) else 0
        symbol = innermost(symbols(source.text, language_of(source.path)), line)
        return make_marker(source, symbol, line, end, name=name, now=now, wrote=wrote)
    texts = LineTexts(line_hash(first), first, nextLineText=trim_line(remembered[1]) if len(remembered) > 1 else "")
    plain = make_plain_marker(name, line, texts, now, record.endLine)
    return replace(plain, anchor=Anchor(wrote=wrote)) if wrote else plain
