"""What a session makes of a frame: answers that are ready, work to be done, and news for the runtime. Data only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from msgspec import Struct

if TYPE_CHECKING:
    from postil.core.registry import Listed
    from postil.wire.protocol.eras.era import Era
    from postil.wire.protocol.face import Profile
    from postil.wire.protocol.jsonrpc import Id, Request

Kind: TypeAlias = Literal[
    "tool", "direct", "resource", "prompt", "completion", "subscribe", "listen",
    "task", "get_task", "update_task", "cancel_task",
]  # fmt: skip
FLAGS: dict[Listed, str] = {
    "tools": "toolsListChanged",
    "prompts": "promptsListChanged",
    "resources": "resourcesListChanged",
}
"""How a stream of the stateless era asks to hear that a list changed."""
NOTHING: Mapping[str, Any] = MappingProxyType({})


class Reply(Struct, frozen=True, gc=False):
    """An answer that is ready to be sent; `code` is its error code, or 0."""

    frame: bytes
    code: int = 0


class Batch:
    """A batch in progress: the answers of its items by their positions, until all are there."""

    def __init__(self, wanted: int) -> None:
        self.missing = wanted
        self._frames: dict[int, bytes] = {}

    def end(self, position: int, frame: bytes = b"") -> bytes:
        """Take an item's answer, or that it has none. Returns the whole answer after the last item, else nothing."""
        self.missing -= 1
        if frame:
            self._frames[position] = frame
        if self.missing or not self._frames:
            return b""
        return b"[" + b",".join(self._frames[at] for at in sorted(self._frames)) + b"]"


class Work(Struct, eq=False):
    """A request that needs more than the protocol. Its session hears the outcome by `answer`, `fail` or `give_up`."""

    kind: Kind
    request: Request
    era: Era
    name: str
    """What is wanted: the name of an operation or a prompt, or the address of a resource."""
    arguments: Any
    """Its arguments; of a completion the argument and what was typed, of a stream its flags and addresses."""
    shape: Shape
    """Makes the result object of what the work returned."""
    entry: Any = None
    """The catalogue's entry of an operation."""
    meta: Mapping[str, Any] = NOTHING
    key: str = ""
    """The idempotency key; empty where there is none."""
    answers: Mapping[str, Any] = NOTHING
    """The client's answers to earlier questions of this call, in the stateless era."""
    batch: Batch | None = None
    position: int = 0
    cancelled: bool = False
    has_view: bool = False
    """Whether the client shows the result in a view of ours."""
    for_person: bool = False
    """Whether a view calls, for the person in front of it."""
    task_shape: Shape | None = None
    """Of a call that becomes a task: the shape of what comes of it in the end."""

    def stamp(self) -> dict[str, Any]:
        """Returns the `_meta` that every frame of a stream carries."""
        return {"io.modelcontextprotocol/subscriptionId": self.request.id}

    @property
    def is_over(self) -> bool:
        """Whether no answer is to be expected any more once this work has ended without one."""
        return self.batch is None or not self.batch.missing


Shape: TypeAlias = "Callable[[Profile, Work, Any], object]"


class Opened(Struct, frozen=True):
    """A handshake was made: the client hears of changed lists from now on."""


class LevelSet(Struct, frozen=True):
    """The client wants to hear what is logged and announced, at the session's level or above."""


class Unsubscribed(Struct, frozen=True):
    """The client wants no more updates of this address."""

    uri: str


class Cancelled(Struct, frozen=True):
    """The client gave a request up: nothing more is sent for it."""

    work: Work


class Answered(Struct, frozen=True):
    """The client answered a question of ours, with a result or with an error."""

    id: Id
    result: Any
    error: Any


class Bug(Struct, frozen=True):
    """A method raised what it must not: to be logged. The request is answered already, in general words."""

    error: Exception
    method: str


News: TypeAlias = Opened | LevelSet | Unsubscribed | Cancelled | Answered | Bug
Event: TypeAlias = Reply | Work | News


class Done(Struct, frozen=True):
    """What a method returns that is answered at once and has news for the runtime."""

    result: object
    news: News
