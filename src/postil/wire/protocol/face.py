"""What a server is to its clients: how it introduces itself, what it lists, and what seals a state they carry."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Raw, Struct

if TYPE_CHECKING:
    from postil.core.registry import Registry  # it imports threading


class Face(Struct, frozen=True):
    """How a server introduces itself. A contract face is exactly one old contract and nothing more."""

    name: str
    version: str
    capabilities: Mapping[str, Any]
    instructions: str = ""
    vendor: str = ""
    contract: bool = False
    """Speaks 2024-11-05 to everyone, whatever they ask for."""
    says_success: bool = True
    """Whether results of tools carry `isError: false`; one contract's examples do not."""

    def info(self) -> dict[str, Any]:
        """Returns the `serverInfo` object."""
        info = {"name": self.name, "version": self.version}
        return {**info, "vendor": self.vendor} if self.vendor else info


UNITED: Mapping[str, Any] = {
    "tools": {"listChanged": True},
    "resources": {"subscribe": True, "listChanged": True},
    "prompts": {"listChanged": False},
    "logging": {},
    "completions": {},
}
"""The capabilities of the united server."""


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
