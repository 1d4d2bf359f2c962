"""How files differ, line by line: hunks as git finds them, with the words that changed and the colours of the code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct, structs

from postil.anchor.side_by_side.changed_words import mark_words, pair_lines
from postil.anchor.syntax.colors import color_rows
from postil.anchor.syntax.languages import language_of
from postil.core.failure import Failure
from postil.workspace.changes.changed_files import OPTIONS, ChangedFile
from postil.workspace.changes.compared import Compared
from postil.workspace.files import read_file
from postil.workspace.git import read_blob, run_git
from postil.workspace.paths import RelativePath
from postil.workspace.repository import Repository

Sign: TypeAlias = Literal["+", "-", " "]
Colors: TypeAlias = Mapping[int, tuple[tuple[int, int, str], ...]]
_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)")
LARGEST_TEXT = 512 * 1024
"""Bytes of a file whose code is coloured, and of one that git does not know yet."""
LONGEST_LINE = 2_000
MOST_BYTES = 4 * LONGEST_LINE + 8
"""Bytes in which so many characters are for sure."""
MOST_LINES = 2_000
"""Lines of one file's diff in one answer; `skip` begins further down."""


class DiffLine(Struct, frozen=True, omit_defaults=True):
    """One line. `old` and `new` are its numbers there; 0 where it is not."""

    sign: Sign
    text: str
    old: int = 0
    new: int = 0
    colors: tuple[tuple[int, int, str], ...] = ()
    words: tuple[tuple[int, int], ...] = ()
    """The pieces that are not in the line that it replaces, or that replaces it."""


_UNREAD = DiffLine(" ", "")


class Hunk(Struct, frozen=True):
    """Lines that stand together."""

    head: str
    """The function or section that they are in, if git knows it."""
    lines: tuple[DiffLine, ...]


class FileDiff(Struct, frozen=True, omit_defaults=True):
    """How one file differs."""

    file: ChangedFile
    hunks: tuple[Hunk, ...] = ()
    more: int = 0
    """Lines that follow; ask again with `skip`."""
    skipped: int = 0


def write_diffs(diffs: Sequence[FileDiff]) -> list[str]:
    """Returns the lines of each file behind an empty line and its name, with the numbers that each has on its side."""
    rows: list[str] = []
    for diff in diffs:
        rows += ["", diff.file.file]
        for hunk in diff.hunks:
            rows.append(f"@@ {hunk.head}")
            rows += [f"{line.new or line.old:>5} {line.sign}{line.text}" for line in hunk.lines]
        if diff.more:
            rows.append(f"… {diff.more} lines more: skip={diff.skipped + sum(len(h.lines) for h in diff.hunks)}")
    return rows


def read_diffs(
    repository: Repository, compared: Compared, files: Sequence[ChangedFile], context: int, skip: int
) -> list[FileDiff]:
    """Returns how these files differ, in their order."""
    known = [one for one in files if one.change not in ("untracked", "unmerged") and not one.is_binary]
    blocks: dict[str, tuple[Hunk, ...]] = {}
    if known:
        names = dict.fromkeys(name for one in known for name in (one.old_file, one.file) if name)
        options = (*OPTIONS, "--raw", "-p", "-z", f"--unified={context}")
        blocks = parse_patch(run_git(repository.root, "diff", *options, *compared.arguments, "--", *names), skip)
    found: list[FileDiff] = []
    for one in files:
        hunks = _read_untracked(repository, one) if one.change == "untracked" else blocks.get(one.file, ())
        hunks, skipped, more = _cut(hunks, skip)
        found.append(FileDiff(one, _color(repository, compared, one, tuple(map(_mark, hunks))), more, skipped))
    return found


