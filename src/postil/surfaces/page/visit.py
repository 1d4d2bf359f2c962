"""One visit of a person: what was asked for, who asks, and the operations that they may call.

A view gets it, calls operations by their names and makes HTML of what they answer. It never reaches a part in another
way, so the page shows and changes exactly what the tools would.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec import Struct

from postil.surfaces.page.markup import Html, tag

if TYPE_CHECKING:
    from postil.surfaces.gateway.visitor import Visitor

T = TypeVar("T")
FORM_TOKEN = "form-token"  # noqa: S105 - the name of a field
Run = Callable[[str, Mapping[str, Any]], Awaitable[object]]


class Shown(Struct, frozen=True):
    """What a view answers to GET: a page with a title."""

    title: str
    body: Html
    place: str = ""
    """Which entry of the navigation it belongs to."""
    status: int = 200
    is_part: bool = False
    """Whether it is a piece of a page, which the script asked for."""


class Moved(Struct, frozen=True):
    """What a view answers to a change: where to look now, and what to say there."""

    address: str
    says: str = ""
    undo: str = ""
    """The address that takes the change back, where one does."""


class Sent(Struct, frozen=True):
    """Bytes that are no page: a picture."""

    content: bytes
    kind: str


class Visit:
    """One request to the page."""

    def __init__(
        self,
        path: str,
        query: Sequence[tuple[str, str]],
        form: Mapping[str, str],
        visitor: Visitor,
        run: Run,
        form_token: bytes,
        offers: Callable[[str], bool],
    ) -> None:
        self.path, self.query, self.form, self.visitor = path, dict(query), form, visitor
        self._pairs = query
        self.offers = offers
        """Says whether this person may call an operation: what they may not is not shown."""
        self._run, self._form_token = run, form_token
        self._hidden: Html | None = None

    @property
    def is_part(self) -> bool:
        """Whether the script asks for a piece of a page, to put it into another."""
        return self.query.get("part") == "1"

    def every(self, name: str) -> list[str]:
        """Returns all values of a name that stands several times in the address."""
        return [value for key, value in self._pairs if key == name]

    def number(self, name: str) -> int:
        """Returns a number of the address; 0 where it is none, or longer than any that we wrote there."""
        text = self.query.get(name, "")
        return int(text) if text.isascii() and text.isdigit() and len(text) < 12 else 0

    async def call(self, name: str, kind: type[T], /, **arguments: object) -> T:
        """Call an operation, and return its answer as a struct of the view's own. Raises its Failure.

        The struct names the fields that the view shows; the operation may answer more.
        """
        answer = await self._run(name, arguments)
        try:
            return msgspec.convert(answer, kind, from_attributes=True)
        except msgspec.ValidationError:  # fields that are left out cannot be read as attributes
            return msgspec.convert(msgspec.to_builtins(answer), kind)

    async def act(self, name: str, /, **arguments: object) -> None:
        """Call an operation for its effect."""
        await self._run(name, arguments)

    def form_token(self) -> Html:
        """Returns the hidden field that every form needs."""
        if self._hidden is None:
            self._hidden = tag("input", type="hidden", name=FORM_TOKEN, value=mask(self._form_token))
        return self._hidden


def mask(token: bytes) -> str:
    """Returns the token as it is written into one page: never the same twice, since pages are compressed."""
    pad = secrets.token_bytes(len(token))
    return (pad + bytes(a ^ b for a, b in zip(pad, token, strict=True))).hex()


def unmask(written: str) -> bytes:
    """Returns the token that a page held; nothing where it cannot be one."""
    try:
        raw = bytes.fromhex(written)
    except ValueError:
        return b""
    half = len(raw) // 2
    return bytes(a ^ b for a, b in zip(raw[:half], raw[half:], strict=False))
