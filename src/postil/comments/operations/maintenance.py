"""Keeping the comment files well: what is damaged, git's merges of them, and what `postil doctor` asks."""

from __future__ import annotations

import os
from typing import Annotated

from msgspec import Meta, Struct

from postil.comments.context import Desk
from postil.comments.operations.validation import only_in_the_shell
from postil.comments.sidecar.dialects import Unreadable
from postil.comments.sidecar.merge import merged
from postil.comments.sidecar.repair import Fault, faults
from postil.comments.storage.store import SUFFIX
from postil.core.check import Finding, check
from postil.core.failure import Failure, NotFound, StorageFailed
from postil.core.operation import reads, writes
from postil.workspace.files import atomic_write
from postil.workspace.git import run_git, try_git
from postil.workspace.paths import RelativePath

DRIVER = "postil-comments"
ATTRIBUTE = f"*.comments merge={DRIVER}"
_DRIVER_SETTINGS = {
    f"merge.{DRIVER}.name": "Postil's merge of comment files",
    f"merge.{DRIVER}.driver": "postil comments merge %O %A %B -- %P",
}


class Checked(Struct, frozen=True):
    """What is wrong with the sidecars."""

    faults: tuple[Fault, ...]
    files: int

    @property
    def exit_status(self) -> int:
        """7 while something is still wrong."""
        return 7 if any(not fault.fixed for fault in self.faults) else 0

    def text(self) -> str:
        if not self.faults:
            return f"{self.files} comment files, nothing wrong"
        return "\n".join(
            f"{fault.filePath}{SUFFIX}: {fault.problem}" + (f" — {fault.fixed}" if fault.fixed else "")
            for fault in self.faults
        )


class GitSetUp(Struct, frozen=True):
    """Whether git merges comment files with Postil."""

    attributes: bool
    driver: bool
    did: str

    def text(self) -> str:
        return self.did


class Merged(Struct, frozen=True):
    """A sidecar merged by the driver."""

    path: str

    def text(self) -> str:
        return ""


class Upkeep(Desk):
    """Comment files as files."""

    @reads("comments_check", title="Check the comment files")
    def checked(self) -> Checked:
        """Name the comment files that are damaged or that the extension would not take"""
        return Checked(tuple(faults(self.store, fix=False)), sum(1 for _ in self.store.paths()))

    @writes("comments_repair", title="Check and repair", shell="comments check", tool=False)
    def check_files(
        self, fix: Annotated[bool, Meta(description="Restore or set aside what is damaged")] = False
    ) -> Checked:
        """Name the comment files that are damaged; restore them or set them aside (--fix)"""
        only_in_the_shell()
        return Checked(tuple(faults(self.store, fix=fix)), sum(1 for _ in self.store.paths()))

    @check("comment files")
    def doctor_files(self) -> Finding:
        """Whether every sidecar can be read."""
        found = list(faults(self.store, fix=False))
        if not found:
            return Finding("ok", f"{sum(1 for _ in self.store.paths())} comment files can be read")
        named = "; ".join(f"{fault.filePath}{SUFFIX}: {fault.problem}" for fault in found[:5])
        return Finding("error", named, "Run `postil comments check --fix`")

    @check("comment merge driver")
    def doctor_driver(self) -> Finding:
        """Whether git merges sidecars without conflicts."""
        if not self.ground.git or not any(True for _ in self.store.paths()):
            return Finding("ok", "no comment files to merge")
        state = self._git_state()
        if state.attributes and state.driver:
            return Finding("ok", "git merges comment files with Postil")
        return Finding("warning", "git would merge comment files line by line", "Run `postil setup git`")

    @writes("comments_merge", shell="comments merge", positional=("base", "ours", "theirs", "path"), tool=False)
    def merge_files(
        self,
        base: Annotated[str, Meta(description="The common ancestor (%O)")],
        ours: Annotated[str, Meta(description="Our version, which becomes the result (%A)")],
        theirs: Annotated[str, Meta(description="Their version (%B)")],
        path: Annotated[str, Meta(description="The path in the repository (%P)")] = "",
    ) -> Merged:
        """Merge three versions of a comment file: git's merge driver"""
        only_in_the_shell()
        sides: list[bytes | None] = []
        for name in (base, ours, theirs):
            try:
                with open(name, "rb") as file:
                    sides.append(file.read() or None)
            except OSError as fault:
                raise StorageFailed(f"{name} cannot be read: {fault.strerror}") from fault
        try:
            result = merged((path or ours).removesuffix(SUFFIX), *sides)
        except Unreadable as fault:
            raise Failure(f"{path or ours} cannot be merged: {fault}", advice="Resolve it by hand") from None
        folder, name = os.path.split(os.path.abspath(ours))
        atomic_write(folder, RelativePath(name), result)
        return Merged(path or ours)

    @writes("comments_setup_git", shell="setup git", tool=False)
    def setup_git(
        self,
        check: Annotated[bool, Meta(description="Only say whether it is set up")] = False,
        remove: Annotated[bool, Meta(description="Undo it")] = False,
    ) -> GitSetUp:
        """Let git merge comment files with Postil, so that branches that add or edit comments never conflict"""
        only_in_the_shell()
        if not self.ground.git:
            raise NotFound("There is no git repository here", advice="Run it in a repository")
        state = self._git_state()
        if check:
            return state
        attributes = RelativePath(".gitattributes")
        lines = self._attributes()
        if remove:
            kept = [line for line in lines if line.strip() != ATTRIBUTE]
            if kept != lines:
                atomic_write(self.ground.root, attributes, "".join(f"{line}\n" for line in kept).encode())
            try_git(self.ground.root, "config", "--local", "--remove-section", f"merge.{DRIVER}")
            return GitSetUp(False, False, "git merges comment files line by line again")
        if not state.attributes:
            atomic_write(self.ground.root, attributes, "".join(f"{line}\n" for line in [*lines, ATTRIBUTE]).encode())
        for key, value in _DRIVER_SETTINGS.items():
            run_git(self.ground.root, "config", "--local", key, value)
        return GitSetUp(
            True,
            True,
            "git merges comment files with Postil now. Commit .gitattributes; everyone runs `postil setup git` once.",
        )

    def _git_state(self) -> GitSetUp:
        attributes = any(line.strip() == ATTRIBUTE for line in self._attributes())
        driver = try_git(self.ground.root, "config", "--get", f"merge.{DRIVER}.driver").status == 0
        yes = "git merges comment files with Postil"
        return GitSetUp(attributes, driver, yes if attributes and driver else "Not set up: run `postil setup git`")

    def _attributes(self) -> list[str]:
        try:
            with open(os.path.join(self.ground.root, ".gitattributes"), encoding="utf-8", errors="replace") as file:
                return file.read().splitlines()
        except OSError:
            return []
