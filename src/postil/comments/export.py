"""Comments as documents: JSON, Markdown, training data (JSON lines), Parquet. Written piece by piece.

A million comments never stand in memory at once, except as the one answer a tool has to give. Texts that look like
secrets are left out of training data.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import msgspec

from postil.anchor.languages import language_of
from postil.comments.answers import CommentNow, Exported, comment_now
from postil.comments.arguments import ExportOptions
from postil.comments.failures import ExtraMissing
from postil.comments.ground import Ground, lines_of
from postil.comments.model import Placed
from postil.comments.words import without_tag
from postil.core.failure import Failure, InvalidArguments
from postil.workspace.paths import RelativePath

if TYPE_CHECKING:
    from postil.comments.overview import Overview

# format: address and type of the document
FORMATS = {
    "json": ("export://comments.json", "application/json"),
    "markdown": ("export://comments.md", "text/markdown"),
    "jsonl": ("export://training-data.jsonl", "application/x-ndjson"),
    "parquet": ("export://comments.parquet", "application/vnd.apache.parquet"),
}
ROWS_AT_ONCE = 10_000
LARGEST_ANSWER = 64 * 1024 * 1024
_SECRET = re.compile(
    r"(AKIA[0-9A-Z]{16}|gh[pousr]_[A-Za-z0-9]{20,}|glpat-[\w-]{10,}|xox[baprs]-[\w-]{10,}|sk-[A-Za-z0-9_-]{20,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)"
    r"|(?<=://)[^/\s:@]+:[^/\s@]+(?=@))"
)
_ASSIGNED = re.compile(
    r"""((?:password|passwd|secret|token|api_?key)\w*["']?\s*[:=]\s*)(["'])[^"']{4,}\2""", re.IGNORECASE
)


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
    rows = ((comment_now(each), context.around(each)) for each in found)
    if format_ == "parquet":
        return _parquet(rows, out)
    write = {"json": _json, "markdown": _markdown, "jsonl": _jsonl}[format_]
    total = 0
    for piece, count in write(rows):
        out.write(piece)
        total += count
    return total


Rows = Iterable[tuple[CommentNow, str]]


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


def _json(rows: Rows) -> Iterator[tuple[bytes, int]]:
    yield b'{"files":[', 0
    path, total = None, 0
    for comment, context in rows:
        if comment.filePath != path:
            head = b"" if path is None else b"]},"
            yield head + b'{"filePath":' + msgspec.json.encode(comment.filePath) + b',"comments":[', 0
        else:
            yield b",", 0
        path = comment.filePath
        total += 1
        yield msgspec.json.encode({**msgspec.to_builtins(comment), "sourceContext": context}), 1
    yield (b"" if path is None else b"]}") + b'],"totalComments":%d}' % total, 0


def _markdown(rows: Rows) -> Iterator[tuple[bytes, int]]:
    yield b"# Comments\n", 0
    path = None
    for comment, context in rows:
        if comment.filePath != path:
            path = comment.filePath
            yield f"\n## {path}\n".encode(), 0
        fence = "`" * max(3, 1 + max(map(len, re.findall("`+", context)), default=0))
        deeper = context.replace("\n", "\n  ")
        code = f"\n\n  {fence}{language_of(comment.filePath) or ''}\n  {deeper}\n  {fence}" if context.strip() else ""
        state = "" if comment.state == "exact" else f", {comment.state}"
        said = without_tag(comment.said, comment.tag).replace("\n", "\n  ")
        replies = "".join(f"\n  - {reply.author}: {reply.text}" for reply in comment.replies)
        yield (
            (
                f"\n- **{comment.tag or 'COMMENT'}** line {comment.line} ({comment.anchor}{state}) — {said}\n"
                f"  *{comment.author}, {comment.created}, {comment.status}*{replies}{code}\n"
            ).encode(),
            1,
        )


def _jsonl(rows: Rows) -> Iterator[tuple[bytes, int]]:
    for comment, context in rows:
        record = {
            "prompt": f"Analyze this code:\n{redacted(context)}\n",
            "completion": redacted(comment.text),
            "metadata": {
                "tag": comment.tag,
                "author": comment.author,
                "filePath": comment.movedTo or comment.filePath,
                "line": comment.line,
                "anchor": comment.anchor,
                "state": comment.state,
                "created": comment.created,
                **({"aiMeta": comment.aiMeta} if comment.aiMeta else {}),
            },
        }
        yield msgspec.json.encode(record) + b"\n", 1


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


def redacted(text: str) -> str:
    """The text without what looks like a secret."""
    return _ASSIGNED.sub(r"\1\2[secret]\2", _SECRET.sub("[secret]", text))
