"""From the bytes of a terminal to names of keys. Pure."""

from __future__ import annotations

import re

_NAMED = {
    "\r": "enter",
    "\n": "enter",
    "\x7f": "backspace",
    "\x08": "backspace",
    "\x03": "ctrl-c",
    "\x04": "ctrl-d",
    "\x0c": "ctrl-l",
    "\x15": "ctrl-u",
    "\x1a": "ctrl-z",
    "\t": "tab",
}
_FINAL = {"A": "up", "B": "down", "C": "right", "D": "left", "H": "home", "F": "end", "Z": "back-tab"}
_NUMBERED = {"1": "home", "4": "end", "5": "page-up", "6": "page-down", "7": "home", "8": "end"}
_SEQUENCE = re.compile(r"\x1b(?:\[|O)([0-9;]*)([A-Za-z~])")


def read_keys(data: bytes) -> tuple[list[str], bytes]:
    """Returns the keys that were pressed, and the bytes of a key that has not come whole.

    A letter is its own name. An escape that ends the bytes is the key itself; a sequence that is not known is no key.
    """
    text, left = _decode(data)
    keys: list[str] = []
    at = 0
    while at < len(text):
        found = _SEQUENCE.match(text, at)
        if found:
            keys += _name_sequence(found[1], found[2])
            at = found.end()
        elif text[at] == "\x1b":
            if re.fullmatch(r"\x1b(\[|O)[0-9;]{0,16}", text[at:]):
                return keys, text[at:].encode() + left
            keys.append("escape")
            at += 1
        else:
            letter = text[at]
            keys += [_NAMED[letter]] if letter in _NAMED else [letter] if letter.isprintable() else []
            at += 1
    return keys, left


def _name_sequence(numbers: str, final: str) -> list[str]:
    first, _, modifier = numbers.partition(";")
    name = _NUMBERED.get(first) if final == "~" else _FINAL.get(final)
    return [f"shift-{name}" if modifier == "2" else name] if name else []


def _decode(data: bytes) -> tuple[str, bytes]:
    """Returns the text, and the bytes of a letter that has not come whole."""
    for kept in range(min(4, len(data) + 1)):
        try:
            return data[: len(data) - kept].decode("utf-8"), data[len(data) - kept :]
        except UnicodeDecodeError:
            continue
    return data.decode("utf-8", "replace"), b""
