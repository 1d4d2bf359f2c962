"""A request that is not let in: its HTTP status, its sentence, and the headers that say what to do next."""

from __future__ import annotations

from collections.abc import Sequence

from postil.core import codes
from postil.wire.protocol.jsonrpc import Id


class Refused(Exception):
    """Answered as a JSON-RPC error object with the id of its request; its data repeats status, message and wait."""

    def __init__(
        self, status: int, message: str, code: int = codes.SERVER_ERROR, headers: Sequence[tuple[bytes, bytes]] = ()
    ) -> None:
        super().__init__(message)
        self.status, self.message, self.code, self.headers = status, message, code, headers
        self.request_id: Id | None = None
        self.begun = self.is_read = False
        """Whether the body of the refused request was read: in part (no id can be found in the rest), and wholly."""

    def data(self) -> dict[str, object]:
        """Returns the `data` of the error object."""
        stated: dict[str, object] = {"status": self.status, "message": self.message}
        wait = dict(self.headers).get(b"retry-after")
        return {**stated, "retry_after": int(wait)} if wait is not None else stated


class NeedsCredential(Refused):
    """No credential, or one that nobody knows."""

    def __init__(self, message: str, challenge: str = 'Bearer realm="postil"') -> None:
        super().__init__(401, f"Unauthorized: {message}", headers=[(b"www-authenticate", challenge.encode("latin-1"))])


class Unavailable(Refused):
    """Something we depend on is away; the same request may work in a moment."""

    def __init__(self, message: str, seconds: int = 1) -> None:
        super().__init__(503, message, headers=[(b"retry-after", b"%d" % seconds)])


class OutcomeUnknown(Refused):
    """Nobody answered, and what was asked for may have been done."""

    def __init__(self, message: str) -> None:
        super().__init__(504, message, headers=[(b"retry-after", b"1")])

    def data(self) -> dict[str, object]:
        return {**super().data(), "outcome": "unknown"}
