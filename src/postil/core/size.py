"""How large an answer for a model may be, and how a larger one is cut: in the middle, at line borders, and said so.

What programs read is never cut inside: whole items of JSON and whole lines of JSON lines are left out, and a document
of another machine format is left out as a whole. Parts do better themselves (pages, a shorter form); this is the net
under all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import msgspec
from msgspec import Raw

from postil.core.answer import LARGEST
from postil.core.content import Block, Document, Embedded, Link, Text
from postil.core.others.number import decode_json
from postil.core.others.unreadable import UNREADABLE

_NOTE = 600
_TAIL = 1_500
"""The end is kept too: it closes what frames the words of others, and often says how to go on."""
_FEW = 16
"""How many times larger than its room JSON may be that is understood whole: it takes ten times its bytes then."""
_DEEPEST = 64
"""Levels of JSON that are looked into: each costs a walk through all that is below it."""
_PROSE = ("", "text/plain", "text/markdown", "text/x-diff")
"""Types of documents that people read: these may be cut between lines."""


def cut(text: str, largest: int = LARGEST) -> tuple[str, int]:
    """Returns the text in at most `largest` bytes, and how many bytes are missing in its middle."""
    whole = text.encode("utf-8", "surrogatepass")
    if len(whole) <= largest:
        return text, 0
    mark = b"\n[...]\n"
    tail = min(_TAIL, largest // 4)
    head = max(largest - tail - len(mark), 0)
    start, end = _head(whole, head), _tail(whole, tail)
    kept = start + mark + end
    return kept.decode("utf-8", "ignore"), len(whole) - len(start) - len(end)


def _head(whole: bytes, room: int) -> bytes:
    border = whole.rfind(b"\n", room // 2, room)
    return whole[:border] if border > 0 else whole[:room].decode("utf-8", "ignore").encode()


def _tail(whole: bytes, room: int) -> bytes:
    border = whole.find(b"\n", len(whole) - room, len(whole) - room // 2) if room else -1
    if border >= 0:
        return whole[border + 1 :]
    return whole[len(whole) - room :].decode("utf-8", "ignore").encode() if room else b""


def bound(blocks: Sequence[Block], rest: str, largest: int = LARGEST) -> Sequence[Block]:
    """Returns the content in at most `largest` bytes. What was cut is said in a block of its own, with the `rest`."""
    sizes = [_size(block) for block in blocks]
    if sum(sizes) <= largest:
        return blocks
    room, left = max(largest - _NOTE, 0), 0
    kept: list[Block] = []
    for block, size in zip(blocks, sizes, strict=True):
        if size <= room:
            kept.append(block)
            room -= size
            continue
        shorter, missing = _shorten(block, size, room)
        left += missing
        kept += shorter
        room -= sum(map(_size, shorter))
    said = f"[postil: {left:,} of {sum(sizes):,} bytes are left out here. {rest}]"
    return [*kept, Text(said[:_NOTE])]


def _shorten(block: Block, size: int, room: int) -> tuple[list[Block], int]:
    """Returns what fits of a block, and how many bytes do not."""
    if isinstance(block, Text):
        is_json = block.text[:1] in ("{", "[") and _is_json(block.text)
        text, missing = _keep_items(block.text, room) if is_json else cut(block.text, room)
        return [Text(text)] if text.strip() else [], missing
    if isinstance(block, Embedded) and block.resource.text is not None and room > _NOTE:
        document = block.resource
        text, missing = _shorten_document(document.mime_type, document.text or "", room - len(document.uri))
        return [Embedded(msgspec.structs.replace(document, text=text))] if text else [], missing if text else size
    return [], size


def _shorten_document(mime_type: str, text: str, room: int) -> tuple[str, int]:
    """Returns what fits of a document so that it still is one of its type; nothing where that is not known."""
    if mime_type == "application/json":
        return _keep_items(text, room) if _is_json(text) else ("", _bytes(text))
    if mime_type == "application/x-ndjson":
        return _keep_lines(text, room)
    return cut(text, room) if mime_type in _PROSE else ("", _bytes(text))


def _is_json(text: str) -> bool:
    try:
        msgspec.json.decode(text, type=msgspec.Raw)
    except UNREADABLE:
        return False
    return True


def _keep_items(text: str, room: int) -> tuple[str, int]:
    """Returns JSON with as many whole items of its longest list as fit; nothing where that is not one."""
    kept = _fit_written(text.strip().encode("utf-8", "surrogatepass"), room)
    shorter = "" if kept is None else msgspec.json.encode(kept).decode()
    return shorter, _bytes(text) - _bytes(shorter)


def _fit_written(text: bytes | Raw, room: int, levels: int = _DEEPEST) -> object | None:
    """Returns the same as `_fit` of what is written there. Of a large text only what may fit is understood."""
    few = _FEW * max(room, _NOTE)
    if len(text) <= few:
        return _fit(decode_json(text), room, levels)
    if not levels:
        return None
    if bytes(memoryview(text)[:1]) == b"[":
        items: list[object] = []
        room -= len("[]")
        for each in msgspec.json.decode(text, type=list[Raw]):
            value = decode_json(each) if len(each) <= few else None
            size = len(each) if value is None else len(msgspec.json.encode(value)) + 1
            if size > room:
                first = None if items else _fit_written(each, room - 1, levels - 1)
                return items or (None if first is None else [first])
            items.append(value)
            room -= size
        return items
    if bytes(memoryview(text)[:1]) == b"{":
        members = msgspec.json.decode(text, type=dict[str, Raw])
        if not members:  # nothing but blanks
            return members if room >= len("{}") else None
        longest = max(members, key=lambda name: len(members[name]))
        if sum(map(len, members.values())) - len(members[longest]) > few:
            return None
        values = {name: None if name == longest else decode_json(each) for name, each in members.items()}
        left = room - len(msgspec.json.encode(values)) + len("null")
        smaller = _fit_written(members[longest], left, levels - 1)
        return None if smaller is None else {**values, longest: smaller}
    return None


def _fit(value: object, room: int, levels: int = _DEEPEST) -> object | None:
    """Returns the value with items left out until it fits; None where nothing of it can be left out."""
    if len(msgspec.json.encode(value)) <= room:
        return value
    if not levels:
        return None
    if isinstance(value, list):
        items: list[object] = []
        room -= len("[]")
        for each in cast("list[object]", value):
            size = len(msgspec.json.encode(each)) + 1
            if size > room:
                first = None if items else _fit(each, room - 1, levels - 1)
                return items or (None if first is None else [first])
            items.append(each)
            room -= size
    if isinstance(value, dict) and value:
        members = cast("dict[str, object]", value)
        sizes = {name: len(msgspec.json.encode(each)) for name, each in members.items()}
        longest = max(sizes, key=lambda name: sizes[name])
        smaller = _fit(members[longest], room - (len(msgspec.json.encode(members)) - sizes[longest]), levels - 1)
        return None if smaller is None else {**members, longest: smaller}
    return None


def _keep_lines(text: str, room: int) -> tuple[str, int]:
    whole = text.encode("utf-8", "surrogatepass")
    kept = whole[: whole.rfind(b"\n", 0, max(room, 0)) + 1]
    return kept.decode("utf-8", "surrogatepass"), len(whole) - len(kept)


def _size(block: Block) -> int:
    if isinstance(block, Text):
        text = block.text
        return len(text) if text.isascii() else _bytes(text)
    if isinstance(block, Embedded):
        return _document_size(block.resource)
    if isinstance(block, Link):
        return len(block.uri) + len(block.name) + len(block.description)
    return len(block.data)


def _document_size(document: Document) -> int:
    return _bytes(document.text or "") + len(document.blob or "") + len(document.uri)


def measure(blocks: Sequence[Block]) -> int:
    """Returns how many bytes of content these are."""
    return sum([_size(block) for block in blocks])


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
