"""The tracker as one part: the contract's tools, the assistants' tools and the resources."""

from __future__ import annotations

from postil.tracker.columns import many
from postil.tracker.contract import ContractTools
from postil.tracker.resources import Resources
from postil.tracker.shell_debug import DebugCommands
from postil.tracker.shell_exchange import ExchangeCommands
from postil.tracker.shell_identity import IdentityCommands
from postil.tracker.shell_issue import IssueCommands
from postil.tracker.shell_mile import MileCommands
from postil.tracker.shell_sync import SyncCommands


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

    def glance(self) -> str:
        """What `postil status` says of the tracker."""
        with self.fresh().index.lock:
            counted = dict(
                self.store.index.db.execute("SELECT kind, count(*) FROM ent WHERE status <> 'closed' GROUP BY kind")
            )
        return f"{many(counted.get('issue', 0), 'open issue')}, {many(counted.get('milestone', 0), 'open milestone')}"
