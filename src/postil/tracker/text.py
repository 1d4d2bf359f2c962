"""Texts that several rooms write alike: moments, counts, lines without control characters, columns.

Pure, and imported by `fast_list`: no msgspec here.
"""

from __future__ import annotations

import contextlib
import datetime
import gc
import re
from collections.abc import Generator, Sequence

from postil.core.others.age import tell_age
from postil.core.others.visible import harmless


def format_moment(moment: datetime.datetime) -> str:
    """Returns a moment as events write it: UTC, milliseconds, Z. Text order is then the order of time."""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.UTC)
    utc = moment.astimezone(datetime.UTC)
    return f"{utc:%Y-%m-%dT%H:%M:%S}.{utc.microsecond // 1000:03d}Z"


_ADDRESS = re.compile(r"\Ahttps?://([^?#\s]{1,500}?)/(?:-/)?issues/(\d{1,19})/?\Z", re.ASCII)


def name_address(text: str) -> str:
    """Returns an issue's address at GitHub or GitLab as `github.com/ann/shop#4`; any other text as it is."""
    return _ADDRESS.sub(r"\1#\2", text)


@contextlib.contextmanager
def paused_collection() -> Generator[None]:
    """Search for no cycles meanwhile: among millions of objects that form none it doubles the time."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


LONGEST_CLAIM = datetime.timedelta(days=31)


def bound_claim(ts: str, until: str) -> str:
    """Returns when a claim made at `ts` ends: as it says, or after a month; at once if its time is no time."""
    if until[:7] == ts[:7]:
        return until
    try:
        return min(until, format_moment(datetime.datetime.fromisoformat(ts) + LONGEST_CLAIM))
    except (ValueError, OverflowError):
        return ""


def is_day(text: str) -> bool:
    """Returns whether a text is a day of the calendar, written as 2026-11-15."""
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
        return False
    try:
        datetime.date.fromisoformat(text)
    except ValueError:
        return False
    return True


def format_age(ts: str, now: datetime.datetime) -> str:
    """Returns how long ago a stored moment was, in words; what is no time as it is, and a future one to the second."""
    said = tell_age(ts, now)
    return flatten(round_to_second(ts) if said == ts and ts[:1].isdigit() else said)


def round_to_second(ts: str) -> str:
    """Returns a stored moment to the second, as the contract shows moments."""
    return ts[:19] + "Z" if len(ts) >= 20 else ts


def strip_address(author: str) -> str:
    """Returns the name of `Name <mail>`."""
    return author.partition(" <")[0]


def flatten(text: str) -> str:
    """Returns others' words as one cell: what would break the line or command the terminal is made visible.

    Here and not only where a terminal is written to: the fast list has no such place, and lines and tabs would break
    the raw form as well.
    """
    if text.isprintable() and text.isascii():
        return text
    return harmless(" ".join(text.split()))


_NAME, _TITLE = 200, 1000
"""Letters that a list shows: as many as can be written here, and others may have written more."""


def cut_names(names: Sequence[str], most: int = 50) -> tuple[str, ...]:
    """Returns labels or people for a list, where one issue must not push out the others: some of them, and how many."""
    if len(names) <= most and all(len(name) <= _NAME for name in names):
        return tuple(names)
    some = [name if len(name) <= _NAME else name[:_NAME] + "…" for name in names[:most]]
    return (*some, f"… {len(names) - most} more") if len(names) > most else tuple(some)


def cut_title(title: str) -> str:
    """Returns a title for a list: nobody here can write a longer one."""
    return title if len(title) <= _TITLE else title[:_TITLE] + "…"


def cut_excerpt(text: str) -> str:
    """Returns a text on one line, 80 characters of it."""
    flat = " ".join(text.split())
    return flat if len(flat) <= 80 else flat[:80] + "..."


def format_count(count: int, thing: str) -> str:
    """Returns a number of things: `1 issue`, `2 issues`, `0 entities`."""
    plural = thing.removesuffix("y") + "ies" if thing.endswith("y") else thing + "s"
    return f"{count} {thing if count == 1 else plural}"


def measure(text: str) -> int:
    """Returns how many cells of a terminal a text fills: wide letters fill two, joined marks none."""
    if text.isascii():
        return len(text)
    import unicodedata  # most texts need no table of letters

    cells = 0
    for letter in text:
        if not unicodedata.combining(letter) and letter not in "\u200b\u200c\u200d\ufe0e\ufe0f":
            cells += 2 if unicodedata.east_asian_width(letter) in "WF" else 1
    return cells


def cut(text: str, cells: int) -> str:
    """Returns a text that fills at most so many cells."""
    if measure(text) <= cells:
        return text
    while text and measure(text) > cells - 1:
        text = text[: -max(1, (measure(text) - cells) // 2)]
    return text + "…"


def align(rows: Sequence[Sequence[str]], width: int = 0, flexible: int = -1) -> str:
    """Returns columns of text; on a terminal of some width, the flexible column is cut so that no line is wrapped."""
    if not rows:
        return ""
    # Wide letters are rare: without them a text is as wide as it is long.
    size = len if "".join(map("".join, rows)).isascii() else measure
    widths = [max(map(size, column)) for column in zip(*rows, strict=True)]
    excess = sum(widths) + 2 * (len(widths) - 1) - width
    if width and flexible >= 0 and excess > 0:
        widths[flexible] = max(10, widths[flexible] - excess)
        rows = [[cut(text, widths[i]) if i == flexible else text for i, text in enumerate(row)] for row in rows]
        size = measure  # what was cut ends with a letter that is none of ASCII
    return "\n".join(
        "  ".join([text + " " * (wide - size(text)) for text, wide in zip(row, widths, strict=True)]).rstrip()
        for row in rows
    )
