"""Comments as documents: JSON, Markdown, training data (JSON lines), CSV, a page of HTML. Rows in, pieces out; pure.

Texts that look like secrets are left out of training data.
"""

from __future__ import annotations

import csv
import html
import io
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import TypeAlias, cast

import msgspec

from postil.anchor.syntax.languages import language_of
from postil.comments.anchoring.travel import LOST
from postil.comments.operations.answers import CommentNow
from postil.comments.sidecar.format import strip_tag
from postil.comments.transfer.read_export import guard_cell
from postil.core.answer import in_rows

Rows: TypeAlias = Iterable[tuple[CommentNow, str]]
Pieces: TypeAlias = Iterator[tuple[bytes, int]]
"""Bytes of the document, each with how many comments are in them."""

encode = msgspec.json.Encoder().encode

_SECRET = re.compile(
    r"(AKIA[0-9A-Z]{16}|gh[pousr]_[A-Za-z0-9]{20,}|glpat-[\w-]{10,}|xox[baprs]-[\w-]{10,}|sk-[A-Za-z0-9_-]{20,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)"
    r"|(?<=://)[^/\s:@]+:[^/\s@]+(?=@))"
)
_NAMED = "password|passwd|secret|token|api_?key"
# A name ends where the next one begins: a text of nothing else is gone through once.
_ASSIGNED = re.compile(rf"""((?:{_NAMED})(?:(?!{_NAMED})\w)*+["']?\s*+[:=]\s*+)(["'])[^"']{{4,}}+\2""", re.IGNORECASE)


def json_pieces(rows: Rows) -> Pieces:
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
        yield b'%b,"sourceContext":%b}' % (encode(comment)[:-1], encode(context)), 1
    yield (b"" if path is None else b"]}") + b'],"totalComments":%d}' % total, 0


def markdown_pieces(rows: Rows) -> Pieces:
    yield b"# Comments\n", 0
    path = None
    for given, context in rows:
        comment = in_rows(given)
        if comment.path != path:
            path = comment.path
            yield f"\n## {path}\n".encode(), 0
        code = _fence(context, comment.path) if context and not context.isspace() else ""
        state = "" if comment.state == "exact" else f", {comment.state}"
        if origin := comment.origin:
            state += f", {origin}"
        said = strip_tag(comment.said, comment.tag).replace("\n", "\n  ")
        texts = [(reply.author, reply.text.replace("\n", "\n    ")) for reply in comment.replies]
        replies = "".join([f"\n  - {author}: {text}" for author, text in texts])
        yield (
            (
                f"\n- **{comment.tag or 'COMMENT'}** line {comment.lines} ({comment.anchor}{state}) — {said}\n"
                f"  *{comment.signed}, {comment.created}, {comment.status}*{replies}{code}\n"
            ).encode(),
            1,
        )


