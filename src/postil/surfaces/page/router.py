"""Which view answers which address. A view is imported when one of its addresses is first asked for.

To add a view: a module below `views/` with a table `ROUTES`, and a line in VIEWS for each first word of its addresses.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from importlib import import_module
from typing import Literal, NamedTuple, TypeAlias

from postil.surfaces.page.visit import Moved, Sent, Shown, Visit

VIEWS = {
    "": "home",
    "changes": "changes",
    "inbox": "inbox",
    "comments": "comments",
    "issues": "issues",
    "board": "board",
    "milestones": "milestones",
    "gitlab": "gitlab",
    "help": "help",
}
"""The first word of an address, and the module below `views/` that answers it."""

Method: TypeAlias = Literal["GET", "POST"]
Answer: TypeAlias = Shown | Moved | Sent
Handler: TypeAlias = Callable[..., Awaitable[Answer]]


class Route(NamedTuple):
    """One address: `/inbox/{number}` hands `number` to its function."""

    method: Method
    pattern: str
    handle: Handler


_VARIABLE = re.compile(r"\{(\w+)\}")


def find_route(method: str, path: str) -> tuple[Handler, dict[str, str]] | None:
    """Returns the function that answers an address, and the pieces of the address that it is given."""
    for route in _routes(path):
        found = _compile(route.pattern).fullmatch(path)
        if found is not None and route.method == method:
            return route.handle, found.groupdict()
    return None


def has_path(path: str) -> bool:
    """Returns whether the address is one of the page's, by its first word."""
    return path[1:].partition("/")[0] in VIEWS


def _routes(path: str) -> Sequence[Route]:
    name = VIEWS.get(path[1:].partition("/")[0])
    return import_module(f"postil.surfaces.page.views.{name}").ROUTES if name else ()


_compiled: dict[str, re.Pattern[str]] = {}


def _compile(pattern: str) -> re.Pattern[str]:
    known = _compiled.get(pattern)
    if known is None:
        pieces = [
            re.escape(piece) if at % 2 == 0 else f"(?P<{piece}>[^/]+)"
            for at, piece in enumerate(_VARIABLE.split(pattern))
        ]
        known = _compiled[pattern] = re.compile("".join(pieces))
    return known


async def answer(visit: Visit, handle: Handler, pieces: dict[str, str]) -> Answer:
    """Returns what the view answers."""
    return await handle(visit, **pieces)
