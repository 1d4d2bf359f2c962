"""The extension for what takes long (`io.modelcontextprotocol/tasks`, stateless era): a call is answered with a task at
once; how far it is and what came of it is asked for by the task's id. Data and methods; `runtime/tasks.py` runs them.

The server decides: operations that are marked as long become tasks, for clients that say they know of tasks.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from msgspec import Raw, Struct

from postil.core import codes
from postil.core.failure import InvalidArguments
from postil.wire.protocol.eras import stateless
from postil.wire.protocol.events import Work
from postil.wire.protocol.failures import ProtocolFailure
from postil.wire.protocol.jsonrpc import encode_notification
from postil.wire.protocol.kept import TASKS

if TYPE_CHECKING:
    from postil.wire.protocol.eras.era import Era
    from postil.wire.protocol.face import Profile
    from postil.wire.protocol.jsonrpc import Request
    from postil.wire.protocol.session import Session

EXTENSION = TASKS
LIFETIME = 3600.0
"""Seconds for which a task can be asked for, from its beginning."""
MOST_HEARD = 16
"""Tasks that one stream hears of: each brings its result, and a client need not read its streams."""
POLL = 1000
"""Milliseconds between two looks at a task, as clients are advised."""
Status: TypeAlias = Literal["working", "input_required", "completed", "failed", "cancelled"]
_NONE = Raw()
ENDED = frozenset({"completed", "failed", "cancelled"})


class Task(Struct, omit_defaults=True):
    """One task as it is now, and as replicas share it."""

    id: str
    principal: str
    created: float
    updated: float
    status: Status = "working"
    message: str = ""
    result: Raw = _NONE
    """The tool's result, of a completed task."""
    error: Raw = _NONE
    """The error object, of a failed one."""
    questions: dict[str, Any] = {}
    """What the client is asked and has not answered yet."""

    @property
    def is_over(self) -> bool:
        """Whether nothing more will become of it."""
        return self.status in ENDED


def knows_tasks(capabilities: object) -> bool:
    """Returns whether a client has said that it knows of tasks."""
    extensions = cast("dict[str, Any]", capabilities).get("extensions") if isinstance(capabilities, dict) else None
    return isinstance(extensions, dict) and EXTENSION in extensions


def take_as_task(session: Session, work: Work) -> Work:
    """Returns the work of a long operation: a task where the client knows of them, else as any other."""
    if EXTENSION not in session.profile.face.extensions:
        return work
    if not knows_tasks(_capabilities(work.request)):
        if work.entry.task == "required":
            raise _missing()
        return work
    work.kind, work.task_shape, work.shape = "task", work.shape, _created
    return work


def _created(profile: Profile, work: Work, value: object) -> object:
    if not isinstance(value, Task):  # it was over before it became one
        assert work.task_shape is not None
        return work.task_shape(profile, work, value)
    return {"resultType": "task", **_describe(value)}


def _detailed(profile: Profile, work: Work, task: Task) -> object:
    return _detail(task)


def tell(task: Task, stream: Work) -> bytes:
    """Returns what became of a task, for a stream that asked to hear of it: what `tasks/get` would say."""
    return encode_notification("notifications/tasks", {**_detail(task), "_meta": stream.stamp()})


def _detail(task: Task) -> dict[str, Any]:
    shown = _describe(task)
    if task.status == "completed":
        shown["result"] = task.result
    elif task.status == "failed":
        shown["error"] = task.error
    elif task.status == "input_required":
        shown["inputRequests"] = task.questions
    return shown


def _acknowledged(profile: Profile, work: Work, value: object) -> object:
    return {}


def _describe(task: Task) -> dict[str, Any]:
    shown: dict[str, Any] = {"taskId": task.id, "status": task.status}
    if task.message:
        shown["statusMessage"] = task.message
    shown["createdAt"], shown["lastUpdatedAt"] = _write_time(task.created), _write_time(task.updated)
    return {**shown, "ttlMs": int(LIFETIME * 1000), "pollIntervalMs": POLL}


def _write_time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def get_task(session: Session, request: Request, era: Era) -> Work:
    """Returns how far a task is, with its result where it has ended."""
    return Work("get_task", request, era, _read_id(session, request), None, _detailed)


def update_task(session: Session, request: Request, era: Era) -> Work:
    """Take answers to what a task asked."""
    task_id, given = _read_id(session, request), request.params.get("inputResponses")
    answers = cast("dict[str, Any]", given) if isinstance(given, dict) else None
    if answers is None or not all(isinstance(answer, dict) for answer in answers.values()):
        raise InvalidArguments("inputResponses must hold one object for each question", path="inputResponses")
    return Work("update_task", request, era, task_id, answers, _acknowledged)


def cancel_task(session: Session, request: Request, era: Era) -> Work:
    """Give a task up; one that has ended stays as it is."""
    return Work("cancel_task", request, era, _read_id(session, request), None, _acknowledged)


def read_ids(session: Session, request: Request, given: object) -> list[str]:
    """Returns the tasks that a stream wants to hear of. Raises where the client does not know of tasks."""
    if EXTENSION not in session.profile.face.extensions:
        return []
    if not knows_tasks(_capabilities(request)):
        raise _missing()
    listed = cast("list[object]", given) if isinstance(given, list) else []
    return list(dict.fromkeys(each for each in listed if isinstance(each, str)))[:MOST_HEARD]


def _read_id(session: Session, request: Request) -> str:
    if EXTENSION not in session.profile.face.extensions:
        raise ProtocolFailure(codes.METHOD_NOT_FOUND, "Method not found")
    if not knows_tasks(_capabilities(request)):
        raise _missing()
    task_id = request.params.get("taskId")
    if not isinstance(task_id, str):
        raise InvalidArguments('Invalid params: "taskId" must be a string', path="taskId")
    return task_id


def _capabilities(request: Request) -> object:
    return cast("Mapping[str, Any]", request.params["_meta"]).get(stateless.CAPABILITIES)


def _missing() -> ProtocolFailure:
    needed: dict[str, Any] = {"extensions": {EXTENSION: {}}}
    return ProtocolFailure(
        codes.MISSING_CAPABILITY, f"The client lacks the extension {EXTENSION}", requiredCapabilities=needed
    )
