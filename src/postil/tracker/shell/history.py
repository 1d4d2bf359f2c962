"""The commands `log` and `delete`: everything that happened to an entity, and taking it out of every list."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from postil.core.operation import Spelling, destroys, reads
from postil.tracker.events import Set
from postil.tracker.failures import AmbiguousId, NoSuchEntity
from postil.tracker.issues import Issues
from postil.tracker.operations.arguments import Id
from postil.tracker.operations.write_answers import Changed, report_change
from postil.tracker.state.history import History, describe_history


class HistoryCommands:
    """`git mile log|delete ID`; `postil milestone …` says the same."""

    def __init__(self, issues: Issues) -> None:
        self._issues = issues

    @reads(
        "issue_log",
        aliases=("issue.log",),
        shell="issue log",
        positional=("id",),
        spellings=(Spelling("milestone log"),),
    )
    def log(self, id: Id) -> History:
        """Everything that happened to an issue or milestone"""
        store = self._issues.refresh()
        found = self._issues.find_id(id)
        return describe_history(found, store.events(found))

    @destroys(
        "issue_delete",
        aliases=("issue.delete",),
        toolset="extra",
        shell="issue delete",
        positional=("id",),
        spellings=(Spelling("milestone delete"),),
    )
    def delete(self, id: Id, undo: Annotated[bool, Meta(description="bring it back")] = False) -> Changed:
        """Take an issue or milestone out of every list; its history stays, and --undo brings it back"""
        with self._issues.transaction() as tx:
            found = self._find_deleted(id) if undo else self._issues.find_id(id)
            tx.write(Set, found, f="deleted", value="false" if undo else "true")
        return report_change(self._issues.store.entity(found), ["restored" if undo else "deleted"])

    def _find_deleted(self, given: str) -> str:
        """Returns what was meant among all that ever was: lists and prefixes know only what is not deleted."""
        prefix = given.strip().lower()
        rows = self._issues.store.index.query(
            "SELECT id FROM log WHERE id >= ? AND id < ? ORDER BY id LIMIT 10", (prefix, prefix + "g")
        )
        if len(rows) > 1 and rows[0][0] != prefix:
            raise AmbiguousId(prefix[:64], [id_ for (id_,) in rows])
        if not rows or not prefix:
            raise NoSuchEntity("Entity", given)
        return rows[0][0]
