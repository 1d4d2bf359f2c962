"""Exporting comments: which ones, with how much of their code, as which document. Written piece by piece.

A million comments never stand in memory at once, except as the one answer a tool has to give.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any, BinaryIO, cast, get_args

from postil.comments.failures import ExtraMissing
from postil.comments.model import Placed, State
from postil.comments.operations.answers import Exported, comment_now
from postil.comments.operations.arguments import ExportOptions
from postil.comments.source_tree import Ground, lines_of
from postil.core import call
from postil.core.failure import Failure, InvalidArguments
from postil.workspace.paths import RelativePath

if TYPE_CHECKING:
    from postil.comments.index.overview import Overview
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
OF_THE_CONTRACT = ("json", "markdown", "jsonl", "parquet")
ROWS_AT_ONCE = 10_000
LARGEST_ANSWER = 64 * 1024 * 1024


def exported(
    ground: Ground, overview: Overview, format_: str, path: RelativePath | None, options: ExportOptions
) -> Exported:
    """The document as one answer."""
    import io  # collects what write_export writes

    out = io.BytesIO()
    total = write_export(ground, overview, format_, path, options, cast(BinaryIO, out))
    data = out.getvalue()
    uri, mime = FORMATS[format_]
    if len(data) > LARGEST_ANSWER:
        raise Failure(
            f"The export has {len(data)} bytes, more than an answer may hold",
            advice="Write it to a file with `postil comments export --output FILE`, or export one file",
        )
    if format_ == "parquet":
        return Exported(format_, total, len(data), uri, mime, blob=base64.b64encode(data).decode())
    return Exported(format_, total, len(data), uri, mime, document=data.decode())


def write_export(
    ground: Ground,
    overview: Overview,
    format_: str,
    path: RelativePath | None,
    options: ExportOptions,
    out: BinaryIO,
) -> int:
    """Write the document; answers how many comments are in it."""
    if format_ not in FORMATS:
        raise InvalidArguments(
            f"Invalid arguments: unknown format {format_[:50]!r}",
            advice=f"Use one of {', '.join(FORMATS)}",
            path="format",
        )
    overview.refresh()
    found = overview.index.stream("path = ?", (path,)) if path else overview.index.stream()
    context = _Context(ground, options)
    rows = ((comment_now(each), context.around(each)) for each in _counted(found, overview))
    if format_ == "parquet":
        return _parquet(rows, out)
    from postil.comments.transfer.documents import WRITERS  # only an export needs them

    total = 0
    for piece, count in WRITERS[format_](rows):
        out.write(piece)
        total += count
    return total


def _counted(found: Iterator[Placed], overview: Overview) -> Iterator[Placed]:
    """The same, while whoever waits is told how far it is."""
    counts = overview.index.counts()
    total = sum(counts[state] for state in get_args(State))
    for number, each in enumerate(found):
        if number % 1000 == 0:
            call.current().check()
            call.current().progress(number, total, "exporting")
        yield each


class _Context:
    """The code around comments; the last file is kept, since rows come file by file."""

    def __init__(self, ground: Ground, options: ExportOptions) -> None:
        self._ground, self._options = ground, options
        self._path, self._lines = "", list[str]()

    def around(self, each: Placed) -> str:
        place = each.place
        if place.state == "orphaned":
            return place.oldText
        if not self._options.includeSourceContext:
            return place.newText
        if place.path != self._path:
            self._path = place.path
            try:
                self._lines = lines_of(self._ground.source(RelativePath(place.path)).text)
            except Failure:
                self._lines = []
        around = self._options.contextLines
        first = max(place.line - 1 - around, 0)
        return "\n".join(self._lines[first : max(place.line, place.endLine) + around])


def _parquet(rows: Rows, out: BinaryIO) -> int:
    try:
        arrow = cast(Any, import_module("pyarrow"))  # 200 ms and 170 MB: the extra `parquet`
        parquet = cast(Any, import_module("pyarrow.parquet"))
    except ImportError:
        raise ExtraMissing("Export to Parquet", "parquet") from None
    text = ("id", "file_path", "text", "tag", "author", "created", "updated", "status", "state", "anchor", "context")
    schema = arrow.schema(
        [(name, arrow.string()) for name in text]
        + [("line", arrow.int32()), ("end_line", arrow.int32()), ("confidence", arrow.float64())]
        + [("ai_model", arrow.string()), ("ai_confidence", arrow.float64())]
    )
    total = 0
    with parquet.ParquetWriter(out, schema, compression="zstd") as writer:
        for batch in _batches(rows):
            writer.write_batch(arrow.RecordBatch.from_pylist(batch, schema=schema))
            total += len(batch)
    return total


def _batches(rows: Rows) -> Iterator[list[dict[str, object]]]:
    batch: list[dict[str, object]] = []
    for comment, context in rows:
        batch.append(
            {
                "id": comment.id,
                "file_path": comment.movedTo or comment.filePath,
                "text": comment.text,
                "tag": comment.tag,
                "author": comment.author,
                "created": comment.created,
                "updated": comment.updated,
                "status": comment.status,
                "state": comment.state,
                "anchor": comment.anchor,
                "context": context,
                "line": comment.line,
                "end_line": comment.endLine or None,
                "confidence": comment.confidence,
                "ai_model": comment.model or None,
                "ai_confidence": comment.sureness,
            }
        )
        if len(batch) == ROWS_AT_ONCE:
            yield batch
            batch = []
    if batch:
        yield batch
