"""Text written by others, made fit for a model: nothing invisible in it. The boundary around it: framing.py.

Pure functions over strings. Which texts are others' is known to the parts; whose words are withheld is not decided
here.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_TAG = "\U000e0000-\U000e007f"
# What has no shape of its own: controls, fillers, joiners, bidirectional marks, tags and selectors of variation.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    f"{_TAG}\U000e0100-\U000e01ef]"
)
_PLAIN = bytes([9, 10, 13, *range(32, 127)])
_PIECE = 65536
_ENTITY = re.compile(r"&(?:#(\d{1,8})|#[xX]([0-9a-fA-F]{1,7})|([A-Za-z]{2,31}));?")
ROUNDS = 8
"""How often a text is gone through. Nobody nests by accident, and a text could ask for as many rounds as it is long."""
_HTML_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_NATIONS = ("gbeng", "gbsct", "gbwls")  # the flags that are spelt with tags
_FLAGS = {"\U0001f3f4" + "".join(chr(0xE0000 + ord(sign)) for sign in name) + "\U000e007f" for name in _NATIONS}
_FLAG = re.compile("|".join(_FLAGS))


def clean(text: str) -> str:
    """Return the text without anything a reader cannot see; emoji and joined scripts keep what shapes them."""
    if is_plain(text):
        return text
    for _ in range(ROUNDS):  # striking out one thing may put together another
        shorter = _ENTITY.sub(_resolve_entity, _strike_out(text))
        if shorter == text:
            return text
        text = shorter
    return clean(text.replace("&", "\uff06"))  # a trap inside a trap: no entity is left in it, only its letters


def is_plain(text: str) -> bool:
    """Returns whether nothing of a text has to be looked at closely: no sign is invisible, no entity stands for one.

    Most of most texts is printable ASCII, which is left out before signs are compared: that is ten times as quick.
    """
    if "&" in text:
        return False
    for at in range(0, len(text), _PIECE):
        piece = text[at : at + _PIECE].encode("utf-8", "surrogatepass").translate(None, _PLAIN)
        if piece and _INVISIBLE.search(piece.decode("utf-8", "surrogatepass")):
            return False
    return True


def clean_prose(text: str) -> str:
    """Return a description or a note cleaned, and without the comments that its reader on the page does not see."""
    for _ in range(ROUNDS):
        if "<!--" not in (text := clean(text)):
            return text
        text = _HTML_COMMENT.sub("", text)
    return clean(text).partition("<!--")[0]


def shorten(text: str, longest: int) -> str:
    """Return the beginning of the text, with a sign that there is more."""
    return text if len(text) <= longest else f"{text[: longest - 1].rstrip()}…"


def show_invisible(text: str) -> str:
    """Return the text with what a reader cannot see spelt out; emoji and joined scripts keep what shapes them."""
    return _replace(text, _spell)


def _spell(sign: str) -> str:
    code = ord(sign)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"


def _strike_out(text: str) -> str:
    return _replace(text, lambda sign: "\n" if sign in "\u2028\u2029" else "")


def _replace(text: str, replaced: Callable[[str], str]) -> str:
    """Return the text with what hides in it replaced."""
    kept: list[str] = []
    at = 0
    for found in _INVISIBLE.finditer(text):
        start, sign = found.start(), found.group()
        if start < at:
            continue
        kept.append(text[at:start])
        at = start + 1
        if 0xE0000 <= ord(sign) <= 0xE007F:
            flag = _FLAG.match(text, start - 1) if start else None
            if flag:
                kept.append(text[start : flag.end()])
                at = flag.end()
                continue
        kept.append(sign if _is_shaping(text, start, sign) else replaced(sign))
    kept.append(text[at:])
    return "".join(kept)


def _is_shaping(text: str, at: int, sign: str) -> bool:
    """Whether this invisible sign shapes its visible neighbours, and so is no hiding place."""
    before = text[at - 1] if at else ""
    after = text[at + 1] if at + 1 < len(text) else ""
    if sign in "\ufe0e\ufe0f":  # text or picture: once, after something that has both forms
        return before != "" and (before in "#*0123456789" or _is_pictorial(before))
    if sign == "\u200d" and before and after and (_is_pictorial(before) or before == "\ufe0f") and _is_pictorial(after):
        return True
    if sign in "\u200c\u200d":  # Arabic and Indic scripts need joiners between letters
        return _is_joining(before) and _is_joining(after)
    return False


def _is_pictorial(sign: str) -> bool:
    code = ord(sign)
    return (
        0x1F000 <= code <= 0x1FAFF or 0x2190 <= code <= 0x2BFF or code in (0xA9, 0xAE, 0x203C, 0x2049, 0x2122, 0x3030)
    )


def _is_joining(sign: str) -> bool:
    return sign != "" and 0x0600 <= ord(sign) <= 0x0DFF


def _resolve_entity(found: re.Match[str]) -> str:
    decimal, hexadecimal, name = found.groups()
    if name:
        from html.entities import html5  # two thousand names, and few texts hold one

        meant = html5.get(f"{name};", "")
    else:
        code = int(decimal) if decimal else int(hexadecimal, 16)
        meant = chr(code) if code <= 0x10FFFF else ""
    return "" if meant and all(_INVISIBLE.fullmatch(sign) for sign in meant) else found.group()
