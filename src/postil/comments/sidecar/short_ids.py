"""Short names for comments: as much of an id as tells it from all others. Pure.

An id of ours is a moment and six random digits, so its end tells most; an id of the extension is random throughout.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

FEWEST = 4
_OURS = re.compile(r"c_\d+")
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}")
_SHORT = re.compile(r"[0-9a-f][0-9a-f-]{3,34}")


def shorten_ids(ids: Iterable[str]) -> dict[str, str]:
    """Returns for each id the shortest name of at least four characters that no other id has."""
    known = set(ids)
    found = {each: each for each in known}
    for length in range(18, FEWEST - 1, -1):
        names = {each: _cut(each, length) for each in known}
        times = Counter(names.values())
        found |= {each: name for each, name in names.items() if name and times[name] == 1}
    return found


def is_short(given: str) -> bool:
    """Whether a text may be the short name of a comment."""
    return _SHORT.fullmatch(given) is not None


def split_file(given: str) -> tuple[str, str]:
    """Returns the file, or nothing, and the name of a comment that was given as `FILE:ID` or `ID`."""
    file, _, name = given.rpartition(":")
    return file, name


def is_named(identity: str, short: str) -> bool:
    """Whether a short name is one of this id."""
    if _OURS.fullmatch(identity):
        return short.isdecimal() and identity.endswith(short)
    return bool(_UUID.fullmatch(identity)) and identity.startswith(short)


def _cut(identity: str, length: int) -> str:
    if _OURS.fullmatch(identity):
        return identity[-length:] if len(identity) - 2 >= length else ""
    return identity[:length].rstrip("-") if _UUID.fullmatch(identity) else ""
