"""Searching comments: a pattern over all texts, and conditions on what is known of each."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from postil.comments.operations.answers import Found, comment_now
from postil.comments.operations.arguments import Filters
from postil.comments.search.patterns import Pattern
from postil.comments.search.regex import Linear, NotAPattern, compiled
from postil.comments.sidecar.format import moment, stamp
from postil.core.failure import InvalidArguments

if TYPE_CHECKING:
    from postil.comments.index.overview import Overview

MOST_RESULTS = 1000
_GLOB = frozenset("*?[")


class Wanted(Struct, frozen=True):
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
    def of(cls, filters: Filters) -> Wanted:
        """The conditions of the contract's filters."""
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

    def condition(self, overview: Overview) -> tuple[str, list[object]]:
        """The same as a condition on the cache's columns, with its values."""
        parts: list[str] = []
        values: list[object] = []
        for column, value in (
            ("tag", self.tag),
            ("author", self.author),
            ("state", self.state),
            ("status", self.status),
        ):
            if value:
                parts.append(f"{column} = ?")
                values.append(value)
        if self.with_ai:
            parts.append("ai = 1")
        if self.stale:
            parts.append("stale = 1")
        for sign, text, name in ((">=", self.since, "start"), ("<=", self.until, "end")):
            if text:
                parts.append(f"created {sign} ?")
                values.append(_time(text, name))
        if self.file:
            parts.append("(path IN (SELECT value FROM json_each(?))")
            parts[-1] += " OR (now_path != path AND now_path IN (SELECT value FROM json_each(?))))"
            values += (self._matching(overview.index.paths()), self._matching(overview.index.elsewhere()))
        return " AND ".join(parts), values

    def _matching(self, paths: Iterable[str]) -> str:
        return msgspec.json.encode([path for path in paths if file_matches(self.file, path)]).decode()


def found(
    overview: Overview,
    query: str,
    wanted: Wanted,
    limit: int,
    shown: dict[str, str | bool | dict[str, str]],
    *,
    plain: bool = False,
) -> Found:
    """The comments that match, newest first; the total counts before the limit."""
    if not 1 <= limit <= MOST_RESULTS:
        raise InvalidArguments(f"Invalid arguments: limit is between 1 and {MOST_RESULTS}", path="limit")
    pattern = Pattern(query, plain=plain)
    overview.refresh()
    condition, values = wanted.condition(overview)
    hits = overview.index.search(pattern)
    total, placed = overview.index.newest(hits, condition, values, limit)
    return Found(tuple(comment_now(each) for each in placed), total, query, shown, overview.damaged(wanted.file))


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
    return _glob(wanted).fullmatch(path.encode("utf-8", "surrogateescape")) is not None


@lru_cache(64)
def _glob(pattern: str) -> Linear:
    """A glob as a pattern of RE2, so that no glob can hang: `**` spans folders, `*` and `?` stay inside one."""
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
        return compiled("".join(parts), ignore_case=False)
    except NotAPattern:
        raise InvalidArguments(f"Invalid arguments: {pattern[:100]!r} is not a glob", path="filters.filePath") from None


def _time(text: str, name: str) -> str:
    found_ = moment(text)
    if found_ is None:
        raise InvalidArguments(
            f"Invalid arguments: {text[:60]!r} is not a date-time",
            advice="Write it as 2025-10-19T15:30:00Z",
            path=f"filters.dateRange.{name}",
        )
    return stamp(found_)
