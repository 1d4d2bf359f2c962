"""Errors of the disk, injected with strace: nothing is acknowledged after its sync failed, and all stays readable."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from postil.core.failure import Failure
from tests.chaos.power import Subject
from tests.needs import needs


class Faulted(NamedTuple):
    """What a campaign found."""

    tried: int
    acknowledged: int
    lost: int
    unreadable: int


def inject_faults(subject: Subject, most: int) -> Faulted:
    """Let the first, second, third … sync, write and rename of a run fail."""
    tried = acknowledged = lost = unreadable = 0
    for call, error in (("fsync,fdatasync", "EIO"), ("pwrite64", "ENOSPC"), ("rename,renameat,renameat2", "EACCES")):
        for when in range(1, most + 1):
            with tempfile.TemporaryDirectory(prefix="postil-chaos-") as base:
                folder = Path(base)
                subject.prepare(folder)
                inject = ["-e", f"trace={call}", "-e", f"inject={call}:error={error}:when={when}+40"]
                command = [needs("strace"), "-f", "-o", "/dev/null", *inject, sys.executable, "-c", subject.program]
                done = subprocess.run([*command, base, "12"], capture_output=True, check=False)
                tried += 1
                acks = {int(n) for n in re.findall(rb"ack (\d+)", done.stdout)}
                acknowledged += len(acks)
                try:
                    found, is_true = subject.find(folder)
                except (Failure, AssertionError):
                    unreadable += 1
                    continue
                lost += not acks <= found or not is_true
    return Faulted(tried, acknowledged, lost, unreadable)
