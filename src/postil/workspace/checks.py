"""What `postil doctor` asks of the workspace: git, the repository, the state database."""

from __future__ import annotations

import os

from postil.core.check import Finding, check
from postil.core.failure import Failure
from postil.workspace.failures import NoRepository, printable
from postil.workspace.git import read_git_version
from postil.workspace.part import Workspace

OLDEST_GIT = (2, 36)
"""Before it, `core.fsync` does not exist, and what git acknowledged may be lost with the power."""


class WorkspaceChecks:
    """Checks that need no part."""

    def __init__(self, context: Workspace) -> None:
        self._workspace = context

    @check("git")
    def git_is_recent(self) -> Finding:
        """Whether git is there and new enough to keep what it acknowledges."""
        version = read_git_version(os.getcwd())
        if not version:
            return Finding("error", "git was not found", "Install git and put it on PATH")
        found = tuple(int(number) for number in version.split(".")[:2] if number.isdigit())
        if found < OLDEST_GIT:
            wanted = ".".join(map(str, OLDEST_GIT))
            return Finding("warning", f"git {version}", f"Install git {wanted} or newer: older ones do not fsync refs")
        return Finding("ok", f"git {version}")

    @check("repository")
    def repository_is_found(self) -> Finding:
        """Whether we are in a repository."""
        try:
            found = self._workspace.find()
        except NoRepository as failure:
            return Finding("warning", failure.message, failure.advice)
        except Failure as failure:
            return Finding("error", failure.message, failure.advice)
        return Finding("ok", printable(found.root))

    @check("state")
    def state_is_sound(self) -> Finding:
        """Whether the state database is whole."""
        try:
            address, damage = self._workspace.state_damage()
        except Failure as failure:
            return Finding("error", failure.message, failure.advice)
        if damage:
            advice = "Move the file away (messages are in it), and restore it from a backup if there is one"
            return Finding("error", f"{address}: {'; '.join(damage[:3])}", advice)
        return Finding("ok", address)
