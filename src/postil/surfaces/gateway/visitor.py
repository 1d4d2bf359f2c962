"""Who was let in, and what of the server is shown to them."""

from __future__ import annotations

from msgspec import Struct

from postil.core.call import Caller
from postil.core.catalogue import OperationEntry, PromptEntry, ResourceEntry


class View(Struct, frozen=True):
    """What a caller sees. A user of GitLab is not by that alone a user of this workspace."""

    workspace: bool = True
    """The parts that read this machine's workspace: inbox, comments, issues."""
    writes: bool = True
    """The operations that change anything, here or on GitLab, which some tokens may not."""

    def shows(self, entry: OperationEntry | ResourceEntry | PromptEntry) -> bool:
        """Returns whether such a caller sees this entry."""
        if entry.part != "gitlab" and not self.workspace:
            return False
        return self.writes or not isinstance(entry, OperationEntry) or entry.effect == "reads"


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


def fingerprint(credential: str | bytes) -> str:
    """Returns a name for a credential that does not tell it."""
    import hashlib

    raw = credential.encode("utf-8", "surrogateescape") if isinstance(credential, str) else credential
    return hashlib.sha256(raw).hexdigest()[:32]
