"""Others' words on a terminal: what would move the cursor, rename the window, turn text around or hide in it is made
visible."""

from __future__ import annotations

import re
from typing import Literal

# C0 but tab and newline, DEL, C1, and the marks that turn the direction of text around.
_HIDING = [*range(9), *range(11, 32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
_STYLE, _PLAIN = "\ufdd0", "\ufdd1"
_CODES = {"r": 31, "g": 32, "y": 33, "b": 34, "d": 2, "h": 1}
Style = Literal["red", "green", "yellow", "blue", "dim", "heavy"]
_CONTROLS = {code: f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" for code in _HIDING}


def harmless(text: str) -> str:
    """Returns the text with its control characters and all that has no shape made visible."""
    text = text.translate(_CONTROLS)
    if text.isascii():
        return text
    from postil.core.others.untrusted import show_invisible  # most output of a fast command is ASCII

    return show_invisible(text)


def on_one_line(text: str) -> str:
    """Returns a text without its ends of lines: what follows one would pass for another row, or for a command of CI."""
    return text if text.isprintable() else " ".join(text.splitlines())


def styled(text: str, style: Style) -> str:
    """Returns a text that `paint` colours: marked by characters that mean nothing, because escapes are made visible."""
    return f"{_STYLE}{style[0]}{text}{_PLAIN}"


def paint(text: str, colors: bool) -> str:
    """Returns a text with its styles as a terminal wants them, or without them."""
    if _STYLE not in text:
        return text
    if not colors:
        return re.sub(f"{_STYLE}[a-z]|{_PLAIN}", "", text)
    text = re.sub(f"{_STYLE}([a-z])", lambda found: f"\x1b[{_CODES.get(found[1], 0)}m", text)
    return text.replace(_PLAIN, "\x1b[0m")
