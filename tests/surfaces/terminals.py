"""Programs that have a terminal, for a test."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import termios
from pathlib import Path

from tests.surfaces.programs import BIN


class Terminal:
    """A pseudo-terminal of a few rows, and what was shown on it."""

    def __init__(self, rows: int = 24) -> None:
        self.master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, 80, 0, 0))

    def shown(self) -> str:
        """Everything written so far; call it when the program has ended."""
        os.close(self.slave)
        parts: list[bytes] = []
        while True:
            try:
                part = os.read(self.master, 65536)
            except OSError:  # how Linux says that the other side is closed
                part = b""
            if not part:
                os.close(self.master)
                return b"".join(parts).decode()
            parts.append(part)


def postil(*words: str, cwd: Path, **streams: int) -> subprocess.CompletedProcess[bytes]:
    """Run it; a pager marks what it shows."""
    environ = {**os.environ, "TERM": "xterm", "PAGER": "sed s/^/PAGED:/"}
    return subprocess.run([BIN / "postil", *words], cwd=cwd, env=environ, timeout=60, check=False, **streams)  # type: ignore[call-overload]
