"""Acceptance criteria: the check boxes of a Markdown description, counted and ticked. Pure functions over a text."""

from __future__ import annotations

import re

from msgspec import Struct

from postil.tracker.state.text_merge import BOX

_FENCE = re.compile(r"^\s*(```|~~~)")


class Criterion(Struct, frozen=True):
    """One box, counted from 1."""

    number: int
    text: str
    done: bool


def list_criteria(description: str) -> list[Criterion]:
    """Returns the boxes of a text, those inside code left out."""
    return [
        Criterion(number, found["text"].strip(), found["mark"] != " ")
        for number, (_, found) in enumerate(_find_boxes(description), 1)
    ]


def tick(description: str, number: int, done: bool) -> str | None:
    """Returns the text with one box ticked or cleared; None when there is no such box."""
    boxes = _find_boxes(description)
    if not 1 <= number <= len(boxes):
        return None
    at, found = boxes[number - 1]
    lines = description.split("\n")
    lines[at] = f"{found['before']}{'x' if done else ' '}{found['after']}{found['text']}"
    return "\n".join(lines)


def add_criteria(description: str, texts: list[str]) -> str:
    """Returns the text with more boxes at its end."""
    boxes = "\n".join(f"- [ ] {' '.join(text.split())}" for text in texts)
    joint = "" if not description else "\n" if _find_boxes(description.rsplit("\n", 1)[-1]) else "\n\n"
    return f"{description}{joint}{boxes}"


def _find_boxes(description: str) -> list[tuple[int, re.Match[str]]]:
    found: list[tuple[int, re.Match[str]]] = []
    fence = ""
    for at, line in enumerate(description.split("\n")):
        edge = _FENCE.match(line)
        if edge and (not fence or edge[1] == fence):
            fence = "" if fence else edge[1]
        elif not fence and (box := BOX.match(line)):
            found.append((at, box))
    return found
