"""The methods of MCP, each a function of one exchange: it answers at once, or with a coroutine that will.

Which of them a connection has is decided by its table: handshake, stateless, or a dialect's.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar, cast

import msgspec
from msgspec import Raw

from postil.core import codes, invoke
from postil.core.call import LEVELS
from postil.core.failure import Failure, InvalidArguments
from postil.core.operation import Operation, is_async
from postil.core.prompt import as_messages
from postil.core.registry import ResourceNotFound
from postil.wire.protocol import shapes
from postil.wire.protocol.eras import stateless
from postil.wire.protocol.eras.stateless import ProtocolFailure
from postil.wire.protocol.jsonrpc import encode
from postil.wire.protocol.request import Exchange, InputRequired, is_passing
from postil.wire.server import PAGE

Handler: TypeAlias = Callable[[Exchange], object]
E = TypeVar("E")
MOST_COMPLETIONS = 100
KEY = "postil/idempotencyKey"


def ping(exchange: Exchange) -> object:
    """Alive."""
    return {}


def shutdown(exchange: Exchange) -> object:
    """Contract 004: answer null, then close the transport."""
    exchange.session.ended = True
    return None


def set_level(exchange: Exchange) -> object:
    """From now on, send this client what is logged at this level or above."""
    level = exchange.params.get("level")
    if level not in LEVELS:
        raise InvalidArguments(f"The level must be one of {', '.join(LEVELS)}", path="level")
    exchange.session.log_from(level)
    return {}


def discover(exchange: Exchange) -> object:
    """What this server is and can do, in the stateless era."""
    face = exchange.server.face
    found: dict[str, Any] = {
        "supportedVersions": [stateless.STATELESS.version],
        "capabilities": face.capabilities,
    }
    return {**found, "instructions": face.instructions} if face.instructions else found


def list_tools(exchange: Exchange) -> object:
    """The tools on offer."""
    return _page(exchange, "tools", exchange.server.registry.tools, shapes.tool)


def list_resources(exchange: Exchange) -> object:
    """The resources with a fixed address."""
    return _page(exchange, "resources", exchange.server.registry.resources, shapes.resource)


def list_templates(exchange: Exchange) -> object:
    """The templates of all other addresses."""
    return _page(exchange, "resourceTemplates", exchange.server.registry.templates, shapes.resource)


def list_prompts(exchange: Exchange) -> object:
    """The prompts on offer."""
    return _page(exchange, "prompts", list(exchange.server.registry.prompts.values()), shapes.prompt)


def _page(exchange: Exchange, key: str, entries: Sequence[E], shape: Callable[[E, Any], object]) -> dict[str, Any]:
    start = _position(exchange.params.get("cursor"), len(entries))
    listed, place = exchange.server.listed, (key, exchange.era.version, start)
    if place not in listed:
        listed[place] = Raw(encode([shape(entry, exchange.era) for entry in entries[start : start + PAGE]]))
    page: dict[str, Any] = {key: listed[place]}
    if start + PAGE < len(entries):
        page["nextCursor"] = base64.urlsafe_b64encode(b"%d" % (start + PAGE)).decode("ascii")
    return page


def _position(cursor: object, count: int) -> int:
    if cursor is None:
        return 0
    try:
        start = int(base64.urlsafe_b64decode(cast(str, cursor)))
    except (ValueError, TypeError):
        start = -1
    if not 0 < start < count:
        raise InvalidArguments("Invalid cursor", advice="Use the nextCursor of the page before", path="cursor")
    return start


def call_tool(exchange: Exchange) -> Coroutine[Any, Any, dict[str, Any]]:
    """Run an operation as a tool."""
    name = exchange.params.get("name")
    arguments = exchange.params.get("arguments")
    if not isinstance(name, str):
        raise ProtocolFailure(codes.INVALID_PARAMS, 'Invalid params: "name" must be a string')
    entry = exchange.server.registry.find(name)
    if entry is None or not entry.tool:
        raise ProtocolFailure(exchange.era.unknown_tool, f"Unknown tool: {name[:100]}")
    return _call_tool(exchange, name, {} if arguments is None else arguments)


async def _call_tool(exchange: Exchange, name: str, arguments: object) -> dict[str, Any]:
    says_success = exchange.server.face.says_success
    try:
        value = await run_operation(exchange, exchange.server.registry.operation(name), arguments)
    except ProtocolFailure:
        raise
    except Failure as failure:
        if not exchange.era.structured or is_passing(failure):
            raise
        return shapes.failed_result(failure)
    return shapes.result(value, exchange.era, says_success=says_success)


async def run_operation(exchange: Exchange, operation: Operation, arguments: object) -> object:
    """Run an operation for this exchange; a write that was made is told to the server's witness before its answer."""
    witness, ready = exchange.server.witness, exchange.server.ready
    is_write = operation.mark.effect != "reads"
    if ready is not None and is_write:
        await exchange.in_thread(ready)
    counted, outcome = exchange.server.calls, "failed"
    try:
        value = await _run(exchange, operation, arguments)
        outcome = "ok"
    except Failure as failure:
        page_for = exchange.server.page_for
        url = page_for(exchange.caller, failure.wants) if failure.wants and page_for is not None else ""
        if not url:
            raise
        from postil.wire.protocol.url_elicitation import at_a_page  # only servers with such a page

        raise at_a_page(exchange, failure, url) from failure
    finally:
        place = (operation.mark.name, outcome)
        counted[place] = counted.get(place, 0) + 1
    if witness is not None and is_write and exchange.made:
        await exchange.in_thread(witness, exchange.caller, operation.mark.name, arguments, value)
    return value


