"""One request on its way: what the engine knows of it, and what the operation behind it may do meanwhile."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from postil.core.call import LEVELS, Call, Caller, Level, Question
from postil.core.failure import Failure, InvalidArguments, StorageFailed
from postil.wire.protocol import jsonrpc
from postil.wire.protocol.eras import stateless
from postil.wire.protocol.eras.handshake import Era

if TYPE_CHECKING:
    from postil.wire.protocol.session import Session

Out: TypeAlias = Callable[[bytes, bool, int], None]
"""Where frames of an exchange go: the frame, whether it is the answer, and its error code or 0."""


STATUS = ":status"
"""Told by a call whose failure has an HTTP status of its own."""


def is_passing(failure: Failure) -> bool:
    """Whether the storage is away for a moment: nothing was changed, and the same request may work soon."""
    return isinstance(failure, StorageFailed) and failure.data.get("status") == 503


class InputRequired(Exception):
    """The stateless era's way to ask: the call ends here and comes back with the answers."""

    def __init__(self, questions: Mapping[str, Question]) -> None:
        super().__init__("input required")
        self.questions = questions


class Exchange(Call):
    """A request, its era and its way back. It is the call in progress for the operation it reaches."""

    def __init__(
        self,
        session: Session,
        request: jsonrpc.Request,
        out: Out,
        caller: Caller,
        key: str = "",
        told: dict[str, str] | None = None,
    ) -> None:
        super().__init__(caller)
        self._told = told
        self.session = session
        self.server = session.server
        self.request = request
        self.params = request.params
        self.out = out
        self.key = key
        meta = request.params.get("_meta")
        self.meta: dict[str, Any] = cast("dict[str, Any]", meta) if isinstance(meta, dict) else {}
        self.era: Era = stateless.STATELESS if stateless.VERSION in self.meta else session.era
        self.answers: dict[str, Any] = {}
        self.made = True
        """Whether the operation ran: a repeat under a known key is only answered again."""
        self._loop_thread = threading.get_ident()

    # -- what an operation may do -------------------------------------------------------------------------------

    def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        token = self.meta.get("progressToken")
        if not jsonrpc.is_id(token):
            return
        params: dict[str, Any] = {"progressToken": token, "progress": done}
        if total is not None:
            params["total"] = total
        if message and self.era.annotations:
            params["message"] = message
        self.notify("notifications/progress", params)

    def log(self, level: Level, data: object, logger: str = "") -> None:
        wanted = self.meta.get(stateless.LOG_LEVEL) if self.era.stateless else self.session.log_level
        if wanted is None or LEVELS.index(level) < LEVELS.index(wanted):
            return
        params: dict[str, Any] = {"level": level, "data": data}
        if logger:
            params["logger"] = logger
        self.notify("notifications/message", params)

    def tell(self, name: str, value: str) -> None:
        told = self._told  # the request's own: calls of one session run side by side
        if told is not None:
            self._on_loop(lambda: told.update({name: value}))

    def settle(self, confirmed: Callable[[], None], lost: Callable[[], None]) -> None:
        self._on_loop(lambda: self.session.unsettled.append((self, confirmed, lost)))

    async def ask(self, questions: Mapping[str, Question]) -> Mapping[str, object]:
        if not self.era.stateless:
            return {key: await self.session.ask(question, self.out) for key, question in questions.items()}
        for question in questions.values():
            stateless.check_capability(question.method, self.meta)
        missing = {key: question for key, question in questions.items() if key not in self.answers}
        if missing:
            raise InputRequired(missing)
        return {key: self.answers[key] for key in questions}

    # -- what the engine does ------------------------------------------------------------------------------------

    def notify(self, method: str, params: dict[str, Any]) -> None:
        """Send a notification that belongs to this request, from any thread."""
        if not self.cancelled:
            frame = jsonrpc.notification(method, params)
            self._on_loop(lambda: None if self.cancelled else self.out(frame, False, 0))

    def _on_loop(self, act: Callable[[], None]) -> None:
        if threading.get_ident() == self._loop_thread:
            act()
        else:
            self.session.loop.call_soon_threadsafe(act)

    def succeed(self, result: object) -> None:
        """Answer with a result."""
        self.out(jsonrpc.reply(self.request.id, result), True, 0)

    def fail(self, failure: Failure) -> None:
        """Answer with an error object."""
        if is_passing(failure):
            self.tell(STATUS, "503")
            self.tell("Retry-After", "1")
        self.out(jsonrpc.refusal(self.request.id, failure.code, failure.message, failure.details()), True, failure.code)

    def remember(self, name: str) -> None:
        """Read the answers that came with this request, and those its sealed state remembers."""
        state = self.params.get("requestState")
        if state is not None:
            from postil.wire.protocol import request_state  # hashing costs every start 2 ms, and few calls ask anything

            self.answers.update(request_state.unseal(state, self._binding(name), self.server.secret))
        given: object = self.params.get("inputResponses", {})
        answers = cast("dict[str, Any]", given) if isinstance(given, dict) else None
        if answers is None or not all(isinstance(answer, dict) for answer in answers.values()):
            raise InvalidArguments("inputResponses must hold one object for each question", path="inputResponses")
        self.answers.update(answers)

    def input_required(self, name: str, needed: InputRequired) -> dict[str, Any]:
        """The result that asks for input, with the answers so far sealed into it."""
        from postil.wire.protocol import request_state  # see remember

        return {
            "resultType": "input_required",
            "inputRequests": {
                key: {"method": question.method, "params": question.params}
                for key, question in needed.questions.items()
            },
            "requestState": request_state.seal(self.answers, self._binding(name), self.server.secret),
            "_meta": {stateless.SERVER_INFO: self.server.info},
        }

    def _binding(self, name: str) -> str:
        from postil.wire.protocol import request_state  # see remember

        return request_state.binding(self.caller.principal, self.request.method, name, self.params.get("arguments"))

    async def in_thread(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Run something that blocks in the bounded pool, with this call as the call in progress."""
        import contextvars  # already imported by asyncio

        context = contextvars.copy_context()
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self.server.pool, lambda: context.run(function, *arguments))
