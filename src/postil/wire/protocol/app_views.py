"""Views inside the assistant (the extension `io.modelcontextprotocol/ui`): tools that name one, and what it gets.

Only for clients that declare the extension: nobody else's lists and results grow. The data of a view stands in the
`_meta` of the result, which hosts hand to the view and not to the model; the text still stands alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from msgspec import Raw, structs
from msgspec.json import decode, encode

from postil.wire.protocol import shapes
from postil.wire.protocol.eras import stateless
from postil.wire.protocol.kept import VIEWS

if TYPE_CHECKING:
    from postil.core.catalogue import OperationEntry
    from postil.core.registry import Registry
    from postil.wire.protocol.eras.era import Era
    from postil.wire.protocol.face import Face, Profile
    from postil.wire.protocol.jsonrpc import Request
    from postil.wire.protocol.session import Session

EXTENSION = VIEWS
MIME_TYPE = "text/html;profile=mcp-app"
DATA = "postil/app"
LARGEST = 512 * 1024
"""Bytes of data for a view; of a larger answer it shows the text."""
_SUSPECT = re.compile(rb"[\x7f-\xff&]|\\[ubfr]")


def shows_views(session: Session, request: Request, era: Era) -> bool:
    """Returns whether this client shows views."""
    capabilities: object = session.capabilities
    if era.stateless:
        meta = request.params.get("_meta")
        capabilities = cast("dict[str, Any]", meta).get(stateless.CAPABILITIES) if isinstance(meta, dict) else None
    return knows_views(capabilities)


def knows_views(capabilities: object) -> bool:
    """Returns whether a client has said that it shows views in HTML."""
    extensions = cast("dict[str, Any]", capabilities).get("extensions") if isinstance(capabilities, dict) else None
    declared = cast("dict[str, Any]", extensions).get(EXTENSION) if isinstance(extensions, dict) else None
    if not isinstance(declared, dict):
        return False
    kinds = cast("dict[str, Any]", declared).get("mimeTypes", [MIME_TYPE])
    return isinstance(kinds, list) and MIME_TYPE in kinds


def offer_views(offered: Mapping[str, Any], capabilities: object) -> Mapping[str, Any]:
    """Returns a server's capabilities, with the extension for a client that has declared it."""
    extension: dict[str, Any] = {EXTENSION: {}}
    return {**offered, "extensions": extension} if knows_views(capabilities) else offered


def list_tools(profile: Profile) -> list[OperationEntry]:
    """Returns the tools of such a client: with those that only a view may call, in the name of the person."""
    person = (find_person_tool(profile.face, profile.registry, name) for name in profile.face.person_tools)
    return [*profile.registry.tools, *(entry for entry in person if entry is not None)]


def find_person_tool(face: Face, registry: Registry, name: str) -> OperationEntry | None:
    """Returns the operation that a view calls by this name, as the person in front of it."""
    entry = registry.find(face.person_tools.get(name, ""))
    return None if entry is None else structs.replace(entry, name=name, aliases=())


def describe_tool(profile: Profile, entry: OperationEntry, era: Era) -> dict[str, Any]:
    """Returns one tool of `tools/list`, with the view that shows its results."""
    shown = shapes.describe_tool(entry, era)
    if entry.name in profile.face.person_tools:
        return {**shown, "_meta": {"ui": {"visibility": ["app"]}}}
    uri = profile.face.views.get(entry.name)
    has_view = uri is not None and any(one.uri == uri for one in profile.registry.resources)
    return {**shown, "_meta": {"ui": {"resourceUri": uri}}} if has_view else shown


def add_data(result: dict[str, Any], value: object) -> dict[str, Any]:
    """Returns a tool's result with what its view shows: without what the person in front of it could not see."""
    data = encode(shapes.make_plain(value))
    if len(data) <= LARGEST and data[:1] == b"{":
        if _SUSPECT.search(data):
            data = encode(_clean(decode(data)))
        result["_meta"] = {**result.get("_meta", {}), DATA: Raw(data)}
    return result


def _clean(value: Any) -> Any:
    """Returns a value of JSON, each text of it cleaned."""
    from postil.core.others.untrusted import clean  # most data needs nothing of it

    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_clean(below) for below in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {clean(key): _clean(below) for key, below in cast("dict[str, Any]", value).items()}
    return value
