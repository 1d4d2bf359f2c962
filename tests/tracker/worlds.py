"""Replicas that write and exchange events in any order, without git: the model world of the merge laws."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from postil.tracker import events as ev
from postil.tracker.events import Event
from postil.tracker.model import Entity
from postil.tracker.state.fold import fold

ENTITY = "8903a9b6-0000-4000-8000-000000000001"


@dataclass
class Replica:
    """One writer: its own log, and how much of every log it has seen."""

    name: str
    logs: dict[str, list[Event]] = field(default_factory=dict[str, list[Event]])

    def known(self) -> list[Event]:
        return [event for log in self.logs.values() for event in log]

    def state(self) -> Entity | None:
        return fold(self.known())

    def write(self, struct: type[ev.Envelope], /, **data: Any) -> Event:
        mine = self.logs.setdefault(self.name, [])
        clock = max((event.l for event in self.known()), default=0) + 1
        dep = {name: log[-1].n for name, log in self.logs.items() if name != self.name and log}
        made = struct(
            ent=ENTITY,
            id=f"{self.name}{len(mine) + 1:04}",
            r=self.name,
            n=len(mine) + 1,
            l=clock,
            ts=f"2026-01-01T00:00:{clock % 60:02}.000Z",
            a=f"{self.name} <{self.name}@example.org>",
            dep=dep or None,
            **data,
        )
        mine.append(made)  # pyright: ignore[reportArgumentType]
        return made  # pyright: ignore[reportReturnType]

    def fetch(self, other: Replica, part: float = 1.0) -> None:
        """Take a prefix of each log the other has, as a fetch does."""
        for name, log in other.logs.items():
            have = len(self.logs.get(name, []))
            upto = have + round((len(log) - have) * part)
            if name != self.name and upto > have:
                self.logs[name] = log[:upto]
