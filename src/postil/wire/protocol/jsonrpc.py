"""JSON-RPC 2.0 frames: read strictly, written compactly. Knows nothing of MCP.

Every frame that can be read at all becomes something to answer; where the frame is refused, its id is looked for, so
that the client's pending call fails instead of hanging.
"""

from __future__ import annotations

import re
from typing import Any, TypeAlias, cast

import msgspec
from msgspec import UNSET, Struct

from postil.core import codes, limits
from postil.core.others.number import read_float

LARGEST_FRAME = limits.FRAME
DEEPEST = 64
SMALL = 4096
"""Bytes of a frame in which counting costs nothing."""
MOST_CONTAINERS = 50_000
MOST_STRINGS = 200_000
"""What is decoded costs time by the value, not by the byte."""
MOST_FRACTIONS = 100_000
_FEW_NUMBERS = 64 * 1024
"""Bytes of a frame whose numbers cost little, whatever they are."""
_MOST_DIGITS = 64
_AS_DIGIT = bytes(ord("0") if byte in b"0123456789." else ord(" ") for byte in range(256))
_LENIENT = 64 * 1024
"""The largest frame that is read again by a lenient reader, for its id."""
LONGEST_ID = 256
LARGEST_BATCH = 100

Id: TypeAlias = int | str


class Request(Struct, frozen=True):
    """A call that wants an answer."""

    id: Id
    method: str
    params: dict[str, Any]


class Notification(Struct, frozen=True):
    """A message that wants none."""

    method: str
    params: dict[str, Any]


class Response(Struct, frozen=True):
    """The client's answer to a request of ours."""

    id: Id
    result: Any
    error: Any


class Invalid(Struct, frozen=True):
    """A frame that is refused, with the id that could be read from it."""

    id: Id | None
    code: int
    message: str
    data: object = None


Incoming: TypeAlias = Request | Notification | Response | Invalid


class _Envelope(Struct):
    jsonrpc: Any = UNSET
    id: Any = UNSET
    method: Any = UNSET
    params: Any = UNSET
    result: Any = UNSET
    error: Any = UNSET


_decode_object = msgspec.json.Decoder(_Envelope, float_hook=read_float).decode
_decode_batch = msgspec.json.Decoder(list[Any], float_hook=read_float).decode
encode = msgspec.json.Encoder().encode


def parse(frame: bytes) -> Incoming | list[Incoming]:
    """Read one frame: a message, or the messages of a batch."""
    if len(frame) > LARGEST_FRAME:
        return refuse_too_large(frame)
    is_plain = len(frame) < SMALL and frame.count(b"{") + frame.count(b"[") <= DEEPEST
    if not is_plain and (fault := find_excess(frame)):
        return Invalid(_find_id_in_text(frame), codes.INVALID_REQUEST, f"Invalid Request: {fault}")
    try:
        text = frame.decode("utf-8")
        if text[:1] == "{" or text.lstrip()[:1] != "[":
            return _message(_decode_object(text))
        return _batch(text)
    except UnicodeDecodeError:
        return Invalid(find_id(frame), codes.PARSE_ERROR, "Parse error: not valid UTF-8")
    except msgspec.ValidationError as fault:
        if "Expected `object`" in str(fault):
            return Invalid(None, codes.INVALID_REQUEST, "Invalid Request: a frame is one JSON object")
        return Invalid(find_id(frame), codes.PARSE_ERROR, f"Parse error: {fault}")
    except (msgspec.DecodeError, RecursionError) as fault:
        return Invalid(find_id(frame), codes.PARSE_ERROR, f"Parse error: {fault}")


def refuse_too_large(head: bytes) -> Invalid:
    """Returns the refusal of a frame over the limit, of which only the beginning was kept."""
    megabytes = LARGEST_FRAME // (1024 * 1024)
    found = find_id_at_start(head[:4096])
    return Invalid(found, codes.INVALID_REQUEST, f"Invalid Request: a frame has at most {megabytes} MiB")


