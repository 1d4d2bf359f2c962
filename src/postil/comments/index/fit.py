"""A comment that is larger than anybody writes, cut to what is shown of it; the comment file keeps all.

A clone may bring a comment of many megabytes. Answers hold several copies of what they show, so it is bounded here,
once, before the cache keeps it. Ours have at most 10,000 characters and stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from postil.comments.model import AiMeta, Anchor, Comment, Located, Marker, Place, Reply, Revision
from postil.core import limits

SHARE = limits.COMMENT // 4
"""What the replies, or the revisions, of one comment may have together."""
MOST_STEPS = 20
"""Steps of an anchor's life that are kept, and places that are offered, where they are very many."""
_TOLD = ("model", "confidence", "reasoning", "enrichedAt")

T = TypeVar("T", Reply, Revision)


def fit(each: Located) -> Located:
    """Returns a large comment with what is shown of it."""
    marker, comment = each.marker, _fit_comment(each.comment)
    place = _fit_place(each.place)
    return Located(comment, marker and _fit_marker(marker), place, each.filePath, cut=comment != each.comment)


def fit_text(text: str) -> str:
    """Returns a text, or its beginning and how much of it is left out."""
    left = len(text) - limits.TEXT
    return text if left <= 0 else f"{text[: limits.TEXT]}\n[postil: {left:,} more characters are in the comment file]"


_LEFT_OUT = re.compile(r"\n\[postil: ([\d,]+) more characters are in the comment file\]\Z")


def digest_shown(comments: Iterable[Comment]) -> int:
    """Returns a number that tells comments of one file, as the cache shows them, from others in this process."""
    return hash(tuple(sorted((comment.id, fit_text(comment.text)) for comment in comments)))


def count_left_out(text: str) -> int:
    """Returns how many characters of a text `fit_text` left out."""
    found = _LEFT_OUT.search(text, max(0, len(text) - 100)) if len(text) > limits.TEXT else None
    return int(found[1].replace(",", "")) if found else 0


def _fit_comment(comment: Comment) -> Comment:
    return replace(
        comment,
        text=fit_text(comment.text),
        replies=_fit_some(comment.replies),
        revisions=_fit_some(comment.revisions),
        aiMeta=_fit_meta(comment.aiMeta),
        params=comment.params if _measure(comment.params) <= limits.TEXT else {},
    )


def _fit_some(some: Sequence[T]) -> tuple[T, ...]:
    """Returns the last of some texts; the first of these says how many came before it."""
    kept: list[T] = []
    size = 0
    for each in reversed(some):
        short = replace(each, text=fit_text(each.text))
        size += _measure(short)
        if size > SHARE:
            break
        kept.append(short)
    if kept and len(kept) < len(some):
        said = f"[postil: {len(some) - len(kept):,} before this one are in the comment file]\n{kept[-1].text}"
        kept[-1] = replace(kept[-1], text=said)
    return tuple(reversed(kept))


def _fit_meta(said: AiMeta | None) -> AiMeta | None:
    if said is None or _measure(said) <= limits.TEXT:
        return said
    return {key: said[key] for key in _TOLD if key in said and _measure(said[key]) <= limits.TEXT // len(_TOLD)}


def _fit_marker(marker: Marker) -> Marker:
    if _measure(marker) <= limits.TEXT:
        return marker
    anchor = marker.anchor
    if anchor is not None:
        anchor = Anchor(anchor.v, anchor.blob, anchor.line, anchor.end, history=anchor.history[-MOST_STEPS:])
        if _measure(anchor) > limits.TEXT:
            anchor = replace(anchor, history=())
    return replace(marker, anchor=anchor, commentIds=marker.commentIds[:MOST_STEPS])


def _fit_place(place: Place) -> Place:
    if _measure(place) <= limits.TEXT:
        return place
    options = tuple(replace(each, text=each.text[: limits.TEXT // MOST_STEPS]) for each in place.candidates)
    return replace(
        place, oldText=fit_text(place.oldText), newText=fit_text(place.newText), candidates=options[:MOST_STEPS]
    )


def _measure(value: object) -> int:
    return len(msgspec.msgpack.encode(value))
