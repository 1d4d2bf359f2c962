"""This host's clone of a shared workspace: made when it is missing, brought to what was recorded, and published.

While its host may write, the clone is what the workspace is. Whatever an earlier holder left in it without recording it
(files, ends of logs, moves in the middle) is taken away when the next turn begins. Not here: whose turn it is.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping

import msgspec

from postil.core import limits
from postil.core.failure import Unreachable
from postil.workspace.clones import snapshot
from postil.workspace.clones.snapshot import Snapshot
from postil.workspace.digest import blob_id
from postil.workspace.disk import read_whole
from postil.workspace.failures import GitTimedOut, LockBusy, UnsafePath
from postil.workspace.files import FileLock, atomic_write, make_folder, read_file, remove_file
from postil.workspace.git import NETWORK, read_blob, run_git, try_git
from postil.workspace.operations.checks import clean_leftovers
from postil.workspace.paths import RelativePath
from postil.workspace.repository import find_repository

Merge = Callable[[str, bytes | None, bytes | None, bytes | None], bytes]
"""Returns the comment file that holds what two sides hold: its path, its base, ours and theirs."""
_FETCH = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules")
_ASIDE = "postil-aside"
_SECONDS = 30.0
"""How long the remote may take for a write: one that takes longer is refused."""


class RemoteAway(Unreachable):
    """The shared repository of a workspace could not be reached, or refused what was sent."""

    def __init__(self, name: str, said: bytes) -> None:
        lines = [line for line in said.decode("utf-8", "replace").splitlines() if line.strip()]
        super().__init__(
            f"The shared repository of the workspace {name} did not answer: {(lines or ['no reason given'])[-1][:200]}",
            advice="Nothing was changed: try again in a moment; an operator looks at workspaces in the settings",
            status=503,
        )


class NotWhole(Unreachable):
    """What a workspace holds could not be put back in its place: nothing is recorded until it is."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"The comment files of the workspace {name} could not be put back in their place",
            advice="Nothing was changed: try again in a moment; an operator looks at the disk of this host",
            status=503,
        )


