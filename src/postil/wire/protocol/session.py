"""One connection as a state machine: frames in, events out; outcomes in, frames out.

Does no I/O and knows no event loop: `wire.runtime` does the work that a session asks for and tells it the outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import Any, cast

from msgspec import Struct

from postil.core import codes
from postil.core.call import LOCAL, Level, Question
from postil.core.failure import Failure, InvalidArguments
from postil.core.resource import ResourceNotFound
from postil.wire.protocol import events, jsonrpc, kept, methods, shapes
from postil.wire.protocol.eras import era as eras
from postil.wire.protocol.eras import stateless
from postil.wire.protocol.eras.era import Era
from postil.wire.protocol.events import Batch, Done, Event, Reply, Work
from postil.wire.protocol.face import Profile
from postil.wire.protocol.failures import ProtocolFailure, is_temporary

IN_FLIGHT = 256
KEY = "postil/idempotencyKey"


class Agreed(Struct, frozen=True, array_like=True):
    """What a handshake agreed on and the client asked to hear: enough for another process to go on with it."""

    version: str
    draft: bool
    capabilities: dict[str, Any]
    level: Level | None = None
    subscribed: tuple[str, ...] = ()


class Session:
    """What one client and this server have said to each other so far."""

    def __init__(
        self, profile: Profile, era: Era = eras.FIRST, *, principal: str = LOCAL, direct: bool = False
    ) -> None:
        self.profile = profile
        self.principal = principal
        self.direct = direct
        """Whether operations are methods too."""
        self.era = era
        self.methods: Mapping[str, methods.Handler] = methods.HANDSHAKE
        self.is_draft = False
        self.capabilities: dict[str, Any] = {}
        """What the client can do, as far as it is asked about."""
        self.log_level: Level | None = None
        self.in_flight: dict[jsonrpc.Id, Work] = {}
        self.ended = False
        """Whether the client asked to end."""
        self._asked = 0

    def makes_work(self, incoming: jsonrpc.Incoming | list[jsonrpc.Incoming]) -> bool:
        """Returns whether a frame may need more than an answer that the protocol itself gives."""
        if isinstance(incoming, jsonrpc.Request):
            return incoming.method in methods.WORKING or self.direct
        return isinstance(incoming, list)

    # -- frames in ------------------------------------------------------------------------------------------------

    def receive(self, frame: bytes, key: str = "") -> list[Event]:
        """Take one frame. Returns what is to be sent or done because of it, in order."""
        return self.take(jsonrpc.parse(frame), key)

    def take(self, incoming: jsonrpc.Incoming | list[jsonrpc.Incoming], key: str = "") -> list[Event]:
        """Take what a transport has already parsed; `key` is the idempotency key that came beside it."""
        if isinstance(incoming, jsonrpc.Request):
            return self._request(incoming, key)
        if isinstance(incoming, list):
            return self._batch(incoming, key)
        if isinstance(incoming, jsonrpc.Notification):
            return self._notification(incoming)
        if isinstance(incoming, jsonrpc.Response):
            return [events.Answered(incoming.id, incoming.result, incoming.error)]
        return [refuse(incoming.id, incoming.code, incoming.message, incoming.data)]

    def _request(self, request: jsonrpc.Request, key: str) -> list[Event]:
        given = request.params.get("_meta")
        meta = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
        era = eras.STATELESS if stateless.VERSION in meta else self.era
        try:
            if request.id in self.in_flight:
                raise ProtocolFailure(codes.INVALID_REQUEST, "Invalid Request: this id is still in use")
            answer = self._handler(request.method, era, meta)(self, request, era)
            if isinstance(answer, Work):
                if len(self.in_flight) >= IN_FLIGHT:
                    raise ProtocolFailure(codes.SERVER_ERROR, f"Too many calls in flight: at most {IN_FLIGHT}")
                if key or answer.key or KEY in meta:
                    answer.key = kept.keep_key(meta.get(KEY) or answer.key or key)
                if era.stateless:
                    answer.answers = self._recall_answers(answer)
                if meta:
                    answer.meta = request.params["_meta"] = kept.keep_meta(meta)
                if not request.params.keys() <= kept.PARAMS and answer.kind != "direct":
                    kept.let_go(request.params)
                self.in_flight[request.id] = answer
                return [answer]
            if isinstance(answer, Done):
                return [self._reply(request, era, answer.result), answer.news]
            return [self._reply(request, era, answer)]
        except Failure as failure:
            return [refuse(request.id, failure.code, failure.message, failure.details())]
        except Exception as bug:  # noqa: BLE001 - the top of the protocol: a bug is told, and the session goes on
            general = refuse(request.id, codes.INTERNAL_ERROR, "Internal error")
            return [general, events.Bug(bug, request.method)]

    def _handler(self, method: str, era: Era, meta: Mapping[str, Any]) -> methods.Handler:
        if era.stateless:
            stateless.check_meta(meta)
            table = methods.STATELESS
        elif method == "initialize":
            return _initialize
        elif self.direct and (direct_methods := _direct_methods()).is_direct(method):
            return direct_methods.call
        else:
            table = self.methods
        handler = table.get(method)
        capability = methods.CAPABILITY.get(method)
        if handler is None or (capability is not None and capability not in self.profile.face.capabilities):
            raise self._unknown_method(method, table)
        return handler

    def _unknown_method(self, method: str, table: Iterable[str]) -> ProtocolFailure:
        """Returns the refusal of a method that is not there; beside a contract's own words, with the nearest one."""
        if self.profile.face.contract:
            return ProtocolFailure(codes.METHOD_NOT_FOUND, "Method not found")
        from difflib import get_close_matches  # only a mistake pays for it

        offered = self.profile.face.capabilities
        known = [name for name in table if methods.CAPABILITY.get(name) in (None, *offered) and name != method]
        near = get_close_matches(method[:100], known, 1, 0.75)
        data = {"suggestion": f"Did you mean {near[0]}?"} if near else {}
        return ProtocolFailure(codes.METHOD_NOT_FOUND, "Method not found", **data)

    def _batch(self, items: list[jsonrpc.Incoming], key: str) -> list[Event]:
        called = [item.method for item in items if isinstance(item, jsonrpc.Request)]
        allowed = self.era.batches or (self.direct and all(map(_direct_methods().is_direct, called)))
        if not allowed or "initialize" in called:
            return [refuse(None, codes.INVALID_REQUEST, "Invalid Request: this protocol version has no batches")]
        batch = Batch(sum(not isinstance(item, jsonrpc.Notification | jsonrpc.Response) for item in items))
        happened: list[Event] = []
        whole = b""
        for position, item in enumerate(items):
            for event in self.take(item, _name_item(key, position) if key else ""):
                if isinstance(event, Reply):
                    whole = batch.end(position, event.frame)
                    continue
                if isinstance(event, Work):
                    event.batch, event.position = batch, position
                happened.append(event)
        return [*happened, Reply(whole)] if whole else happened

    def _notification(self, note: jsonrpc.Notification) -> list[Event]:
        request_id = note.params.get("requestId") if note.method == "notifications/cancelled" else None
        work = self.in_flight.get(cast(jsonrpc.Id, request_id)) if jsonrpc.is_id(request_id) else None
        if work is None:
            return []
        work.cancelled = True
        return [events.Cancelled(work)]

    # -- outcomes in ------------------------------------------------------------------------------------------------

    def answer(self, work: Work, value: object) -> Reply | None:
        """Returns the answer to a request whose work gave this value; None while its batch waits for others."""
        return self.end(work, self._reply(work.request, work.era, work.shape(self.profile, work, value)))

    def make_reply(self, work: Work, value: object) -> Reply:
        """Returns what answers a request whose work gave this value. Changes nothing: a thread may make a large one."""
        return self._reply(work.request, work.era, work.shape(self.profile, work, value))

    def fail(self, work: Work, failure: Failure) -> Reply | None:
        """Returns the answer to a request whose work failed: an error object, or the result of a tool."""
        if work.kind in ("tool", "task"):
            if work.era.structured and not isinstance(failure, ProtocolFailure) and not is_temporary(failure):
                return self.end(work, self._reply(work.request, work.era, self.describe_failure(failure)))
            self._say_tools(failure)
        elif isinstance(failure, ResourceNotFound) and work.kind in ("resource", "subscribe"):
            failure = ProtocolFailure(work.era.unknown_resource, failure.message, **failure.data)
        message, data = failure.message, failure.details()
        if work.kind == "direct":
            message, data = _direct_methods().describe(failure)
        return self.end(work, refuse(work.request.id, failure.code, message, data))

    def describe_failure(self, failure: Failure) -> dict[str, Any]:
        """Returns a failure as the result of a tool."""
        self._say_tools(failure)
        return shapes.make_failed_result(failure)

    def _say_tools(self, failure: Failure) -> None:
        if not self.profile.face.contract and "`" in failure.advice:
            failure.advice = _say_tools(failure.advice, self.profile.registry.tool_for)

    def give_up(self, work: Work) -> Reply | None:
        """End a request without an answer. Returns the answer of its batch where that waited for this one alone."""
        return self.end(work, None)

    def require_input(self, work: Work, questions: Mapping[str, Question]) -> Reply | None:
        """Returns the answer that asks for input, with the answers so far sealed into it."""
        from postil.wire.protocol import request_state  # see _recall_answers

        asked = {key: {"method": question.method, "params": question.params} for key, question in questions.items()}
        result = {
            "resultType": "input_required",
            "inputRequests": asked,
            "requestState": request_state.seal(work.answers, self._binding(work), self.profile.secret()),
            "_meta": {stateless.SERVER_INFO: self.profile.info},
        }
        return self.end(work, Reply(jsonrpc.encode_reply(work.request.id, result)))

    def end(self, work: Work, reply: Reply | None) -> Reply | None:
        """End a request that this answers. Returns what is sent now: the answer, or its whole batch's."""
        del self.in_flight[work.request.id]
        if work.cancelled:
            reply = None
        if work.batch is None:
            return reply
        whole = work.batch.end(work.position, reply.frame if reply is not None else b"")
        return Reply(whole) if whole else None

    def _reply(self, request: jsonrpc.Request, era: Era, result: object) -> Reply:
        if era.stateless:
            info = self.profile.info
            if request.method == "server/discover":  # other results say the name alone
                info = self.profile.face.introduction(era)
            result = stateless.complete(cast("dict[str, Any]", result), request.method, info)
        return Reply(jsonrpc.encode({"jsonrpc": "2.0", "id": request.id, "result": result}))

    # -- questions to the client --------------------------------------------------------------------------------------

    def ask(self, question: Question) -> tuple[jsonrpc.Id, bytes]:
        """Returns a request of ours to the client, and its id."""
        needed = stateless.NEEDED.get(question.method)
        if needed and needed not in self.capabilities:
            raise Failure(f"The client cannot be asked for {needed}", advice="Give the answer as an argument")
        self._asked += 1
        request_id = f"postil-{self._asked}"
        return request_id, jsonrpc.encode_request(request_id, question.method, dict(question.params))

    def _recall_answers(self, work: Work) -> dict[str, Any]:
        """Returns the answers that came with a request of the stateless era, and those in its sealed state."""
        params = work.request.params
        if "requestState" not in params and "inputResponses" not in params:
            return {}
        state, given = params.get("requestState"), params.get("inputResponses", {})
        remembered: dict[str, Any] = {}
        if state is not None:
            from postil.wire.protocol import request_state  # hashing costs every start 2 ms, and few calls ask anything

            remembered = request_state.unseal(state, self._binding(work), self.profile.secret())
        answers = cast("dict[str, Any]", given) if isinstance(given, dict) else None
        if answers is None or not all(isinstance(answer, dict) for answer in answers.values()):
            raise InvalidArguments("inputResponses must hold one object for each question", path="inputResponses")
        return {**remembered, **answers}

    def _binding(self, work: Work) -> str:
        from postil.wire.protocol import request_state  # see _recall_answers

        params = work.request.params
        name = str(params.get("name") or params.get("uri") or "")
        return request_state.bind(self.principal, work.request.method, name, params.get("arguments"))

    def speak_draft(self, is_draft: bool) -> None:
        """Speak Zed's first draft from now on, or MCP."""
        self.methods, self.is_draft = methods.HANDSHAKE, is_draft
        if is_draft:
            from postil.wire.protocol.dialects import zed_draft  # few clients speak it

            self.methods = zed_draft.METHODS

    # -- going on elsewhere -------------------------------------------------------------------------------------------

    def save(self, subscribed: tuple[str, ...]) -> Agreed:
        """Returns what was agreed so far."""
        return Agreed(self.era.version, self.is_draft, self.capabilities, self.log_level, subscribed)

    def resume(self, agreed: Agreed) -> None:
        """Go on with what this client agreed on elsewhere."""
        self.era = eras.HANDSHAKE.get(agreed.version, eras.FIRST)
        self.speak_draft(agreed.draft)
        self.capabilities = kept.keep_capabilities(agreed.capabilities)


