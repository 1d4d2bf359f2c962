"""The built-in part: where we are, which parts are on, and whether the work tree is in order.

Not here: finding repositories and running git (its siblings do that), and everything the other parts know.
"""

from __future__ import annotations

import os
import platform
import stat
from collections.abc import Callable, Sequence
from typing import Annotated

from msgspec import Meta

from postil import __version__
from postil.core import call
from postil.core.check import Finding, check
from postil.core.failure import Failure
from postil.core.operation import reads
from postil.core.prompt import prompt
from postil.core.resource import resource
from postil.workspace.failures import NoRepository, printable
from postil.workspace.git import git_lines, try_git
from postil.workspace.model import CheckedFiles, Fault, Glance, Status, Versions, WorkspaceInfo
from postil.workspace.repository import Repository

OLDEST_GIT = (2, 36)
"""Before it, `core.fsync` does not exist, and what git acknowledged may be lost with the power."""
LARGEST_READ = 1024 * 1024


class Overview:
    """The workspace as a whole. `find` raises NoRepository; the other three ask the composition root."""

    def __init__(
        self,
        find: Callable[[], Repository],
        parts: Callable[[], Sequence[str]],
        glances: Callable[[], list[tuple[str, str]]],
        state_damage: Callable[[], tuple[str, list[str]]],
    ) -> None:
        self._find = find
        self._parts = parts
        self._glances = glances
        self._state_damage = state_damage

    @reads("workspace_info", title="Workspace", shell="workspace info")
    def info(self) -> WorkspaceInfo:
        """Where this server works: repository root, branch, parts that are on, versions"""
        root, branch = self._place()
        versions = Versions(__version__, platform.python_version(), _git_version(root or os.getcwd()))
        return WorkspaceInfo(root, branch, list(self._parts()), versions)

    @reads("workspace_check", title="Check the tracked files", shell="workspace check", positional=("paths",))
    def check_files(
        self, paths: Annotated[tuple[str, ...], Meta(description="Only these files and folders", max_length=100)] = ()
    ) -> CheckedFiles:
        """Walk the tracked files; name those missing, unreadable, linked outside or with conflict markers left"""
        repository = self._find()
        listed = git_lines(
            repository.root, "ls-files", "-z", "--cached", "--deduplicate", "--", *paths, separator=b"\0"
        )
        names = [name for name in listed if name]
        doing = call.current()
        faults: list[Fault] = []
        for done, name in enumerate(names, 1):
            doing.check()
            fault = _fault(repository.root, name)
            if fault is not None:
                faults.append(fault)
            if done % 50 == 0 or done == len(names):
                doing.progress(done, len(names), f"{done} of {len(names)} files")
        return CheckedFiles(len(names), faults)

    @reads("workspace_status", title="Status", shell="status", tool=False)
    def status(self) -> Status:
        """Show all parts at a glance"""
        root, branch = self._place()
        return Status(root, branch, [Glance(part, says) for part, says in self._glances()])

    @resource("postil://workspace", name="Workspace", mime_type="application/json")
    def read_workspace(self) -> WorkspaceInfo:
        """Where this server works, as JSON"""
        return self.info()

    @prompt("workspace_overview", title="Overview of the workspace", complete={"part": "offered_parts"})
    def overview(self, part: Annotated[str, Meta(description="Only this part")] = "") -> str:
        """Look at what waits here: messages, comments, issues"""
        about = f"Here is a workspace that Postil serves.\n\n{self.info().text()}"
        said = [f"- {name}: {says}" for name, says in self._glances() if not part or name == part]
        now = "\n\nAt a glance:\n" + "\n".join(said) if said else ""
        return about + now + "\n\nTell me what waits for attention, most urgent first, and what you suggest to do next."

    def offered_parts(self, value: str) -> list[str]:
        """The parts whose name begins like this."""
        return [part for part in self._parts() if part.startswith(value)]

    @check("git")
    def git_is_recent(self) -> Finding:
        """Whether git is there and new enough to keep what it acknowledges."""
        version = _git_version(os.getcwd())
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
            found = self._find()
        except NoRepository as failure:
            return Finding("warning", failure.message, failure.advice)
        except Failure as failure:
            return Finding("error", failure.message, failure.advice)
        return Finding("ok", printable(found.root))

    @check("state")
    def state_is_sound(self) -> Finding:
        """Whether the state database is whole."""
        try:
            address, damage = self._state_damage()
        except Failure as failure:
            return Finding("error", failure.message, failure.advice)
        if damage:
            advice = "Move the file away (messages are in it), and restore it from a backup if there is one"
            return Finding("error", f"{address}: {'; '.join(damage[:3])}", advice)
        return Finding("ok", address)

    def _place(self) -> tuple[str | None, str | None]:
        try:
            found = self._find()
        except NoRepository:
            return None, None
        return printable(found.root), found.branch()


def _git_version(root: str) -> str:
    try:
        said = try_git(root, "version")
    except Failure:
        return ""
    return said.out.decode("utf-8", "replace").strip().removeprefix("git version ").partition(" ")[0]


def _fault(root: str, name: bytes) -> Fault | None:
    path = os.path.join(os.fsencode(root), name)
    shown = name.decode("utf-8", "backslashreplace")
    try:
        seen = os.lstat(path)
        if stat.S_ISLNK(seen.st_mode):
            inside = os.path.realpath(path).startswith(os.fsencode(root) + b"/")
            return None if inside else Fault(shown, "outside-link")
        if not stat.S_ISREG(seen.st_mode) or seen.st_size > LARGEST_READ:
            return None  # a submodule's folder; or too large to have been merged by hand
        with open(path, "rb") as file:
            line = _conflict_line(file.read(LARGEST_READ))
    except FileNotFoundError:
        return Fault(shown, "missing")
    except OSError:
        return Fault(shown, "unreadable")
    return Fault(shown, "conflict-markers", line) if line else None


def _conflict_line(content: bytes) -> int | None:
    """The line of a conflict's first marker, when the later two follow it."""
    if b"<<<<<<< " not in content or b"\0" in content[:8000]:
        return None
    opened: int | None = None
    halved = False
    for number, line in enumerate(content.split(b"\n"), 1):
        if line.startswith(b"<<<<<<< "):
            opened, halved = number, False
        elif opened and line.rstrip(b"\r") == b"=======":
            halved = True
        elif opened and halved and line.startswith(b">>>>>>> "):
            return opened
    return None
