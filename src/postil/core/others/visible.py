"""Others' words on a terminal: what would move the cursor, rename the window, turn text around or hide in it is made
visible."""

from __future__ import annotations

import os
import re
from typing import Literal

_OURS = os.urandom(8).hex()
"""What others cannot know: without it nothing that they write is a style."""
_STYLE, _PLAIN = f"\ufdd0{_OURS}", f"\ufdd1{_OURS}"
_STYLES = re.compile(f"({_STYLE}[a-z]|{_PLAIN})")
_CODES = {"r": 31, "g": 32, "y": 33, "b": 34, "m": 35, "c": 36, "d": 2, "h": 1}
Style = Literal["red", "green", "yellow", "blue", "magenta", "cyan", "dim", "heavy"]
_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(9), *range(11, 32), 127)}  # all of ASCII but tab and newline


def harmless(text: str) -> str:
    """Returns the text with all that has no shape of its own made visible; what we styled stays so."""
    text = text.translate(_CONTROLS)
    if text.isascii():
        return text
    from postil.core.others.untrusted import show_invisible  # most output of a fast command is ASCII

    if _STYLE not in text:
        return show_invisible(text)
    pieces = _STYLES.split(text)
    return "".join(piece if at % 2 else show_invisible(piece) for at, piece in enumerate(pieces))


def styled(text: str, style: Style) -> str:
    """Returns a text that `paint` colours: marked by characters that mean nothing, because escapes are made visible."""
    return f"{_STYLE}{style[0]}{text}{_PLAIN}"


def paint(text: str, colors: bool) -> str:
    """Returns a text with its styles as a terminal wants them, or without them."""
    if _STYLE not in text:
        return text
    if not colors:
        return _STYLES.sub("", text)
    return _STYLES.sub(lambda found: f"\x1b[{0 if found[1] == _PLAIN else _CODES[found[1][-1]]}m", text)
