"""What a server is on the wire: its face, its registry, and what all of its connections share."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from msgspec import Raw, Struct

from postil.core.call import Caller
from postil.core.registry import Registry

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from postil.core.ports import Keys, Moments

T = TypeVar("T")
Witness: TypeAlias = Callable[[Caller, str, object, object], None]
"""Told of each write: who, which operation, its arguments, its result. Blocks: called in a thread."""
THREADS = 8
IN_FLIGHT = 256
PAGE = 200


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
        """The `serverInfo` object."""
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


class Server:
    """A registry with a face, shared by all connections of this process."""

    def __init__(
        self,
        registry: Registry,
        face: Face,
        *,
        keys: Callable[[], Keys] | None = None,
        secret: Callable[[], bytes] | None = None,
    ) -> None:
        self.registry = registry
        self.face = face
        self.info = face.info()
        self.listed: dict[tuple[str, str, int], Raw] = {}
        """Encoded lists by key, era and start: empty again when a list changes."""
        self.calls: dict[tuple[str, str], int] = {}
        """How often each operation was called and how that ended, for the metrics."""
        self.witness: Witness | None = None
        """Who writes down what was changed; nobody unless a surface says so."""
        self.ready: Callable[[], object] | None = None
        """Raises where a write could not be written down, before it is begun. Blocks: called in a thread."""
        self.page_for: Callable[[Caller, str], str] | None = None
        """Where a caller can give what a failure wants; an empty text where that is impossible."""
        self.moments: Moments | None = None
        """Where replicas share sessions; None where there is one process."""
        self._make_keys = keys
        self._make_secret = secret or (lambda: os.urandom(32))
        self._keys: Keys | None = None
        self._secret = b""
        self._pool: ThreadPoolExecutor | None = None
        registry.on_list_changed(lambda _: self.listed.clear())

    @property
    def keys(self) -> Keys | None:
        """The idempotency keys, opened on first need."""
        if self._keys is None and self._make_keys is not None:
            self._keys = self._make_keys()
        return self._keys

    @property
    def secret(self) -> bytes:
        """The key that seals `requestState`, made on first need."""
        self._secret = self._secret or self._make_secret()
        return self._secret

    @property
    def pool(self) -> ThreadPoolExecutor:
        """The bounded pool for operations that block."""
        if self._pool is None:
            from concurrent.futures import ThreadPoolExecutor  # a server that only lists never needs it

            self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="postil")
        return self._pool

    def narrowed(self, registry: Registry) -> Server:
        """A server beside this one that offers less; threads, keys and the secret are the same."""
        import copy

        self._pool = self.pool  # made now, so that both have the same threads
        narrow = copy.copy(self)
        narrow.registry, narrow.listed = registry, {}
        registry.on_list_changed(lambda _: narrow.listed.clear())
        return narrow

    def report(self, bug: BaseException, where: str) -> None:
        """Log a bug in full, once, where people look: stderr."""
        import traceback  # bugs only

        lines = "".join(traceback.format_exception(bug))
        sys.stderr.write(f"postil: bug in {where}\n{lines}")
        sys.stderr.flush()
