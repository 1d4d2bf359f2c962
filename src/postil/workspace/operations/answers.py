"""What the workspace part answers."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from postil.core.answer import Answer


class Versions(Struct, frozen=True):
    """The versions that matter when something is asked about."""

    postil: str
    python: str
    git: str


class WorkspaceInfo(Answer, frozen=True):
    """Where we are: `root` and `branch` are null outside a repository and on a detached HEAD."""

    root: str | None
    branch: str | None
    parts: list[str]
    versions: Versions

    def for_model(self) -> str:
        place = f"Repository: {self.root}" if self.root else "Not inside a git repository"
        lines = [place]
        if self.root:
            lines.append(f"Branch: {self.branch or 'none (detached HEAD)'}")
        lines.append(f"Parts: {', '.join(self.parts)}")
        known = self.versions
        lines.append(f"Versions: Postil {known.postil}, Python {known.python}, git {known.git or 'not found'}")
        return "\n".join(lines)


class Glance(Struct, frozen=True):
    """One part's line in `postil status`."""

    part: str
    says: str


class Status(Answer, frozen=True):
    """All parts at a glance."""

    root: str | None
    branch: str | None
    glances: list[Glance]
    unheeded: str | UnsetType = UNSET
    """What is said of variables of the environment that lead git to another repository than this."""

    def for_model(self) -> str:
        place = f"{self.root} on {self.branch or 'a detached HEAD'}" if self.root else "not inside a git repository"
        if self.unheeded:
            place += f" ({self.unheeded}: name the folder with -C)"
        width = max((len(glance.part) for glance in self.glances), default=0)
        return "\n".join([place, *(f"{glance.part:<{width}}  {glance.says}" for glance in self.glances)])


class Fault(Struct, frozen=True):
    """Something wrong with one tracked file."""

    path: str
    kind: Literal["missing", "conflict-markers", "unmerged", "unreadable", "outside-link"]
    line: int | None = None


class CheckedFiles(Answer, frozen=True):
    """What a walk over the tracked files found."""

    files: int
    faults: list[Fault]

    @property
    def exit_status(self) -> int:
        """The shell's status: faults are worth noticing in a script."""
        return 1 if self.faults else 0

    def for_model(self) -> str:
        counted = "1 tracked file" if self.files == 1 else f"{self.files} tracked files"
        if not self.faults:
            return f"{counted}, all in order"
        found = [f"{fault.path}{f':{fault.line}' if fault.line else ''}: {_SAYS[fault.kind]}" for fault in self.faults]
        return "\n".join([f"{counted}, {len(self.faults)} with a fault", *found])


class Cleaned(Answer, frozen=True):
    """Temporary files that killed processes left, and whether they were removed."""

    files: tuple[str, ...]
    removed: bool = False

    def for_model(self) -> str:
        if not self.files:
            return "Nothing was left by killed processes"
        what = f"{len(self.files)} temporary {'file' if len(self.files) == 1 else 'files'} of killed processes"
        return "\n".join([f"{what}, removed" if self.removed else f"{what}; --fix removes them", *self.files])


_SAYS = {
    "missing": "tracked, but not in the work tree",
    "conflict-markers": "has conflict markers left",
    "unmerged": "not merged yet: `git add` it when it is right, or `git rm` it",
    "unreadable": "cannot be read",
    "outside-link": "is a symlink that leads out of the repository",
}
