"""What a writer records about an issue or a milestone: one frozen struct a kind of event, and its line of JSON.

An event says who (`a`), where (`r`, `n`: the writer's replica and its running number), when in the order of all
events (`l`, a Lamport clock for the whole repository; `ts` is for people only) and what it had seen of the other
writers of the same entity (`dep`). From `r`, `n` and `dep` alone follows whether one event knew of another. What
events mean together is `state/fold.py`'s.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Annotated, Literal, cast

import msgspec

from postil.core import limits
from postil.core.others.unreadable import UNREADABLE

VERSION = 1
"""Of the format. An event of a later version may mean what this one cannot know: it is kept and has no effect here."""
LOG_ENTITY = "00000000-0000-0000-0000-000000000000"
"""The entity of events that speak of a log and not of an issue."""
MAX_CLOCK = 1 << 48
"""An event beyond this is none."""
AHEAD = 1 << 20
"""A clock is at most the number of events, if all writers are honest and all logs are here. One that is ahead by more
is not believed: writers do not follow it, or one hostile event would bring them to the end of the integers."""
LARGE = 1 << 20
"""Bytes of an entity's events from which on they are not held all at once."""

_SECRET = int.from_bytes(os.urandom(7), "big")
_BETWEEN = b"\n%d\n" % _SECRET
"""What stands between lines when they are decoded together. A line that held it could pass for two."""

# Checked while decoding, in C: an event that breaks these is not believed, and so is none.
EntityId = Annotated[str, msgspec.Meta(min_length=36, max_length=36)]
Count = Annotated[int, msgspec.Meta(gt=0, lt=MAX_CLOCK)]
Version = Annotated[int, msgspec.Meta(le=VERSION)]

_ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"


class Envelope(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="t", tag="?"):
    """What every event carries."""

    ent: EntityId
    id: str
    r: str
    n: Count
    l: Count  # noqa: E741 - the name in every stored log
    ts: str = ""
    a: str = ""
    m: str = ""
    dep: dict[str, int] | None = None
    proof: str = ""
    """Shows that the writer had the events that `dep` names (`state/causality.py`); the first release wrote none."""
    v: Version = VERSION


class Created(Envelope, frozen=True, kw_only=True, omit_defaults=True, tag="created"):
    """An issue or milestone comes to be."""

    kind: str
    title: str
    status: str = "open"
    description: str = ""
    labels: tuple[str, ...] = ()
    milestone: str | None = None
    due: str | None = None
    assignees: tuple[str, ...] = ()
    origin: str | None = None


class Set(Envelope, frozen=True, kw_only=True, omit_defaults=True, tag="set"):
    """One field gets a value: title, status, milestone, due, deleted, or a field of the user's own."""

    f: str
    value: str | None = None


class Described(Envelope, frozen=True, kw_only=True, omit_defaults=True, tag="described"):
    """The description gets a new text; concurrent texts are merged three ways."""

    text: str = ""


class Labelled(Envelope, frozen=True, kw_only=True, omit_defaults=True, tag="labels"):
    """Labels are attached and detached."""

    add: tuple[str, ...] = ()
    rm: tuple[str, ...] = ()


class Assigned(Envelope, frozen=True, kw_only=True, omit_defaults=True, tag="assign"):
    """People take or leave the work."""

    add: tuple[str, ...] = ()
    rm: tuple[str, ...] = ()


class Linked(Envelope, frozen=True, kw_only=True, omit_defaults=True, tag="link"):
    """Edges to other entities, each (type, target)."""

    add: tuple[tuple[str, str], ...] = ()
    rm: tuple[tuple[str, str], ...] = ()


class Commented(Envelope, frozen=True, kw_only=True, omit_defaults=True, tag="comment"):
    """A comment; its own id lets it be edited and quoted."""

    c: str
    body: str = ""


class CommentEdited(Envelope, frozen=True, kw_only=True, omit_defaults=True, tag="comment_edit"):
    """A comment gets a new body."""

    c: str
    body: str = ""


class CommentDeleted(Envelope, frozen=True, kw_only=True, omit_defaults=True, tag="comment_delete"):
    """A comment is withdrawn for good."""

    c: str


class Claimed(Envelope, frozen=True, kw_only=True, omit_defaults=True, tag="claim"):
    """Someone starts to work on it, until a moment."""

    who: str
    until: str
    by: str = ""


class Released(Envelope, frozen=True, kw_only=True, omit_defaults=True, tag="release"):
    """The holder lets go."""

    who: str = ""


class Absorbed(Envelope, frozen=True, kw_only=True, omit_defaults=True, tag="absorbed"):
    """All events of `log` up to number `upto` now live in the log that holds this mark."""

    log: str
    upto: Annotated[int, msgspec.Meta(ge=0, lt=MAX_CLOCK)]


