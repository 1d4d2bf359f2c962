"""The tracker as one part: the contract's tools, the assistants' tools and the resources."""

from __future__ import annotations

from postil.core.glance import glance
from postil.tracker.operations.contract import ContractTools
from postil.tracker.operations.resources import Resources
from postil.tracker.shell.conflicts import DebugCommands
from postil.tracker.shell.identity import IdentityCommands
from postil.tracker.shell.issue import IssueCommands
from postil.tracker.shell.mile import MileCommands
from postil.tracker.shell.sync import SyncCommands
from postil.tracker.shell.transfer import ExchangeCommands
from postil.tracker.text import format_count


class Tracker(
    ContractTools,
    MileCommands,
    IssueCommands,
    DebugCommands,
    SyncCommands,
    ExchangeCommands,
    IdentityCommands,
    Resources,
):
    """Issues and milestones kept inside git."""

    @glance
    def glance(self) -> str:
        """What `postil status` says of the tracker."""
        with self.refresh().index.lock:
            counted = dict(
                self.store.index.db.execute("SELECT kind, count(*) FROM ent WHERE status <> 'closed' GROUP BY kind")
            )
        counts = [format_count(counted.get(kind, 0), f"open {kind}") for kind in ("issue", "milestone")]
        return ", ".join(counts)
