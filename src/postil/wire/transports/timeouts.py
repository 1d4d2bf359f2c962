"""How long a stdio server waits for its client, and what it logs on stderr: both only where a flag asks for it.

Never writes to stdout, and shows the texts of frames only at the level `trace`.
"""

from __future__ import annotations

import sys
from typing import Literal, TypeAlias, get_args

from msgspec import Struct

from postil.wire.protocol import jsonrpc

Level: TypeAlias = Literal["error", "warn", "info", "debug", "trace"]
LEVELS: tuple[Level, ...] = get_args(Level)


class Timeouts(Struct, frozen=True):
    """After how many seconds a server gives its client up; 0 is never."""

    handshake: float = 0.0
    """Without a first request."""
    idle: float = 0.0
    """After the last request, with no call in progress."""
    level: Level = "error"

    def reason_to_end(self, silent: float, *, heard: bool, busy: bool) -> str:
        """Returns why to end after so long a silence; empty while there is no reason."""
        if not heard and self.handshake and silent >= self.handshake:
            return f"no client introduced itself within {self.handshake:g} s"
        if heard and self.idle and not busy and silent >= self.idle:
            return f"no request for {self.idle:g} s"
        return ""

    def tells(self, level: Level) -> bool:
        """Whether a line of this level is written."""
        return LEVELS.index(level) <= LEVELS.index(self.level)

    def tell(self, level: Level, sentence: str) -> None:
        """Write one line to stderr, if its level is asked for."""
        if self.tells(level):
            sys.stderr.write(f"{level}: {sentence}\n")

    def tell_heard(self, line: bytes) -> None:
        """Write what the client sent."""
        if self.tells("trace"):
            self.tell("trace", f"<- {line.decode('utf-8', 'replace')}")
        elif self.tells("debug"):
            parsed = jsonrpc.parse(line)
            named = parsed.method if isinstance(parsed, (jsonrpc.Request, jsonrpc.Notification)) else "other"
            self.tell("debug", f"<- {named[:100]!r}, {len(line)} bytes")

    def tell_sent(self, frame: bytes, code: int) -> None:
        """Write what the client is sent; `code` is 0 unless it is an error."""
        if code:
            self.tell("warn", f"-> error {code}")
        if self.tells("trace"):
            self.tell("trace", f"-> {frame.decode('utf-8', 'replace')}")
        else:
            self.tell("debug", f"-> {len(frame)} bytes")