async def _run(exchange: Exchange, operation: Operation, arguments: object) -> object:
    """Checked, once under its key, on the loop or in a thread."""
    decoded = operation.decode(arguments)
    key = exchange.meta.get(KEY) or exchange.key
    turn = None if operation.is_async else exchange.session.turns.take(operation.mark)
    try:
        if turn is not None:
            await turn.come()
        if key and operation.mark.effect != "reads" and exchange.server.keys is not None:
            exchange.made = False
            return await _run_once(exchange, operation, arguments, decoded, str(key))
        if operation.is_async:
            return await operation.run(**decoded)
        return await exchange.in_thread(lambda: operation.run(**decoded))
    except (Failure, InputRequired):
        raise
    except Exception as bug:
        exchange.server.report(bug, operation.mark.name)
        raise operation.mark.crash.of_bug(bug) from bug
    finally:
        if turn is not None:
            turn.end()


async def _run_once(
    exchange: Exchange, operation: Operation, arguments: object, decoded: Mapping[str, Any], key: str
) -> object:
    keys = exchange.server.keys
    assert keys is not None
    if not operation.is_async:

        def run() -> object:
            exchange.made = True
            return operation.run(**decoded)

        return await exchange.in_thread(invoke.once, operation, arguments, key, keys, run)
    scope, fingerprint = invoke.claim(operation, arguments, key)
    stored = await exchange.in_thread(keys.begin, scope, key, fingerprint)
    if stored is not None:
        return invoke.recall(operation, stored)

    async def run_and_keep() -> object:
        exchange.made = True
        try:
            result = await operation.run(**decoded)
        except Exception as fault:
            await exchange.in_thread(invoke.give_up, keys, scope, key, fault)
            raise
        await exchange.in_thread(keys.finish, scope, key, msgspec.json.encode(result))
        return result

    # Shielded: a caller who gives up and retries with the same key must find one effect and its answer.
    return await asyncio.shield(asyncio.ensure_future(run_and_keep()))


def read_resource(exchange: Exchange) -> Coroutine[Any, Any, dict[str, Any]]:
    """The content of one resource."""
    return _read(exchange, _uri(exchange))


async def _read(exchange: Exchange, uri: str) -> dict[str, Any]:
    registry = exchange.server.registry
    try:
        entry, variables = registry.resource(uri)
        reader = registry.method(entry)
        if is_async(reader):
            read = await cast("Coroutine[Any, Any, object]", reader(**variables))
        else:
            read = await exchange.in_thread(lambda: reader(**variables))
    except ResourceNotFound as missing:
        raise ProtocolFailure(exchange.era.unknown_resource, missing.message, **missing.data) from None
    return {"contents": [shapes.contents(uri, entry.mime_type, read)]}


