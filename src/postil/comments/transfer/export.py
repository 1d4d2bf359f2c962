"""Exporting comments: which ones, with how much of their code, as which document. Written piece by piece.

A million comments never stand in memory at once, except as the one answer a tool has to give.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO, cast, get_args

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from postil.anchor.page import LONGEST_TEXT, MOST_ROWS
from postil.comments.anchoring.locate import current_anchor
from postil.comments.anchoring.travel import LOST
from postil.comments.failures import ExtraMissing
from postil.comments.lines import split_lines
from postil.comments.model import Located, State
from postil.comments.operations.answers import CommentNow, Exported, comment_now
from postil.comments.operations.validation import ExportOptions
from postil.comments.search.filters import file_matches
from postil.comments.source_tree import SourceTree
from postil.comments.transfer.code_marks import mark_kept, mark_lines
from postil.core import call, limits
from postil.core.arguments.typed import type_words
from postil.core.failure import Failure, StorageFailed
from postil.workspace.paths import RelativePath

if TYPE_CHECKING:
    from postil.comments.index.overview import Overview
    from postil.comments.sidecar.document import Sidecar
    from postil.comments.transfer.documents import Rows

# format: address and type of the document
FORMATS = {
    "json": ("export://comments.json", "application/json"),
    "markdown": ("export://comments.md", "text/markdown"),
    "jsonl": ("export://training-data.jsonl", "application/x-ndjson"),
    "parquet": ("export://comments.parquet", "application/vnd.apache.parquet"),
    "csv": ("export://comments.csv", "text/csv"),
    "html": ("export://comments.html", "text/html"),
}
IMPORTED = ("json", "jsonl", "csv")
"""What `comments import` reads."""
ROWS_AT_ONCE = 10_000
LARGEST_ANSWER = 16 * limits.MIB
FEW_PAGES = 256
"""Pages of a cache, a megabyte: an answer that is made of no more is not waited for."""


def export_document(tree: SourceTree, overview: Overview, format_: str, where: str, options: ExportOptions) -> Exported:
    """Returns the document as one answer. Raises Failure when it is too large."""
    import io  # collects what write_export writes

    out = io.BytesIO()
    total = write_export(tree, overview, format_, where, options, cast(BinaryIO, out), LARGEST_ANSWER)
    data = out.getbuffer()
    uri, mime = FORMATS[format_]
    made = Exported(
        format_, total, len(data), uri, mime, damaged=overview.damaged(where), outside=overview.outside(where) or UNSET
    )
    if format_ == "parquet":
        return replace(made, blob=base64.b64encode(data).decode())
    return replace(made, document=str(data, "utf-8"))


def export_file(
    tree: SourceTree, overview: Overview, format_: str, where: str, options: ExportOptions, output: str
) -> Exported:
    """Write the document to a file that a person named. Raises StorageFailed."""
    beside = f"{output}.{os.urandom(6).hex()}.part"
    try:
        # Exclusively: whatever a clone has put there is not written through.
        with open(beside, "xb") as out:
            total = write_export(tree, overview, format_, where, options, out)
        os.replace(beside, output)
    except OSError as fault:
        raise StorageFailed(f"{output} cannot be written: {fault.strerror}", advice="Choose another file") from fault
    finally:
        if os.path.exists(beside):
            os.unlink(beside)
    uri, mime = FORMATS[format_]
    damaged, outside = overview.damaged(where), overview.outside(where) or UNSET
    size = os.path.getsize(output)
    return Exported(format_, total, size, uri, mime, written=output, damaged=damaged, outside=outside)


def write_export(
    tree: SourceTree,
    overview: Overview,
    format_: str,
    where: str,
    options: ExportOptions,
    out: BinaryIO,
    largest: int = 0,
) -> int:
    """Write the document. Returns how many comments are in it. Raises Failure where it gets larger than `largest`."""
    overview.refresh()
    if largest and overview.index.select("PRAGMA page_count")[0][0] > FEW_PAGES:
        call.hold(limits.LARGE + 1, grows=True)
    found = overview.index.stream(*_select(overview, where)) if where else overview.index.stream()
    context = _Context(tree, options)
    marks = context.mark if format_ in IMPORTED else _mark_nothing
    make = _with_source if options.includeSourceContext else _without_source
    rows = (
        (
            replace(make(each, marks(each)), lineVersion=_name_version(each)),
            context.around(each),
        )
        for each in _make_whole(_report_progress(found, overview), overview)
    )
    if largest:
        rows = _end_when_large(
            rows, out, largest, f"{format_} --output FILE{f' -f {type_words(where)}' if where else ''}"
        )
    if format_ == "parquet":
        return _parquet(rows, out)
    from postil.comments.transfer.documents import WRITERS  # only an export needs them

    total = 0
    for piece, count in WRITERS[format_](rows):
        out.write(piece)
        total += count
    return total


def _select(overview: Overview, where: str) -> tuple[str, tuple[str]]:
    """Returns the condition on the rows of a file, of a folder, or of what a glob names."""
    paths = overview.index.paths()
    if where in paths:
        return "path = ?", (where,)
    names = [path for path in paths if file_matches(where, path)]
    return "path IN (SELECT value FROM json_each(?))", (msgspec.json.encode(names).decode(),)


def _end_when_large(rows: Rows, out: BinaryIO, largest: int, how: str) -> Rows:
    """Yields the same; the call says what it holds. Raises Failure once more is written than an answer may hold."""
    held = 0
    for each in rows:
        yield each
        size = out.tell()
        if size - held > limits.LARGE:
            call.hold(size - held, grows=True)
            held = size
        if size > largest:
            raise Failure(
                f"The export has more than {largest >> 20} MB, more than an answer may hold",
                advice=f"Write it to a file with `postil comments export {how}`, or export fewer files",
            )


def _without_source(each: Located, marks: str) -> CommentNow:
    """Returns a comment without any of the code that it is about."""
    return replace(comment_now(each), oldText="", oldAround=(), newText="", candidates=(), lineCodes=marks)


def _with_source(each: Located, marks: str) -> CommentNow:
    return replace(comment_now(each), lineCodes=marks)


def _name_version(each: Located) -> str:
    """Returns which lines of which version the code was that is gone or uncertain; an import may have that version."""
    anchor = current_anchor(each.marker) if each.marker and each.place.state in LOST else None
    if anchor is None:
        return ""
    return f"{anchor.blob}:{anchor.line}" + (f"-{anchor.end}" if anchor.end > anchor.line else "")


def _mark_nothing(each: Located) -> str:
    return ""


def _report_progress(found: Iterator[Located], overview: Overview) -> Iterator[Located]:
    """Yields the same, and reports how far it is."""
    counts = overview.index.counts()
    total = sum(counts[state] for state in get_args(State))
    for number, each in enumerate(found):
        if number % 1000 == 0:
            call.current().check()
            call.current().progress(number, total, "exporting")
        yield each


def _make_whole(found: Iterator[Located], overview: Overview) -> Iterator[Located]:
    """Yields the same; what the cache does not hold of a very long comment comes from its file."""
    sidecar: Sidecar | None = None
    for each in found:
        if each.cut:
            if sidecar is None or sidecar.path != each.filePath:
                sidecar = overview.store.read(RelativePath(each.filePath))
            yield replace(each, comment=sidecar.comment(each.comment.id) or each.comment)
        else:
            yield each


class _Context:
    """The code around comments; the last file is kept, since rows come file by file."""

    def __init__(self, tree: SourceTree, options: ExportOptions) -> None:
        self._tree, self._options = tree, options
        self._path = ""
        self._lines: Sequence[str] = []

    def around(self, each: Located) -> str:
        place = each.place
        if not self._options.includeSourceContext:
            return ""
        if place.state == "orphaned":
            return place.oldText
        around = self._options.contextLines
        first = max(place.line - 1 - around, 0)
        last = min(max(place.line, place.endLine) + around, first + MOST_ROWS)
        return "\n".join(line[:LONGEST_TEXT] for line in self._read(place.path)[first:last])[:LONGEST_TEXT]

    def mark(self, each: Located) -> str:
        """Returns the codes of the code under a comment; of what is gone or uncertain those of what it was."""
        place, marker = each.place, each.marker
        if place.state in LOST:
            return mark_kept(marker) if marker is not None else ""
        return mark_lines(self._read(place.path), place.line, place.endLine, place.symbolPath)

    def _read(self, path: str) -> Sequence[str]:
        if path != self._path:
            self._path = path
            try:
                self._lines = split_lines(self._tree.source(RelativePath(path)).text)
            except Failure:
                self._lines = []
        return self._lines


def _parquet(rows: Rows, out: BinaryIO) -> int:
    try:
        arrow = cast(Any, import_module("pyarrow"))  # 200 ms and 170 MB: the extra `parquet`
        parquet = cast(Any, import_module("pyarrow.parquet"))
    except ImportError:
        raise ExtraMissing("Export to Parquet", "parquet") from None
    kinds = {"line": arrow.int32(), "end_line": arrow.int32()}
    kinds |= dict.fromkeys(("confidence", "ai_confidence"), arrow.float64())
    schema = arrow.schema([(name, kinds.get(name, arrow.string())) for name in _COLUMNS])
    total = 0
    with parquet.ParquetWriter(out, schema, compression="zstd") as writer:
        rows = iter(rows)
        while batch := [_make_row(*row) for row in islice(rows, ROWS_AT_ONCE)]:
            writer.write_batch(arrow.RecordBatch.from_pylist(batch, schema=schema))
            total += len(batch)
    return total


_COLUMNS = (
    *("id", "file_path", "text", "tag", "author", "created", "updated", "status", "state", "anchor", "context"),
    *("line", "end_line", "confidence", "ai_model", "ai_confidence", "edited_by"),
)
_OWN = frozenset(_COLUMNS) & frozenset(CommentNow.__struct_fields__)
"""The columns that are named like the field of a comment they hold."""


def _make_row(comment: CommentNow, context: str) -> Mapping[str, object]:
    return {name: getattr(comment, name) for name in _OWN} | {
        "file_path": comment.path,
        "context": context,
        "end_line": comment.endLine or None,
        "ai_model": comment.model or None,
        "ai_confidence": comment.sureness,
        "edited_by": comment.editedBy or None,
    }
