"""How large an answer for a model may be, and how a larger one is cut: in the middle, at line borders, and said so.

Parts do better themselves (pages, a shorter form); this is the net under all of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from postil.core.content import Block, Document, Embedded, Link, Text

LARGEST = 24_000
"""Bytes of content that a tool answers unless more was asked for: what a model can read without losing its thread."""
_NOTE = 600
_TAIL = 1_500
"""The end is kept too: it closes what frames the words of others, and often says how to go on."""


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
        text, missing = cut(block.text, room)
        return [Text(text)] if text.strip() else [], missing
    if isinstance(block, Embedded) and block.resource.text is not None and room > _NOTE:
        text, missing = cut(block.resource.text, room - len(block.resource.uri))
        return [Embedded(msgspec.structs.replace(block.resource, text=text))], missing
    return [], size


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
