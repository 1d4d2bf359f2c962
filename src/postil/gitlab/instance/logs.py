"""A job's log as text: no colours, no sections, no secrets; what a progress bar overwrote is gone. Pure."""

from __future__ import annotations

import re

from postil.gitlab.instance.redaction import redact

TAIL_LINES = 40
TAIL_CHARACTERS = 4000
_ANSI = re.compile(
    r"\x1b\[[0-9;:?<=>!]*+[ -/]*+[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[PX^_][^\x1b]*\x1b\\|\x1b[ -/]*[0-~]"
    r"|section_(?:start|end):\d+:[\w.-]+(?:\[[^\[\]\n]*+\])?\r?"
)
_STAMP = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z \d\d[OE][ +]", re.MULTILINE)
CONTEXT = 2
"""Lines shown around a line that was searched for."""


def clean_log(trace: bytes, token: str) -> str:
    """Return a log as a person sees it."""
    text = _ANSI.sub("", trace.decode("utf-8", "replace"))
    text = redact(text, token)  # before anything is cut: half of a secret would not be known as one
    text = _STAMP.sub("", text)
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.rstrip().split("\n"))


def cut_log(trace: bytes, token: str) -> str:
    """Return the end of a job's log, short enough to stand beside others."""
    text = clean_log(trace[-16 * TAIL_CHARACTERS :], token)
    return "\n".join(text.split("\n")[-TAIL_LINES:])[-TAIL_CHARACTERS:]


def find_in_log(text: str, words: str) -> tuple[list[str], int]:
    """Return the lines with these words (in any case) and their neighbours, numbered, and how many lines have them."""
    lines = text.split("\n")
    wanted = words.casefold()
    hits = [number for number, line in enumerate(lines) if wanted in line.casefold()]
    shown = sorted({near for hit in hits for near in range(max(0, hit - CONTEXT), min(len(lines), hit + CONTEXT + 1))})
    found: list[str] = []
    marked = set(hits)
    for before, number in zip([None, *shown], shown, strict=False):
        if before is not None and number > before + 1:
            found.append("--")
        found.append(f"{number + 1}{':' if number in marked else '-'} {lines[number]}")
    return found, len(hits)
