"""What a session makes of a frame: answers that are ready, work to be done, and news for the runtime. Data only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

from msgspec import Struct

from postil.core.call import Level
from postil.wire.protocol import jsonrpc
from postil.wire.protocol.batch import Batch
from postil.wire.protocol.eras.handshake import Era
from postil.wire.protocol.face import Profile

NOTHING: Mapping[str, Any] = MappingProxyType({})


class Reply(Struct, frozen=True, gc=False):
    """An answer that is ready to be sent; `code` is its error code, or 0."""

    frame: bytes
    code: int = 0


class Work(Struct, eq=False):
    """A request that needs more than the protocol. Its session hears the outcome by `answer`, `fail` or `give_up`."""

    request: jsonrpc.Request
    era: Era
    name: str
    """What is wanted: the name of an operation or a prompt, or the address of a resource."""
    arguments: Any
    shape: Shape
    """Makes the result object of what the work returned."""
    meta: Mapping[str, Any] = NOTHING
    key: str = ""
    """The idempotency key; empty where there is none."""
    answers: Mapping[str, Any] = NOTHING
    """The client's answers to earlier questions of this call, in the stateless era."""
    batch: Batch | None = None
    position: int = 0
    cancelled: bool = False

    @property
    def is_over(self) -> bool:
        """Whether no answer is to be expected any more once this work has ended without one."""
        return self.batch is None or not self.batch.missing


Shape: TypeAlias = Callable[[Profile, Work, Any], object]


class CallTool(Work):
    """Run the operation `name`; its failures may become results that a model reads."""


class CallDirect(Work):
    """Run the operation `name`; its failures are error objects."""


class ReadResource(Work):
    """Read the resource at the address `name`."""


class GetPrompt(Work):
    """Write the messages of the prompt `name`."""


class FindCompletions(Work):
    """Find values for an argument of the prompt `name`: `arguments` is the argument and what was typed so far."""


class Subscribe(Work):
    """Send an update after each change of the resource at `name` from now on."""


class Listen(Work):
    """Open a stream: `arguments` is the set of list flags and the addresses that it hears of."""


class Unsubscribed(Struct, frozen=True):
    """The client wants no more updates of this address."""

    uri: str


class LevelSet(Struct, frozen=True):
    """The client wants to hear what is logged and announced at this level or above."""

    level: Level


class Opened(Struct, frozen=True):
    """A handshake was made: the client hears of changed lists from now on."""


class Cancelled(Struct, frozen=True):
    """The client gave a request up: nothing more is sent for it."""

    work: Work


class Answered(Struct, frozen=True):
    """The client answered a question of ours, with a result or with an error."""

    id: jsonrpc.Id
    result: Any
    error: Any


class Bug(Struct, frozen=True):
    """A method raised what it must not: to be logged. The request is answered already, in general words."""

    error: Exception
    method: str


News: TypeAlias = Unsubscribed | LevelSet | Opened | Cancelled | Answered | Bug
Event: TypeAlias = Reply | Work | News


class Done(Struct, frozen=True):
    """What a method returns that is answered at once and has news for the runtime."""

    result: object
    news: News
