"""Sidecars on disk: finding, reading, and changing them under a lock.

Every change reads the file as it is now, under a lock that all processes of this workspace share, and replaces it
durably. A file that cannot be understood is never written: SidecarDamaged names it and it stays as it is.
"""

from __future__ import annotations

import os
import re
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TypeVar, cast

from postil.comments.clock import new_id, now
from postil.comments.failures import FileAccessDenied, InvalidFilePath, SidecarDamaged, refuse_full
from postil.comments.model import Addition
from postil.comments.sidecar.dialects import Unreadable
from postil.comments.sidecar.document import Sidecar, is_emptied
from postil.comments.source_tree import SourceTree
from postil.comments.storage.giants import refuse_giants, refuse_grown, refuse_merge
from postil.comments.storage.group_commit import ClaimedAdd, PendingAdd, claim_pending
from postil.comments.storage.last_written import MOST_KEPT, LastWritten, SweptFolders, has_stayed, look_at_index
from postil.comments.storage.write_log import WriteLog
from postil.core import call, limits
from postil.core.failure import Failure
from postil.workspace.digest import blob_id
from postil.workspace.failures import FileMissing, FileTooLarge, FileUnreadable, UnsafePath
from postil.workspace.files import Content, FileLock, atomic_write, holds_exactly, read_file, remove_file
from postil.workspace.paths import RelativePath

SUFFIX = ".comments"
LARGEST_SIDECAR = limits.FILE
LOCK_PATIENCE = 120.0
LONGEST_SERVICE = 0.15
"""Seconds that a process goes on writing for others before it answers its own caller."""
A_MOMENT = 0.002
HALF_WRITTEN = 0.2
"""Seconds for which a sidecar that cannot be understood is read again."""
A_WHILE = 0.01
LARGEST_EMPTY = 700
"""Bytes of a sidecar in which there may be no comment; a larger one need not be looked at."""
STILL_NEW = 5.0
MOST_FOLDERS = 20_000
"""Folders that are looked in where there is no repository."""
MOST_MEETINGS = 20
"""How often a write begins anew because another program wrote the same file."""
_BACKUP = re.compile(r"\.backup-\d{4}-\d\d-\d\dT[\d-]+Z\.comments$")
_SKIPPED_FOLDERS = frozenset({".git", "node_modules", ".venv", ".tox", "__pycache__"})

T = TypeVar("T")


def sidecar_path(path: str) -> RelativePath:
    """Returns the sidecar of a source file."""
    return RelativePath(path + SUFFIX)


_NOTHING = (0, 0, 0, 0)


class _Met(Exception):
    """Another program wrote the file between our reading and our writing."""


class _Change:
    """A change that a thread waits for, and its outcome. An addition's `change` is what comes before it."""

    def __init__(self, change: Callable[[Sidecar], object], addition: Addition | None = None) -> None:
        self.change = change
        self.addition = addition
        self.answer: object = None
        self.fault: Exception | None = None
        self.done = False


