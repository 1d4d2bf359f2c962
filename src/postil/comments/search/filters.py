"""Filters on comments: conditions on the cache's columns, and how a query writes them (`tag:TODO created:>7d`)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, get_args

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from postil.comments.model import State, Status
from postil.comments.operations.validation import Filters, check_tag
from postil.comments.search.regex import Linear, NotAPattern, compile_linear
from postil.comments.sidecar.format import format_time, parse_time
from postil.core.failure import InvalidArguments
from postil.core.others.age import parse_age

if TYPE_CHECKING:
    from postil.comments.index.overview import Overview
    from postil.comments.model import Located
    from postil.comments.operations.answers import CommentNow

LONGEST_GLOB = 1000
"""Characters of a glob; one of 100,000 took eleven seconds to become a pattern."""
_GLOB = frozenset("*?[")
_WORD = re.compile(r'(?<!\S)(tag|author|file|path|created|is|has):(?:"([^"]*)"|(\S+))')


class Conditions(Struct, frozen=True):
    """Conditions on comments; empty ones hold for all."""

    tag: str = ""
    author: str = ""
    file: str = ""
    """A file, a folder, or a glob."""
    with_ai: bool = False
    since: str = ""
    until: str = ""
    state: str = ""
    status: str = ""
    stale: bool = False

    @classmethod
    def of(cls, filters: Filters) -> Conditions:
        """Returns the conditions of the contract's filters."""
        dates = filters.dateRange
        return cls(
            tag=filters.tag or "",
            author=filters.author or "",
            file=filters.filePath or "",
            with_ai=bool(filters.hasAIMetadata),
            since=(dates.start or "") if dates else "",
            until=(dates.end or "") if dates else "",
            state=filters.state or "",
            status=filters.status or "",
        )

    def clause(self, overview: Overview) -> tuple[str, list[object]]:
        """Returns the same as a condition on the cache's columns, with its values."""
        parts: list[str] = []
        values: list[object] = []
        for column, value in (
            ("tag", self.tag),
            ("author", self.author),
            ("state", self.state),
            ("status", self.status),
        ):
            if value:
                parts.append(f"{column} = ?" + (" COLLATE NOCASE" if column == "author" else ""))
                values.append(value)
        if self.with_ai:
            parts.append("ai = 1")
        if self.stale:
            parts.append("stale = 1")
        for sign, text, name in ((">=", self.since, "start"), ("<=", self.until, "end")):
            if text:
                parts.append(f"created {sign} ?")
                values.append(_check_time(text, name))
        if self.file:
            parts.append("(path IN (SELECT value FROM json_each(?))")
            parts[-1] += " OR (now_path != path AND now_path IN (SELECT value FROM json_each(?))))"
            from postil.comments.index.cache import list_elsewhere  # SQLite, which the overview has loaded

            index = overview.index
            values += (self._matching(index.paths()), self._matching(list_elsewhere(index)))
        return " AND ".join(parts), values

    def hold_for(self, each: CommentNow) -> bool:
        """Whether a comment of the past fulfils the conditions on its tag, author, state and status."""
        wanted = (
            (self.tag, each.tag),
            (self.author.lower(), each.author.lower()),
            (self.state, each.state),
            (self.status, each.status),
        )
        return all(not value or value == its for value, its in wanted) and (each.stale or not self.stale)

    def _matching(self, paths: Iterable[str]) -> str:
        return msgspec.json.encode([path for path in paths if file_matches(self.file, path)]).decode()


def read_moment(text: str, today: datetime, name: str) -> str:
    """Returns a date or a time as it is given, and an age (`7d`) as a time. Raises InvalidArguments."""
    if not text or parse_time(text):
        return text
    found = parse_age(text, today)
    if found is None:
        raise InvalidArguments(
            f"Invalid arguments: {text[:60]!r} is no time",
            advice="Write 7d, 2w, 2026-01-31 or 2026-01-31T15:30:00Z",
            path=name,
        )
    return format_time(found)


def split_filters(query: str, wanted: Conditions, today: datetime) -> tuple[str, Conditions]:
    """Returns the query without its filters, and the conditions with them."""
    for name, quoted, bare in _WORD.findall(query):
        wanted = _add(wanted, name, quoted or bare, today)
    return " ".join(_WORD.sub("", query).split()), wanted


