"""Who was let in, and what of the server is shown to them."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import msgspec
from msgspec import Struct

from postil.core import codes
from postil.core.call import Caller
from postil.core.catalogue import OperationEntry, PromptEntry, ResourceEntry
from postil.surfaces.gateway.refused import Refused


class View(Struct, frozen=True):
    """What a caller sees. A user of GitLab is not by that alone a user of this workspace."""

    workspace: bool = True
    """The parts that read this machine's workspace: inbox, comments, issues."""
    writes: bool = True
    """The operations that change anything, here or on GitLab, which some tokens may not."""
    toolsets: tuple[str, ...] = ()
    """The only parts and sets of tools that this request wants; empty means all. Methods are called whatever it is."""

    def shows(self, entry: OperationEntry | ResourceEntry | PromptEntry) -> bool:
        """Returns whether such a caller sees this entry."""
        if entry.part != "gitlab" and not self.workspace:
            return False
        return self.writes or not isinstance(entry, OperationEntry) or entry.effect == "reads"

    def covers(self, other: View) -> bool:
        """Returns whether who sees this much may go on with what the other view allowed."""
        return (self.workspace or not other.workspace) and (self.writes or not other.writes)

    def lists(self, entry: OperationEntry | ResourceEntry | PromptEntry, parts: Collection[str]) -> bool:
        """Returns whether an assistant that wants these toolsets is told of it; `parts` are those that have them.

        What a contract promises belongs to every toolset of its part.
        """
        toolset = getattr(entry, "toolset", "") or entry.part
        named = not self.toolsets or not {entry.part, toolset}.isdisjoint(self.toolsets)
        return named or (toolset == "contract" and entry.part in parts)


READ_ONLY, TOOLSETS = b"x-mcp-readonly", b"x-mcp-toolsets"
MOST_TOOLSETS = 20


def tighten(view: View, headers: Mapping[bytes, bytes]) -> View:
    """Returns what a request sees that asks, by its headers, to see less. They can only take away."""
    if READ_ONLY not in headers and TOOLSETS not in headers:
        return view
    read_only, toolsets = headers.get(READ_ONLY, b"").strip(), headers.get(TOOLSETS, b"").strip()
    if not read_only and not toolsets:
        return view
    if read_only.lower() not in (b"", b"true", b"1", b"false", b"0"):
        raise Refused(400, "Bad Request: X-MCP-Readonly is true or false", codes.INVALID_REQUEST)
    names = sorted({name.strip() for name in toolsets.decode("latin-1").split(",") if name.strip()})
    if len(names) > MOST_TOOLSETS or not all(name.replace("_", "").isalnum() and name.isascii() for name in names):
        raise Refused(400, "Bad Request: X-MCP-Toolsets holds names of parts or toolsets", codes.INVALID_REQUEST)
    may_write = view.writes and read_only.lower() not in (b"true", b"1")
    return msgspec.structs.replace(view, writes=may_write, toolsets=tuple(names))


class Visitor(Struct, frozen=True):
    """A caller with a verified credential."""

    caller: Caller
    token: str
    """What limits and caches are kept by: a hash of the credential, never the credential."""
    view: View = View()
    needs: str = ""
    """The scope that the hidden operations would need."""
    must_sign: bool = False
    """Whether its calls need a signature, also where the server asks for none."""
    names: frozenset[str] = frozenset()
    """What the operator's lists may call it by; empty for a credential that opens no workspace."""


def fingerprint(credential: str | bytes) -> str:
    """Returns a name for a credential that does not tell it."""
    import hashlib

    raw = credential.encode("utf-8", "surrogateescape") if isinstance(credential, str) else credential
    return hashlib.sha256(raw).hexdigest()[:32]
