"""Doing the work that a session asks for: operations, resources, prompts. Each function returns the bare value.

Arguments are decoded here, once a call; an operation gets them typed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from time import perf_counter
from typing import Any, Literal, TypeAlias, TypeVar, cast

import msgspec

from postil.core import limits
from postil.core.catalogue import OperationEntry, PromptEntry, ResourceEntry
from postil.core.content import Document
from postil.core.effects.joining import joining
from postil.core.failure import Failure
from postil.core.operation import Operation, is_async
from postil.core.prompt import PromptMark, as_messages
from postil.core.resource import ResourceMark
from postil.wire.protocol import notifications, shapes
from postil.wire.protocol.events import Kind
from postil.wire.protocol.failures import InputRequired
from postil.wire.runtime.updates import Updates
from postil.wire.runtime.wire_call import WireCall
from postil.wire.runtime.write_order import Thing, hear, thing_of

Entry: TypeAlias = OperationEntry | ResourceEntry | PromptEntry
N = TypeVar("N")
R = TypeVar("R")
REPEAT_WAIT = 60.0
"""Seconds that a repeat waits for the first call with its key."""
Do: TypeAlias = Callable[[WireCall], Coroutine[Any, Any, object]]


async def run_operation(call: WireCall) -> object:
    """Run an operation, and count how it ended."""
    server, hooks = call.runner.server, call.runner.server.hooks
    entry: OperationEntry = call.work.entry
    turn, writes = None, entry.effect != "reads"
    # Taken before anything is waited for: in the order that the calls came.
    if not entry.is_async and (writes or call.runner.order.holds_any):
        turn = call.runner.order.take(thing_of(entry, call.work.arguments), writes=writes)
    outcome, code, begun = "failed", 0, perf_counter()
    try:
        if turn is not None:
            await turn.wait()
        operation = server.registry.ready_operation(call.work.name)
        if operation is None:
            operation = await _make_ready(call, entry, server.registry.operation, call.work.name)
        try:
            value = await _begin(call, operation, operation.decode(call.work.arguments))
        except (Failure, InputRequired):
            raise
        except Exception as bug:
            server.report(bug, operation.mark.name)
            raise operation.mark.crash.of_bug(bug) from bug
        outcome = "ok"
    except Failure as failure:
        code = failure.code
        page = hooks.page_for(call.caller, failure.wants) if failure.wants and hooks.page_for is not None else None
        if page is None:
            raise
        from postil.wire.protocol.url_elicitation import ask_at_page  # only servers with such a page

        raise ask_at_page(call.work, call.runner.session.capabilities, failure, page) from failure
    finally:
        if turn is not None:
            turn.end()
        server.note_call(entry.name, outcome, code, perf_counter() - begun)
    return value


def _begin(call: WireCall, operation: Operation, decoded: Mapping[str, Any]) -> Coroutine[Any, Any, object]:
    """Begin an operation with checked arguments: once under its key, on the loop or in a thread."""
    if call.work.key and operation.mark.effect != "reads" and call.runner.server.keys is not None:
        return _run_once(call, operation, decoded)
    if not operation.is_async:
        return call.in_thread(_make, call, operation, decoded)
    if operation.mark.effect == "reads":
        return operation.run(**decoded)
    return _make_async(call, operation, decoded)


def _make(call: WireCall, operation: Operation, decoded: Mapping[str, Any]) -> object:
    """Run an operation that blocks, between the two notes of the server's witness; what it cannot note is not begun."""
    hooks = call.runner.server.hooks
    witness, around = hooks.witness, hooks.around
    if witness is None or operation.mark.effect == "reads":
        return operation.run(**decoded)
    opened = witness.open(call.caller, operation.mark.name, call.work.arguments)
    try:
        with joining(opened.join), around(call.work.entry) if around is not None else nullcontext():
            result = operation.run(**decoded)
    except BaseException as fault:
        opened.close(_name_outcome(fault), fault)
        raise
    opened.close("ok", result)
    return result


async def _make_async(call: WireCall, operation: Operation, decoded: Mapping[str, Any]) -> object:
    """Run an operation that waits, in the same way."""
    witness = call.runner.server.hooks.witness
    if witness is None:
        return await operation.run(**decoded)
    opened = await call.in_thread(witness.open, call.caller, operation.mark.name, call.work.arguments)
    try:
        with joining(opened.join):
            result = await operation.run(**decoded)
            around = call.runner.server.hooks.around
            if around is not None:
                await call.in_thread(_publish, around(call.work.entry))
    except BaseException as fault:
        # Not awaited: a call that was given up could not wait for it.
        call.runner.server.pool.submit(opened.close, _name_outcome(fault), fault)
        raise
    await call.in_thread(opened.close, "ok", result)
    return result


