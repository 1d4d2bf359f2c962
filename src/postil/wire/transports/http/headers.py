"""The headers of an MCP request over HTTP: what they are, and whether they agree with the body. Pure functions.

Who may call is not decided here; that is the surface's business.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, cast

import msgspec
from msgspec import Raw, Struct

from postil.core import codes
from postil.wire.protocol import jsonrpc
from postil.wire.protocol.eras import era, stateless
from postil.wire.protocol.failures import ProtocolFailure

RawHeaders: TypeAlias = Sequence[tuple[bytes, bytes]]
Headers: TypeAlias = Mapping[bytes, bytes]

VERSION = b"mcp-protocol-version"
METHOD = b"mcp-method"
NAME = b"mcp-name"
SESSION = b"mcp-session-id"
LAST_EVENT = b"last-event-id"
MOST_HEADERS = 128

KNOWN_VERSIONS = frozenset({*era.HANDSHAKE, era.CONTRACT_003, era.STATELESS.version})
NAMED_BY = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
}
"""Methods whose `Mcp-Name` header repeats a parameter of the body, and which one."""

REPEATABLE = frozenset({b"accept", b"cookie", b"via", b"forwarded", b"x-forwarded-for", b"cache-control", b"te"})
"""Headers that may come in several lines; any other one twice means that two readers could disagree."""


class RepeatedHeader(Exception):
    """A header that must be unique came twice."""

    def __init__(self, name: bytes) -> None:
        super().__init__(name)
        self.name = name.decode("latin-1")


def read(raw: RawHeaders) -> dict[bytes, bytes]:
    """Returns the headers by lower-case name. Raises RepeatedHeader."""
    headers = dict(raw)
    if len(headers) == len(raw):
        return headers
    headers.clear()
    for name, value in raw:
        if name not in headers:
            headers[name] = value
        elif name in REPEATABLE:
            headers[name] += b", " + value
        else:
            raise RepeatedHeader(name)
    return headers


def get_text(headers: Headers, name: bytes) -> str | None:
    """Returns one header as text, or None. HTTP servers may leave white space around a value."""
    value = headers.get(name)
    return None if value is None else value.strip(b" \t").decode("latin-1")


def get_trace(headers: Headers) -> dict[str, str]:
    """Returns the headers that name a trace, as they came."""
    return {name: value for name in ("traceparent", "tracestate") if (value := get_text(headers, name.encode()))}


def accepts(headers: Headers, media_type: bytes) -> bool:
    """Whether the client takes this type. Without an Accept header it takes anything."""
    accept = headers.get(b"accept")
    if accept is None or media_type in accept:  # the short way: every MCP client names both types in full
        return accept is None or not _refuses(accept, media_type)
    family = media_type.partition(b"/")[0] + b"/*"
    return (b"*/*" in accept or family in accept) and not _refuses(accept, media_type)


def _refuses(accept: bytes, media_type: bytes) -> bool:
    if b"q=0" not in accept:
        return False
    for item in accept.lower().split(b","):
        kind, *parameters = (piece.strip() for piece in item.split(b";"))
        if kind == media_type:
            return any(parameter in (b"q=0", b"q=0.0", b"q=0.00", b"q=0.000") for parameter in parameters)
    return False


def is_json(headers: Headers) -> bool:
    """Whether the body says that it is JSON, in UTF-8."""
    kind = headers.get(b"content-type", b"")
    if kind == b"application/json":
        return True
    name, _, parameters = kind.lower().partition(b";")
    if name.strip() != b"application/json":
        return False
    charset = parameters.partition(b"charset=")[2].split(b";")[0].strip(b' \t"')
    return charset in (b"", b"utf-8", b"utf8")


def is_encoded(headers: Headers) -> bool:
    """Whether a body comes packed. None is unpacked here: what it would become is not known before."""
    return headers.get(b"content-encoding", b"").strip(b" \t").lower() not in (b"", b"identity")


def decode_value(value: str) -> str | None:
    """Returns a header's value, out of its base64 wrapping where it has one; None where that is damaged."""
    if not (value.startswith("=?base64?") and value.endswith("?=") and len(value) >= 11):
        return value
    wrapped = value[9:-2]
    try:
        plain = base64.b64decode(wrapped, validate=True)
        if base64.b64encode(plain).decode("ascii") != wrapped:  # the decoder tolerates other spellings
            return None
        return plain.decode("utf-8")
    except (binascii.Error, ValueError):
        return None


