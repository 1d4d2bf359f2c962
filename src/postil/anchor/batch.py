"""Relocating in bulk, one JSON object a line: `python -m postil.anchor.batch`. The only module here that does I/O."""

import sys
from collections.abc import Iterable, Iterator

import msgspec
from msgspec import Struct

from postil.anchor.model import Relocation, Source, Span
from postil.anchor.relocate import relocate_all
from postil.anchor.syntax.languages import parse_everything_here
from postil.core.others.unreadable import UNREADABLE


class Request(Struct, frozen=True):
    """A pair of file versions and the lines to follow from the old to the new."""

    old: str
    new: str
    lines: list[int]
    old_path: str = ""
    new_path: str = ""


class Anchor(Struct, frozen=True):
    line: int | None
    state: str
    confidence: float
    reason: str
    candidates: list[int] = []


class Answer(Struct, frozen=True):
    """One anchor for each line asked, in order."""

    anchors: list[Anchor]


def answer_all(requests: Iterable[Request]) -> Iterator[Answer]:
    """Yields the answers, each as soon as its request is there. Pure: texts in, anchors out."""
    for request in requests:
        old, new = Source(request.old, request.old_path), Source(request.new, request.new_path)
        found = relocate_all(old, new, [Span(line) for line in request.lines])
        yield Answer([_describe(each) for each in found])


def _describe(found: Relocation) -> Anchor:
    line = None if found.span is None else found.span.start
    others = (
        [each.span.start for each in found.candidates if each.span.start != line] if found.state == "review" else []
    )
    return Anchor(line, found.state, found.confidence, found.reason, others)


def main() -> None:
    parse_everything_here()  # a process of its own, without workers: a large text would lose its syntax
    decode = msgspec.json.Decoder(Request).decode
    encode = msgspec.json.Encoder().encode

    def requests() -> Iterator[Request]:
        for number, row in enumerate(sys.stdin.buffer, 1):
            try:
                if row.strip():
                    yield decode(row)
            except UNREADABLE as fault:
                sys.stderr.write(f"Line {number} is no request: {fault}\n")
                sys.exit(2)

    for answer in answer_all(requests()):
        sys.stdout.buffer.write(encode(answer) + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