def subscribe(exchange: Exchange) -> Coroutine[Any, Any, object]:
    """Send `notifications/resources/updated` for this address from now on."""
    return _subscribe(exchange, _uri(exchange))


async def _subscribe(exchange: Exchange, uri: str) -> object:
    try:
        exchange.server.registry.resource(uri)
    except ResourceNotFound as missing:
        raise ProtocolFailure(exchange.era.unknown_resource, missing.message, **missing.data) from None
    await exchange.session.subscribe(uri)
    return {}


def unsubscribe(exchange: Exchange) -> object:
    """Stop that."""
    exchange.session.unsubscribe(_uri(exchange))
    return {}


def _uri(exchange: Exchange) -> str:
    uri = exchange.params.get("uri")
    if not isinstance(uri, str):
        raise InvalidArguments('Invalid params: "uri" must be a string', path="uri")
    return uri


def get_prompt(exchange: Exchange) -> Coroutine[Any, Any, dict[str, Any]]:
    """A prompt's messages."""
    return _get_prompt(exchange)


async def _get_prompt(exchange: Exchange) -> dict[str, Any]:
    return {"messages": shapes.messages(await written_prompt(exchange), exchange.era)}


async def written_prompt(exchange: Exchange) -> Sequence[Any]:
    """What the prompt asked for says."""
    name = exchange.params.get("name")
    if not isinstance(name, str):
        raise InvalidArguments('Invalid params: "name" must be a string', path="name")
    prompt = exchange.server.registry.prompt(name)
    arguments = prompt.decode(exchange.params.get("arguments") or {})
    if prompt.is_async:
        return as_messages(await prompt.run(**arguments))
    return as_messages(await exchange.in_thread(lambda: prompt.run(**arguments)))


def complete(exchange: Exchange) -> Coroutine[Any, Any, dict[str, Any]]:
    """Values that fit what was typed so far."""
    return _complete(exchange)


async def _complete(exchange: Exchange) -> dict[str, Any]:
    reference, argument = exchange.params.get("ref"), exchange.params.get("argument")
    if not isinstance(reference, dict) or not isinstance(argument, dict):
        raise InvalidArguments('Invalid params: "ref" and "argument" must be objects', path="ref")
    reference, argument = cast("dict[str, Any]", reference), cast("dict[str, Any]", argument)
    name, typed = argument.get("name"), argument.get("value")
    if not isinstance(name, str) or not isinstance(typed, str):
        raise InvalidArguments('Invalid params: "argument" needs "name" and "value"', path="argument")
    values: Sequence[str] = ()
    if reference.get("type") == "ref/prompt":
        prompt = exchange.server.registry.prompt(str(reference.get("name")))
        source = prompt.mark.complete.get(name, ())
        if isinstance(source, str):
            part = getattr(prompt.run, "__self__", None)
            values = await exchange.in_thread(getattr(part, source), typed)
        else:
            values = [value for value in source if value.startswith(typed)]
    elif reference.get("type") != "ref/resource":
        raise InvalidArguments('Invalid params: "ref.type" must be ref/prompt or ref/resource', path="ref.type")
    shown = list(values[:MOST_COMPLETIONS])
    return {"completion": {"values": shown, "total": len(values), "hasMore": len(values) > len(shown)}}


def listen(exchange: Exchange) -> Coroutine[Any, Any, object]:
    """Open a stream of notifications: the stateless era's subscription."""
    wanted = exchange.params.get("notifications")
    if not isinstance(wanted, dict):
        raise InvalidArguments('Invalid params: "notifications" must be an object', path="notifications")
    return exchange.session.listen(exchange, cast("dict[str, Any]", wanted))


SHARED: dict[str, Handler] = {
    "tools/list": list_tools,
    "tools/call": call_tool,
    "resources/list": list_resources,
    "resources/templates/list": list_templates,
    "resources/read": read_resource,
    "prompts/list": list_prompts,
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
STATELESS: dict[str, Handler] = {**SHARED, "server/discover": discover, "subscriptions/listen": listen}

CAPABILITY = {"tools/": "tools", "resources/": "resources", "prompts/": "prompts", "completion/": "prompts"}
"""The capability a face must have for a family of methods to exist there."""