def refuse(request_id: jsonrpc.Id | None, code: int, message: str, data: object = None) -> Reply:
    """Returns the error that answers a request."""
    return Reply(jsonrpc.encode_error(request_id, code, message, data), code)


def _name_item(key: str, position: int) -> str:
    """Returns the key of an item of a batch: what is no key alone is none here, and what is one alone is one here."""
    from postil.core.invoke import LONGEST_KEY  # only batches with a key pay for it

    own = f"{key}#{position}"
    if len(own) <= LONGEST_KEY or len(key) > LONGEST_KEY:
        return own
    import hashlib

    return f"{hashlib.sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()}#{position}"


def _direct_methods() -> ModuleType:
    from postil.wire.protocol.dialects import direct_methods  # clients on stdio speak MCP alone

    return direct_methods


def _say_tools(advice: str, tool_for: Callable[[str], str]) -> str:
    from postil.wire.protocol.tool_words import say_tools  # only failures that name commands pay for it

    return say_tools(advice, tool_for)


def _initialize(session: Session, request: jsonrpc.Request, era: Era) -> Done:
    face, asked = session.profile.face, request.params.get("protocolVersion")
    session.capabilities = kept.keep_capabilities(request.params.get("capabilities"))
    session.era, session.log_level = eras.FIRST, None  # nothing of an earlier one
    session.speak_draft(False)
    if type(asked) is int and asked == eras.ZED_DRAFT:
        from postil.wire.protocol.dialects import zed_draft  # few clients speak it

        session.speak_draft(True)
        return Done(zed_draft.answer_initialize(face), events.Opened())
    version, session.era = eras.negotiate(asked, only_first=face.contract)
    info = face.introduction(session.era)
    offered = face.capabilities
    if face.views and "extensions" in session.capabilities:
        from postil.wire.protocol.app_views import offer_views  # few clients show any

        offered = offer_views(offered, session.capabilities)
    answer = {"protocolVersion": version, "capabilities": offered, "serverInfo": info}
    instructions = session.profile.instructions
    return Done({**answer, "instructions": instructions} if instructions else answer, events.Opened())