def _fence(code: str, path: str) -> str:
    """Returns code in a fence that it cannot close."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", code)), default=0))
    deeper = code.replace("\n", "\n  ")
    return f"\n\n  {fence}{language_of(path) or ''}\n  {deeper}\n  {fence}"


def training_pieces(rows: Rows) -> Pieces:
    for comment, context in rows:
        record = {
            "prompt": f"Analyze this code:\n{redact(context) or _name_place(comment)}\n",
            "completion": redact(comment.text),
            "metadata": {
                "tag": comment.tag,
                "author": comment.author,
                "filePath": comment.path,
                "line": comment.line,
                "anchor": comment.anchor,
                "state": comment.state,
                "created": comment.created,
                **({"aiMeta": _clean(comment.aiMeta)} if comment.aiMeta else {}),
                "id": comment.id,
                "endLine": comment.endLine,
                "updated": comment.updated,
                "status": comment.status,
                "code": redact(_code(comment)),
                **({"lineCodes": comment.lineCodes} if comment.lineCodes else {}),
                **({"lineVersion": comment.lineVersion} if comment.lineVersion else {}),
                **({"stale": True} if comment.stale else {}),
                **({"editedBy": comment.editedBy} if comment.editedBy else {}),
            },
        }
        yield msgspec.json.encode(record) + b"\n", 1


def _name_place(comment: CommentNow) -> str:
    """Returns which code it is, where the code itself is not to be in the document."""
    return f"{comment.path}:{comment.lines} ({comment.anchor})"


def _code(comment: CommentNow) -> str:
    return comment.oldText if comment.state in LOST else comment.newText


def _clean(value: object) -> object:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, list):
        return [_clean(each) for each in cast("list[object]", value)]
    if isinstance(value, dict):
        return {key: _clean(each) for key, each in cast("dict[str, object]", value).items()}
    return value


COLUMNS = ("id", "filePath", "line", "endLine", "tag", "author", "created", "updated", "status", "state", "text")


def csv_pieces(rows: Rows) -> Pieces:
    """Returns one row a comment, its code or what tells it last; a cell that a spreadsheet would run is guarded."""
    yield _csv_row((*COLUMNS, "code", "lineCodes", "stale", "editedBy", "lineVersion")), 0
    for comment, _ in rows:
        values = [getattr(comment, name) for name in COLUMNS]
        values[1] = comment.path
        values += [
            _code(comment),
            comment.lineCodes,
            "true" if comment.stale else "",
            comment.editedBy,
            comment.lineVersion,
        ]
        yield _csv_row(["" if value in (None, 0) else guard_cell(str(value)) for value in values]), 1


def _csv_row(cells: Iterable[str]) -> bytes:
    line = io.StringIO()
    csv.writer(line, lineterminator="\r\n").writerow(cells)
    return line.getvalue().encode("utf-8", "replace")


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Comments</title><style>
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
article { border-left: 3px solid #888; margin: 1rem 0; padding: 0 1rem } .said { white-space: pre-wrap }
article.orphaned, article.review { border-color: #c33 } article.resolved, article.wontfix { opacity: .6 }
pre { background: #8882; padding: .5rem; overflow-x: auto } small { color: #777 }
</style></head><body><h1>Comments</h1>
"""


def html_pieces(rows: Rows) -> Pieces:
    """Returns a page that needs nothing else: no script, no address of elsewhere."""
    yield _PAGE.encode(), 0
    for path, group in groupby(rows, key=lambda row: row[0].path):
        yield f"<h2>{html.escape(path)}</h2>\n".encode("utf-8", "replace"), 0
        for comment, context in group:
            yield _article(comment, context).encode("utf-8", "replace"), 1
    yield b"</body></html>\n", 0


def _article(comment: CommentNow, context: str) -> str:
    e = html.escape
    where = f"{comment.path}:{comment.lines}" + (f" ({comment.origin})" if comment.origin else "")
    replies = "".join(f'<p class="said">↳ <b>{e(each.author)}</b> {e(each.text)}</p>' for each in comment.replies)
    code = f"<pre>{e(context)}</pre>" if context.strip() else ""
    return (
        f'<article id="{e(comment.id)}" class="{comment.state} {comment.status}">'
        f'<p class="said"><b>{e(comment.tag or "COMMENT")}</b> {e(strip_tag(comment.said, comment.tag))}</p>'
        f"<small>{e(where)} · {e(comment.anchor)} · {comment.state} · {comment.status} · {e(comment.signed)}, "
        f"{e(comment.created)}</small>{replies}{code}</article>\n"
    )


WRITERS: dict[str, Callable[[Rows], Pieces]] = {
    "json": json_pieces,
    "markdown": markdown_pieces,
    "jsonl": training_pieces,
    "csv": csv_pieces,
    "html": html_pieces,
}


def redact(text: str) -> str:
    """Returns the text without what looks like a secret."""
    return _ASSIGNED.sub(r"\1\2[secret]\2", _SECRET.sub("[secret]", text))
