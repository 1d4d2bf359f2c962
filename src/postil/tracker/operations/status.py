"""The tracker as a whole: its line of `postil status`, its check of `postil doctor`, and what it measures."""

from __future__ import annotations

import os
from collections.abc import Mapping

from msgspec import UNSET, UnsetType

from postil.core import call
from postil.core.answer import Answer
from postil.core.group import MOST_OFFERED, Finding, check, completer, glance
from postil.core.operation import reads
from postil.tracker.index.pages import find_by_prefix
from postil.tracker.issues import Issues
from postil.tracker.log.refs import list_logs
from postil.tracker.text import format_count


class Metrics(Answer, frozen=True, kw_only=True):
    """How much there is, and what the index costs."""

    entities: dict[str, int]
    events: int
    logs: int
    writers: int
    clock: int
    generation: int
    cache_bytes: int
    cache_path: str | UnsetType
    damaged: int


class Status:
    """Whether the tracker is well, and how much is open."""

    def __init__(self, issues: Issues) -> None:
        self._issues = issues

    @glance
    def count_open(self) -> str:
        """What `postil status` says of the tracker."""
        sql = "SELECT kind, count(*) FROM ent WHERE status <> 'closed' GROUP BY kind"
        counted = dict(self._issues.refresh().index.query(sql))
        return ", ".join(format_count(counted.get(kind, 0), f"open {kind}") for kind in ("issue", "milestone"))

    @completer("id", "more", "target")
    def complete_id(self, typed: str, given: Mapping[str, object]) -> dict[str, str]:
        """Returns the issues and milestones whose id begins so, and their titles; where one kind is said, only that."""
        said = given.get("entity") or str(given["command"]).partition(" ")[0]
        # `git mile close` is `issue close`, for either kind.
        kind = "milestone" if said in ("milestone", "mile") else "issue" if given.get("entity") == "issue" else None
        return {row.id: row.title for row in find_by_prefix(self._issues.refresh().index, typed, kind, MOST_OFFERED)}

    @check("tracker")
    def check_logs(self) -> Finding:
        """Whether the tracker's logs can be read."""
        damage = self._issues.refresh().index.damage()
        if damage:
            return Finding("error", damage[0], "Run `git mile verify --fix`")
        return Finding("ok", "the tracker's logs can be read")

    @reads("issue_metrics", aliases=("issue.metrics",), toolset="extra", shell="mile metrics dump")
    def measure(self) -> Metrics:
        """How many entities, events and writers there are, and what the index costs"""
        index = self._issues.refresh().index
        with index.lock:
            path = next((row[2] for row in index.query("PRAGMA database_list") if row[1] == "main"), "")
            [(writers, events)] = index.query("SELECT count(*), coalesce(sum(n), 0) FROM writer")  # numbered from 1
            return Metrics(
                entities=dict(index.query("SELECT kind, count(*) FROM ent GROUP BY kind ORDER BY kind")),
                events=events,
                logs=len(list_logs(self._issues.store.repository.root)),
                writers=writers,
                clock=index.clock(),
                generation=index.generation(),
                cache_bytes=os.path.getsize(path) if path else 0,
                cache_path=(path or "(in memory)") if call.current().reveals_paths else UNSET,
                damaged=len(index.damage()),
            )
