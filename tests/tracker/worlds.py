"""Replicas that write and exchange events in any order, without git: the model world of the merge laws."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

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


def pair() -> tuple[Replica, Replica]:
    one, two = Replica("aaa"), Replica("bbb")
    one.write(ev.Created, kind="issue", title="First", description="a\n\nb\n\nc", labels=("x",))
    two.fetch(one)
    return one, two


def meet(one: Replica, two: Replica):
    one.fetch(two)
    two.fetch(one)
    assert one.state() == two.state()
    state = one.state()
    assert state is not None
    return state


ACTIONS = (
    "title",
    "status",
    "label",
    "unlabel",
    "describe",
    "comment",
    "edit",
    "drop",
    "claim",
    "release",
    "milestone",
    "link",
)


def act(replica: Replica, dice: random.Random) -> None:
    match dice.choice(ACTIONS):
        case "title":
            replica.write(ev.Set, f="title", value=f"T{dice.randrange(5)}")
        case "status":
            replica.write(ev.Set, f="status", value=dice.choice(["open", "closed", "draft"]))
        case "milestone":
            replica.write(ev.Set, f="milestone", value=dice.choice([None, "m1", "m2"]))
        case "label":
            replica.write(ev.Labelled, add=(dice.choice("xyz"),))
        case "unlabel":
            replica.write(ev.Labelled, rm=(dice.choice("xyz"),))
        case "describe":
            lines = ["a", "", "b", "", "c"]
            lines[dice.choice((0, 2, 4))] = f"L{dice.randrange(4)}"
            replica.write(ev.Described, text="\n".join(lines))
        case "comment":
            replica.write(ev.Commented, c=f"c{dice.randrange(4)}", body="hi")
        case "edit":
            replica.write(ev.CommentEdited, c=f"c{dice.randrange(4)}", body=f"edit {dice.randrange(3)}")
        case "drop":
            replica.write(ev.CommentDeleted, c=f"c{dice.randrange(4)}")
        case "claim":
            replica.write(ev.Claimed, who=dice.choice(["ann", "bob"]), until="2026-01-01T00:00:30.000Z")
        case "release":
            replica.write(ev.Released, who=dice.choice(["ann", "bob", ""]))
        case _:
            replica.write(ev.Linked, add=(("blocks", dice.choice("pq")),), rm=(("blocks", dice.choice("pq")),))


lines = st.lists(st.sampled_from(["a", "b", "c", "", "d", "- [ ] a", "- [x] a"]), max_size=6).map("\n".join)
