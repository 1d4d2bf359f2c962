"""Names in rows: what has lines of its own would pass for several rows."""

from __future__ import annotations


def on_one_line(text: str) -> str:
    """Returns a text without its ends of lines: what follows one would pass for another row, or for a command of CI."""
    return text if text.isprintable() else " ".join(text.splitlines())
