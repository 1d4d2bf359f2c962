"""Whether what was printed reached its reader: only then is it delivered. A broken pipe or a dead reader loses it."""

from __future__ import annotations

import os
import select
import stat
import sys
import time

PATIENCE = 1.0
"""Seconds for a living reader to take what was printed; a slower one is told again later, not less."""
LOOK_AGAIN = 0.005


def is_printed_and_read() -> bool:
    """Flush standard output. Returns whether its reader took all of it; a file and a terminal always do, and the null
    device never: it also stands where the caller closed the output."""
    sys.stdout.flush()
    sink = sys.stdout.fileno()
    status = os.fstat(sink)
    if os.path.samestat(status, os.stat(os.devnull)):
        return False
    mode = status.st_mode
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return True
    poll = select.poll()
    poll.register(sink, 0)
    deadline = time.monotonic() + PATIENCE
    while _count_bytes(sink):
        if poll.poll(0) or time.monotonic() > deadline:  # the reader is gone, or does not read
            return False
        time.sleep(LOOK_AGAIN)
    return True


def _count_bytes(pipe: int) -> int:
    import fcntl
    import struct
    import termios

    try:
        return struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, b"\0\0\0\0"))[0]
    except OSError:  # a socket whose other side cannot be asked
        return 0
