"""A JSON document as text: one array of objects changed, every other byte kept.

Sidecars are written by other programs too and live in git; so what did not change keeps its formatting, its numbers and
its unknown keys, and a diff shows what happened. Pure. Not here: what the objects mean.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import TypeAlias

import msgspec
from msgspec import Raw, Struct

JsonObject: TypeAlias = dict[str, object]

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_INDENT = b"  "
_GAP = b",\n" + _INDENT * 2


class NotAnObject(ValueError):
    """The text is not one JSON object; the sentence says why."""


class Items:
    """One array of objects inside a document: what is there, and what it is to become.

    A single insertion, the most frequent change, only looks for its neighbour; everything else takes the array apart.
    """

    def __init__(self, data: bytes, start: int, raw: bytes) -> None:
        self._data, self._start, self._end = data, start, start + len(raw)
        self._raws = _decode_list(raw)
        self._texts: list[bytes] | None = None
        self._gaps: list[bytes] = []
        self._tail = b"]"
        self._inserted: tuple[int, bytes] | None = None
        self.changed = False

    def __len__(self) -> int:
        return len(self._raws) + (self._inserted is not None) if self._texts is None else len(self._texts)

    @property
    def texts(self) -> list[bytes]:
        """The objects as they are written."""
        if self._texts is None:
            self._texts = []
            at = self._start + 1
            for item in self._raws:
                text = bytes(item)
                found = self._data.find(text, at)
                self._gaps.append(self._data[at:found])
                self._texts.append(text)
                at = found + len(text)
            self._tail = self._data[at : self._end]
            if self._inserted:
                self._insert(*self._inserted)
        return self._texts

    def replace(self, index: int, item: JsonObject | Struct) -> None:
        """Write another object in the place of one."""
        self.texts[index] = _format(item, 2)
        self.changed = True

    def insert(self, index: int, item: JsonObject | Struct) -> None:
        """Write an object before the one at `index`."""
        text = _format(item, 2)
        if self._raws and not self.changed and self._texts is None:
            self._inserted = index, text
        else:
            self._insert(index, text)
        self.changed = True

    def _insert(self, index: int, text: bytes) -> None:
        texts = self.texts
        if texts:
            gap = self._gaps[0] if index == 0 else _GAP
            if index == 0:
                self._gaps[0] = _GAP
        else:
            gap, self._tail = b"\n" + _INDENT * 2, b"\n" + _INDENT + b"]"
        self._gaps.insert(index, gap)
        texts.insert(index, text)

    def remove(self, index: int) -> None:
        """Take one object out."""
        texts = self.texts
        del texts[index]
        if index == 0 and len(self._gaps) > 1:
            del self._gaps[1]
        else:
            del self._gaps[index]
        if not texts:
            self._tail = b"]"
        self.changed = True

    def text(self) -> bytes:
        """Returns the array as it is to be written."""
        if self._texts is None and self._inserted:
            spliced = self._splice(*self._inserted)
            if spliced is not None:
                return spliced
        texts = self.texts
        return b"".join((b"[", *chain.from_iterable(zip(self._gaps, texts, strict=True)), self._tail))

    def _splice(self, index: int, text: bytes) -> bytes | None:
        """Returns the array with one object more, or None when its neighbour is not the only one of its kind."""
        last = index == len(self._raws)
        neighbour = bytes(self._raws[-1] if last else self._raws[index])
        at = self._data.find(neighbour, self._start)
        if self._data.find(neighbour, at + 1, self._end) >= 0:
            return None
        if last:
            at += len(neighbour)
            return b"".join((self._data[self._start : at], _GAP, text, self._data[at : self._end]))
        return b"".join((self._data[self._start : at], text, _GAP, self._data[at : self._end]))


class Document:
    """A JSON object, its top-level values as text."""

    def __init__(self, data: bytes) -> None:
        try:
            values = msgspec.json.decode(data, type=dict[str, Raw])
        except msgspec.ValidationError:
            raise NotAnObject("the file is not a JSON object") from None
        except (msgspec.DecodeError, UnicodeDecodeError) as fault:
            raise NotAnObject(f"the file is not JSON: {fault}") from None
        except RecursionError:
            raise NotAnObject("the file is nested too deeply") from None
        self._data = data
        self._values = {key: bytes(value) for key, value in values.items()}
        self._new: dict[str, bytes] = {}
        self._items: dict[str, Items] = {}
        self._starts: dict[str, int] | None = None

    def value(self, key: str) -> object:
        """Returns a top-level value, or None."""
        text = self._new.get(key) or self._values.get(key)
        return None if text is None else decode_value(text)

    def keys(self) -> set[str]:
        """Returns the names of the top-level values."""
        return {*self._values, *self._new}

    def raw(self, key: str) -> bytes:
        """Returns a top-level value as text; `null` when there is none."""
        return self._new.get(key) or self._values.get(key, b"null")

    def set(self, key: str, value: object) -> None:
        """Write a top-level value; a new key goes first, where readers look for `file` and `version`."""
        self._new[key] = _format(value, 1)

    def items(self, key: str) -> Items:
        """Returns the array of objects under a key; an empty one when there is none."""
        if key not in self._items:
            raw = self._values.get(key, b"[]")
            if raw == b"null":
                raw = b"[]"
            if key in self._values and self._values[key] == raw:
                self._items[key] = Items(self._data, self._start(key), raw)
            else:
                self._items[key] = Items(raw, 0, raw)
        return self._items[key]

    def text(self) -> bytes:
        """Returns the document as it is to be written."""
        lists = {key: items.text() for key, items in self._items.items() if items.changed}
        changes = self._new | lists
        if not changes:
            return self._data
        spans = sorted((self._start(key), key) for key in changes if key in self._values)
        parts: list[bytes] = []
        at = 0
        for start, key in spans:
            parts += (self._data[at:start], changes.pop(key))
            at = start + len(self._values[key])
        parts.append(self._data[at:])
        first = {key: value for key, value in changes.items() if key in self._new}
        last = {key: value for key, value in changes.items() if key in lists}
        return _with_keys(b"".join(parts), first, last, empty=not self._values)

    def _start(self, key: str) -> int:
        """Returns where the value of a top-level key begins."""
        if self._starts is None:
            self._starts = self._find_starts()
        if key not in self._starts:
            raise NotAnObject(f"the key {key} could not be found again")
        return self._starts[key]

    def _find_starts(self) -> dict[str, int]:
        """Returns where the value of each key begins. Of a key written twice the last one counts, as in the decoder."""
        data, starts = self._data, dict[str, int]()
        at, end = data.index(b"{") + 1, data.rfind(b"}")
        while 0 <= (name_at := data.find(b'"', at)) < end:
            name_end = _string_end(data, name_at)
            name = str(decode_value(data[name_at:name_end]))
            value_at = data.index(b":", name_end) + 1
            while data[value_at : value_at + 1] in b" \t\r\n":
                value_at += 1
            if data.startswith(self._values[name], value_at):
                starts[name] = value_at
                at = value_at + len(self._values[name])
            else:  # an earlier value of a key that comes again
                at = value_at + len(_first_value(data[value_at:]))
        return starts


def check_text(data: bytes) -> None:
    """Raises NotAnObject when the text is not UTF-8 all through: decoders pass over what they do not know."""
    try:
        data.decode("utf-8")
        if b"\\u" in data and _SURROGATE.search(data):
            msgspec.json.decode(data)
    except (UnicodeDecodeError, msgspec.DecodeError, RecursionError) as fault:
        raise NotAnObject(f"the file is not JSON in UTF-8: {fault}") from None


def decode_value(text: bytes) -> object:
    """Returns a JSON value. Raises NotAnObject when it cannot be decoded."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        raise NotAnObject(f"the file holds a value that is not JSON: {fault}") from None


