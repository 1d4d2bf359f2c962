"""Text written by others, made fit for a model: nothing invisible in it. The boundary around it: framing.py.

Which signs are seen is said by Unicode's categories, here alone: the terminal (visible.py) and the page ask it, too.

Pure functions over strings. Which texts are others' is known to the parts; whose words are withheld is not decided
here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from unicodedata import category, combining

_PLAIN = bytes([9, 10, *range(32, 127)])
_LONE_RETURN = re.compile("\r(?!\n)")
"""What is no end of a line for most, and one for Python and for a terminal, which writes the rest over it."""
_PIECE = 65536
_ENTITY = re.compile(r"&(?:#(\d{1,8})|#[xX]([0-9a-fA-F]{1,7})|([A-Za-z]{2,31}));?")
_LONG, _MANY = 4096, 3000
"""Characters of a long text, and kinds of signs beyond which no pattern is made of them."""
MOST_LOOKED_AT = 50_000
"""Marks and signs that shape others of which each is looked at, for 1 µs: behind them what may hide is taken out."""
ROUNDS = 8
"""How often a text is gone through. Nobody nests by accident, and a text could ask for as many rounds as it is long."""
_HTML_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_NATIONS = ("gbeng", "gbsct", "gbwls")  # the flags that are spelt with tags
_FLAGS = {"\U0001f3f4" + "".join(chr(0xE0000 + ord(sign)) for sign in name) + "\U000e007f" for name in _NATIONS}
_FLAG = re.compile("|".join(_FLAGS))
_BLANKS = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\U00016fe4\U0001d159"
    + "".join(map(chr, (*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))
)
"""Letters, marks and symbols by their category that have no shape: fillers, blanks, selectors of variation."""
_PREPENDED = frozenset("\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd" + "".join(map(chr, range(0x600, 0x606))))
"""Format characters that are seen: the signs of a number, a year or a verse."""
_RESERVED = ((0x1F000, 0x1FAFF), (0x20000, 0x2FFFD), (0x30000, 0x3FFFD))
"""Where Unicode adds pictures and ideographs: those that this Python does not know yet are seen, too."""
_IGNORED = ((0x2065, 0x2065), (0xFFF0, 0xFFF8), (0xE0000, 0xE0FFF))
"""What is not assigned and has no shape all the same."""
MOST_MARKS = 10
"""Marks and joiners on one letter: a Tibetan syllable has nine. Hundreds are drawn over the lines around them."""
_SHAPING = frozenset("\u200b\u200c\u200d\u2800\ufe0e\ufe0f")
"""Signs that hide, unless they shape what is beside them; so do tags."""
_SHAPELESS = re.compile('(?<=[\0-"$-)+-/:-\x7f])[\u200b\u200d\ufe0e\ufe0f]+')
"""Some of them behind what none of them shapes: most signs of ASCII."""
_TAGS = frozenset(map(chr, range(0xE0020, 0xE0080)))
_VIRAMA = 9
"""The class of the signs that take an Indic letter's vowel away: a joiner behind one shapes what is before it."""
_BRAILLE_REACH = 40
"""How many blanks of Braille may stand before a letter of it, or behind one."""
_BLANK_ROW = re.compile("\u2800+")


def clean(text: str) -> str:
    """Return the text without anything a reader cannot see; emoji and joined scripts keep what shapes them."""
    if "&" not in text and not any(_find_suspects(text)):
        return text
    for _ in range(ROUNDS):  # striking out one thing may put together another
        shorter = _ENTITY.sub(_resolve_entity, _strike_out(text))
        if shorter == text:
            return text
        text = shorter
    return clean(text.replace("&", "\uff06"))  # a trap inside a trap: no entity is left in it, only its letters


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
    return "".join(seen + "".join(map(_spell, hidden)) for seen, hidden in split_hidden(text))


