"""Filters written into a search: `tag:TODO author:x created:>7d is:orphaned` and what is left of the query. Pure."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import get_args

from msgspec.structs import replace

from postil.comments.model import State, Status
from postil.comments.operations.validation import check_tag
from postil.comments.search.search import Wanted
from postil.comments.sidecar.format import moment, stamp
from postil.core.failure import InvalidArguments

_WORD = re.compile(r'(?<!\S)(tag|author|file|path|created|is|has):(?:"([^"]*)"|(\S+))')
_AGE = re.compile(r"(\d{1,5})(h|d|w|m|y)")
_HOURS = {"h": 1, "d": 24, "w": 24 * 7, "m": 24 * 30, "y": 24 * 365}


def without_filters(query: str, wanted: Wanted, today: datetime) -> tuple[str, Wanted]:
    """The query without its filters, and the conditions with them."""
    for name, quoted, bare in _WORD.findall(query):
        wanted = _with(wanted, name, quoted or bare, today)
    return " ".join(_WORD.sub("", query).split()), wanted


def _with(wanted: Wanted, name: str, value: str, today: datetime) -> Wanted:
    if name == "tag":
        check_tag(value.upper(), every=True)
        return replace(wanted, tag=value.upper())
    if name == "author":
        return replace(wanted, author=value)
    if name in ("file", "path"):
        return replace(wanted, file=value)
    if name == "created":
        return _created(wanted, value, today)
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


def _created(wanted: Wanted, value: str, today: datetime) -> Wanted:
    """`>7d` within the last seven days, `<7d` before them, `>2026-01-01` after a day, `2026-01-01` on it."""
    sign, when = (value[0], value[1:].lstrip("=")) if value[:1] in ("<", ">") else ("", value)
    age = _AGE.fullmatch(when)
    try:
        begin = today - timedelta(hours=int(age[1]) * _HOURS[age[2]]) if age else moment(when)
    except OverflowError:  # before the calendar
        begin = None
    if begin is None:
        raise InvalidArguments(
            f"Invalid arguments: {value[:50]!r} is no time",
            advice="Write created:>7d, created:<2w or created:>2026-01-31",
            path="query",
        )
    if sign == ">":
        return replace(wanted, since=stamp(begin))
    if sign == "<":
        return replace(wanted, until=stamp(begin))
    return replace(wanted, since=stamp(begin), until=stamp(begin + timedelta(days=1)))