def new_document(values: JsonObject) -> bytes:
    """Returns a whole document, formatted as `JSON.stringify(value, null, 2)` does."""
    return _format(values, 0)


def _decode_list(raw: bytes) -> list[Raw]:
    try:
        return msgspec.json.decode(raw, type=list[Raw])
    except msgspec.ValidationError:
        raise NotAnObject("a list was expected and something else is there") from None
    except (msgspec.DecodeError, RecursionError) as fault:
        raise NotAnObject(f"the file is not JSON: {fault}") from None


def _format(value: object, depth: int) -> bytes:
    text = msgspec.json.format(msgspec.json.encode(value), indent=2)
    return text.replace(b"\n", b"\n" + _INDENT * depth) if depth else text


def _with_keys(text: bytes, first: dict[str, bytes], last: dict[str, bytes], *, empty: bool) -> bytes:
    """Keys that are new: some before the others, some behind them."""
    if last:
        closing = text.rindex(b"}")
        head = text[:closing].rstrip()
        text = head + (b"" if empty else b",") + _lines(last) + b"\n" + text[closing:]
        empty = False
    if first:
        opening = text.index(b"{") + 1
        text = text[:opening] + _lines(first) + (b"\n" if empty else b",") + text[opening:]
    return text


def _lines(values: dict[str, bytes]) -> bytes:
    return b",".join(b"\n" + _INDENT + msgspec.json.encode(key) + b": " + value for key, value in values.items())


def _string_end(data: bytes, at: int) -> int:
    end = at + 1
    while True:
        end = data.index(b'"', end)
        escapes = 0
        while data[end - 1 - escapes : end - escapes] == b"\\":
            escapes += 1
        end += 1
        if escapes % 2 == 0:
            return end


def _first_value(rest: bytes) -> bytes:
    """Returns the text of the value that `rest` begins with: the shortest that decodes. Only for keys written twice."""
    if rest.startswith(b'"'):
        return rest[: _string_end(rest, 0)]
    if rest[:1] in b"[{":
        depth, at = 0, 0
        while True:
            symbol = rest[at : at + 1]
            if symbol == b'"':
                at = _string_end(rest, at)
                continue
            depth += (symbol in b"[{") - (symbol in b"]}")
            at += 1
            if depth == 0:
                return rest[:at]
    end = min((found for found in (rest.find(b","), rest.find(b"}")) if found >= 0), default=len(rest))
    return rest[:end].rstrip()
