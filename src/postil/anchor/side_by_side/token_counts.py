"""The words and tokens of a text, quickly: most sources are ASCII, and there a table does what a pattern would."""

import re
from collections import Counter

TOKEN = re.compile(r"\w+|[^\w\s]")
WORD = re.compile(r"\w+")
_ASCII = [chr(code) for code in range(128)]
# Every character that is in no word becomes a space; the end of a row stays.
_SPACED = bytes(ord(each) if WORD.match(each) or each == "\n" else 32 for each in _ASCII) + bytes(range(128, 256))


class TokenCounts:
    """How often each token of a text stands there: words, and every mark by itself, counted when it is asked for."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._found = Counter(split_words(text))

    def count(self, token: str) -> int:
        found = self._found.get(token)
        if found is None:
            found = self._found[token] = 0 if WORD.match(token) else self._text.count(token)
        return found


def split_words(text: str) -> list[str]:
    """Returns the words of a text."""
    return _space(text).split() if text.isascii() else WORD.findall(text)


def split_rows(text: str) -> list[list[str]]:
    """Returns the words of each row."""
    if text.isascii():
        return [row.split() for row in _space(text).split("\n")]
    return [WORD.findall(row) for row in text.split("\n")]


def _space(text: str) -> str:
    return text.encode("ascii").translate(_SPACED).decode("ascii")
