"""Others' words on a terminal: what would move the cursor, rename the window or turn text around is made visible."""

from __future__ import annotations

# C0 but tab and newline, DEL, C1, and the marks that turn the direction of text around.
_HIDING = [*range(9), *range(11, 32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
_CONTROLS = {code: f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" for code in _HIDING}


def harmless(text: str) -> str:
    """Returns the text with its control characters made visible."""
    return text.translate(_CONTROLS)