def _batch(text: str) -> Incoming | list[Incoming]:
    items = _decode_batch(text)
    if not items:
        return Invalid(None, codes.INVALID_REQUEST, "Invalid Request: an empty batch")
    if len(items) > LARGEST_BATCH:
        return Invalid(None, codes.INVALID_REQUEST, f"Invalid Request: a batch has at most {LARGEST_BATCH} items")
    return [_item(item) for item in items]


def _item(item: object) -> Incoming:
    try:
        return _message(msgspec.convert(item, _Envelope))
    except msgspec.ValidationError:
        return Invalid(None, codes.INVALID_REQUEST, "Invalid Request: an item of a batch is one JSON object")


def _message(envelope: _Envelope) -> Incoming:
    frame_id = envelope.id
    known = frame_id if is_id(frame_id) else None
    if envelope.jsonrpc != "2.0":
        return Invalid(known, codes.INVALID_REQUEST, 'Invalid Request: "jsonrpc" must be "2.0"')
    if envelope.method is UNSET:
        return _response(envelope, known)
    if not isinstance(envelope.method, str):
        return Invalid(known, codes.INVALID_REQUEST, 'Invalid Request: "method" must be a string')
    given: object = envelope.params
    params: dict[str, Any] = {}
    if isinstance(given, dict):
        params = cast("dict[str, Any]", given)
    elif given is not UNSET and given is not None:
        return Invalid(known, codes.INVALID_REQUEST, 'Invalid Request: "params" must be an object')
    if frame_id is UNSET:
        return Notification(envelope.method, params)
    if known is None:
        said = f'Invalid Request: "id" must be a string of at most {LONGEST_ID} bytes or a 64-bit integer'
        return Invalid(None, codes.INVALID_REQUEST, said)
    return Request(known, envelope.method, params)


def _response(envelope: _Envelope, known: Id | None) -> Incoming:
    if known is None or (envelope.result is UNSET) == (envelope.error is UNSET):
        return Invalid(known, codes.INVALID_REQUEST, 'Invalid Request: neither a "method" nor an answer')
    return Response(known, envelope.result, envelope.error)


def ids_of(incoming: Incoming | list[Incoming]) -> list[Id]:
    """Returns the ids of the requests of a frame."""
    items = incoming if isinstance(incoming, list) else [incoming]
    return [item.id for item in items if isinstance(item, Request)]


def is_id(value: object) -> bool:
    """Whether this may be the id of a request: a short string or a 64-bit integer, and no boolean."""
    if type(value) is int:
        return -(2**63) <= value < 2**63
    if not isinstance(value, str):
        return False
    try:
        return len(value) <= LONGEST_ID and len(value.encode()) <= LONGEST_ID
    except UnicodeEncodeError:  # a lone surrogate: it could not be sent back
        return False


def find_excess(frame: bytes) -> str:
    """Returns what is too much in a frame; empty when nothing is. One pass, and never more than some milliseconds.

    Depth is found by deleting innermost pairs, at the speed of `bytes.replace`; the brackets are few by then.
    """
    is_small, has_few = len(frame) <= _FEW_NUMBERS, _has_few(frame)
    if is_small and has_few:
        return ""
    if b"\\" in frame:
        frame = frame.replace(b"\\\\", b"").replace(b'\\"', b"")
    if frame.count(b'"') > 2 * MOST_STRINGS:
        return f"more than {MOST_STRINGS} strings"
    outside = b"".join(frame.split(b'"')[::2])
    fault = "" if is_small else _find_dear_numbers(outside)
    if fault or has_few:
        return fault
    brackets = outside.translate(_AS_SQUARE, _NOT_BRACKETS)
    if brackets.count(b"[") > MOST_CONTAINERS:
        return f"more than {MOST_CONTAINERS} objects and lists"
    for _ in range(DEEPEST):
        if not brackets:
            return ""
        brackets = brackets.replace(b"[]", b"")
    return f"nested deeper than {DEEPEST} levels" if brackets else ""