def _add(wanted: Conditions, name: str, value: str, today: datetime) -> Conditions:
    if name == "tag":
        check_tag(value.upper())
        return replace(wanted, tag=value.upper())
    if name == "author":
        return replace(wanted, author=value)
    if name in ("file", "path"):
        return replace(wanted, file=value)
    if name == "created":
        return _add_time(wanted, value, today)
    if name == "has" and value == "ai":
        return replace(wanted, with_ai=True)
    if name == "is" and value in get_args(State):
        return replace(wanted, state=value)
    if name == "is" and value in get_args(Status):
        return replace(wanted, status=value)
    if name == "is" and value == "stale":
        return replace(wanted, stale=True)
    known = "has:ai" if name == "has" else f"is: and one of {', '.join((*get_args(State), *get_args(Status), 'stale'))}"
    raise InvalidArguments(
        f"Invalid arguments: there is no filter {name}:{value[:50]}",
        advice=f"Use {known}, or --plain to search for the words themselves",
        path="query",
    )


def _add_time(wanted: Conditions, value: str, today: datetime) -> Conditions:
    """`>7d` within the last seven days, `<7d` before them, `>2026-01-01` after a day, `2026-01-01` on it."""
    sign, when = (value[0], value[1:].lstrip("=")) if value[:1] in ("<", ">") else ("", value)
    begin = parse_age(when, today) or parse_time(when)
    if begin is None:
        raise InvalidArguments(
            f"Invalid arguments: {value[:50]!r} is no time",
            advice="Write created:>7d, created:<2w or created:>2026-01-31",
            path="query",
        )
    if sign == ">":
        return replace(wanted, since=format_time(begin))
    if sign == "<":
        return replace(wanted, until=format_time(begin))
    return replace(wanted, since=format_time(begin), until=format_time(begin + timedelta(days=1)))


def is_glob(wanted: str) -> bool:
    """Whether this names files by a pattern."""
    return bool(_GLOB & set(wanted))


def file_matches(wanted: str, path: str) -> bool:
    """Whether a path is the file, lies in the folder, or fits the glob. A glob without `/` fits names in any folder."""
    wanted = wanted.removeprefix("./")
    if not is_glob(wanted):
        return path == wanted or path.startswith(wanted.rstrip("/") + "/")
    if "/" not in wanted:
        path = path.rsplit("/", 1)[-1]
    return _compile_glob(wanted).fullmatch(path.encode("utf-8", "surrogateescape")) is not None


def is_about(wanted: str, each: Located) -> bool:
    """Whether a comment is kept in such a file, or its code is there now, or likeliest to be there."""
    place = each.place
    paths = (each.filePath, place.path, *(option.path for option in place.candidates[:1]))
    return any(file_matches(wanted, path) for path in paths)


@lru_cache(64)
def _compile_glob(pattern: str) -> Linear:
    """Returns a glob as a pattern of RE2, so that no glob can hang: `**` spans folders, `*` and `?` stay inside one."""
    if len(pattern) > LONGEST_GLOB:
        raise InvalidArguments(
            f"Invalid arguments: a glob has at most {LONGEST_GLOB} characters, not {len(pattern)}",
            path="filters.filePath",
        )
    parts: list[str] = []
    at = 0
    while at < len(pattern):
        rest = pattern[at:]
        end = rest.find("]", 2) if rest[0] == "[" else -1
        if rest.startswith("**/"):
            parts.append("(?:.*/)?")
            at += 3
        elif rest.startswith("**"):
            parts.append(".*")
            at += 2
        elif end > 0:
            inner = rest[1:end].replace("\\", "\\\\")
            parts.append(f"[^{inner[1:]}]" if inner[0] == "!" else f"[{inner}]")
            at += end + 1
        else:
            parts.append({"*": "[^/]*", "?": "[^/]"}.get(rest[0]) or re.escape(rest[0]))
            at += 1
    try:
        return compile_linear("".join(parts), ignore_case=False)
    except NotAPattern:
        raise InvalidArguments(f"Invalid arguments: {pattern[:100]!r} is not a glob", path="filters.filePath") from None


def _check_time(text: str, name: str) -> str:
    found_ = parse_time(text)
    if found_ is None:
        raise InvalidArguments(
            f"Invalid arguments: {text[:60]!r} is not a date-time",
            advice="Write it as 2025-10-19T15:30:00Z",
            path=f"filters.dateRange.{name}",
        )
    return format_time(found_)
