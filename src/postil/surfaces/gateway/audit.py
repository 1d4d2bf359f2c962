"""The audit: who changed what, when. Only ever added to; holds hashes of arguments, never arguments or credentials."""

from __future__ import annotations

import hashlib
import sys
import time
from collections import deque
from collections.abc import Callable

import msgspec
from msgspec import Struct

from postil.core.call import Caller
from postil.core.failure import Failure
from postil.core.ports import State

SPACE, COUNTER = "audit", "audit"
IDS = ("id", "iid", "uuid", "key", "name")


class Entry(Struct, frozen=True, omit_defaults=True):
    """One write."""

    at: float
    principal: str
    operation: str
    arguments: str
    """SHA-256 of the arguments in their canonical JSON."""
    result: str = ""
    """What the result calls itself."""

    def line(self) -> tuple[str, str, str, str]:
        """Returns it as a row for people."""
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(self.at))
        return when, self.principal, self.operation, self.result or self.arguments[:12]


class AuditLog:
    """The record in the state database."""

    def __init__(self, state: Callable[[], State]) -> None:
        self._state = state

    def write(self, caller: Caller, operation: str, arguments: object, result: object) -> None:
        """Add a write, durably."""
        canonical = msgspec.json.encode(arguments, order="deterministic")
        digest = hashlib.sha256(canonical).hexdigest()
        entry = Entry(time.time(), caller.principal, operation, digest, result_id(result))
        try:
            with self._state().writing() as changes:
                changes.put(SPACE, f"{changes.next(COUNTER):016d}", msgspec.json.encode(entry))
        except Failure as failure:  # the write was made: its caller must not be told otherwise
            sys.stderr.write(f"postil: not in the audit: {operation} by {caller.principal}: {failure.message}\n")

    def read(self, limit: int) -> list[Entry]:
        """Returns the last entries, the oldest first."""
        last: deque[bytes] = deque(maxlen=limit)
        after = ""
        with self._state().reading() as records:
            while page := records.range(SPACE, after, 1000):
                last.extend(value for _, value in page)
                after = page[-1][0]
        return [msgspec.json.decode(value, type=Entry) for value in last]


def result_id(result: object) -> str:
    """Returns the id that a result carries, if it carries one."""
    for name in IDS:
        value = getattr(result, name, None)
        if isinstance(value, str | int) and not isinstance(value, bool):
            return str(value)[:200]
    return ""
