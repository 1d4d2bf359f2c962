"""Where we are, which parts are on, and all parts at a glance.

Not here: finding repositories and running git (its siblings do that), and everything the other parts know.
"""

from __future__ import annotations

import os
import platform
from typing import Annotated

from msgspec import UNSET, Meta

from postil import __version__
from postil.core import call
from postil.core.answer import in_rows
from postil.core.operation import EVERYTHING, reads
from postil.core.prompt import prompt
from postil.core.resource import resource
from postil.workspace.failures import NoRepository, printable
from postil.workspace.git import read_git_version
from postil.workspace.hardening import name_unheeded
from postil.workspace.operations.answers import Glance, Status, Versions, WorkspaceInfo
from postil.workspace.part import Workspace


class Overview:
    """The workspace as a whole."""

    def __init__(self, context: Workspace) -> None:
        self._workspace = context

    @reads("workspace_info", title="Workspace", shell="workspace info")
    def info(self) -> WorkspaceInfo:
        """Where this server works: repository root, branch, parts that are on, versions"""
        root, branch = self._find_place()
        versions = Versions(__version__, platform.python_version(), read_git_version(os.getcwd()))
        return WorkspaceInfo(root, branch, list(self._workspace.parts()), versions)

    @reads("workspace_status", thing=EVERYTHING, title="Status", shell="status", toolset="extra")
    def status(self) -> Status:
        """Show all parts at a glance"""
        root, branch = self._find_place()
        glances = [Glance(part, says) for part, says in self._workspace.glances()]
        return Status(root, branch, glances, name_unheeded(self._workspace.find() if root else None) or UNSET)

    @resource("postil://workspace", name="Workspace", mime_type="application/json")
    def read_workspace(self) -> WorkspaceInfo:
        """Where this server works, as JSON"""
        return self.info()

    @prompt("workspace_overview", title="Overview of the workspace", complete={"part": "offered_parts"})
    def overview(self, part: Annotated[str, Meta(description="Only this part")] = "") -> str:
        """Look at what waits here: messages, comments, issues"""
        about = f"Here is a workspace that Postil serves.\n\n{in_rows(self.info()).for_model()}"
        said = [f"- {name}: {says}" for name, says in self._workspace.glances() if not part or name == part]
        now = "\n\nAt a glance:\n" + "\n".join(said) if said else ""
        return about + now + "\n\nTell me what waits for attention, most urgent first, and what you suggest to do next."

    def offered_parts(self, value: str) -> list[str]:
        """Return the parts whose name begins like this."""
        return [part for part in self._workspace.parts() if part.startswith(value)]

    def _find_place(self) -> tuple[str | None, str | None]:
        try:
            found = self._workspace.find()
        except NoRepository:
            return None, None
        root = found.root if call.current().reveals_paths else os.path.basename(found.root)
        return printable(root), found.branch()
