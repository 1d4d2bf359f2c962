"""Lines around a marker that are kept as codes, four characters each, for a clone that has no old versions. Pure.

A line that is still somewhere in the workspace is read from its code there; what was edited or deleted since stays
blank. Five lines on each side are kept as they are (see marker.py), these are the ones beyond.
"""

from __future__ import annotations

from binascii import Error, a2b_base64, b2a_base64
from collections.abc import Iterable, Mapping, Sequence
from zlib import crc32

AROUND = 25
"""Lines on each side."""
LONGEST = 200
"""Characters of a line that are recalled: a few codes must not become many copies of a very long line."""
_SIZE = 3
_MOST_CODES = AROUND * _SIZE * 4 // 3


def code_lines(lines: Sequence[str]) -> str:
    """Returns the codes of some lines, one behind the other; whitespace at their ends does not count."""
    return b2a_base64(b"".join(_codes(lines)), newline=False).decode()


def know_lines(lines: Iterable[str]) -> dict[bytes, str]:
    """Returns lines by their codes."""
    lines = tuple(lines)
    return {code: line[:LONGEST] for code, line in zip(_codes(lines), lines, strict=True)}


def recall_lines(codes: str, known: Mapping[bytes, str]) -> tuple[str, ...]:
    """Returns the lines that codes stand for: those that are known, and blank ones for the others."""
    if not known or len(codes) > _MOST_CODES:  # nobody writes more: it was made to take memory
        return ()
    try:
        data = a2b_base64(codes)
    except (Error, ValueError):  # somebody edited it
        return ()
    return tuple(known.get(data[at : at + _SIZE], "") for at in range(0, len(data), _SIZE))


def _codes(lines: Sequence[str]) -> list[bytes]:
    return [crc32(line.strip().encode("utf-8", "surrogatepass")).to_bytes(4, "big")[:_SIZE] for line in lines]
