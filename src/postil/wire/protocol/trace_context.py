"""The trace that a call belongs to, as the W3C's trace context names it: from `_meta`, or from the request's headers.

It is passed on to what a call asks elsewhere, and is the parent of our own spans where there are any.
"""

from __future__ import annotations

from collections.abc import Mapping

LONGEST_STATE = 512
NONE: Mapping[str, str] = {}
_HEX = frozenset("0123456789abcdef")


def read(given: Mapping[str, object]) -> Mapping[str, str]:
    """Returns the trace that these members name; nothing where there is none, or none that could be one."""
    parent, state = given.get("traceparent"), given.get("tracestate")
    if not isinstance(parent, str) or not is_parent(parent):
        return NONE
    if isinstance(state, str) and state.isascii() and state.isprintable() and len(state) <= LONGEST_STATE:
        return {"traceparent": parent, "tracestate": state}
    return {"traceparent": parent}


def is_parent(text: str) -> bool:
    """Returns whether this can be a `traceparent`: version, trace, span, flags."""
    pieces = text.split("-", 4)
    if [len(piece) for piece in pieces[:4]] != [2, 32, 16, 2] or not _HEX.issuperset("".join(pieces[:4])):
        return False
    if pieces[0] == "ff" or (pieces[0] == "00" and len(pieces) != 4) or len(text) > LONGEST_STATE or not text.isascii():
        return False
    return pieces[1].strip("0") != "" and pieces[2].strip("0") != ""
