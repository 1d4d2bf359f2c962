"""What a server is to its clients: how it introduces itself, what it lists, and what seals a state they carry."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from msgspec import Raw, Struct

if TYPE_CHECKING:
    from postil.core.registry import Listed, Registry  # it imports threading
    from postil.wire.protocol.eras.era import Era


class Face(Struct, frozen=True):
    """How a server introduces itself. A contract face is exactly one old contract and nothing more."""

    name: str
    version: str
    capabilities: Mapping[str, Any]
    instructions: str = ""
    instruct: Callable[[Collection[str]], str] | None = None
    """Makes the instructions from the names of the tools that a client is offered."""
    title: str = ""
    """The name for people, in the eras that have one."""
    vendor: str = ""
    icon: str = ""
    """A picture of it, as an SVG."""
    website: str = ""
    extensions: Mapping[str, Any] = {}
    """What the stateless era's clients are offered beside the protocol."""
    contract: bool = False
    """Speaks 2024-11-05 to everyone, whatever they ask for."""
    frames: Mapping[str, tuple[str, str]] = {}
    """Of a part (what it reads) or a tool: the source of the words that it hands on, and whose they are."""
    views: Mapping[str, str] = {}
    """Of a tool: the view that shows its results, for clients that show views."""
    person_tools: Mapping[str, str] = {}
    """Names by which views call operations for the person in front of them: models are not shown them."""
    says_success: bool = True
    """Whether results of tools carry `isError: false`; one contract's examples do not."""

    def info(self) -> dict[str, Any]:
        """Returns the `serverInfo` object."""
        info: dict[str, Any] = {"name": self.name, "version": self.version}
        return {**info, "vendor": self.vendor} if self.vendor else info

    def introduction(self, era: Era) -> dict[str, Any]:
        """Returns the `serverInfo` of a first answer, with what the era has for people: title, picture, website."""
        info = self.info()
        if self.title and era.structured:
            info["title"] = self.title
        if era.pictures and self.website:
            info["websiteUrl"] = self.website
        if era.pictures and self.icon:
            from binascii import b2a_base64

            encoded = b2a_base64(self.icon.encode(), newline=False).decode("ascii")
            info["icons"] = [
                {"src": f"data:image/svg+xml;base64,{encoded}", "mimeType": "image/svg+xml", "sizes": ["any"]}
            ]
        return info


UNITED: Mapping[str, Any] = {
    "tools": {"listChanged": True},
    "resources": {"subscribe": True, "listChanged": True},
    "prompts": {"listChanged": False},
    "logging": {},
    "completions": {},
}
"""The capabilities of the united server."""


def tells_changes(face: Face, what: Listed) -> bool:
    """Returns whether a face has declared to say when this list changes."""
    declared = face.capabilities.get(what)
    return isinstance(declared, dict) and bool(cast("dict[str, Any]", declared).get("listChanged"))


class Profile:
    """What all sessions of one server share."""

    def __init__(self, face: Face, registry: Registry, secret: Callable[[], bytes]) -> None:
        self.face = face
        self.info = face.info()
        self.registry = registry
        """What is on offer; a session looks at its entries and never calls what is behind them."""
        self.secret = secret
        """Returns the key that seals `requestState`."""
        self.pages: dict[tuple[str, str, int], Raw] = {}
        """Encoded lists by key, era and start; cleared when a list changes."""

    @cached_property
    def instructions(self) -> str:
        """What a model is told of this server."""
        make = self.face.instruct
        return self.face.instructions if make is None else make([entry.name for entry in self.registry.tools])