def is_stateless(headers: Headers, request: jsonrpc.Request) -> bool:
    """Whether this request is of the era in which every request stands alone."""
    meta = request.params.get("_meta")
    if isinstance(meta, dict) and stateless.VERSION in meta:
        return True
    return get_text(headers, VERSION) == era.STATELESS.version


def check_version(headers: Headers) -> None:
    """Refuse a protocol version that nobody here speaks. None at all is fine."""
    version = get_text(headers, VERSION)
    if version is not None and version not in KNOWN_VERSIONS:
        raise ProtocolFailure(
            codes.INVALID_REQUEST,
            "Invalid Request: unsupported MCP-Protocol-Version",
            supported=sorted(KNOWN_VERSIONS),
            requested=version[:64],
        )


def check_stateless(
    headers: Headers, request: jsonrpc.Request, mirrored_by: Callable[[str], tuple[Mirrored, ...]]
) -> None:
    """Refuse a request of the stateless era whose headers are missing or say something else than its body."""
    meta = request.params.get("_meta")
    if not isinstance(meta, dict) or stateless.VERSION not in meta:
        raise ProtocolFailure(codes.INVALID_PARAMS, f"Invalid params: _meta needs {stateless.VERSION}")
    if get_text(headers, VERSION) != cast("dict[str, Any]", meta)[stateless.VERSION]:
        raise _mismatch("MCP-Protocol-Version", f"_meta[{stateless.VERSION!r}]")
    if get_text(headers, METHOD) != request.method:
        raise _mismatch("Mcp-Method", "the method")
    named_by = NAMED_BY.get(request.method)
    if named_by is None:
        return
    named = request.params.get(named_by)
    given = get_text(headers, NAME)
    if isinstance(named, str) and (given is None or (given != named and decode_value(given) != named)):
        raise _mismatch("Mcp-Name", f"params.{named_by}")
    if request.method == "tools/call" and isinstance(named, str):
        _check_parameters(headers, request.params.get("arguments"), mirrored_by(named))


def _mismatch(header: str, of_the_body: str) -> ProtocolFailure:
    return ProtocolFailure(codes.HEADER_MISMATCH, f"Header mismatch: {header} must repeat {of_the_body}", header=header)


class Mirrored(Struct, frozen=True):
    """An argument that a header repeats: where it is, the header's name, and the argument's type."""

    path: tuple[str, ...]
    header: str
    kind: str


def find_mirrored(schema: Raw) -> tuple[Mirrored, ...]:
    """Returns the arguments of a tool that its schema marks with `x-mcp-header`."""
    encoded = bytes(schema)
    return tuple(_find_marked(msgspec.json.decode(encoded), ())) if b'"x-mcp-header"' in encoded else ()


def _find_marked(schema: dict[str, Any], path: tuple[str, ...]) -> list[Mirrored]:
    found: list[Mirrored] = []
    for name, inner in cast("dict[str, Any]", schema.get("properties") or {}).items():
        if not isinstance(inner, dict):
            continue
        inner = cast("dict[str, Any]", inner)
        header = inner.get("x-mcp-header")
        if isinstance(header, str):
            found.append(Mirrored((*path, name), f"Mcp-Param-{header}", str(inner.get("type"))))
        found += _find_marked(inner, (*path, name))
    return found


def _check_parameters(headers: Headers, arguments: object, declared: tuple[Mirrored, ...]) -> None:
    for one in declared:
        value = _at(arguments, one.path)
        given = get_text(headers, one.header.lower().encode("latin-1"))
        where = f"params.arguments.{'.'.join(one.path)}"
        if value is None and given is None:
            continue
        if value is None or given is None or not _agrees(value, one.kind, decode_value(given)):
            raise _mismatch(one.header, where)


def _at(arguments: object, path: tuple[str, ...]) -> object:
    node = arguments
    for name in path:
        node = cast("dict[str, Any]", node).get(name) if isinstance(node, dict) else None
    return node


def _agrees(value: object, kind: str, given: str | None) -> bool:
    if given is None:
        return False
    if isinstance(value, bool):
        return given == ("true" if value else "false")
    if kind == "integer" and isinstance(value, int | float):
        whole, _, fraction = given.partition(".")
        digits = whole.removeprefix("-")
        return digits.isascii() and digits.isdigit() and not fraction.strip("0") and len(digits) < 400 and (
            int(whole) == value
        )  # fmt: skip
    return isinstance(value, str | int | float) and given == str(value)
