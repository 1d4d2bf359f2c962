"""The methods of MCP, each a function of one request: it returns the answer, or the work that will give it.

Which of them a connection has is decided by its table: handshake, stateless, or a dialect's.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

from msgspec import Raw

from postil.core import codes
from postil.core.answer import LARGEST, Answer
from postil.core.call import LEVELS
from postil.core.catalogue import OperationEntry, ResourceEntry
from postil.core.content import Block, Document, Message, Text
from postil.core.failure import InvalidArguments
from postil.core.resource import ResourceNotFound
from postil.wire.protocol import shapes
from postil.wire.protocol.eras.era import STATELESS as STATELESS_ERA
from postil.wire.protocol.eras.era import Era
from postil.wire.protocol.events import FLAGS, Done, LevelSet, Unsubscribed, Work
from postil.wire.protocol.face import Face, tells_changes
from postil.wire.protocol.failures import ProtocolFailure
from postil.wire.protocol.jsonrpc import Request, encode

if TYPE_CHECKING:
    from postil.core.registry import Registry
    from postil.wire.protocol.face import Profile
    from postil.wire.protocol.session import Session

Handler: TypeAlias = "Callable[[Session, Request, Era], object]"
E = TypeVar("E")
PAGE = 200
MOST_COMPLETIONS = 100
MOST_WATCHES = 1024
LONGEST_URI = 16 * 1024
"""Characters of the address of a resource: a path of 4 kB, each byte of it escaped, and some more."""


def ping(session: Session, request: Request, era: Era) -> object:
    """Returns an empty object: the server is alive."""
    return {}


def shutdown(session: Session, request: Request, era: Era) -> object:
    """Contract 004: answer null, then close the transport."""
    session.ended = True
    return None


def set_level(session: Session, request: Request, era: Era) -> Done:
    """From now on, send this client what is logged at this level or above."""
    level = request.params.get("level")
    if level not in LEVELS:
        raise InvalidArguments(f"The level must be one of {', '.join(LEVELS)}", path="level")
    session.log_level = level
    return Done({}, LevelSet())


def discover(session: Session, request: Request, era: Era) -> object:
    """Returns what this server is and can do, in the stateless era."""
    face = session.profile.face
    offered = {**face.capabilities, "extensions": face.extensions} if face.extensions else face.capabilities
    found: dict[str, Any] = {"supportedVersions": [STATELESS_ERA.version], "capabilities": offered}
    instructions = session.profile.instructions
    return {**found, "instructions": instructions} if instructions else found


def _list(key: str, entries: Callable[[Registry], Sequence[E]], shape: Callable[[E, Era], object]) -> Handler:
    """Returns the method that lists these entries, page by page."""

    def list_page(session: Session, request: Request, era: Era) -> object:
        return _page(key, entries(session.profile.registry), shape, session, request, era)

    return list_page


def _page(
    key: str,
    listed: Sequence[E],
    shape: Callable[[E, Era], object],
    session: Session,
    request: Request,
    era: Era,
    kept_as: str = "",
) -> object:
    """Returns the page of a list that a request asks for; what it looks like is kept."""
    pages = session.profile.pages
    start = _position(request.params.get("cursor"), len(listed))
    place = (kept_as or key, era.version, start)
    shown = pages.get(place)
    if shown is None:
        shown = Raw(encode([shape(entry, era) for entry in listed[start : start + PAGE]]))
        if not start % PAGE:  # a cursor of ours: others would fill the memory, one page for each place
            pages[place] = shown
    page: dict[str, Any] = {key: shown}
    if start + PAGE < len(listed):
        page["nextCursor"] = base64.urlsafe_b64encode(b"%d" % (start + PAGE)).decode("ascii")
    return page


def _position(cursor: object, count: int) -> int:
    if cursor is None:
        return 0
    try:
        start = int(base64.urlsafe_b64decode(cast(str, cursor)))
    except (ValueError, TypeError):
        start = 0
    if not 0 < start < count:
        raise InvalidArguments("Invalid cursor", advice="Use the nextCursor of the page before", path="cursor")
    return start


def list_tools(session: Session, request: Request, era: Era) -> object:
    """Returns the tools, page by page; for clients that show views, each with its own."""
    profile = session.profile
    if not _shows_views(session, request, era):
        return _page("tools", profile.registry.tools, shapes.describe_tool, session, request, era)
    from postil.wire.protocol import app_views  # few clients show any

    def describe(entry: OperationEntry, era: Era) -> object:
        return app_views.describe_tool(profile, entry, era)

    return _page("tools", app_views.list_tools(profile), describe, session, request, era, "tools with views")


def _shows_views(session: Session, request: Request, era: Era) -> bool:
    if not session.profile.face.views or not (era.stateless or "extensions" in session.capabilities):
        return False
    from postil.wire.protocol.app_views import shows_views

    return shows_views(session, request, era)


def call_tool(session: Session, request: Request, era: Era) -> Work:
    """Run an operation as a tool."""
    name = request.params.get("name")
    arguments = request.params.get("arguments")
    if not isinstance(name, str):
        raise ProtocolFailure(codes.INVALID_PARAMS, 'Invalid params: "name" must be a string')
    face, registry = session.profile.face, session.profile.registry
    entry = registry.find(name)
    is_tool = entry is not None and registry.is_tool(entry)
    for_person = not is_tool and name in face.person_tools
    if for_person and _shows_views(session, request, era):
        entry = registry.find(face.person_tools[name])
    if entry is None or not (for_person or is_tool):
        raise _unknown_tool(session, name, era)
    name = face.person_tools[name] if for_person else name
    work = Work("tool", request, era, name, {} if arguments is None else arguments, _tool_result, entry)
    work.for_person = for_person
    work.has_view = entry.name in face.views and _shows_views(session, request, era)
    if entry.task and era.stateless:
        from postil.wire.protocol.task_methods import take_as_task  # few operations take long

        return take_as_task(session, work)
    return work


def _unknown_tool(session: Session, name: str, era: Era) -> ProtocolFailure:
    """Returns the refusal of a tool that is not there; beside a contract's own words, with what was probably meant."""
    said = f"Unknown tool: {name[:100]}"
    if session.profile.face.contract:
        return ProtocolFailure(era.unknown_tool, said)
    registry = session.profile.registry
    left_out = [entry for entry in registry.withheld if entry.tool and name in (entry.name, *entry.aliases)]
    if left_out:
        advice = "The settings of this server leave it out: read_only, parts, tools or toolsets"
        if left_out[0].toolset:
            advice += f" (it belongs to the toolset `{left_out[0].toolset}`)"
        return ProtocolFailure(era.unknown_tool, f"{said}. {advice}", suggestion=advice)
    from difflib import get_close_matches  # only a mistake pays for it

    near = get_close_matches(name[:100], [entry.name for entry in registry.tools], 3, 0.75)
    advice = f"Did you mean {' or '.join(near)}?" if near else "tools/list names the tools that are offered"
    return ProtocolFailure(era.unknown_tool, f"{said}. {advice}" if near else said, suggestion=advice)