def _publish(around: AbstractContextManager[None]) -> None:
    """Let what an operation that waits has changed count: others may change things while it waits, so it is alone."""
    with around:
        return


def _name_outcome(fault: BaseException) -> Literal["failed", "unknown", "asked"]:
    """Returns what is known of a write that raised. One that was given up or broke may have happened."""
    if isinstance(fault, InputRequired):
        return "asked"
    return "failed" if isinstance(fault, Failure) and not fault.doubtful else "unknown"


async def _run_once(call: WireCall, operation: Operation, decoded: Mapping[str, Any]) -> object:
    """Run a write under its key. Repeats wait for the first call here, on the loop, and hold no thread meanwhile."""
    going = call.runner.server.going
    name = call.caller.principal, operation.mark.name, str(call.work.key)
    while (first := going.get(name)) is not None:
        heard, _ = await asyncio.wait([hear(first)], timeout=REPEAT_WAIT)
        if not heard:
            return await _claim_and_run(call, operation, decoded)  # the keys say that it is still at work
    going[name] = ended = asyncio.get_running_loop().create_future()
    try:
        return await _claim_and_run(call, operation, decoded)
    finally:
        del going[name]
        ended.set_result(None)


async def _claim_and_run(call: WireCall, operation: Operation, decoded: Mapping[str, Any]) -> object:
    from postil.core import invoke  # only calls with a key pay for it

    keys, arguments, key = call.runner.server.keys, call.work.arguments, str(call.work.key)
    assert keys is not None
    if not operation.is_async:
        return await call.in_thread(
            invoke.once, operation, arguments, key, keys, lambda: _make(call, operation, decoded)
        )
    scope, fingerprint = invoke.claim(operation, arguments, key)
    stored = await call.in_thread(keys.begin, scope, key, fingerprint)
    if stored is not None:
        return invoke.recall(operation, stored)

    async def run_and_keep() -> object:
        try:
            with joining(keys.marker(scope, key)):
                result = await _make_async(call, operation, decoded)
        except Exception as fault:
            await call.in_thread(invoke.give_up, keys, scope, key, fault)
            raise
        await call.in_thread(keys.finish, scope, key, msgspec.json.encode(result))
        return result

    # Shielded: a caller who gives up and retries with the same key must find one effect and its answer.
    return await asyncio.shield(asyncio.ensure_future(run_and_keep()))


async def read_resource(call: WireCall) -> Document:
    """Read one resource."""
    registry, uri = call.runner.server.registry, call.work.name
    entry, variables = registry.resource(uri)
    await _wait_for_writes(call, entry)
    reader = await _make_ready(call, entry, registry.method, entry)
    if is_async(reader):
        read = await cast("Coroutine[Any, Any, object]", reader(**variables))
    else:
        read = await call.in_thread(lambda: reader(**variables))
    if call.stay.size:
        document = await call.in_thread(shapes.make_document, uri, entry.mime_type, read)
    else:
        document = shapes.make_document(uri, entry.mime_type, read)
    if document.text is not None and len(document.text) > limits.DOCUMENT:
        raise Failure(
            f"The resource has {len(document.text)} characters; at most {limits.DOCUMENT} are sent",
            advice="Read its parts: one file's resource, or a tool that lists them page by page",
        )
    return document


async def _wait_for_writes(call: WireCall, entry: ResourceEntry | PromptEntry) -> None:
    """Wait for the writes to its part that were sent before: a document shows them."""
    turn = call.runner.order.take(Thing(entry.part), writes=False)
    if turn is not None:
        await turn.wait()


async def _make_ready(call: WireCall, entry: Entry | None, find: Callable[[N], R], name: N) -> R:
    """Returns what `find` finds behind an entry. The first use of a group imports its part: not on the loop."""
    if entry is None or call.runner.server.registry.is_ready(entry):
        return find(name)
    return await call.in_thread(find, name)


async def write_prompt(call: WireCall) -> Sequence[Any]:
    """Write a prompt's messages."""
    registry, name = call.runner.server.registry, call.work.name
    entry = registry.prompts.get(name)
    if entry is not None:
        await _wait_for_writes(call, entry)
    prompt = await _make_ready(call, entry, registry.prompt, name)
    arguments = prompt.decode(call.work.arguments)
    if prompt.is_async:
        return as_messages(await prompt.run(**arguments))
    return as_messages(await call.in_thread(lambda: prompt.run(**arguments)))


