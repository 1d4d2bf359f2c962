"""The shell's commands that look beneath an entity and settle its conflicts: entity-debug, resolve, metrics."""

from __future__ import annotations

import os
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from postil.core.operation import reads, writes
from postil.tracker.events import Described, Set
from postil.tracker.failures import InvalidParams
from postil.tracker.log.refs import list_logs
from postil.tracker.model import Conflict, Entity
from postil.tracker.operations.answers import Changed, ShownConflict
from postil.tracker.operations.assistant import AssistantTools, Id
from postil.tracker.state.history import HistoryLine, describe_history
from postil.tracker.text import align, flatten, format_count, round_to_second, strip_address


class Disputed(msgspec.Struct, frozen=True, kw_only=True):
    """An entity with concurrent values that nobody has decided between."""

    id: str
    kind: str
    title: str
    conflicts: list[ShownConflict]


class DisputedList(msgspec.Struct, frozen=True):
    """All of them."""

    entities: list[Disputed]

    def shell(self) -> str:
        """One line a lost value."""
        rows = [
            [one.id[:8], flatten(one.title), lost.field, flatten(repr(lost.value)), flatten(lost.author), lost.ts]
            for one in self.entities
            for lost in one.conflicts
        ]
        head = ["ID", "TITLE", "FIELD", "LOST VALUE", "AUTHOR", "WHEN"]
        return align([head, *rows]) if rows else "No entity has undecided values"


class Beneath(msgspec.Struct, frozen=True, kw_only=True):
    """What an entity is made of."""

    id: str
    kind: str
    clock: str
    writers: dict[str, int]
    """Replica → the last number of its events here."""
    events: list[HistoryLine]
    conflicts: list[ShownConflict]

    def shell(self) -> str:
        """The events with their clocks and ids, then what is undecided."""
        rows = [[event.clock, event.id, event.type, event.what] for event in self.events]
        lines = [f"{self.kind} {self.id} at {self.clock}", f"{format_count(len(self.writers), 'writer')}", align(rows)]
        lines += [
            f"undecided: {one.field} = {one.value!r} by {one.author}, event {one.event}" for one in self.conflicts
        ]
        return "\n".join(lines)


class Metrics(msgspec.Struct, frozen=True, kw_only=True):
    """How much there is, and what the index costs."""

    entities: dict[str, int]
    events: int
    logs: int
    writers: int
    clock: int
    generation: int
    cache_bytes: int
    cache_path: str
    damaged: int


class DebugCommands(AssistantTools):
    """`git mile entity-debug list|show|resolve`, `git mile resolve`, `git mile metrics dump`."""

    @reads("issue.disputed", tool=False, shell="mile entity-debug list", output_depth=0)
    def disputed(self) -> DisputedList:
        """Entities with concurrent values that nobody has decided between"""
        self.refresh()
        with self.store.index.lock:
            rows = self.store.index.db.execute("SELECT id FROM ent WHERE conflicts > 0 ORDER BY id").fetchall()
        found = [entity for (id_,) in rows if (entity := self.store.entity(id_)) is not None]
        return DisputedList(
            [Disputed(id=one.id, kind=one.kind, title=one.title, conflicts=_show_conflicts(one)) for one in found]
        )

    @reads("issue.beneath", tool=False, shell="mile entity-debug show", positional=("id",), output_depth=0)
    def beneath(self, id: Id) -> Beneath:
        """The events an entity is made of, with their clocks, writers and ids"""
        self.refresh()
        entity = self.entity(id)
        events = self.store.events(entity.id)
        writers: dict[str, int] = {}
        for event in events:
            writers[event.r] = max(event.n, writers.get(event.r, 0))
        return Beneath(
            id=entity.id,
            kind=entity.kind,
            clock=f"{entity.updated.counter}@{entity.updated.replica}",
            writers=writers,
            events=describe_history(entity.id, events).events,
            conflicts=_show_conflicts(entity),
        )

    @writes(
        "issue.resolve",
        tool=False,
        shell="issue resolve",
        positional=("id",),
        spellings={"mile entity-debug resolve": {}, "milestone resolve": {}},
    )
    def resolve(
        self,
        id: Id,
        strategy: Annotated[
            Literal["ours", "theirs", "manual"],
            Meta(description="ours keeps what holds now, theirs takes the value that lost, manual that of --head"),
        ] = "ours",
        head: Annotated[str, Meta(description="manual: the event whose value is right; show lists them")] | None = None,
        field: Annotated[str, Meta(description="only this field")] | None = None,
    ) -> Changed:
        """Decide between concurrent values of an issue or milestone"""
        if (strategy == "manual") != (head is not None):
            raise InvalidParams("--head goes with --strategy manual", advice="Give both, or neither")
        with self.transaction() as tx:
            entity = self.entity(id)
            decided = _choose_values(entity, strategy, head, field)
            for name, value in decided.items():
                if name == "description":
                    tx.write(Described, entity.id, text=value or "")
                else:
                    tx.write(Set, entity.id, f=name, value=value)
        return self.changed(entity.id, [f"{name} decided" for name in decided])

    @reads("issue.metrics", tool=False, shell="mile metrics dump", output_depth=0)
    def metrics(self) -> Metrics:
        """How many entities, events and writers there are, and what the index costs"""
        index = self.refresh().index
        with index.lock:
            kinds = dict(index.db.execute("SELECT kind, count(*) FROM ent GROUP BY kind ORDER BY kind").fetchall())
            events = index.db.execute("SELECT coalesce(sum(n), 0) FROM writer").fetchone()[0]  # numbered from 1
            path = next((row[2] for row in index.db.execute("PRAGMA database_list") if row[1] == "main"), "")
            return Metrics(
                entities=kinds,
                events=events,
                logs=len(list_logs(self.store.repository.root)),
                writers=index.db.execute("SELECT count(*) FROM writer").fetchone()[0],
                clock=index.clock(),
                generation=index.generation(),
                cache_bytes=os.path.getsize(path) if path else 0,
                cache_path=path or "(in memory)",
                damaged=len(index.damage()),
            )


def _choose_values(entity: Entity, strategy: str, head: str | None, field: str | None) -> dict[str, str | None]:
    """Field → the value that shall hold."""
    lost: dict[str, list[Conflict]] = {}
    for conflict in entity.conflicts:
        if field in (None, conflict.field):
            lost.setdefault(conflict.field, []).append(conflict)
    if not lost:
        where = f" in {field[:64]}" if field else ""
        raise InvalidParams(f"{entity.id[:8]} has no undecided values{where}", advice="`show` lists conflicts")
    if strategy == "ours":
        return {name: _read_present(entity, name) for name in lost}
    if strategy == "theirs":
        return {name: conflicts[0].value for name, conflicts in lost.items()}
    for name, conflicts in lost.items():
        for conflict in conflicts:
            if conflict.event == head:
                return {name: conflict.value}
    known = ", ".join(conflict.event for conflicts in lost.values() for conflict in conflicts)
    raise InvalidParams(f"No value that lost comes from the event `{(head or '')[:64]}`", advice=f"Those are {known}")


def _read_present(entity: Entity, field: str) -> str | None:
    if field in ("title", "status", "description", "milestone", "due"):
        return getattr(entity, field)
    if field == "deleted":
        return "true" if entity.deleted else "false"
    return entity.fields.get(field)


def _show_conflicts(entity: Entity) -> list[ShownConflict]:
    return [
        ShownConflict(c.field, c.value, strip_address(c.author), round_to_second(c.ts), c.event)
        for c in entity.conflicts
    ]