class Store:
    """The sidecars of one workspace."""

    def __init__(self, tree: SourceTree) -> None:
        self.tree = tree
        base = os.path.join(tree.folder, f"comments-{tree.key}")
        self._waiting_folder, self._lock, self._journal = f"{base}.waiting", f"{base}.lock", f"{base}.move"
        self.log = WriteLog(f"{base}.log")
        self._mutex = threading.Lock()
        self._waiting: dict[str, list[_Change]] = {}
        self._turns: dict[str, threading.Lock] = {}
        self._read_at = "", _NOTHING  # the file that is being changed, as it was before it was read
        self._last = LastWritten()
        self._swept = SweptFolders()
        self._told = False
        self.taken_along: dict[str, int] = {}

    def read(self, path: RelativePath) -> Sidecar:
        """Returns the sidecar of a source file; an empty one when there is none.

        One that cannot be understood and is new is read again for a moment: another program is writing it.
        """
        until = time.monotonic() + HALF_WRITTEN
        while True:
            try:
                return self.parse(path, self.read_bytes(path))
            except SidecarDamaged:
                if time.monotonic() >= until or not self.is_new(path):
                    raise
            time.sleep(A_WHILE)

    def is_new(self, path: RelativePath) -> bool:
        """Whether a sidecar was written just now, or vanished."""
        try:
            seen = os.stat(os.path.join(self.tree.root, sidecar_path(path)), follow_symlinks=False)
        except OSError:
            return True
        return abs(time.time() - seen.st_mtime) < STILL_NEW

    def parse(self, path: RelativePath, data: bytes | None) -> Sidecar:
        """Returns the sidecar from content that was read already. Raises SidecarDamaged."""
        try:
            return Sidecar(path, data)
        except Unreadable as fault:
            raise SidecarDamaged(path, str(fault)) from None

    def read_bytes(self, path: RelativePath) -> bytes | None:
        """Returns the sidecar's content, or None when there is none."""
        try:
            return read_file(self.tree.root, sidecar_path(path), LARGEST_SIDECAR)
        except Failure as fault:
            return _unless_missing(path, fault)

    def has(self, path: RelativePath) -> bool:
        """Whether a source file has a sidecar."""
        return self.tree.stat(path + SUFFIX) != ""

    def change(self, path: RelativePath, change: Callable[[Sidecar], T]) -> T:
        """Change one sidecar under the lock. Returns what `change` returned, when the file is safe on disk.

        Calls of several threads that wait for the same file are made together, with one write.
        """
        return cast(T, self._submit(path, _Change(change)))

    def add(self, path: RelativePath, addition: Addition, prepare: Callable[[Sidecar], object]) -> str:
        """Add a comment to a sidecar after `prepare`. Returns the id of its marker, when it is safe on disk.

        Additions of several processes that wait for the same file are made together, too.
        """
        return str(self._submit(path, _Change(prepare, addition)))

    def _submit(self, path: RelativePath, mine: _Change) -> object:
        with self._mutex:
            self._waiting.setdefault(path, []).append(mine)
            turn = self._turns.setdefault(path, threading.Lock())
        with turn:
            if not mine.done:
                with self._mutex:
                    batch = self._waiting.pop(path, [])
                    if len(batch) > 1 and self.tree.size(path + SUFFIX) > limits.COMMENTS_HERE:  # each notes megabytes
                        left = [each for each in batch if each is not mine and not each.addition]
                        batch = [each for each in batch if each not in left]
                        self._waiting.update({path: left} if left else {})
                self._change_together(path, batch)
        if mine.fault is not None:
            raise mine.fault
        return mine.answer

    def _change_together(self, path: RelativePath, batch: list[_Change]) -> None:
        left, name = list(batch), sidecar_path(path)
        pending: list[tuple[_Change, PendingAdd]] = []

        def written_by_another() -> bool:
            if not pending:
                pending.extend(
                    (each, PendingAdd(self._waiting_folder, path, each.addition)) for each in batch if each.addition
                )
            for each, file in pending:
                file.put()
                if each in left and (marker := file.marker()):
                    each.answer = marker
                    left.remove(each)
            return not left

        def pause(seconds: float) -> None:
            waiting = next((file for each, file in pending if each in left), None)
            waiting.wait(seconds) if waiting else time.sleep(seconds)

        try:
            with FileLock(self._lock, LOCK_PATIENCE, written_by_another, self.tree.root, pause) as lock:
                if not lock.held or (any(file.is_waiting for _, file in pending) and written_by_another()):
                    return
                if os.path.exists(self._journal):
                    self._finish_move()
                while left:
                    self._read_at = path, self._identity(path)
                    try:  # as in `read`, written out: the way of every new comment
                        if len(data := read_file(self.tree.root, name, LARGEST_SIDECAR)) > limits.CHANGED_COMMENT:
                            refuse_giants(path, data)
                        sidecar = self._last.take(path, data) or self.parse(path, data)
                    except SidecarDamaged:
                        sidecar = self.read(path)
                    except Failure as fault:
                        sidecar = self.parse(path, _unless_missing(path, fault))
                    if any(file.was_lost for _, file in pending) and _find_written(sidecar, left):
                        continue
                    refused, others = self._change_all(path, sidecar, left)
                    if refused is None:
                        self._last.keep(sidecar, written := self.write(sidecar))
                        left = []
                        for one, marker in others:
                            one.answer(marker)
                        if others and written is not None:  # else there is more in the file than we know
                            self._serve(path, sidecar, others[0][0].addition.blob)
                        break
                    left.remove(refused)  # and begin again: it may have changed a part of it
        except Exception as fault:  # noqa: BLE001 - handed to everyone who waits, each raises it
            for each in left:
                each.fault = fault
        finally:
            for _, file in pending:
                file.take_back()
            for each in batch:
                each.done = True

    def _serve(self, path: RelativePath, sidecar: Sidecar, blob: str) -> None:
        """Go on adding what other processes wait for, for a moment: each of them would have to read the file again.

        A program that does not know the lock may write, too: then the file is not what we wrote, and has to be read.
        """
        until = time.monotonic() + LONGEST_SERVICE
        ours = self._identity(path)
        while time.monotonic() < until and path not in self._waiting:
            time.sleep(A_MOMENT)
            theirs = list(claim_pending(self._waiting_folder, path, blob))
            if not theirs or self._identity(path) != ours:
                return
            self._last.keep(sidecar, None)
            try:
                markers = sidecar.add_all([each.addition for each in theirs])
                content, index = sidecar.text(), look_at_index(self.tree.git_dir)
                refuse_full(path, len(content))
                atomic_write(self.tree.root, sidecar_path(path), content, lambda mine=ours: self._meet(path, mine))
                if not has_stayed(self.tree.git_dir, index, partial(_holds, self, path, content)):
                    return
            except (Failure, _Met):
                return  # it is theirs to fail: each of them tries by itself
            self._last.keep(sidecar, content)
            self._note(sidecar)
            ours = self._identity(path)
            for one, marker in zip(theirs, markers, strict=True):
                one.answer(marker)

    def _identity(self, path: RelativePath) -> tuple[int, int, int, int]:
        """Returns what no other content of the file has."""
        try:
            seen = os.stat(os.path.join(self.tree.root, sidecar_path(path)), follow_symlinks=False)
        except OSError:
            return _NOTHING
        return (seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns)

    def _change_all(
        self, path: RelativePath, sidecar: Sidecar, batch: Sequence[_Change]
    ) -> tuple[_Change | None, list[tuple[ClaimedAdd, str]]]:
        """Make all changes. Returns the first that was refused, or what was added for other processes."""
        by_version: dict[str, list[tuple[_Change, Addition]]] = {}
        for each in batch:
            if each.addition is None or each.addition.blob not in by_version:
                try:
                    each.answer = each.change(sidecar)
                    if sidecar.longest[0] > limits.CHANGED_COMMENT:
                        refuse_grown(sidecar)
                except Failure as fault:
                    each.fault = fault
                    return each, []
            if each.addition is not None:
                by_version.setdefault(each.addition.blob, []).append((each, each.addition))
        others: list[tuple[ClaimedAdd, str]] = []
        for blob, some in by_version.items():
            own = {addition.comment.id for _, addition in some}
            claimed = claim_pending(self._waiting_folder, path, blob) if self._others_wait() else ()
            theirs = [each for each in claimed if each.addition.comment.id not in own]
            markers = sidecar.add_all([*(addition for _, addition in some), *(each.addition for each in theirs)])
            for (each, _), marker in zip(some, markers, strict=False):
                each.answer = marker
            others += zip(theirs, markers[len(some) :], strict=True)
        return None, others

    def _others_wait(self) -> bool:
        try:
            return bool(os.listdir(self._waiting_folder))
        except OSError:
            return False

    @contextmanager
    def locked(self) -> Generator[None]:
        """Hold the workspace's write lock (not re-entrant)."""
        with FileLock(self._lock, LOCK_PATIENCE, folder=self.tree.root):
            if os.path.exists(self._journal):
                self._finish_move()
            yield

    def _finish_move(self) -> None:
        from postil.comments.storage.move_journal import finish_interrupted  # a process died while it moved a comment

        finish_interrupted(self)

    def write(self, sidecar: Sidecar) -> bytes | None:
        """Put a changed sidecar in its place; the caller holds the lock. An unchanged one is left alone.

        Returns the sidecar's text when the file is exactly that now.
        """
        self.refuse_unknown(sidecar)
        if not sidecar.changed:
            return sidecar.original
        path = RelativePath(sidecar.path)
        begin: Callable[[Store, Sidecar], bool] | None = None
        if not sidecar.original:
            from postil.comments.storage.first_write import refuse_outside, take_along  # only where there is none

            refuse_outside(self, path)
            begin = take_along
        self.finish(sidecar)
        sidecar.name_source()
        written = None if begin and begin(self, sidecar) else self._replace(path, sidecar)
        self._note(sidecar)
        self._swept.sweep(self.tree.root, path.rpartition("/")[0])
        return written

    def _note(self, sidecar: Sidecar) -> None:
        """Keep what was written, for the case that another program takes it out again."""
        known = sidecar.original if self.tree.git and sidecar.original is not self._last.content else None
        base = blob_id(known, self.tree.id_width) if known else ""  # git may have put it there
        self.log.note(sidecar.path, now(), sidecar.steps, base)
        sidecar.steps.clear()

    def _replace(self, path: RelativePath, sidecar: Sidecar) -> bytes | None:
        """Replace a sidecar. Returns its text when the file is exactly that now.

        What a program that does not know the lock wrote since it was read is merged, not lost.
        """
        name, base, content = sidecar_path(path), sidecar.original, sidecar.pieces()
        if (size := sum(map(len, content))) <= MOST_KEPT:  # else nobody makes one of them
            content = b"".join(content)
        else:
            refuse_full(path, size)
        own = content
        mine, self._read_at = self._read_at, ("", _NOTHING)
        seen = mine[1] if mine[0] == path else None
        for _ in range(MOST_MEETINGS):
            if seen is None:
                seen = self._identity(path)
                if not _holds(self, path, base):
                    there = self.read(path).original  # when it is whole: its writer may be at it
                    content, base = self._merge(path, base, _join(content), there), there
            try:
                is_short = isinstance(content, bytes) and len(content) < LARGEST_EMPTY
                if is_short and content == own and is_emptied(sidecar):
                    self._meet(path, seen)
                    remove_file(self.tree.root, name)
                    return None
                index = look_at_index(self.tree.git_dir)
                atomic_write(self.tree.root, name, content, lambda seen=seen: self._meet(path, seen))
                if has_stayed(self.tree.git_dir, index, partial(_holds, self, path, content)):
                    return content if content is own and isinstance(content, bytes) else None
                seen = None
            except _Met:
                seen = None
        raise SidecarDamaged(path, "another program writes it all the time")

    def _merge(self, path: RelativePath, base: bytes | None, ours: bytes, theirs: bytes | None) -> bytes:
        from postil.comments.sidecar.merge import merge_sidecars  # only where two programs met

        refuse_merge(path, base, ours, theirs)
        try:
            merged = ours if theirs is None else merge_sidecars(path, base, ours, theirs)
        except Unreadable as fault:
            raise SidecarDamaged(path, str(fault)) from None
        refuse_full(path, len(merged))
        return merged

    def _meet(self, path: RelativePath, ours: tuple[int, int, int, int]) -> None:
        """Raises _Met when the file is not the one that was read."""
        if self._identity(path) != ours:
            raise _Met

    def refuse_unknown(self, sidecar: Sidecar) -> None:
        """A version we do not know is read and never written, and no comment that could not be changed again."""
        if not sidecar.writable:
            advice = f"{sidecar.path}.comments is read and never written here. Update Postil: a newer one may know it"
            raise SidecarDamaged(sidecar.path, f"its version {sidecar.version!r} is not known here", advice)
        if sidecar.longest[0] > limits.CHANGED_COMMENT:
            refuse_grown(sidecar)

    def finish(self, sidecar: Sidecar) -> None:
        """Add what the extension demands of a sidecar; nothing is known of the lines of an unreadable source."""
        if sidecar.complete:
            return
        try:
            lines = self.tree.source(RelativePath(sidecar.path)).lines
        except Failure:
            lines = ()
        from postil.comments.storage.demanded_texts import DemandedTexts  # only for files of other programs

        sidecar.finish(DemandedTexts(lines).at, now(), new_id)

    def paths(self, *, regular: bool | None = True) -> Iterator[RelativePath]:
        """Yields every source path that has a sidecar, in order of name. Backups of the extension are none.

        Not `regular`: those whose sidecar is a link or a pipe, which is never read; None: these as well.
        """
        yield from (RelativePath(path) for path in sorted(self._walk("", regular=regular)))

    def _walk(self, folder: str, *, regular: bool | None = True) -> Iterator[str]:
        """Yields them; outside of a repository, which may be all of a disk, of so many folders, the nearest first."""
        stack = deque([folder])
        left = sys.maxsize if self.tree.git else MOST_FOLDERS
        while stack:
            if not left:
                if not self._told:
                    self._told = True
                    said = "This is no repository, and has very many folders: comments were looked for in the first"
                    call.current().log("warning", f"{said} {MOST_FOLDERS} alone. Run it in a folder further down")
                return
            left -= 1
            inside = stack.popleft()
            try:
                entries = os.scandir(os.path.join(self.tree.root, inside))
            except OSError:
                continue
            with entries:
                for entry in entries:
                    if not is_text(entry.name):
                        continue  # a name that is not UTF-8 can be neither sent nor written into a sidecar
                    path = f"{inside}/{entry.name}" if inside else entry.name
                    if entry.is_dir(follow_symlinks=False):
                        if entry.name not in _SKIPPED_FOLDERS:
                            stack.append(path)
                    elif is_sidecar(entry.name) and regular in (None, entry.is_file(follow_symlinks=False)):
                        yield path.removesuffix(SUFFIX)


