"""When a read is asked again and how long to wait: pure arithmetic over status and headers."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping

ATTEMPTS = 3
LONGEST_WAIT = 30.0
"""A longer `Retry-After` is the caller's to wait for, not ours."""
TRANSIENT = (429, 502, 503, 504)


def read_retry_after(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Return the seconds GitLab asks to wait: `Retry-After` in seconds or as a date, else the reset of its limit."""
    now = time.time() if now is None else now
    asked = headers.get("retry-after", "").strip()
    if asked.isascii() and asked.isdigit():
        return float(min(int(asked[:9]), 86_400))
    if asked:
        from email.utils import parsedate_to_datetime  # rare, and it imports a lot

        try:
            return max(0.0, parsedate_to_datetime(asked).timestamp() - now)
        except (ValueError, OverflowError):
            return None
    reset = headers.get("ratelimit-reset", "")
    if headers.get("ratelimit-remaining") == "0" and reset.isascii() and reset.isdigit():
        return max(0.0, int(reset[:12]) - now)
    return None


def choose_pause(attempt: int, status: int, asked: float | None) -> float | None:
    """Return the seconds before the next attempt (the first is 1), or None when this answer is the last."""
    if attempt >= ATTEMPTS or status not in TRANSIENT:
        return None
    if asked is not None and asked > LONGEST_WAIT:
        return None
    backoff = 0.25 * 2 ** (attempt - 1)
    return (asked if asked is not None else backoff) + random.uniform(0, backoff)  # noqa: S311 - spreads retries, guards nothing
