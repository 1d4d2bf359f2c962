"""All groups of the tracker over one context, as the application composes them."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path
from typing import Any

from postil.tracker.issues import Issues
from postil.tracker.operations.answers import Listed, Shown
from postil.tracker.operations.arguments import EntityKind
from postil.tracker.operations.assistant import AssistantTools
from postil.tracker.operations.chart import ChartCommands
from postil.tracker.operations.contract import ContractTools
from postil.tracker.operations.resources import Resources
from postil.tracker.operations.saved_queries import QueryCommands
from postil.tracker.operations.status import Status
from postil.tracker.shell.identity import IdentityCommands
from postil.tracker.shell.transfer import TransferCommands
from postil.workspace.repository import find_repository


class Tracker:
    """One repository's tracker."""

    def __init__(self, where: Path | str, now: Callable[[], datetime.datetime] | None = None) -> None:
        self.issues = Issues(lambda: find_repository(str(where)), now=now)
        self.contract = ContractTools(self.issues)
        self.tools = AssistantTools(self.issues)
        self.charts = ChartCommands(self.issues)
        self.resources = Resources(self.issues)
        self.queries = QueryCommands(self.issues)
        self.identity = IdentityCommands(self.issues)
        self.transfer = TransferCommands(self.issues)
        self.status = Status(self.issues)

    def list(self, entity: EntityKind = "issue", **more: Any) -> Listed:
        """What the contract's list answers."""
        listed = self.contract.list_entities(entity, **more)
        assert isinstance(listed, Listed)
        return listed

    def show(self, entity: EntityKind, id_: str) -> Shown:
        """What the contract's show answers."""
        shown = self.contract.show_entity(id_, entity)
        assert isinstance(shown, Shown)
        return shown
