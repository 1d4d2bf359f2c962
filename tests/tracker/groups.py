"""All groups of the tracker over one context, as the application composes them."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path
from typing import Any

from postil.tracker import events as ev
from postil.tracker.issues import Issues
from postil.tracker.operations.answers import Listed, Shown
from postil.tracker.operations.arguments import EntityKind
from postil.tracker.operations.assistant import AssistantTools
from postil.tracker.operations.bulk_edit import BulkEdit
from postil.tracker.operations.cards import Cards
from postil.tracker.operations.chart import ChartCommands
from postil.tracker.operations.comment_edit import CommentEdit
from postil.tracker.operations.contract import ContractTools
from postil.tracker.operations.planning import Planning
from postil.tracker.operations.resources import Resources
from postil.tracker.operations.saved_queries import QueryCommands
from postil.tracker.operations.status import Status
from postil.tracker.shell.history import HistoryCommands
from postil.tracker.shell.identity import IdentityCommands
from postil.tracker.shell.sync import SyncCommands
from postil.tracker.shell.transfer import TransferCommands
from postil.tracker.store import Store
from postil.workspace.repository import find_repository


class Tracker:
    """One repository's tracker."""

    def __init__(self, where: Path | str, now: Callable[[], datetime.datetime] | None = None) -> None:
        self.issues = Issues(lambda: find_repository(str(where)), now=now)
        self.contract = ContractTools(self.issues)
        self.tools = AssistantTools(self.issues)
        self.plan = Planning(self.issues)
        self.bulk = BulkEdit(self.issues)
        self.comments = CommentEdit(self.issues)
        self.history = HistoryCommands(self.issues)
        self.sync = SyncCommands(self.issues)
        self.cards = Cards(self.issues)
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


ESCAPES = "\x1b]0;owned\x07 two\nlines\tand \x9b2J \u202eback"


def forged(repository: Path, kind: str = "issue", id_: str = "") -> str:
    """An issue as a hostile writer's log could hold it: no check of ours ever saw it."""
    store = Store(find_repository(str(repository)))
    id_ = id_ or ev.new_entity_id()
    with store.transaction() as tx:
        tx.write(ev.Created, id_, kind=kind, title=ESCAPES, labels=(ESCAPES,), a=f"{ESCAPES} <a@b>")
        tx.write(ev.Claimed, id_, who=ESCAPES, until="9999-01-01T00:00:00.000Z")
        tx.write(ev.Commented, id_, c="c", body=ESCAPES)
    return id_


class Clock:
    def __init__(self) -> None:
        self.at = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)

    def __call__(self) -> datetime.datetime:
        return self.at