def _find_dear_numbers(outside: bytes) -> str:
    """Returns what is too much among the numbers, each of which may cost as much as a thousand others."""
    words = outside.count(b"true") + outside.count(b"false")
    if outside.count(b".") + outside.count(b"e") + outside.count(b"E") - words > MOST_FRACTIONS:
        return f"more than {MOST_FRACTIONS} numbers with a point or an exponent"
    is_long = b"0" * (_MOST_DIGITS + 1) in outside.translate(_AS_DIGIT)  # a pattern would try at each digit
    return f"a number with more than {_MOST_DIGITS} digits" if is_long else ""


def _has_few(frame: bytes) -> bool:
    """Returns whether a frame has so few brackets and strings that nothing can be too much in it."""
    brackets = _count(frame, b"{", DEEPEST) + _count(frame, b"[", DEEPEST)
    return brackets <= DEEPEST and (
        len(frame) < 2 * MOST_STRINGS or _count(frame, b'"', MOST_STRINGS // 100) <= 2 * MOST_STRINGS
    )


def _count(frame: bytes, byte: bytes, few: int) -> int:
    """Returns how often a byte occurs: by searching, which is much faster than counting where it occurs a few times."""
    at = -1
    for found in range(few + 1):
        at = frame.find(byte, at + 1)
        if at < 0:
            return found
    return frame.count(byte)


_AS_SQUARE = bytes.maketrans(b"{}", b"[]")  # which kind it is does not matter for depth
_NOT_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")
_ID_MEMBER = rb'"id"\s*:\s*(-?\d{1,19}|"(?:[^"\\]|\\.){0,256}")\s*[,}]'


def find_id(frame: bytes) -> Id | None:
    """Returns the id of a refused frame where one can be read: by a lenient reader, else from its top level."""
    import json  # only refused frames pay for it

    if len(frame) > _LENIENT:
        return _find_id_in_text(frame)
    try:
        text = frame.decode("utf-8", "replace")
        lenient = json.loads(text, parse_int=lambda digits: int(digits[:20]))
        found = cast("dict[str, Any]", lenient).get("id") if isinstance(lenient, dict) else None
    except (ValueError, RecursionError):
        return _find_id_in_text(frame)
    return cast("Id | None", found) if is_id(found) else None


def find_id_at_start(head: bytes) -> Id | None:
    """Returns the id of a message of which only the beginning is here, where it stands before anything nested."""
    if not head.lstrip().startswith(b"{"):  # a batch has no id
        return None
    found = _search_id(_before_nested(head))
    return cast("Id | None", found) if is_id(found) else None


def _find_id_in_text(frame: bytes) -> Id | None:
    last = max(frame.rfind(b"}", 0, max(frame.rfind(b"}"), 0)), frame.rfind(b"]"))
    found = _search_id(_before_nested(frame), frame[last + 1 :] if last >= 0 else b"")
    return cast("Id | None", found) if is_id(found) else None


def _before_nested(frame: bytes) -> bytes:
    start = frame.find(b"{") + 1
    nested = min((at for at in (frame.find(b"{", start), frame.find(b"[", start)) if at >= 0), default=len(frame))
    return frame[start:nested]


def _search_id(*pieces: bytes) -> object:
    for piece in pieces:
        found = re.search(_ID_MEMBER, piece)
        if found:
            try:
                return msgspec.json.decode(found[1])
            except (msgspec.DecodeError, UnicodeDecodeError):
                return None
    return None


def encode_reply(request_id: Id, result: object) -> bytes:
    """Returns the answer to a request."""
    return encode({"jsonrpc": "2.0", "id": request_id, "result": result})


def encode_error(request_id: Id | None, code: int, message: str, data: object = None) -> bytes:
    """Returns the error that answers a request; `data` only when there is some."""
    error: dict[str, object] = {"code": code, "message": message}
    if data:
        error["data"] = data
    return encode({"jsonrpc": "2.0", "id": request_id, "error": error})


def encode_notification(method: str, params: object) -> bytes:
    """Returns a message that wants no answer."""
    return encode({"jsonrpc": "2.0", "method": method, "params": params})


def encode_request(request_id: Id, method: str, params: object) -> bytes:
    """Returns a request of ours to the client."""
    return encode({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
