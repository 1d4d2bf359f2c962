"""How long ago a moment was, in words, and moments written so (`7d`). Who sees words, `Call.tell_moment` says."""

from __future__ import annotations

import datetime
import re

_AGE = re.compile(r"(\d{1,5})(h|d|w|m|y)")
_HOURS = {"h": 1, "d": 24, "w": 24 * 7, "m": 24 * 30, "y": 24 * 365}
_UNITS = ((31557600, "year"), (2629800, "month"), (86400, "day"), (3600, "hour"), (60, "minute"))


def tell_age(moment: str, now: datetime.datetime) -> str:
    """Returns how long ago a moment was, such as `5 minutes ago`; a future one, and what is no moment, as it is."""
    try:
        seconds = (now - datetime.datetime.fromisoformat(moment)).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return moment
    if seconds < -60:
        return moment
    for size, name in _UNITS:
        if seconds >= size:
            count = int(seconds // size)
            return f"{count} {name}{'s' * (count > 1)} ago"
    return "just now"


def parse_age(text: str, now: datetime.datetime) -> datetime.datetime | None:
    """Returns the moment that was so long ago: `7d`, `12h`, `2w`, `3m`, `1y`; None for another text."""
    found = _AGE.fullmatch(text.strip())
    try:
        return now - datetime.timedelta(hours=int(found[1]) * _HOURS[found[2]]) if found else None
    except OverflowError:  # before the calendar
        return None
