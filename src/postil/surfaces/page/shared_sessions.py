"""Browser sessions that replicas share: kept where limits and nonces are, and sealed with the installation's secret."""

from __future__ import annotations

from typing import TYPE_CHECKING

from postil import secret
from postil.surfaces.gateway.access_keys import seal, unseal
from postil.surfaces.page.browser_sessions import BrowserSessions

if TYPE_CHECKING:
    from postil.surfaces.composition import Composition


class SecretSeal:
    """A seal that only those open who have the installation's secret: a session holds a credential."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def close(self, text: bytes, bound_to: str) -> bytes:
        """Returns the text, sealed for this place."""
        return seal(text.decode(), bound_to, self._key)

    def open(self, sealed: bytes, bound_to: str) -> bytes:
        """Returns what was sealed; nothing where it was another secret or another place."""
        return unseal(sealed, bound_to, self._key).encode()


def share_sessions(composed: Composition) -> BrowserSessions:
    """Returns sessions that every replica with the same Redis and the same secret knows."""
    key = secret.subkey(secret.load(composed.settings), "page-sessions")
    return BrowserSessions(kept=composed.ephemeral(), seal=SecretSeal(key))