def split_hidden(text: str) -> Iterator[tuple[str, str]]:
    """Yield the pieces of a text in turn: what is seen, and the signs behind it that are not.

    Letters, marks, numbers, punctuation, symbols, spaces, tabs and ends of lines are seen, and so are signs that shape
    their neighbours. Every other sign hides, a carriage return without its newline too, and every mark too many.
    """
    suspects, marks = _find_suspects(text)
    begun = hidden = end = 0  # text[begun:hidden] is seen, text[hidden:end] is not
    before, run, flag = "", 0, 0
    row, hides = 0, range(0)  # the end of the last row of blanks of Braille, and those of it that hide
    last = -1
    for at, sign in _list_places(text, suspects | marks):
        if sign == "\r" and text[at + 1 : at + 2] == "\n":
            continue
        if at != last + 1:
            before, run = text[at - 1], 0
        last = at
        if at >= flag and "\U000e0020" <= sign <= "\U000e007f" and at and (found := _FLAG.match(text, at - 1)):
            flag = found.end()
        if at < flag:
            continue
        if sign in marks and run < MOST_MARKS:
            before, run = sign, run + 1
            continue
        if sign == "\u2800":
            if at >= row:
                row, hides = _read_blanks(text, at)
            if at not in hides:
                before, run = sign, 0
                continue
        if sign in suspects and run < MOST_MARKS - 1 and _is_shaping(text, at, before, suspects):
            before, run = sign, run + 1
            continue
        before = ""
        if at != end or end == hidden:
            if end > hidden:
                yield text[begun:hidden], text[hidden:end]
                begun = end
            hidden = at
        end = at + 1
    if end > hidden:
        yield text[begun:hidden], text[hidden:end]
        begun = end
    yield text[begun:], ""


def _list_places(text: str, signs: set[str]) -> Iterator[tuple[int, str]]:
    """Yields where these signs are. Of a long text, which holds few as a rule, the others are not looked at."""
    if not signs:
        return iter(())
    if len(text) < _LONG or len(signs) > _MANY:
        return ((at, sign) for at, sign in enumerate(text) if sign in signs)
    return ((found.start(), found[0]) for found in _match_any(signs).finditer(text))


def _match_any(signs: set[str]) -> re.Pattern[str]:
    return re.compile(f"[{re.escape(''.join(sorted(signs)))}]")


def _find_suspects(text: str) -> tuple[set[str], set[str]]:
    """Returns the signs of a text that may hide, and its marks.

    Most of most texts is printable ASCII, which is left out before signs are looked at: that is ten times as quick.
    """
    signs: set[str] = set()
    for at in range(0, len(text), _PIECE):
        piece = text[at : at + _PIECE].encode("utf-8", "surrogatepass").translate(None, _PLAIN)
        signs.update(piece.decode("utf-8", "surrogatepass"))
    suspects: set[str] = set()
    marks: set[str] = set()
    if "\r" in signs and _LONE_RETURN.search(text):
        suspects.add("\r")
    for sign in signs:
        if _may_hide(sign):
            suspects.add(sign)
        elif category(sign)[0] == "M":
            marks.add(sign)
    return suspects, marks


@lru_cache(maxsize=4096)
def _may_hide(sign: str) -> bool:
    """Whether Unicode knows no shape of this sign."""
    match category(sign):
        case "Cc":
            return sign not in "\t\n\r"
        case "Cf":
            return sign not in _PREPENDED
        case "Cn":
            return not _is_within(sign, _RESERVED)
        case "Co" | "Cs" | "Zl" | "Zp":
            return True
        case _:
            return sign in _BLANKS


def _is_within(sign: str, ranges: tuple[tuple[int, int], ...]) -> bool:
    return any(first <= ord(sign) <= last for first, last in ranges)


def _is_drawn(sign: str) -> bool:
    """Whether this sign that hides is drawn as something: of private use, not assigned, half of a pair."""
    return category(sign) in ("Co", "Cs", "Cn") and not _is_within(sign, _IGNORED)


def _spell(sign: str) -> str:
    code = ord(sign)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"


