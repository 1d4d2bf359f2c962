"""The audit as the surfaces know it: a note before every write and one after it, and whether all notes are whole."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from msgspec import Struct

from postil.core import call
from postil.core.failure import StorageFailed

if TYPE_CHECKING:
    from postil.core.call import Caller
    from postil.core.ports import Changes

Outcome: TypeAlias = Literal["", "ok", "failed", "unknown", "asked"]
"""How a write ended; `asked`: it wants an answer of its caller first, and changed nothing."""
LAST_MOMENT = 253_402_300_799.0
"""The end of the year 9999, in seconds since 1970."""


class Opened(Protocol):
    """A write that was noted before it began, until it ends."""

    def join(self, changes: Changes) -> None:
        """Note, in the transaction of an effect in the state, that it was made. For `joining`."""
        ...

    def close(self, outcome: Outcome, result: object = None) -> None:
        """Note how it ended, with its result or what was raised. Blocks; raises no failure."""
        ...


class Witness(Protocol):
    """Notes every write, before it is begun and after it has ended. Blocks: called in threads."""

    def open(self, caller: Caller, operation: str, arguments: object) -> Opened:
        """Note what is about to be changed. Raises a Failure: then it is not begun."""
        ...


class Audit(Witness, Protocol):
    """What was noted, to be read and checked."""

    def read(self, limit: int) -> list[Entry]:
        """Returns the last writes, the oldest first."""
        ...

    def verify(self) -> Report:
        """Read all of it, and check that nothing was changed or taken away."""
        ...


class Entry(Struct, frozen=True, omit_defaults=True):
    """One write, put together from its records."""

    at: float
    principal: str
    operation: str
    arguments: str
    """SHA-256 of the arguments in their canonical JSON."""
    object: str = ""
    """What is changed, as the arguments name it."""
    outcome: Outcome = ""
    """Empty where no record says how it ended."""
    result: str = ""
    """What the result calls itself; of a failure its kind."""
    stored: bool = False
    """Whether an effect in the state is known to have been made."""
    name: str = ""
    """What the principal was called then."""

    def line(self) -> tuple[str, str, str, str, str]:
        """Returns it as a row for people."""
        at = min(max(self.at, 0.0), LAST_MOMENT)  # a record that somebody changed may say anything
        when = call.current().tell_moment(time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at)))
        ended = self.outcome or ("stored, without an end" if self.stored else "no end")
        who = f"{self.principal} ({self.name})" if self.name else self.principal
        made = self.result if self.outcome in ("", "ok") else ""
        if self.result and not made:  # what was raised: no name of what was changed
            ended += f" ({self.result})"
        return when, who, self.operation, self.object or made or self.arguments[:12], ended


class Unended(Struct, frozen=True):
    """A write that was opened, and of which no record says how it ended."""

    at: float
    principal: str
    operation: str
    object: str
    stored: bool
    """Whether an effect in the state is known to have been made."""
    running: bool
    """Whether its process may still be at it."""


class Report(Struct, frozen=True):
    """What was checked and found."""

    records: int
    chains: int
    unchained: int
    """Records of the first release, which had no chains."""
    broken: list[str]
    unended: list[Unended]
    writes: int = 0

    def text(self) -> str:
        """Returns it for people."""
        older = f", {self.unchained} of before there were chains" if self.unchained else ""
        records = "1 record" if self.records == 1 else f"{self.records} records"
        of = f" of {'1 write' if self.writes == 1 else f'{self.writes} writes'}" if self.writes else ""
        each = " (its beginning, effect and end; and where each process began)" if self.writes else ""
        lines = [f"{records}{of} in {self.chains} {'chain' if self.chains == 1 else 'chains'}{older}{each}"]
        lines += [f"broken: {sentence}" for sentence in self.broken]
        for one in self.unended:
            known = "its effect was stored" if one.stored else "whether it took effect is not known"
            state = "still running" if one.running else f"no end: {known}"
            lines.append(f"{state}: {one.operation} by {one.principal} {one.object}".rstrip())
        if not self.broken:
            lines.append("The chains are whole")
        return "\n".join(lines)


class AuditBroken(StorageFailed):
    """Records of the audit were changed or are missing."""

    def __init__(self, report: Report) -> None:
        super().__init__(
            f"The audit is not as it was written: {report.broken[0]}",
            advice="Compare it with a backup (`postil backup`); what follows a changed record is still checked",
        )
