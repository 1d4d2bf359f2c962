"""Calls that were answered with a task and go on: their progress, questions and end. All connections share them.

A task belongs to the principal that began it; to anybody else its id is unknown. Where replicas share a store, how far
it is stands there, and what is asked of it (answers, to give it up) reaches the replica that runs it within a second.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import msgspec
from msgspec import Raw, Struct, structs

from postil.core import call as core_call
from postil.core import codes
from postil.core.call import Level, Question
from postil.core.failure import Failure
from postil.core.others.unreadable import UNREADABLE
from postil.wire.protocol import shapes
from postil.wire.protocol.events import NOTHING
from postil.wire.protocol.failures import ProtocolFailure, is_temporary
from postil.wire.protocol.jsonrpc import Request, encode
from postil.wire.protocol.task_methods import LIFETIME, Task
from postil.wire.runtime.wire_call import Right, WireCall

if TYPE_CHECKING:
    from postil.core.ports import EphemeralStore
    from postil.wire.server import Server

MOST_RUNNING = 16
"""Tasks of one principal at work at once."""
MOST_OF_ONE = 256
"""Tasks of one principal that can be asked for."""
MOST = 4096
LONGEST_MESSAGE = 300
LONGEST_ID = 64
LOOK_EVERY = 0.5
TELL_EVERY = 1.0
"""Seconds between two words to a listener on how far a task is; changes of its status are told at once."""
Run = Callable[[WireCall], Coroutine[Any, Any, object]]
Listener = Callable[[Task], bool]
"""Tells a client how a task is; returns whether there was one to tell."""


class _Wanted(Struct):
    """What clients asked of a task on other replicas."""

    cancel: bool = False
    answers: dict[str, Any] = {}


class TaskCall(WireCall):
    """The call behind a task: it outlives the request that began it."""

    def __init__(self, begun: WireCall, tasks: Tasks, task: Task) -> None:
        assert begun.work.task_shape is not None
        work = structs.replace(begun.work, kind="tool", shape=begun.work.task_shape, task_shape=None)
        super().__init__(begun.runner, work, begun.out, begun.caller)
        self.task = task
        self.is_task = asyncio.Event()
        """Whether its client was told that it is one."""
        self.delivery: list[tuple[Callable[[], None], Callable[[], None]]] = []
        self.told = 0.0
        """When listeners last heard of it."""
        self._tasks = tasks
        self._answers: dict[str, Any] = {}
        self._answered = asyncio.Event()

    def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        far = f"{done:g} of {total:g}" if total is not None else f"{done:g}"
        said = f"{far}: {message}" if message else far
        self.runner.on_loop(lambda: self._tasks.change(self, message=said[:LONGEST_MESSAGE]))

    def log(self, level: Level, data: object, logger: str = "") -> None:
        """Say nothing: the request that began it is answered."""

    def tell(self, name: str, value: str) -> None:
        """Say nothing: the request that began it is answered."""

    def send(self, frame: bytes) -> None:
        """Send nothing: the request that began it is answered."""

    def when_delivered(self, confirmed: Callable[[], None], lost: Callable[[], None]) -> None:
        self.runner.on_loop(lambda: self._tasks.note_delivery(self, confirmed, lost))

    async def ask(self, questions: Mapping[str, Question]) -> Mapping[str, object]:
        if not self.is_task.is_set():  # first the questions of the call itself; with their answers it becomes a task
            answers = await super().ask(questions)
            self.is_task.set()
            return answers
        names = {key: f"{key}-{secrets.token_urlsafe(6)}" for key in questions}
        asked = {names[key]: {"method": each.method, "params": each.params} for key, each in questions.items()}
        self._tasks.change(self, status="input_required", questions=asked)
        while self.task.questions:
            self._answered.clear()
            await self._answered.wait()
        self._tasks.change(self, status="working")
        return {key: self._answers.pop(name) for key, name in names.items()}

    def take_answers(self, answers: Mapping[str, Any]) -> None:
        """Take what the client answered; what was not asked is ignored."""
        fitting = {name: answer for name, answer in answers.items() if name in self.task.questions}
        if fitting:
            self._answers.update(fitting)
            left = {name: each for name, each in self.task.questions.items() if name not in fitting}
            self._tasks.change(self, questions=left)
            self._answered.set()


class Tasks:
    """The tasks of one server, on one event loop."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._calls: dict[str, TaskCall] = {}
        self._running: dict[str, asyncio.Task[object]] = {}
        self._saving: set[asyncio.Task[Any]] = set()
        self._listeners: dict[str, list[Listener]] = {}

    async def begin(self, begun: WireCall, run: Run) -> object:
        """Begin a task. Returns it; or what came of the call, where that ended before it became a task."""
        self._check_room(begun.caller.principal)
        now = time.time()
        task = Task(secrets.token_urlsafe(24), begun.caller.principal, now, now)
        call = TaskCall(begun, self, task)
        if begun.work.entry.task != "after_questions":
            call.is_task.set()
        self._calls[task.id] = call
        right: Right | None = getattr(begun.out, "right", None)
        let_go = right.hold(lambda: self._give_up(call)) if right is not None else None
        running = self._running[task.id] = asyncio.get_running_loop().create_task(self._do(call, run))
        running.add_done_callback(lambda _: self._running.pop(task.id, None))
        if let_go is not None:
            running.add_done_callback(lambda _: let_go())
        told = asyncio.ensure_future(call.is_task.wait())
        try:
            await asyncio.wait((running, told), return_when=asyncio.FIRST_COMPLETED)
        finally:
            told.cancel()
            if not call.is_task.is_set():
                running.cancel()
                del self._calls[task.id]
        if not call.is_task.is_set():
            return running.result()
        await self._save(task)
        if self._server.hooks.shared is not None:
            self._keep(self._listen(self._server.hooks.shared, call))
        return structs.replace(task)

    async def _do(self, call: TaskCall, run: Run) -> object:
        core_call.enter(call)
        session, work = call.runner.session, call.work
        try:
            value = await run(call)
        except Exception as fault:
            if not call.is_task.is_set():
                raise
            if not isinstance(fault, Failure):
                self._server.report(fault, work.name)
                fault = ProtocolFailure(codes.INTERNAL_ERROR, "Internal error")
            if isinstance(fault, ProtocolFailure) or is_temporary(fault):
                self.change(call, status="failed", error=Raw(encode(shapes.make_error(fault))))
            else:
                self._complete(call, session.describe_failure(fault))
            return None
        finally:
            call.stay.leave()
        if call.is_task.is_set():
            self._complete(call, work.shape(session.profile, work, value))
        return value

    def _complete(self, call: TaskCall, result: object) -> None:
        self.change(call, status="completed", result=Raw(encode(result)))

    def change(self, call: TaskCall, **news: Any) -> None:
        """Note what became of a task; one that has ended stays as it is."""
        task = call.task
        if task.is_over:
            return
        before = task.status
        for name, value in news.items():
            setattr(task, name, value)
        task.updated = time.time()
        if task.is_over:
            task.questions = {}
            _let_go(call)
            wait = max(LIFETIME - (task.updated - task.created), 60.0)
            call.runner.loop.call_later(wait, self._forget, task.id)
        if self._server.hooks.shared is not None:
            self._keep(self._save(task))
        if task.status != before or abs(task.updated - call.told) >= TELL_EVERY:  # clocks are set back, too
            call.told = task.updated
            for listener in self._listeners.get(task.id, ()):
                self._tell(call, listener)

    # -- what clients ask -------------------------------------------------------------------------------------------

    async def get(self, task_id: str, principal: str) -> Task:
        """Returns a task as it is now."""
        call = self._calls.get(task_id)
        if call is None or call.task.principal != principal:
            return await self._find_elsewhere(task_id, principal)
        if call.task.is_over:
            self._report_delivery(call, reached=call.task.status == "completed")
        return structs.replace(call.task)

    async def update(self, task_id: str, principal: str, answers: Mapping[str, Any]) -> None:
        """Hand answers to a task."""
        call = self._calls.get(task_id)
        if call is not None and call.task.principal == principal:
            call.take_answers(answers)
            return
        asked = (await self._find_elsewhere(task_id, principal)).questions  # none when it is over
        if fitting := {name: answer for name, answer in answers.items() if name in asked}:
            await self._want(task_id, answers=fitting)

    async def cancel(self, task_id: str, principal: str) -> None:
        """Give a task up."""
        call = self._calls.get(task_id)
        if call is not None and call.task.principal == principal:
            self._give_up(call)
        elif not (await self._find_elsewhere(task_id, principal)).is_over:
            await self._want(task_id, cancel=True)

    def list_own(self, task_ids: Iterable[str], principal: str) -> list[str]:
        """Returns those of the tasks that run here and are this principal's: of these changes can be heard."""
        found = {task_id: self._calls.get(task_id) for task_id in task_ids}
        return [task_id for task_id, call in found.items() if call is not None and call.task.principal == principal]

    def watch(self, task_ids: Sequence[str], listener: Listener) -> Callable[[], None]:
        """Tell a listener how these tasks are, now and after each change of status. Returns what ends it."""
        for task_id in task_ids:
            self._listeners.setdefault(task_id, []).append(listener)
            self._tell(self._calls[task_id], listener)

        def stop() -> None:
            for task_id in task_ids:
                left = [each for each in self._listeners.pop(task_id, ()) if each is not listener]
                if left:
                    self._listeners[task_id] = left

        return stop

    def _tell(self, call: TaskCall, listener: Listener) -> None:
        """Tell a listener how a task is. What nobody was told was not delivered."""
        if listener(structs.replace(call.task)) and call.task.is_over:
            self._report_delivery(call, reached=call.task.status == "completed")

    def _give_up(self, call: TaskCall) -> None:
        call.cancelled = True
        self.change(call, status="cancelled")
        if call.task.id in self._running:
            self._running[call.task.id].cancel()
        self._report_delivery(call, reached=False)

    def note_delivery(self, call: TaskCall, confirmed: Callable[[], None], lost: Callable[[], None]) -> None:
        """Keep what to do when the result is known to have been asked for, or not to."""
        call.delivery.append((confirmed, lost))
        if call.cancelled:  # it was in a thread when it was given up
            self._report_delivery(call, reached=False)

    def _report_delivery(self, call: TaskCall, *, reached: bool) -> None:
        for confirmed, lost in call.delivery:
            self._server.pool.submit(confirmed if reached else lost)
        call.delivery.clear()

    # -- bounds -----------------------------------------------------------------------------------------------------

    def _check_room(self, principal: str) -> None:
        own = [call.task for call in self._calls.values() if call.task.principal == principal]
        if sum(not task.is_over for task in own) >= MOST_RUNNING:
            raise ProtocolFailure(codes.SERVER_ERROR, f"Too many tasks at work: at most {MOST_RUNNING}; cancel some")
        if len(own) >= MOST_OF_ONE or len(self._calls) >= MOST:
            raise ProtocolFailure(codes.SERVER_ERROR, "Too many tasks: those that have ended are kept for an hour")

    def _forget(self, task_id: str) -> None:
        call = self._calls.pop(task_id, None)
        if call is not None:
            self._report_delivery(call, reached=False)

    async def close(self, grace: float) -> None:
        """End: tasks at work get `grace` seconds and have failed then."""
        if self._running:
            await asyncio.wait(list(self._running.values()), timeout=grace)
        ended = ProtocolFailure(codes.SERVER_ERROR, "The server ended before the task did")
        for call in list(self._calls.values()):
            call.cancelled = True
            self.change(call, status="failed", error=Raw(encode(shapes.make_error(ended))))
            self._report_delivery(call, reached=False)
        for running in list(self._running.values()):
            running.cancel()
        if self._saving:
            await asyncio.wait(list(self._saving), timeout=grace)

    # -- shared by replicas -----------------------------------------------------------------------------------------

    def _keep(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._saving.add(task)
        task.add_done_callback(self._saving.discard)

    async def _save(self, task: Task) -> None:
        store = self._server.hooks.shared
        if store is not None:
            await store.keep({name_in_store(task.id): msgspec.json.encode(task)}, LIFETIME)

    async def _find_elsewhere(self, task_id: str, principal: str) -> Task:
        store = self._server.hooks.shared
        found = await store.recall(name_in_store(task_id)) if store is not None and len(task_id) <= LONGEST_ID else None
        try:
            task = msgspec.json.decode(found[0], type=Task) if found and found[0] is not None else None
        except UNREADABLE:  # another version's
            task = None
        if task is None or task.principal != principal:
            raise ProtocolFailure(codes.INVALID_PARAMS, "Unknown task: it never was, or ended more than an hour ago")
        return task

    async def _want(self, task_id: str, *, cancel: bool = False, answers: Mapping[str, Any] | None = None) -> None:
        store = cast("EphemeralStore", self._server.hooks.shared)
        wanted = await _recall_wanted(store, task_id)
        wanted.cancel |= cancel
        wanted.answers.update(answers or {})
        await store.keep({name_in_store(task_id, "wanted"): msgspec.json.encode(wanted)}, LIFETIME)

    async def _listen(self, store: EphemeralStore, call: TaskCall) -> None:
        """Hear what is asked of a task on other replicas."""
        while not call.task.is_over:
            await asyncio.sleep(LOOK_EVERY)
            wanted = await _recall_wanted(store, call.task.id)
            call.take_answers(wanted.answers)
            if wanted.cancel:
                self._give_up(call)


async def _recall_wanted(store: EphemeralStore, task_id: str) -> _Wanted:
    """Returns what was asked of a task; of what cannot be read nothing, and who asks again writes it anew."""
    found = await store.recall(name_in_store(task_id, "wanted"))
    try:
        return msgspec.json.decode(found[0], type=_Wanted) if found and found[0] is not None else _Wanted()
    except UNREADABLE:
        return _Wanted()


def name_in_store(task_id: str, kind: str = "task") -> str:
    """Returns what a task, or what is wanted of it, is called in the store that replicas share."""
    import hashlib  # only where replicas share tasks

    return f"{kind}:" + hashlib.sha256(task_id.encode("utf-8", "replace")).hexdigest()[:40]


def _let_go(call: TaskCall) -> None:
    """Keep nothing of the request: a task that has ended can be asked for longer."""
    bare = Request(call.work.request.id, call.work.request.method, {})
    call.work = structs.replace(call.work, request=bare, arguments=None, meta=NOTHING, answers=NOTHING, key="")
