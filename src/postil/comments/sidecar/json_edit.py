"""A JSON document as text: one array of objects changed, every other byte kept.

Sidecars are written by other programs too and live in git; so what did not change keeps its formatting, its numbers and
its unknown keys, and a diff shows what happened. Pure. Not here: what the objects mean.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from typing import TypeAlias, TypeVar, cast, overload

import msgspec
from msgspec import Raw, Struct

from postil.core.others.number import decode_json
from postil.core.others.unreadable import UNREADABLE

JsonObject: TypeAlias = dict[str, object]
Piece: TypeAlias = bytes | Raw
"""A part of a document as it is written; a `Raw` is a view of the document, no copy of it."""
Refuse: TypeAlias = Callable[[int], None]
"""Raises what its user wants where an array has more bytes than may be held: asked at each object that is written."""

T = TypeVar("T")
SLICE = 1 << 20
"""Bytes that are looked at or copied at once of a document that is larger."""
_LEVELS = 4
"""Lists and objects inside each other that are taken apart for what no decoder takes: a reply is in two."""
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_BETWEEN = re.compile(rb"[\s,]*")
_INDENT = b"  "
_GAP = b",\n" + _INDENT * 2


class NotAnObject(ValueError):
    """The text is not one JSON object; the sentence says why."""


class Items:
    """One array of objects inside a document: what is there, and what it is to become.

    A single insertion, the most frequent change, only looks for its neighbour; everything else takes the array apart.
    """

    def __init__(self, data: bytes, start: int, raw: Piece, refuse: Refuse) -> None:
        self._data, self._start, self._end = data, start, start + len(raw)
        self._size, self._refuse = len(raw), refuse
        self._raws = _decode_list(raw)
        self._texts: list[Piece] | None = None
        self._gaps: list[bytes] = []
        self._tail = b"]"
        self._inserted: tuple[int, bytes] | None = None
        self._ids: list[str] | None = None
        self._places: dict[str, int] | None = None
        self.changed = False

    def __len__(self) -> int:
        return len(self._raws) + (self._inserted is not None) if self._texts is None else len(self._texts)

    @property
    def texts(self) -> list[Piece]:
        """The objects as they are written."""
        if self._texts is None:
            self._texts = []
            at, gap = self._start + 1, b""
            for item in self._raws:
                between = _BETWEEN.match(self._data, at)
                found = between.end() if between else at
                if (this := self._data[at:found]) != gap:
                    gap = this  # most are alike, and are kept once
                self._gaps.append(gap)
                self._texts.append(item)
                at = found + len(item)
            self._tail = self._data[at : self._end]
            if self._inserted:
                self._insert(*self._inserted)
        return self._texts

    @property
    def ids(self) -> list[str]:
        """The ids of the objects: what finds one without holding the others."""
        if self._ids is None:
            self._ids = [_named.decode(each).id for each in self.texts]
        return self._ids

    def find(self, name: str) -> int:
        """Returns the place of the first object of that id, or -1. Looking for each of them takes linear time."""
        if self._places is None:
            ids = self.ids
            self._places = dict(zip(reversed(ids), range(len(ids) - 1, -1, -1), strict=True))
        return self._places.get(name, -1)

    def replace(self, index: int, item: JsonObject | Struct) -> int:
        """Write another object in the place of one. Returns how many bytes it has."""
        was = len(self.texts[index])
        self.texts[index] = text = self._write(item, was)
        if self._ids is not None and self._ids[index] != (name := _named.decode(text).id):
            self._ids[index], self._places = name, None
        self.changed = True
        return len(text)

    def insert(self, index: int, item: JsonObject | Struct) -> int:
        """Write an object before the one at `index`. Returns how many bytes it has."""
        text = self._write(item)
        if self._raws and not self.changed and self._texts is None:
            self._inserted = index, text
        else:
            self._insert(index, text)
        self.changed = True
        return len(text)

    def _write(self, item: JsonObject | Struct, less: int = 0) -> bytes:
        """Returns an object as it is to be written, with `less` bytes gone for it."""
        text = _format(item, 2)
        self._size += len(text) - less
        self._refuse(self._size)
        return text

    def _insert(self, index: int, text: bytes) -> None:
        texts = self.texts
        if index < len(texts):
            gap, self._gaps[index] = self._gaps[index], _GAP
        elif texts:
            gap = _GAP
        else:
            gap, self._tail = b"\n" + _INDENT * 2, b"\n" + _INDENT + b"]"
        self._gaps.insert(index, gap)
        texts.insert(index, text)
        self._places = None
        if self._ids is not None:
            self._ids.insert(index, _named.decode(text).id)

    def remove(self, index: int) -> None:
        """Take one object out."""
        texts = self.texts
        self._size -= len(texts[index])
        del texts[index]
        self._places = None
        if self._ids is not None:
            del self._ids[index]
        if index == 0 and len(self._gaps) > 1:
            del self._gaps[1]
        else:
            del self._gaps[index]
        if not texts:
            self._tail = b"]"
        self.changed = True

    def rearrange(self, inserted: Sequence[tuple[int, JsonObject]], removed: Collection[int]) -> None:
        """Write objects before those at their places, in order, and take some out; the places are those of before."""
        texts, gaps = self.texts, self._gaps
        self._size -= sum(len(texts[index]) for index in removed)
        if inserted and not texts:
            gaps, self._tail = [b"\n" + _INDENT * 2], b"\n" + _INDENT + b"]"
        made: list[tuple[bytes, Piece]] = []
        first, at = gaps[:1], 0
        for place, item in (*inserted, (len(texts), None)):
            kept = range(at, place)
            made += ((gaps[index], texts[index]) for index in kept if index not in removed)
            at = place
            if item is not None:
                gap = gaps[place] if place < len(gaps) else _GAP
                made.append((gap, self._write(item)))
                if place < len(gaps):
                    gaps[place] = _GAP
        self._texts = [text for _, text in made]
        self._gaps = [*first, *(gap for gap, _ in made[1:])] if made else []
        self._tail = self._tail if made else b"]"
        self._ids = self._places = None
        self.changed = True

    def pieces(self) -> Iterator[Piece | memoryview]:
        """Yields the array as it is to be written."""
        spliced = self._splice(*self._inserted) if self._texts is None and self._inserted else None
        if spliced is not None:
            return iter(spliced)
        texts = self.texts
        return chain((b"[",), chain.from_iterable(zip(self._gaps, texts, strict=True)), (self._tail,))

    def _splice(self, index: int, text: bytes) -> tuple[bytes | memoryview, ...] | None:
        """Returns the array with one object more, or None when its neighbour is not the only one of its kind."""
        last = index == len(self._raws)
        neighbour = bytes(self._raws[-1] if last else self._raws[index])
        at = self._data.find(neighbour, self._start)
        if self._data.find(neighbour, at + 1, self._end) >= 0:
            return None
        if last:
            at += len(neighbour)
        whole = memoryview(self._data)
        before, behind = whole[self._start : at], whole[at : self._end]
        return (before, _GAP, text, behind) if last else (before, text, _GAP, behind)


class ReadAnew(Sequence[T]):
    """Some items of a file, each of which is made when it is asked for."""

    def __init__(self, items: Items, read: Callable[[Piece], T]) -> None:
        self._items, self._read = items, read

    def __len__(self) -> int:
        return len(self._items)

    @property
    def ids(self) -> list[str]:
        """Their ids."""
        return self._items.ids

    def find(self, name: str) -> int:
        """Returns the place of the first of that id, or -1."""
        return self._items.find(name)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        if isinstance(index, slice):
            return [*map(self._read, self._items.texts[index])]
        return self._read(self._items.texts[index])

    def __iter__(self) -> Iterator[T]:
        return map(self._read, self._items.texts)

    def __reversed__(self) -> Iterator[T]:
        return map(self._read, reversed(self._items.texts))


class Document:
    """A JSON object, its top-level values as text."""

    def __init__(self, data: bytes, refuse: Refuse = lambda _: None) -> None:
        try:
            values = msgspec.json.decode(data, type=dict[str, Raw])
        except msgspec.ValidationError:
            raise NotAnObject("the file is not a JSON object") from None
        except RecursionError:
            raise NotAnObject("the file is nested too deeply") from None
        except UNREADABLE as fault:
            raise NotAnObject(f"the file is not JSON: {fault}") from None
        self._data, self._refuse = data, refuse
        self._values: dict[str, Raw] = values
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

    def raw(self, key: str) -> Piece:
        """Returns a top-level value as text; `null` when there is none."""
        return self._new.get(key) or self._values.get(key, b"null")

    def set(self, key: str, value: object) -> None:
        """Write a top-level value; a new key goes first, where readers look for `file` and `version`."""
        self._new[key] = _format(value, 1)

    def items(self, key: str) -> Items:
        """Returns the array of objects under a key; an empty one when there is none."""
        if key not in self._items:
            raw = self._values.get(key)
            if raw is None or (len(raw) == len(b"null") and bytes(raw) == b"null"):
                self._items[key] = Items(b"[]", 0, b"[]", self._refuse)
            else:
                self._items[key] = Items(self._data, self._start(key), raw, self._refuse)
        return self._items[key]

    def text(self) -> bytes:
        """Returns the document as it is to be written."""
        return b"".join(self.pieces())

    def pieces(self) -> list[Piece | memoryview]:
        """Returns the document as it is to be written, in pieces: most of them are views of what it was."""
        lists = {key: items for key, items in self._items.items() if items.changed}
        changed = {*self._new, *lists}
        if not changed:
            return [self._data]
        spans = sorted((self._start(key), key) for key in changed if key in self._values)
        whole = memoryview(self._data)
        parts: list[Piece | memoryview] = []
        at = 0
        for start, key in spans:
            parts.append(whole[at:start])
            parts += lists[key].pieces() if key in lists else (self._new[key],)
            at = start + len(self._values[key])
        parts.append(whole[at:])
        first = {key: value for key, value in self._new.items() if key not in self._values and key not in lists}
        last = {key: b"".join(each.pieces()) for key, each in lists.items() if key not in self._values}
        if not first and not last:
            return parts
        return [_with_keys(b"".join(parts), first, last, empty=not self._values)]

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
            if _stands_at(data, value_at, self._values[name]):
                starts[name] = value_at
                at = value_at + len(self._values[name])
            else:  # an earlier value of a key that comes again
                at = value_at + len(_first_value(data[value_at:]))
        return starts


def check_text(data: bytes) -> None:
    """Raises NotAnObject when the text is not UTF-8 all through: decoders pass over what they do not know."""
    try:
        data.decode("utf-8") if len(data) <= SLICE else _decode_slices(data)
        if b"\\u" in data and _SURROGATE.search(data):
            for value in [data] if len(data) <= SLICE else _take_apart(data):
                decode_json(value)
    except UNREADABLE as fault:
        raise NotAnObject(f"the file is not JSON in UTF-8: {fault}") from None


def _decode_slices(data: bytes) -> None:
    """Raises UnicodeDecodeError where a text is not UTF-8; a large one is never held as characters."""
    at = 0
    while at < len(data):
        end = at + SLICE
        while at < end < len(data) and data[end] & 0xC0 == 0x80:  # inside of a character
            end -= 1
        try:
            data[at:end].decode("utf-8")
        except UnicodeDecodeError as fault:
            raise UnicodeDecodeError("utf-8", data, at + fault.start, at + fault.end, fault.reason) from None
        at = end if end > at else at + SLICE


def _take_apart(data: bytes) -> Iterator[Piece]:
    """Yields the values of a large document in which there may be half a character, the items of lists one by one."""
    for value in msgspec.json.decode(data, type=dict[str, Raw]).values():
        pieces = _decode_list(value) if bytes(memoryview(value)[:1]) == b"[" else [value]
        yield from (each for each in pieces if _SURROGATE.search(each))


def decode_value(text: Piece) -> object:
    """Returns a JSON value. Raises NotAnObject when it cannot be decoded."""
    try:
        return decode_json(text)
    except UNREADABLE as fault:
        raise NotAnObject(f"the file holds a value that is not JSON: {fault}") from None


def decode_object(text: Piece) -> JsonObject:
    """Returns an object with every key it has; what no decoder takes, as a number of 5,000 digits, is kept as text."""
    try:
        value = decode_json(text)
    except UNREADABLE:
        value = {key: _decode_or_keep(each) for key, each in msgspec.json.decode(text, type=dict[str, Raw]).items()}
    assert isinstance(value, dict)
    return cast(JsonObject, value)


def _decode_or_keep(text: Raw, levels: int = _LEVELS) -> object:
    """Returns a value; of a list or an object that holds what no decoder takes only that is kept as text."""
    try:
        return decode_json(text)
    except UNREADABLE:
        if not levels:
            return text
    with suppress(*UNREADABLE):
        if bytes(memoryview(text)[:1]) == b"[":
            return [_decode_or_keep(each, levels - 1) for each in msgspec.json.decode(text, type=list[Raw])]
        held = msgspec.json.decode(text, type=dict[str, Raw])
        return {key: _decode_or_keep(each, levels - 1) for key, each in held.items()}
    return text


def new_document(values: JsonObject) -> bytes:
    """Returns a whole document, formatted as `JSON.stringify(value, null, 2)` does."""
    return _format(values, 0)


class _Named(Struct):
    id: str = ""


_named = msgspec.json.Decoder(_Named)


def _stands_at(data: bytes, at: int, value: Raw) -> bool:
    """Whether a value is what a document holds at a place."""
    if len(value) <= SLICE:
        return data.startswith(bytes(value), at)
    whole = memoryview(value)
    return all(data.startswith(bytes(whole[n : n + SLICE]), at + n) for n in range(0, len(value), SLICE))


def _decode_list(raw: Piece) -> list[Raw]:
    try:
        return msgspec.json.decode(raw, type=list[Raw])
    except msgspec.ValidationError:
        raise NotAnObject("a list was expected and something else is there") from None
    except UNREADABLE as fault:
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
