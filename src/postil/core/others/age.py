"""How long ago a moment was, in words. Who sees words and who the moment itself, `Call.tell_moment` says."""

from __future__ import annotations

import datetime

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