def _tool_result(profile: Profile, work: Work, value: object) -> object:
    entry, face = work.entry, profile.face
    result = shapes.make_result(
        value, work.era, says_success=face.says_success, structured=bool(entry.output), contract=face.contract
    )
    if face.frames and (words := _find_words(face, entry, value)):
        result["content"] = shapes.envelop(value, result["content"], *words)
    if work.has_view:
        from postil.wire.protocol.app_views import add_data  # few clients show any

        result = add_data(result, value)
    if face.contract or _is_small(result["content"]):  # what a contract publishes is sent whole
        return result
    return shapes.bound_result(result, entry, work.arguments, value)


def _find_words(face: Face, entry: OperationEntry, value: object) -> tuple[str, str] | None:
    """Returns whose words a tool hands on; None where its answers are Postil's own."""
    if isinstance(value, Answer) and not value.has_words:
        return None
    words = face.frames.get(entry.name) or (face.frames.get(entry.part) if entry.effect == "reads" else None)
    return (words[0], value.whose) if words and isinstance(value, Answer) and value.whose else words


def _is_small(blocks: Sequence[Block]) -> bool:
    """Returns whether a result is far below every bound: most are, and measuring is for the others."""
    return len(blocks) == 1 and isinstance(blocks[0], Text) and len(blocks[0].text) * 4 <= LARGEST


def read_resource(session: Session, request: Request, era: Era) -> Work:
    """Read one resource."""
    return Work("resource", request, era, _address(request), None, _contents)


def _contents(profile: Profile, work: Work, value: object) -> object:
    frames = profile.face.frames
    if frames and profile.registry.resource(work.name)[0].part in frames:
        value = shapes.mark_document(cast("Document", value))
    return {"contents": [value]}


def subscribe(session: Session, request: Request, era: Era) -> Work:
    """Send `notifications/resources/updated` for this address from now on."""
    return Work("subscribe", request, era, _address(request), None, _empty)


def _empty(profile: Profile, work: Work, value: object) -> object:
    return {}


def unsubscribe(session: Session, request: Request, era: Era) -> Done:
    """Stop that."""
    return Done({}, Unsubscribed(_address(request)))


def get_prompt(session: Session, request: Request, era: Era) -> Work:
    """Write a prompt's messages."""
    return Work("prompt", request, era, _text(request, "name"), request.params.get("arguments") or {}, _messages)


def _messages(profile: Profile, work: Work, value: Sequence[Message]) -> object:
    return {"messages": shapes.make_messages(value, work.era)}


def _text(request: Request, name: str) -> str:
    value = request.params.get(name)
    if not isinstance(value, str):
        raise InvalidArguments(f'Invalid params: "{name}" must be a string', path=name)
    return value


def _address(request: Request) -> str:
    uri = _text(request, "uri")
    if len(uri) > LONGEST_URI:
        raise InvalidArguments(f"The address of a resource has at most {LONGEST_URI} characters", path="uri")
    return uri