async def find_completions(call: WireCall) -> Sequence[str]:
    """Find values that fit what was typed so far."""
    name, typed, is_resource = call.work.arguments
    registry, wanted = call.runner.server.registry, call.work.name
    if is_resource:
        template = next((entry for entry in registry.templates if entry.uri == wanted), None)
        if template is None:
            return ()
        run = await _make_ready(call, template, registry.method, template)
    else:
        prompt = await _make_ready(call, registry.prompts.get(wanted), registry.prompt, wanted)
        run = prompt.run
    mark: PromptMark | ResourceMark = run.__postil__  # type: ignore[attr-defined]
    source = mark.complete.get(name, ())
    if isinstance(source, str):
        part = getattr(run, "__self__", None)
        return await call.in_thread(getattr(part, source), typed)
    return [value for value in source if value.startswith(typed)]


async def subscribe(call: WireCall) -> None:
    """Start to send updates of a resource that exists."""
    await _check_readable(call, call.work.name)
    await call.runner.updates.add(call.work.name)


async def _check_readable(call: WireCall, uri: str) -> None:
    """Raises where there is no such resource, or the caller may not read it: whoever watches learns when it changes."""
    registry = call.runner.server.registry
    entry, variables = registry.resource(uri)
    reader = await _make_ready(call, entry, registry.method, entry)
    mark: ResourceMark = reader.__postil__  # type: ignore[attr-defined]
    if mark.allow:
        await getattr(reader.__self__, mark.allow)(**variables)  # type: ignore[attr-defined]


async def _list_readable(call: WireCall, uris: Sequence[str]) -> list[str]:
    readable: list[str] = []
    for uri in uris:
        with suppress(Failure):
            await _check_readable(call, uri)
            readable.append(uri)
    return readable


async def listen(call: WireCall) -> None:
    """Serve one stream of the stateless era until the client leaves or the server ends it gracefully."""
    updates = Updates(call.runner, call.send, call.work)
    closing = call.runner.updates.closing  # made before the first wait: a close in between must be heard
    tasks = _list_tasks(call)
    call.send(notifications.acknowledge(call.work, tasks))  # the stream's first frame: before any watch can speak
    updates.hear_lists()
    stop = _watch_tasks(call, tasks, updates) if tasks else None
    try:
        await updates.add_existing(await _list_readable(call, call.work.arguments[1]))
        call.work.arguments = (call.work.arguments[0], (), ())  # what it does not hear of need not be kept
        await closing.wait()
    finally:
        if stop is not None:
            stop()
        updates.close()


def _list_tasks(call: WireCall) -> list[str]:
    """Returns the tasks whose changes this stream can hear; those of other processes it cannot."""
    wanted: list[str] = call.work.arguments[2]
    return call.runner.server.tasks.list_own(wanted, call.caller.principal) if wanted else []


def _watch_tasks(call: WireCall, tasks: Sequence[str], updates: Updates) -> Callable[[], None]:
    from postil.wire.protocol.task_methods import Task, tell  # few clients ask for any

    def hear_of(task: Task) -> bool:
        updates.send(tell(task, call.work))
        return not (call.cancelled or updates.closing.is_set())

    return call.runner.server.tasks.watch(tasks, hear_of)


async def begin_task(call: WireCall) -> object:
    """Begin what takes long, as a task that goes on when its request is answered."""
    return await call.runner.server.tasks.begin(call, run_operation)


async def get_task(call: WireCall) -> object:
    """Look at a task."""
    return await call.runner.server.tasks.get(call.work.name, call.caller.principal)


async def update_task(call: WireCall) -> None:
    """Hand answers to a task."""
    await call.runner.server.tasks.update(call.work.name, call.caller.principal, call.work.arguments)


async def cancel_task(call: WireCall) -> None:
    """Give a task up."""
    await call.runner.server.tasks.cancel(call.work.name, call.caller.principal)


DO: dict[Kind, Do] = {
    "tool": run_operation,
    "direct": run_operation,
    "resource": read_resource,
    "prompt": write_prompt,
    "completion": find_completions,
    "subscribe": subscribe,
    "listen": listen,
    "task": begin_task,
    "get_task": get_task,
    "update_task": update_task,
    "cancel_task": cancel_task,
}
"""How each kind of work is done."""
