"""Resources: things with an address that can be read and watched. And the URI templates that name many at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from msgspec import Struct

from postil.core import codes
from postil.core.failure import NotFound
from postil.core.operation import F, attach

LONGEST_URI = 8192


class ResourceNotFound(NotFound):
    """No resource has this address."""

    code = codes.RESOURCE_NOT_FOUND


class ResourceMark(Struct, frozen=True):
    """What is declared on a method that reads a resource.

    The method takes the template's variables and answers text, bytes, or a struct (sent as JSON).
    `watch` names a method `(uri, changed) -> stop`: it calls `changed()` from any thread when the content may have
    changed, until `stop()` is called.
    """

    uri: str
    name: str
    title: str = ""
    mime_type: str = "text/plain"
    watch: str = ""
    complete: Mapping[str, tuple[str, ...] | str] = {}
    """Values for the template's variables: a list, or the name of a method `(typed) -> values`."""
    allow: str = ""
    """An async method that takes the variables and raises where this caller may not read: such a one may not watch."""
    paged: bool = False
    """Whether the method takes `after`: from where to go on, in an address that ends in `?after=…`."""


def resource(
    uri: str,
    *,
    name: str,
    title: str = "",
    mime_type: str = "text/plain",
    watch: str = "",
    complete: Mapping[str, tuple[str, ...] | str] | None = None,
    allow: str = "",
    paged: bool = False,
) -> Callable[[F], F]:
    """Mark a method as the reader of a resource, or of all that match a template."""
    return attach(ResourceMark(uri, name, title, mime_type, watch, complete or {}, allow, paged))


def match(template: str, uri: str) -> dict[str, str] | None:
    """Returns the variables of a template in an address: `{name}` stays within a segment, `{+name}` spans several.

    So does a name that ends in `Path`, with or without the plus: a contract publishes `{filePath}`.
    """
    if len(uri) > LONGEST_URI:
        return None
    found = _pattern(template).fullmatch(uri)
    from urllib.parse import unquote  # 3 ms that only reading a templated address should pay

    return {name: unquote(value) for name, value in found.groupdict().items()} if found else None


def split_page(uri: str) -> tuple[str, str]:
    """Returns an address without its page, and where that page begins; empty for the first."""
    base, mark, after = uri.rpartition("?after=")
    if not mark or len(uri) > LONGEST_URI:
        return uri, ""
    from urllib.parse import unquote

    return base, unquote(after)


def join_page(uri: str, after: str) -> str:
    """Returns the address of the page that begins after something."""
    from urllib.parse import quote

    return f"{uri}?after={quote(after, safe='')}"


_patterns: dict[str, re.Pattern[str]] = {}


def _pattern(template: str) -> re.Pattern[str]:
    if template not in _patterns:
        parts: list[str] = []
        for piece in re.split(r"(\{\+?\w+\})", template):
            if piece.startswith("{+") or piece.endswith("Path}"):
                parts.append(f"(?P<{piece.strip('{+}')}>.+)")
            elif piece.startswith("{"):
                parts.append(f"(?P<{piece[1:-1]}>[^/]+)")
            else:
                parts.append(re.escape(piece))
        _patterns[template] = re.compile("".join(parts), re.DOTALL)
    return _patterns[template]
