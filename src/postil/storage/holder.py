"""Names of processes that hold something. A process is told from a later one that was given its number.

Used for claims and leases that must end when their holder dies, without waiting for a clock.
"""

from __future__ import annotations

import os
import time
from functools import lru_cache


def this_process() -> str:
    """Returns a name that no other process has, on any host and after any restart."""
    return _name_process(os.uname().nodename)


def is_alive(holder: str, since: float, patience: float) -> bool:
    """Returns whether the holder still runs. For one of another host: whether `patience` seconds are not over yet."""
    host, _, process = holder.rpartition(" ")[0].rpartition(" ")
    started = holder.rpartition(" ")[2]
    if host != _host(os.uname().nodename) or not process.isdecimal() or not started.isdecimal() or started == "0":
        return time.time() - since < patience
    return _started(int(process)) == int(started)


@lru_cache(maxsize=4)
def _name_process(name: str) -> str:
    """Returns the name of this process, on a host of that name. Kept: every check of the inbox asks for it."""
    return f"{_host(name)} {os.getpid()} {_started(os.getpid())}"


@lru_cache(maxsize=4)
def _host(name: str) -> str:
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            # Containers may share a name and a kernel, but their process numbers mean other processes.
            return f"{name} {file.read().strip()} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return name


def _started(process: int) -> int:
    """Returns when the process began, in ticks since boot; 0 if that cannot be read."""
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[19])
    except (OSError, IndexError, ValueError):
        return 0


os.register_at_fork(after_in_child=_name_process.cache_clear)
os.register_at_fork(after_in_child=_host.cache_clear)
