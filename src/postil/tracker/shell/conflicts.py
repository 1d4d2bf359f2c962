"""Looking beneath the entities, and deciding their conflicts: the commands entity-debug and resolve."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from postil.core.answer import Answer
from postil.core.operation import Spelling, reads, writes
from postil.tracker.failures import InvalidParams
from postil.tracker.issues import Issues
from postil.tracker.model import Conflict, Entity
from postil.tracker.operations.answers import show_conflicts
from postil.tracker.operations.arguments import Id
from postil.tracker.operations.write_answers import Changed, report_change
from postil.tracker.state.history import HistoryLine, describe_history
from postil.tracker.text import align, flatten, format_count


class Conflicted(Struct, frozen=True, kw_only=True):
    """An entity with concurrent values that nobody has decided between."""

    id: str
    kind: str
    title: str
    conflicts: list[Conflict]


class ConflictedList(Answer, frozen=True):
    """All of them."""

    entities: list[Conflicted]

    def for_person(self) -> str:
        """One line a lost value."""
        rows = [
            [one.id[:8], flatten(one.title), lost.field, flatten(repr(lost.value)), flatten(lost.author), lost.ts]
            for one in self.entities
            for lost in one.conflicts
        ]
        head = ["ID", "TITLE", "FIELD", "LOST VALUE", "AUTHOR", "WHEN"]
        return align([head, *rows]) if rows else "No entity has undecided values"


class Makeup(Answer, frozen=True, kw_only=True):
    """The events that an entity is made of."""

    id: str
    kind: str
    clock: str
    writers: dict[str, int]
    """Replica → the last number of its events here."""
    events: list[HistoryLine]
    conflicts: list[Conflict]

    def for_person(self) -> str:
        """The events with their clocks and ids, then what is undecided."""
        rows = [[event.clock, event.id, event.type, event.what] for event in self.events]
        lines = [f"{self.kind} {self.id} at {self.clock}", format_count(len(self.writers), "writer"), align(rows)]
        lines += [
            f"undecided: {one.field} = {one.value!r} by {one.author}, event {one.event}" for one in self.conflicts
        ]
        return "\n".join(lines)


class ConflictCommands:
    """`git mile entity-debug list|show|resolve`, `git mile resolve`."""

    def __init__(self, issues: Issues) -> None:
        self._issues = issues

    @reads(
        "issue_inspect",
        toolset="extra",
        aliases=("issue.inspect", "issue.disputed", "issue.beneath"),
        positional=("id",),
        spellings=(
            Spelling(
                "mile entity-debug list",
                {"id": ""},
                "Entities with concurrent values that nobody has decided between",
            ),
            Spelling(
                "mile entity-debug show",
                says="The events an entity is made of, with their clocks, writers and ids",
                requires=("id",),
            ),
        ),
    )
    def inspect(
        self, id: Annotated[str, Meta(description="the entity to take apart; without, all with conflicts")] = ""
    ) -> ConflictedList | Makeup:
        """Show which entities have undecided conflicts, or the events that one is made of"""
        self._issues.refresh()
        return self._take_apart(id) if id else self._list_conflicts()

    @writes(
        "issue_resolve",
        aliases=("issue.resolve",),
        toolset="extra",
        shell="issue resolve",
        positional=("id",),
        spellings=(Spelling("mile entity-debug resolve"), Spelling("milestone resolve")),
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
        with self._issues.transaction() as tx:
            entity = self._issues.find(id)
            decided = _choose_values(entity, strategy, head, field)
            for name, value in decided.items():
                self._issues.set_field(tx, entity.id, name, value)
        return report_change(self._issues.store.entity(entity.id), [f"{name} decided" for name in decided])

    def _list_conflicts(self) -> ConflictedList:
        store = self._issues.store
        rows = store.index.query("SELECT id FROM ent WHERE conflicts > 0 ORDER BY id")
        found = [entity for (id_,) in rows if (entity := store.entity(id_)) is not None]
        return ConflictedList(
            [Conflicted(id=one.id, kind=one.kind, title=one.title, conflicts=show_conflicts(one)) for one in found]
        )

    def _take_apart(self, given: str) -> Makeup:
        entity = self._issues.find(given)
        events = self._issues.store.events(entity.id)
        writers: dict[str, int] = {}
        for event in events:
            writers[event.r] = max(event.n, writers.get(event.r, 0))
        return Makeup(
            id=entity.id,
            kind=entity.kind,
            clock=str(entity.updated),
            writers=writers,
            events=describe_history(entity.id, events).events,
            conflicts=show_conflicts(entity),
        )


def _choose_values(entity: Entity, strategy: str, head: str | None, field: str | None) -> dict[str, str | None]:
    """Returns each undecided field with the value that shall hold."""
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