class Unknown(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An event of a kind that this version does not know: kept in the log, shown in the history, without effect."""

    ent: EntityId
    id: str
    r: str
    n: Count
    l: Count  # noqa: E741
    t: str = "?"
    ts: str = ""
    a: str = ""
    dep: dict[str, int] | None = None
    proof: str = ""
    v: int = VERSION


Known = (
    Created
    | Set
    | Described
    | Labelled
    | Assigned
    | Linked
    | Commented
    | CommentEdited
    | CommentDeleted
    | Claimed
    | Released
    | Absorbed
)
Event = Known | Unknown


class _Texts(msgspec.Struct, frozen=True):
    """The parts of a line that may be long: texts. They are not understood yet."""

    title: msgspec.Raw = msgspec.Raw()
    description: msgspec.Raw = msgspec.Raw()
    value: msgspec.Raw = msgspec.Raw()
    text: msgspec.Raw = msgspec.Raw()
    body: msgspec.Raw = msgspec.Raw()
    m: msgspec.Raw = msgspec.Raw()


_known = msgspec.json.Decoder(Known)
_known_or_between = msgspec.json.Decoder(Known | Literal[_SECRET])
_unknown = msgspec.json.Decoder(Unknown)
_texts = msgspec.json.Decoder(_Texts)
_encoder = msgspec.json.Encoder()


def encode(event: Known) -> bytes:
    """Returns one line of JSON, without its newline."""
    return _encoder.encode(event)


def decode(line: bytes) -> Event | None:
    """Returns the event of a line; None when the line is no event at all."""
    if len(line) > limits.LOG_NAMES and (len(line) > limits.LOG_EVENT or names_too_much(line)):
        return None
    try:
        return _known.decode(line)
    except UNREADABLE:
        try:
            return _unknown.decode(line)
        except UNREADABLE:
            return None


def names_too_much(line: bytes) -> bool:
    """Returns whether a line holds more beside its texts than anybody can have meant: many values, or a key twice.

    Understood they would take fifty times their bytes.
    """
    try:
        held = _texts.decode(line)
    except UNREADABLE:
        return False  # it is no event either
    texts = (held.title, held.description, held.value, held.text, held.body, held.m)
    return len(line) - sum(len(memoryview(each)) for each in texts) > limits.LOG_NAMES


def _has_long_line(text: bytes) -> bool:
    """Returns whether there is a line above the limit of names; perhaps also for one above the half of it."""
    half = limits.LOG_NAMES // 2
    return any(text.find(b"\n", at, at + half) < 0 for at in range(0, len(text) - half, half))


def decode_lines(lines: bytes) -> list[Event]:
    """Returns every event of a run of lines; lines that are none, or more than one, are left out."""
    text = lines.removesuffix(b"\n")
    if _has_long_line(text):
        return _decode_each(text)
    # Msgspec takes any space for the end of an event. With the secret between lines each second value must be that:
    # it is not where two events are on a line, and where one spans two lines there are too few.
    parted = text.replace(b"\n", _BETWEEN)
    ends = (len(parted) - len(text)) // (len(_BETWEEN) - 1)
    try:
        found = _known_or_between.decode_lines(parted)
        if len(found) == 2 * ends + 1 and found[1::2].count(_SECRET) == ends:
            return cast(list[Event], found[::2])
    except UNREADABLE:
        pass
    return _decode_each(text)


def _decode_each(text: bytes) -> list[Event]:
    each = (decode(line) for line in text.split(b"\n") if line)
    return [event for event in each if event is not None]


def decode_parts(lines: bytes, size: int = 1 << 18) -> Iterator[list[Event]]:
    """Yields every event of a run of lines, some at a time; lines that are none are left out."""
    at = 0
    while at < len(lines):
        end = lines.find(b"\n", at + size)
        end = len(lines) if end < 0 else end
        yield decode_lines(lines[at:end])
        at = end + 1


def encode_lines(events: Iterable[Known]) -> bytes:
    """Returns a run of lines, each with its newline."""
    return b"".join(_encoder.encode(event) + b"\n" for event in events)


def kind_of(event: Event) -> str:
    """Returns the name an event goes by in a log."""
    if isinstance(event, Unknown):
        return event.t
    return str(event.__struct_config__.tag)


def entity_of(line: bytes) -> str | None:
    """Returns the entity of a line, without decoding it where our own encoder wrote it."""
    at = line.find(b'"ent":"', 0, 40)
    # Our encoder writes the tag and then the entity; inside a JSON string the quotes of the needle would be escaped.
    # Of two entities, which it never writes, the last counts: also one whose name is written in numbers.
    if (
        at > 0
        and line[at + 43 : at + 44] == b'"'
        and line.startswith(b'{"t":"')
        and line.find(b"{", 1, at) < 0
        and line.find(b'"ent"', at + 44) < 0
        and b"\\u00" not in line
    ):
        return line[at + 7 : at + 43].decode("ascii", "replace")
    event = decode(line)
    return None if event is None else event.ent


def is_entity_id(name: str) -> bool:
    """Returns whether an entity can have this name: letters, digits and dashes. People paste it into their shells."""
    return name.isascii() and name[0] != "-" and name.replace("-", "").isalnum()


def new_event_id() -> str:
    """96 random bits in 20 letters: two writers never make the same one."""
    number = int.from_bytes(os.urandom(13), "big")
    return "".join(_ALPHABET[(number >> shift) & 31] for shift in range(0, 100, 5))


def new_entity_id() -> str:
    """Returns a random UUID (version 4), without the cost of importing uuid."""
    number = int.from_bytes(os.urandom(16), "big") & ~(0xF << 76) & ~(0x3 << 62) | (0x4 << 76) | (0x2 << 62)
    text = f"{number:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