def parse_patch(printed: bytes, skip: int) -> dict[str, tuple[Hunk, ...]]:
    """Returns the hunks of `git diff --raw -p -z` by the new name of each file; `_cut` leaves out what is not read."""
    at, names = 0, list[str]()
    while printed.startswith(b":", at):
        entry, _, rest = printed[at:].partition(b"\0")
        kind = entry.rpartition(b" ")[2][:1]
        count = 2 if kind in b"RC" else 1
        pieces = rest.split(b"\0", count)[:count]
        name = pieces[-1].decode("utf-8", "backslashreplace")
        # A file that became a link is deleted and made anew: two blocks of one name. An unmerged one has none.
        names += [name] * {b"T": 2, b"U": 0}.get(kind, 1)
        at += len(entry) + 1 + sum(len(piece) + 1 for piece in pieces)
    found: dict[str, list[Hunk]] = {}
    for which, hunk in _parse_rows(_split_rows(printed, at + printed.startswith(b"\0", at)), skip):
        if 0 <= which < len(names):
            found.setdefault(names[which], []).append(hunk)
    return {name: tuple(hunks) for name, hunks in found.items()}


def parse_file(file: str, diff: str, skip: int) -> tuple[tuple[Hunk, ...], int, int]:
    """Returns one file's unified diff as `read_diffs` would: its hunks, how many lines were skipped, how many follow.

    The code is coloured by itself, without the text around it.
    """
    rows = diff.encode("utf-8", "surrogatepass").split(b"\n")
    hunks, skipped, more = _cut((hunk for _, hunk in _parse_rows(rows, skip)), skip)
    marked = tuple(map(_mark, hunks))
    language = language_of(file)
    if language is None:
        return marked, skipped, more
    news = [line for hunk in marked for line in hunk.lines if line.sign != "-"]
    olds = [line for hunk in marked for line in hunk.lines if line.sign != "+"]
    new_colors = _color_alone(news, language)
    old_colors = _color_alone(olds, language)
    return (
        _paint(
            marked, {line.old - 1: old_colors.get(at, ()) for at, line in enumerate(olds)},
            {line.new - 1: new_colors.get(at, ()) for at, line in enumerate(news)},
        ),
        skipped,
        more,
    )  # fmt: skip


def _color_alone(lines: Sequence[DiffLine], language: str) -> Colors:
    return color_rows("\n".join(line.text for line in lines), language, range(len(lines)))


def _split_rows(printed: bytes, at: int) -> Iterator[bytes]:
    """Yields the rows from a place on, one at a time: all of them take several times what was printed."""
    while (end := printed.find(b"\n", at)) >= 0:
        yield printed[at:end]
        at = end + 1
    yield printed[at:]


def _parse_rows(rows: Iterable[bytes], skip: int) -> Iterator[tuple[int, Hunk]]:
    """Yields the hunks of a patch, each with the number of the file that it is of, from 0; -1 before any is named.

    Of each file those lines are read that one answer has; for each of the others the same one stands.
    """
    which, read = -1, range(skip, skip + MOST_LINES)
    head, lines = "", list[DiffLine]()
    old = new = old_left = new_left = seen = 0
    for row in rows:
        if old_left > 0 or new_left > 0:
            sign = row[:1] or b" "
            is_read = seen in read
            seen += sign in b"+- "
            text = _text(row[1:MOST_BYTES]) if is_read else ""
            if sign == b"+":
                lines.append(DiffLine("+", text, new=new) if is_read else _UNREAD)
                new, new_left = new + 1, new_left - 1
            elif sign == b"-":
                lines.append(DiffLine("-", text, old=old) if is_read else _UNREAD)
                old, old_left = old + 1, old_left - 1
            elif sign == b" ":
                lines.append(DiffLine(" ", text, old, new) if is_read else _UNREAD)
                old, new, old_left, new_left = old + 1, new + 1, old_left - 1, new_left - 1
            continue
        start = _HUNK.match(row)
        if start is None and not row.startswith(b"diff --git "):
            continue
        if lines:
            yield which, Hunk(head, tuple(lines))
            lines = []
        if start is None:
            which, seen = which + 1, 0
            continue
        head = _text(start[5])
        old, new = int(start[1]), int(start[3])
        old_left = int(start[2]) if start[2] is not None else 1
        new_left = int(start[4]) if start[4] is not None else 1
    if lines:
        yield which, Hunk(head, tuple(lines))


