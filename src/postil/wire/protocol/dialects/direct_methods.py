"""Direct methods: any operation's name as a JSON-RPC method, single or in a batch. Spoken over HTTP.

The answer is the operation's result itself; a failure is an error object with the contract's code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from postil.core import codes
from postil.core.failure import Failure, NotFound
from postil.wire.protocol import shapes
from postil.wire.protocol.eras.era import Era
from postil.wire.protocol.events import Work
from postil.wire.protocol.failures import ProtocolFailure
from postil.wire.protocol.jsonrpc import Request

if TYPE_CHECKING:
    from postil.wire.protocol.face import Profile
    from postil.wire.protocol.session import Session

RESERVED = frozenset({"initialize", "ping", "shutdown", "initialized"})
KEY = "idempotency_key"
INVALID = "Invalid params"


def is_direct(method: str) -> bool:
    """Whether this names an operation rather than a method of MCP."""
    return "/" not in method and method not in RESERVED


def call(session: Session, request: Request, era: Era) -> Work:
    """Run the operation that the method names."""
    entry = session.profile.registry.find(request.method)
    if entry is None or not (entry.tool or entry.direct):  # a command of the shell alone is for people at a shell
        raise ProtocolFailure(codes.METHOD_NOT_FOUND, "Method not found")
    arguments = {key: value for key, value in request.params.items() if key not in ("_meta", KEY)}
    return Work("direct", request, era, request.method, arguments, _plain, entry, key=request.params.get(KEY) or "")


def describe(failure: Failure) -> tuple[str, dict[str, object]]:
    """Returns the message and the data of a failed call's error object.

    Wrong arguments have one form, whoever found the fault: the contract's words, a status, and the sentence.
    """
    data = failure.details()
    if failure.code == codes.INVALID_PARAMS:
        status = 404 if isinstance(failure, NotFound) else 400
        said = failure.message.removeprefix(f"{INVALID}: ")
        return INVALID, {"status": status, "message": said, **data}
    if "status" in data:
        data.setdefault("message", failure.message)
    return failure.message, data


def _plain(profile: Profile, work: Work, value: object) -> object:
    return shapes.make_plain(value)
