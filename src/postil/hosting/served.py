"""The workspaces of the settings, composed: each a Postil of its own over the same state."""

from __future__ import annotations

import os
import re
import shutil
import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from postil.hosting.scoped import WorkspaceKeys, WorkspaceWitness
from postil.settings.model import BadSettings, Settings, WorkspaceSettings

if TYPE_CHECKING:
    from postil.app import App
    from postil.hosting.hosted import HostedWorkspace, Turn
    from postil.wire.server import Hooks, Server

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


class LocalWorkspace:
    """A workspace in a folder of this machine, served by this process alone."""

    def __init__(self, name: str, make: Callable[[], Server]) -> None:
        self.name = name
        self._make = make
        self._lock = threading.Lock()
        self.current: Server | None = None
        """Its server; None before its first use."""
        self.turn = 0
        """No replica hands anything on to it."""

    def find(self) -> Server:
        """Returns its server, made on first use."""
        with self._lock:
            self.current = self.current or self._make()
            return self.current

    def close(self) -> None:
        """There is nothing to give back."""


def compose(app: App, hooks: Hooks, address: str) -> dict[str, LocalWorkspace | HostedWorkspace]:
    """Returns the workspaces of the settings by name. `address`: where other replicas reach this one."""
    check(app.settings)
    return {
        name: _host(app, hooks, name, each, address) if each.remote else _serve(app, hooks, name, each)
        for name, each in app.settings.workspaces.items()
    }


def check(settings: Settings) -> None:
    """Raises BadSettings where a workspace cannot be served as it is written."""
    for name, each in settings.workspaces.items():
        where = f"workspaces.{name}"
        if not _NAME.fullmatch(name):
            raise BadSettings(f"{where}: a name has letters, digits, dots, hyphens and underscores, at most 63")
        if not each.path and not each.remote:
            raise BadSettings(f"{where} has neither a path nor a remote", advice="Give one of them")
        if each.remote.startswith("-"):
            raise BadSettings(f"{where}.remote begins with a hyphen", advice="Give the address of a repository")
        if not each.remote and not os.path.isdir(os.path.expanduser(each.path)):
            raise BadSettings(f"{where}.path is no folder: {each.path}", advice="Clone the repository there first")
        if each.branch and not each.remote:
            raise BadSettings(f"{where}.branch is for remotes", advice="Check the branch out in the folder")
        if each.remote and not settings.state.address.startswith(("postgresql://", "postgres://")):
            raise BadSettings(
                f"{where} has a remote: its lease is kept in PostgreSQL",
                advice="Set POSTIL_STATE=postgresql://…, or serve a folder with path alone",
            )
        if each.remote and not settings.secret:
            raise BadSettings(
                f"{where} has a remote: replicas that forward to one another share a secret",
                advice="Set the same POSTIL_SECRET on every replica",
            )


def _serve(app: App, hooks: Hooks, name: str, settings: WorkspaceSettings) -> LocalWorkspace:
    def make() -> Server:
        folder = os.path.realpath(os.path.expanduser(settings.path))
        below = app.for_workspace(name, folder, WorkspaceKeys(app.state, name, lambda _: ""))
        return below.server(over_http=True).with_hooks(_name_hooks(hooks, name))

    return LocalWorkspace(name, make)


def _host(app: App, hooks: Hooks, name: str, settings: WorkspaceSettings, address: str) -> HostedWorkspace:
    from postil.comments.storage.giants import merge_or_keep
    from postil.hosting.hosted import HostedWorkspace
    from postil.storage.holder import this_process
    from postil.storage.postgresql.postgres import PostgresState
    from postil.workspace.clones.clone import SharedClone

    state = app.state
    assert isinstance(state, PostgresState)
    folder = os.path.expanduser(settings.path) or os.path.join(app.settings.folders.state, "workspaces", name)
    caches = os.path.join(app.settings.folders.cache, "workspaces", name)

    def make(hosted: HostedWorkspace, turn: Turn) -> Server:
        # What an earlier turn kept may hold effects that were never recorded.
        shutil.rmtree(caches, ignore_errors=True)
        operations = app.registry(brought=True).operations

        def fence(operation: str) -> str:
            entry = operations.get(operation)
            return hosted.fence(turn, entry.part) if entry is not None else ""

        keys = WorkspaceKeys(state, name, fence)
        below = app.for_workspace(name, folder, keys, os.path.join(caches, str(turn.lease.number)), shared=True)
        named = msgspec.structs.replace(_name_hooks(hooks, name), around=partial(hosted.writing, turn))
        return below.server(over_http=True).with_hooks(named)

    clone = SharedClone(name, os.path.realpath(folder), settings.remote, settings.branch, merge_or_keep)
    return HostedWorkspace(name, clone, state, state.leases(), this_process(), address, make)


def _name_hooks(hooks: Hooks, name: str) -> Hooks:
    witness = WorkspaceWitness(hooks.witness, name) if hooks.witness is not None else None
    return msgspec.structs.replace(hooks, witness=witness)
