"""Acceptance criteria: the check boxes of a Markdown description, counted and ticked. Pure functions over a text."""

from __future__ import annotations

import re

from msgspec import Struct

MOST = 10_000
"""Boxes of a text that count. Further ones are only text."""
_BOX_OR_FENCE = re.compile(
    r"^[^\S\n]*(?:(?P<fence>```|~~~)|[-*+][^\S\n]+\[(?P<mark>[ xX])\][^\S\n]+(?P<text>.*)$)", re.MULTILINE
)
"""A box is what `text_merge.BOX` finds in a line; the whole text is looked through at once, without parting it."""


class Criterion(Struct, frozen=True):
    """One box, counted from 1."""

    number: int
    text: str
    done: bool


def list_criteria(description: str) -> list[Criterion]:
    """Returns the boxes of a text, those inside code left out."""
    return [
        Criterion(number, found["text"].strip(), found["mark"] != " ")
        for number, found in enumerate(_find_boxes(description), 1)
    ]


def tick(description: str, number: int, done: bool) -> str | None:
    """Returns the text with one box ticked or cleared; None when there is no such box."""
    boxes = _find_boxes(description)
    if not 1 <= number <= len(boxes):
        return None
    begin, end = boxes[number - 1].span("mark")
    return f"{description[:begin]}{'x' if done else ' '}{description[end:]}"


def add_criteria(description: str, texts: list[str]) -> str:
    """Returns the text with more boxes at its end."""
    boxes = "\n".join(f"- [ ] {' '.join(text.split())}" for text in texts)
    joint = "" if not description else "\n" if _find_boxes(description.rsplit("\n", 1)[-1]) else "\n\n"
    return f"{description}{joint}{boxes}"


def _find_boxes(description: str) -> list[re.Match[str]]:
    found: list[re.Match[str]] = []
    fence = ""
    for one in _BOX_OR_FENCE.finditer(description):
        edge = one["fence"]
        if edge and (not fence or edge == fence):
            fence = "" if fence else edge
        elif not fence:
            found.append(one)
            if len(found) == MOST:
                break
    return found