def complete(session: Session, request: Request, era: Era) -> object:
    """Find values that fit what was typed so far."""
    reference, argument = request.params.get("ref"), request.params.get("argument")
    if not isinstance(reference, dict) or not isinstance(argument, dict):
        raise InvalidArguments('Invalid params: "ref" and "argument" must be objects', path="ref")
    reference, argument = cast("dict[str, Any]", reference), cast("dict[str, Any]", argument)
    name, typed = argument.get("name"), argument.get("value")
    if not isinstance(name, str) or not isinstance(typed, str):
        raise InvalidArguments('Invalid params: "argument" needs "name" and "value"', path="argument")
    if reference.get("type") == "ref/prompt":
        return Work("completion", request, era, str(reference.get("name")), (name, typed, False), _completions)
    if reference.get("type") != "ref/resource":
        raise InvalidArguments('Invalid params: "ref.type" must be ref/prompt or ref/resource', path="ref.type")
    return Work("completion", request, era, str(reference.get("uri")), (name, typed, True), _completions)


def _completions(profile: Profile, work: Work, values: Sequence[str]) -> object:
    return _completion(values)


def _completion(values: Sequence[str]) -> dict[str, Any]:
    shown = list(values[:MOST_COMPLETIONS])
    return {"completion": {"values": shown, "total": len(values), "hasMore": len(values) > len(shown)}}


def listen(session: Session, request: Request, era: Era) -> Work:
    """Open a stream of notifications: the stateless era's subscription."""
    wanted = request.params.get("notifications")
    if not isinstance(wanted, dict):
        raise InvalidArguments('Invalid params: "notifications" must be an object', path="notifications")
    wanted = cast("dict[str, Any]", wanted)
    # Only what will be sent is acknowledged: lists that are said to change, resources that exist and are watched.
    face, registry = session.profile.face, session.profile.registry
    flags = {flag for what, flag in FLAGS.items() if wanted.get(flag) is True and tells_changes(face, what)}
    asked = [uri for uri in wanted.get("resourceSubscriptions") or () if isinstance(uri, str)][:MOST_WATCHES]
    uris = [uri for uri in asked if len(uri) <= LONGEST_URI and _is_watched(registry, uri)]
    tasks: list[str] = []
    if wanted.get("taskIds"):
        from postil.wire.protocol.task_methods import read_ids  # few clients ask for any

        tasks = read_ids(session, request, wanted["taskIds"])
    return Work("listen", request, era, "", (flags, uris, tasks), _stamped)


def _is_watched(registry: Registry, uri: str) -> bool:
    try:
        return bool(registry.resource(uri)[0].watch)
    except ResourceNotFound:
        return False


def _stamped(profile: Profile, work: Work, value: object) -> object:
    return {"_meta": work.stamp()}


def _list_resources(offered: Registry) -> Sequence[ResourceEntry]:
    """Returns what is listed: a view is named by its tools alone."""
    return [entry for entry in offered.resources if not entry.uri.startswith("ui:")]


SHARED: dict[str, Handler] = {
    "tools/list": list_tools,
    "tools/call": call_tool,
    "resources/list": _list("resources", _list_resources, shapes.describe_resource),
    "resources/templates/list": _list("resourceTemplates", lambda offered: offered.templates, shapes.describe_resource),
    "resources/read": read_resource,
    "prompts/list": _list("prompts", lambda offered: list(offered.prompts.values()), shapes.describe_prompt),
    "prompts/get": get_prompt,
    "completion/complete": complete,
}
HANDSHAKE: dict[str, Handler] = {
    **SHARED,
    "ping": ping,
    "shutdown": shutdown,
    "logging/setLevel": set_level,
    "resources/subscribe": subscribe,
    "resources/unsubscribe": unsubscribe,
}


def _of_tasks(name: str) -> Handler:
    def handle(session: Session, request: Request, era: Era) -> object:
        from postil.wire.protocol import task_methods  # few clients ask for any

        return getattr(task_methods, name)(session, request, era)

    return handle


STATELESS: dict[str, Handler] = {
    **SHARED,
    "server/discover": discover,
    "subscriptions/listen": listen,
    "tasks/get": _of_tasks("get_task"),
    "tasks/update": _of_tasks("update_task"),
    "tasks/cancel": _of_tasks("cancel_task"),
}

WORKING = frozenset({
    "tools/call", "resources/read", "resources/subscribe", "prompts/get", "completion/complete", "subscriptions/listen",
})  # fmt: skip
"""Methods that are more than the protocol's own answer."""
_FAMILIES = {"tools": "tools", "resources": "resources", "prompts": "prompts", "completion": "prompts"}
CAPABILITY = {
    method: _FAMILIES[family]
    for method in (*HANDSHAKE, *STATELESS)
    if (family := method.partition("/")[0]) in _FAMILIES
}
"""The capability a face must have for a method to exist there."""
