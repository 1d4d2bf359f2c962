"""What keeps the state well: its promise, backups, the audit, and whether it can be written. For operators."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, cast

from postil.core.failure import Extra, Failure
from postil.settings.model import REDIS, Settings

if TYPE_CHECKING:
    from postil.core.effects.witness import Audit
    from postil.core.ports import State
    from postil.storage.backup import Restorable


class StateOperations:
    """Operations on one composed Postil's state. Everything is imported by those who ask for it."""

    def __init__(self, settings: Settings, state: Callable[[], State]) -> None:
        self._settings, self._state = settings, state

    def find_damage(self) -> tuple[str, list[str]]:
        """Returns where the state database is, and what is wrong with it; a file that can be made is well.

        Raises a Failure where it is whole, or not there, and a write would fail.
        """
        self.check_ephemeral()
        address = self._settings.state_address
        if "://" in address:
            from postil.storage.shared import check_promise

            return check_promise(self._state(), address, self._settings.state.durability)
        import sqlite3

        from postil.storage.sqlite import SqliteState

        state = self._state()
        assert isinstance(state, SqliteState)
        exists = os.path.exists(address)
        damage = state.damage() if exists else []
        if not exists:
            from postil.storage.writable import check_creatable

            check_creatable(address)
        elif not damage:
            self.check_writable()
        return f"{address}, SQLite {sqlite3.sqlite_version}", damage

    def require_durable(self) -> None:
        """Raises where the shared state may lose what was acknowledged, and nobody accepted that."""
        if "://" in self._settings.state_address:
            from postil.storage.shared import require_promise

            require_promise(self._state(), self._settings.state_address, self._settings.state.durability)

    def check_ephemeral(self) -> None:
        """Raises where a Redis for what may vanish is named and does not answer. Blocks."""
        if self._settings.ephemeral_address.startswith(REDIS):
            from postil.storage.redis_store.redis_connection import check_answers

            with Extra("redis", "What may vanish, kept in Redis,"):
                check_answers(self._settings.ephemeral_address)

    def tell_outages(self, tell: Callable[[str], None]) -> None:
        """Call `tell` with a sentence when a shared store goes, and when it is back."""
        if self._settings.ephemeral_address or "://" in self._settings.state_address:
            from postil.storage.outage import watch_outages

            watch_outages(tell)

    def check_writable(self) -> None:
        """Raises a Failure where a write to the state would fail now. Blocks."""
        from postil.storage.writable import check_writable

        check_writable(self._state(), self._settings.state_address)

    def save_backup(self, path: str) -> tuple[int, float]:
        """Write a backup of the state and the secret. Returns how many records it holds, and when it was made."""
        from postil import __version__, secret
        from postil.storage.backup import save

        saved = save(self._dumpable(), path, secret.load(self._settings), __version__)
        return saved.records, saved.made

    def restore_backup(self, path: str, *, force: bool) -> tuple[int, float]:
        """Replace the state by a backup, and the secret where it is a file. Returns as `save_backup` does."""
        from postil import secret
        from postil.storage.backup import finish, restore

        state = self._dumpable()
        saved = restore(state, path, force=force)
        if not self._settings.secret:
            secret.replace(self._settings, saved.secret)
        finish(state)
        return saved.records, saved.made

    def finish_writes(self, seconds: float) -> None:
        """Wait until what follows acknowledged writes is stored: answers under keys, ends in the audit."""
        from postil.storage.later import LATER

        LATER.wait_empty(seconds)

    def remove_leftovers(self) -> threading.Thread:
        """Remove what killed writers left in the workspace, beside the start of a server. Returns who does it."""

        def remove() -> None:
            from postil.workspace.operations.checks import clean_leftovers
            from postil.workspace.repository import find_repository

            with suppress(Failure, OSError):  # outside of a repository, or a folder that cannot be written
                clean_leftovers(find_repository(self._settings.cwd), fix=True)

        remover = threading.Thread(target=remove, name="postil-leftovers", daemon=True)
        remover.start()
        return remover

    def audit(self) -> Audit:
        """Returns the audit in the state database, with a chain of its own."""
        from postil.storage.audit.audit_log import AuditLog

        return AuditLog(self._state)

    def _dumpable(self) -> Restorable:
        return cast("Restorable", self._state())  # every state that a setting can name