class SharedClone:
    """One clone. Used by one thread at a time."""

    def __init__(self, name: str, folder: str, remote: str, branch: str, merge: Merge) -> None:
        self.name, self.folder = name, folder
        self._remote, self._branch, self._merge = remote, branch, merge
        self._recorded = Snapshot()
        self._seen: dict[str, tuple[int, int, int]] = {}
        """The files as they were when they were last looked at: inode, size, time."""
        self.has_unsent_logs = False
        """Whether issues were recorded that people cannot fetch yet."""
        self._local = ""
        """The branch that is served, as its whole ref."""
        self._next, self._next_seen = self._recorded, self._seen
        self._apart: set[str] = set()
        """Recorded files that have no place beside the branch, where a link or a folder bears their name."""
        self._kept: dict[str, str] | None = None
        """Where our comment files are while the branch is brought up to date; None where they are in the work tree."""
        self._lock: FileLock | None = None

    def take(self) -> bool:
        """Take the clone for this process, for as long as it lives. Returns False where another process has it."""
        if self._lock is None:
            lock = FileLock(f"{self.folder}.lock", timeout=0.0)
            try:
                lock.__enter__()
            except LockBusy:
                return False
            self._lock = lock
        return True

    # -- a turn begins ------------------------------------------------------------------------------------------------

    def begin(self, head: str, head_number: int) -> None:
        """Bring the clone to what was recorded last; leave nothing else in it. Raises RemoteAway."""
        if not os.path.isdir(os.path.join(self.folder, ".git")):
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            run_git(os.path.dirname(self.folder), "init", "--quiet", self.folder)
        source = self._fetch(head_number if head else 0)
        shutil.rmtree(os.path.join(self.folder, ".git", "postil"), ignore_errors=True)
        shutil.rmtree(os.path.join(self.folder, ".git", "logs", "refs", "postil"), ignore_errors=True)
        if source:
            self._check_out(source)
        self._recorded = snapshot.read_snapshot(self.folder, head) if head else Snapshot()
        wanted = self._recorded.files if head else snapshot.list_blobs(self.folder, source) if source else {}
        wanted = {name: oid for name, oid in wanted.items() if oid}
        self._apart.clear()
        clean_leftovers(find_repository(self.folder), fix=True)
        wanted = self._put_files(wanted)
        self._kept = None
        snapshot.set_refs(self.folder, self._recorded.refs)
        self._recorded = msgspec.structs.replace(self._recorded, source=self._recorded.source or source, files=wanted)
        self.has_unsent_logs = bool(self._recorded.refs)
        if source:
            self._take_over(source)

    def follow(self) -> bool:
        """Bring the served branch up to date. Returns whether it had moved. What is ours stays, merged with theirs."""
        if self._kept is not None:  # the last time a disk failed: they are nowhere else
            self._put_back(self._kept)
        source = self._fetch(0)
        if not source or source == self._recorded.source:
            return False
        kept = self._set_aside()
        self._kept = kept
        try:
            self._check_out(source)
        finally:  # what is ours stays also where the branch cannot be checked out
            self._put_back(kept)
        self._take_over(source)
        return True

    def _set_aside(self) -> dict[str, str]:
        """Keep the comment files under other names, while git writes the work tree. Returns those names."""
        aside = os.path.join(self.folder, ".git", _ASIDE)
        shutil.rmtree(aside, ignore_errors=True)
        os.mkdir(aside, mode=0o700)
        kept = {name: f"{aside}/{number}" for number, name in enumerate(snapshot.list_files(self.folder))}
        for name, path in kept.items():
            try:
                os.link(os.path.join(self.folder, name), path, follow_symlinks=False)
            except OSError:  # a file system without links
                atomic_write(aside, RelativePath(os.path.basename(path)), self._read(name))
        return kept

    def _put_back(self, kept: Mapping[str, str]) -> None:
        """Make the comment files those that were kept, and no others; one after the other, so that nobody holds all."""
        if not self._recorded.commit:
            self._apart.clear()
        apart = sorted(self._apart)
        for name in snapshot.list_files(self.folder):
            if name not in kept:
                remove_file(self.folder, RelativePath(name))
        for name, path in kept.items():
            if not _is_same(os.path.join(self.folder, name), path):
                is_recorded = self._seen.get(name) == _look_at(path)
                self._write(name, read_whole(path, limits.FILE))
                if is_recorded and name not in self._apart:
                    self._seen[name] = self._look(name)
        for name in apart:
            self._write(name, read_blob(self.folder, f"{self._recorded.commit}:{name}"))
        self._kept = None
        shutil.rmtree(os.path.join(self.folder, ".git", _ASIDE), ignore_errors=True)

    def _fetch(self, head_number: int) -> str:
        """Fetch the branch, the logs that people pushed, and a snapshot. Returns the branch's commit."""
        ask = ("ls-remote", "--symref", self._remote, "HEAD", "refs/heads/*")
        listed = self._ask_remote(*ask).decode("utf-8", "replace").splitlines()
        named = (line.removeprefix("ref: ").partition("\t")[0] for line in listed if line.startswith("ref: "))
        branch = f"refs/heads/{self._branch}" if self._branch else next(named, "refs/heads/main")
        specs = ["+refs/postil/log/*:refs/postil/remote/origin/*"]
        exists = any(line.endswith(f"\t{branch}") for line in listed)
        if exists:
            specs.append(f"+{branch}:refs/postil/host/branch")
        if head_number:
            specs.append(f"+{self._name_ref(head_number)}:refs/postil/host/{head_number}")
        self._ask_remote(*_FETCH, self._remote, *specs)
        if not exists:
            return ""
        self._local = branch
        return snapshot.find_commit(self.folder, "refs/postil/host/branch")

    def _check_out(self, source: str) -> None:
        run_git(self.folder, "read-tree", "--reset", "-u", source)
        run_git(self.folder, "update-ref", self._local, source)
        run_git(self.folder, "symbolic-ref", "HEAD", self._local)

    def _take_over(self, source: str) -> None:
        """Take in what people committed to comment files of the branch since the last snapshot."""
        before = self._recorded.source
        if before == source:
            return
        base = snapshot.list_blobs(self.folder, before) if snapshot.find_commit(self.folder, before) else {}
        theirs = snapshot.list_blobs(self.folder, source)
        present = {*snapshot.list_files(self.folder)}
        moved = [name for name in sorted({*base, *theirs}) if base.get(name) != theirs.get(name)]
        sizes = snapshot.read_sizes(self.folder, {each.get(name) or "" for name in moved for each in (base, theirs)})
        for name in moved:
            was, new = (oid if (oid := each.get(name)) in sizes else None for each in (base, theirs))
            if new is None and (name in theirs or (name in base and was is None)):
                continue  # a link, a folder or a giant is, or was, no comment file: ours stays
            ours = blob_id(self._read(name), len(source)) if name in present else None
            size = sum(sizes.get(each or "", 0) for each in (was, new)) + (self._look(name)[1] if ours else 0)
            if ours == was or (ours is None and size > limits.MERGED):
                self._write(name, self._blob(new))
            elif ours != new and size <= limits.MERGED:  # else ours stays, and theirs in the commits it came with
                held = self._read(name) if ours else None
                self._write(name, self._merge(name, self._blob(was), held, self._blob(new)))
        self._recorded = msgspec.structs.replace(self._recorded, source=source)

    def _blob(self, oid: str | None) -> bytes | None:
        return next(snapshot.read_blobs(self.folder, [oid])) if oid else None

    def _put_files(self, blobs: Mapping[str, str]) -> dict[str, str]:
        """Make the comment files of the work tree these, and no others. Returns them, without giants."""
        for name in snapshot.list_files(self.folder):
            if name not in blobs:
                remove_file(self.folder, RelativePath(name))
        present = {*snapshot.list_files(self.folder)}
        held: dict[str, str] = {}
        for name, content in zip(blobs, snapshot.read_blobs(self.folder, blobs.values()), strict=True):
            if content is None:
                continue
            held[name] = blobs[name]
            if name not in present or self._read(name) != content:
                self._write(name, content)
        self._seen = {name: self._look(name) for name in held if name not in self._apart}
        return held

    # -- a change is published ----------------------------------------------------------------------------------------

    def find_changes(self) -> tuple[dict[str, bool], dict[str, str]]:
        """Returns the files that are not as they were recorded, whether each is still there, and where all logs end."""
        names = snapshot.list_files(self.folder)
        changed = [name for name in names if self._seen.get(name) != self._look(name)]
        gone = {*self._recorded.files, *self._seen}.difference(names, self._apart)
        return dict.fromkeys(changed, True) | dict.fromkeys(sorted(gone), False), snapshot.list_refs(self.folder)

    def has_changed(self) -> bool:
        """Returns whether anything is not as it was recorded."""
        changed, refs = self.find_changes()
        return bool(changed) or refs != self._recorded.refs

    def publish(self, number: int, by: str) -> str:
        """Send what has changed to the shared repository, under this number. Returns its commit; empty without change.

        It counts when it is recorded, not before. Raises RemoteAway.
        """
        if self._kept is not None:
            raise NotWhole(self.name)
        changed, refs = self.find_changes()
        if not changed and refs == self._recorded.refs:
            return ""
        if not self._recorded.commit:  # the first snapshot holds all
            changed = dict.fromkeys(snapshot.list_files(self.folder), True)
        seen = {name: self._look(name) for name, is_there in changed.items() if is_there}
        ref = f"refs/postil/host/{number}"
        contents = ((name, self._read(name) if is_there else None) for name, is_there in changed.items())
        commit = snapshot.write_snapshot(self.folder, self._recorded, contents, refs, ref, by)
        self._ask_remote("push", "--quiet", self._remote, f"+{ref}:{self._name_ref(number)}")
        files = {name: oid for name, oid in self._recorded.files.items() if name not in changed}
        files |= dict.fromkeys(seen, "")
        self._next = Snapshot(commit, self._recorded.source, refs, files)
        self._next_seen = {name: look for name, look in self._seen.items() if name not in changed} | seen
        return commit

    def accept(self) -> None:
        """What was published is recorded now."""
        self.has_unsent_logs = self.has_unsent_logs or self._next.refs != self._recorded.refs
        self._recorded, self._seen = self._next, self._next_seen

    def send_logs(self) -> None:
        """Send the logs of issues to where people fetch them: only what was recorded. Raises RemoteAway."""
        if self.has_unsent_logs:
            self._ask_remote("push", "--quiet", self._remote, *(f"{oid}:{r}" for r, oid in self._recorded.refs.items()))
            self.has_unsent_logs = False

    # -- small things -------------------------------------------------------------------------------------------------

    def _name_ref(self, number: int) -> str:
        return f"refs/postil/workspaces/{self.name}/{number}"

    def _ask_remote(self, *words: str) -> bytes:
        try:
            done = try_git(self.folder, *words, mode=NETWORK, timeout=_SECONDS)
        except GitTimedOut as late:
            raise RemoteAway(self.name, late.message.encode()) from late
        if done.status != 0:
            raise RemoteAway(self.name, done.err)
        return done.out

    def _look(self, name: str) -> tuple[int, int, int]:
        return _look_at(os.path.join(self.folder, name))

    def _read(self, name: str) -> bytes:
        return read_file(self.folder, RelativePath(name))

    def _write(self, name: str, content: bytes | None) -> None:
        inside = RelativePath(name)
        self._apart.discard(name)
        try:
            if content is None:
                remove_file(self.folder, inside)
                return
            if "/" in name:
                make_folder(self.folder, os.path.dirname(name))
            atomic_write(self.folder, inside, content)
        except UnsafePath:
            if name in self._recorded.files:
                self._apart.add(name)


def _look_at(path: str) -> tuple[int, int, int]:
    found = os.stat(path, follow_symlinks=False)
    return found.st_ino, found.st_size, found.st_mtime_ns


def _is_same(path: str, kept: str) -> bool:
    """Whether git has left a file alone."""
    try:
        return os.path.samestat(os.lstat(path), os.lstat(kept))
    except OSError:
        return False