def _strike_out(text: str) -> str:
    suspects, _ = _find_suspects(text)
    if "\r" in suspects:
        suspects.remove("\r")
        text = _LONE_RETURN.sub("\u240d", text)  # taken out, the next line would read as the rest of a remark
    # What shapes nothing in any place is taken out at once: that is ten times as quick as one by one.
    if table := {ord(sign): _replace(sign) for sign in suspects if not (sign in _SHAPING or sign in _TAGS)}:
        text = text.translate(table)
    if suspects & _SHAPING:
        text = _SHAPELESS.sub("", text)
    text, rest = _split_far(text)
    return "".join(seen + "".join(map(_replace, hidden)) for seen, hidden in split_hidden(text)) + rest


def _split_far(text: str) -> tuple[str, str]:
    """Returns the beginning of a text, and what is behind too many signs to look at each: that is cleaned at once."""
    if len(text) <= MOST_LOOKED_AT:
        return text, ""
    suspects, marks = _find_suspects(text)
    places = islice(_list_places(text, suspects | marks), MOST_LOOKED_AT, None)
    at = next((at for at, _ in places), len(text))
    rest = text[at:].translate({ord(sign): _replace(sign) for sign in suspects})
    if marks:
        any_mark = _match_any(marks).pattern
        rest = re.sub(f"({any_mark}{{{MOST_MARKS}}}){any_mark}+", r"\1", rest)
    return text[:at], rest


def _replace(sign: str) -> str:
    """Returns what stands in the place of a hidden sign: its number where a person sees a box, whatever it may mean."""
    if sign in "\u2028\u2029":
        return "\n"
    return f"[U+{ord(sign):04X}]" if _is_drawn(sign) else ""


def _is_shaping(text: str, at: int, before: str, suspects: set[str]) -> bool:
    """Whether this invisible sign shapes its visible neighbours, and so is no hiding place."""
    sign = text[at]
    after = text[at + 1] if at + 1 < len(text) and text[at + 1] not in suspects else ""
    if sign in "\ufe0e\ufe0f":  # text or picture: once, after something that has both forms
        return before != "" and (before in "#*0123456789" or _is_pictorial(before))
    if sign == "\u200d" and before and after and (_is_pictorial(before) or before == "\ufe0f") and _is_pictorial(after):
        return True
    if sign in "\u200c\u200d":  # Arabic and Indic scripts need joiners between letters
        if sign == "\u200c" and before.isalnum() and (before.isascii() or before.isdigit()):
            return _is_joining(after)  # a Persian ending behind a foreign word or a number
        return _is_joining(before) and (_is_joining(after) or combining(before) == _VIRAMA)
    return sign == "\u200b" and _has_no_spaces(before) and _has_no_spaces(after)


def _read_blanks(text: str, at: int) -> tuple[int, range]:
    """Returns the end of a row of blanks of Braille, and those of them that hide: far from any letter of it."""
    row = _BLANK_ROW.match(text, at)
    end = row.end() if row else at
    left, right = (_BRAILLE_REACH * ("\u2801" <= sign <= "\u28ff") for sign in (text[at - 1 : at], text[end : end + 1]))
    return end, range(at + left, end - right)


def _is_pictorial(sign: str) -> bool:
    code = ord(sign)
    return (
        0x1F000 <= code <= 0x1FAFF
        or 0x2190 <= code <= 0x2BFF
        or code in (0xA9, 0xAE, 0x203C, 0x2049, 0x2122, 0x2139, 0x3030, 0x303D, 0x3297, 0x3299)
    )


def _is_joining(sign: str) -> bool:
    return sign != "" and 0x0600 <= ord(sign) <= 0x0DFF and category(sign)[0] in "LM"


def _has_no_spaces(sign: str) -> bool:
    """Whether this is of Thai, Lao, Burmese or Khmer: the ends of words are marked where a line may end."""
    return sign != "" and _is_within(sign, ((0x0E01, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17D3)))


def _resolve_entity(found: re.Match[str]) -> str:
    decimal, hexadecimal, name = found.groups()
    if name:
        from html.entities import html5  # two thousand names, and few texts hold one

        meant = html5.get(f"{name};", "")
    else:
        code = int(decimal) if decimal else int(hexadecimal, 16)
        meant = chr(code) if code <= 0x10FFFF else ""
    return "" if meant and all(_may_hide(sign) and not _is_drawn(sign) for sign in meant) else found.group()