def _find_written(sidecar: Sidecar, left: list[_Change]) -> bool:
    """Take out the additions that another process has written already. Returns whether there were some."""
    there = {comment.id: comment.markerId for comment in sidecar.comments}
    written = [each for each in left if each.addition is not None and each.addition.comment.id in there]
    for each in written:
        assert each.addition is not None
        each.answer = there[each.addition.comment.id]
        left.remove(each)
    return bool(written)


def _holds(store: Store, path: RelativePath, content: Content | None) -> bool:
    """Whether a sidecar is exactly this; None is that there is none."""
    if content is None:
        return store.read_bytes(path) is None
    try:
        return holds_exactly(store.tree.root, sidecar_path(path), content)
    except Failure:
        return False


def _join(content: Content) -> bytes:
    return content if isinstance(content, bytes) else b"".join(content)


def _unless_missing(path: RelativePath, fault: Failure) -> None:
    """Raises what the contract says of a sidecar that cannot be read; one that is missing is no failure."""
    if isinstance(fault, UnsafePath | FileUnreadable | FileTooLarge):
        advice = "Take comments out of it, bring back an older one with git, or move it away"
        large = isinstance(fault, FileTooLarge)
        raise FileAccessDenied(path + SUFFIX, fault.message, advice if large else "") from None
    if not isinstance(fault, FileMissing):
        raise fault


def is_sidecar(name: str) -> bool:
    """Whether a file name is that of a sidecar: not a backup, and not the sidecar of a sidecar."""
    if not name.endswith(SUFFIX) or name == SUFFIX or name.endswith(SUFFIX * 2):
        return False
    return _BACKUP.search(name) is None


def refuse_unlisted(path: str) -> None:
    """Raises InvalidFilePath for a source in a folder that is never searched: a comment there would be invisible."""
    if hidden := next((part for part in path.split("/")[:-1] if part in _SKIPPED_FOLDERS), ""):
        advice = "Comment on a file outside of such folders; what they hold is made by tools"
        raise InvalidFilePath(path, f"comments in {hidden} are not listed, so none are added there", advice)


def skipped_folder(name: str) -> bool:
    """Whether a folder holds no sources of this workspace."""
    return name in _SKIPPED_FOLDERS


def is_text(name: str) -> bool:
    """Whether a name can be sent: one of other bytes than UTF-8 is a file without comments."""
    return name.isprintable() or not any("\ud800" <= letter <= "\udfff" for letter in name)