def _text(row: bytes) -> str:
    text = row.removesuffix(b"\r").decode("utf-8", "replace")
    return text if len(text) <= LONGEST_LINE else text[:LONGEST_LINE] + "…"


def _read_untracked(repository: Repository, one: ChangedFile) -> tuple[Hunk, ...]:
    if one.is_binary:
        return ()
    try:
        content = read_file(repository.root, RelativePath(one.file), LARGEST_TEXT)
    except Failure:
        return ()
    rows = content.split(b"\n")
    rows = rows[:-1] if rows[-1] == b"" else rows
    return (Hunk("", tuple(DiffLine("+", _text(row), new=number) for number, row in enumerate(rows, 1))),)


def _cut(hunks: Iterable[Hunk], skip: int) -> tuple[list[Hunk], int, int]:
    """Returns as many lines as one answer has, how many were skipped, and how many follow."""
    kept: list[Hunk] = []
    seen = taken = 0
    for hunk in hunks:
        lines = hunk.lines[max(0, skip - seen) :][: MOST_LINES - taken]
        seen += len(hunk.lines)
        if lines:
            taken += len(lines)
            kept.append(Hunk(hunk.head, lines))
    skipped = min(skip, seen)
    return kept, skipped, seen - skipped - taken


def _mark(hunk: Hunk) -> Hunk:
    """Mark the words that changed where removed lines meet added ones."""
    lines = list(hunk.lines)
    at = 0
    while at < len(lines):
        start = at
        while at < len(lines) and lines[at].sign == "-":
            at += 1
        middle = at
        while at < len(lines) and lines[at].sign == "+":
            at += 1
        if start < middle < at:
            _mark_run(lines, start, middle, at)
        elif at == start:
            at += 1
    return Hunk(hunk.head, tuple(lines))


def _mark_run(lines: list[DiffLine], start: int, middle: int, end: int) -> None:
    old = [line.text for line in lines[start:middle]]
    new = [line.text for line in lines[middle:end]]
    for a, b in pair_lines(old, new):
        gone, come = mark_words(old[a], new[b])
        lines[start + a] = structs.replace(lines[start + a], words=gone)
        lines[middle + b] = structs.replace(lines[middle + b], words=come)


def _color(repository: Repository, compared: Compared, one: ChangedFile, hunks: tuple[Hunk, ...]) -> tuple[Hunk, ...]:
    """Returns the hunks with the colours of their code, read from the whole text of either side."""
    language = language_of(one.file)
    if language is None or not hunks:
        return hunks
    new_rows = [line.new - 1 for hunk in hunks for line in hunk.lines if line.new]
    old_rows = [line.old - 1 for hunk in hunks for line in hunk.lines if line.sign == "-"]
    news = color_rows(_read_new(repository, compared, one), language, new_rows) if new_rows else {}
    olds = color_rows(_read_blob(repository, one.old), language, old_rows) if old_rows else {}
    return _paint(hunks, olds, news)


def _paint(hunks: tuple[Hunk, ...], olds: Colors, news: Colors) -> tuple[Hunk, ...]:
    """Returns the hunks with these colours of the rows (from 0) of either side."""
    if not news and not olds:
        return hunks
    return tuple(
        Hunk(
            hunk.head,
            tuple(
                structs.replace(
                    line, colors=(olds.get(line.old - 1, ()) if line.sign == "-" else news.get(line.new - 1, ()))
                )
                for line in hunk.lines
            ),
        )
        for hunk in hunks
    )


def _read_new(repository: Repository, compared: Compared, one: ChangedFile) -> str:
    if compared.new or compared.is_staged:
        return _read_blob(repository, one.new)
    try:
        return _as_text(read_file(repository.root, RelativePath(one.file), LARGEST_TEXT))
    except Failure:
        return ""


def _read_blob(repository: Repository, name: str) -> str:
    return _as_text(read_blob(repository.root, name, LARGEST_TEXT) or b"") if name else ""


def _as_text(content: bytes) -> str:
    return content.decode("utf-8", "replace").replace("\r\n", "\n")
