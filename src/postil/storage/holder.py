"""Who holds something: a process, recognised again even when its number has been given to another one.

Used for claims and leases that must end when their holder dies, without waiting for a clock.
"""

from __future__ import annotations

import os
import time


def this_process() -> str:
    """A name for this process that no other process, on any host and after any restart, has."""
    return f"{_host()} {os.getpid()} {_started(os.getpid())}"


def is_alive(holder: str, since: float, patience: float) -> bool:
    """Whether the holder still runs; where that cannot be seen (another host), whether its patience is not yet over."""
    host, _, process = holder.rpartition(" ")[0].rpartition(" ")
    started = holder.rpartition(" ")[2]
    if host != _host() or not process.isdigit() or not started.isdigit() or started == "0":
        return time.time() - since < patience
    return _started(int(process)) == int(started)


def _host() -> str:
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            # Containers may share a name and a kernel, but their process numbers mean other processes.
            return f"{os.uname().nodename} {file.read().strip()} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return os.uname().nodename


def _started(process: int) -> int:
    """When the process began, in ticks since boot; 0 when it is not to be seen."""
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[19])
    except (OSError, IndexError, ValueError):
        return 0
