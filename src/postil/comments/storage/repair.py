"""Finding what is wrong with sidecars, and setting it right without losing a byte of what was there.

A damaged file is never overwritten: a copy of it is set aside first, and what can be had back (from the sides of a
merge, the extension's newest backup, or the last commit) takes its place.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from postil.comments.failures import CommentFileFull, CommentTooLarge, SidecarDamaged, refuse_full, tell_problem
from postil.comments.git.blame import read_at
from postil.comments.sidecar.dialects import Unreadable
from postil.comments.sidecar.document import Sidecar
from postil.comments.sidecar.merge import merge_sidecars
from postil.comments.storage.doubled import find_home, give_own_id, join_comment
from postil.comments.storage.giants import read_to_change, refuse_merge
from postil.comments.storage.set_aside import set_aside
from postil.comments.storage.store import SUFFIX, Store, sidecar_path
from postil.core import call
from postil.core.failure import Failure
from postil.workspace.files import atomic_write, read_file, remove_file
from postil.workspace.git import read_blob, run_git
from postil.workspace.paths import RelativePath

INCOMPLETE = (
    "the extension does not take it as it is: fields that it demands are missing, or two comments have one id; "
    "`check --fix`, or the next comment in it, completes it"
)


NO_FILE = "it is a link or a pipe: it is not read, and its comments are missing until a file stands there"


class Fault(Struct, frozen=True, omit_defaults=True):
    """Something wrong with one sidecar, and what was done about it."""

    filePath: str
    problem: str
    fixed: str = ""
    other: str = ""
    """The other file that was changed with it."""
    byHand: bool = False
    """Whether nothing but a person can set it right."""

    @property
    def shown(self) -> str:
        """The file's name, for people; the cache is none."""
        return self.filePath if self.filePath.startswith("(") else f"{self.filePath}{SUFFIX}"


def find_faults(
    store: Store,
    *,
    fix: bool,
    note: Callable[[Sidecar], None] = lambda sidecar: None,
    bring_back: Callable[[RelativePath], None] = lambda path: None,
) -> Iterator[Fault]:
    """Yields every sidecar that is damaged, not what the extension takes, or holds a comment that another one holds.

    `note` is told of each that can be read; `bring_back` writes one again that is gone and that git has.
    """
    for path in store.paths(regular=False):
        yield Fault(path, NO_FILE, byHand=True)
    seen: dict[str, RelativePath] = {}
    copies: set[str] = set()
    paths = list(store.paths())
    for number, path in enumerate(paths):
        call.current().check()
        call.current().progress(number, len(paths), path)
        try:
            sidecar = store.read(path)
        except SidecarDamaged as damage:
            yield Fault(path, damage.problem, _restore(store, path, bring_back) if fix else "")
            if not fix or not store.has(path):
                continue
            sidecar = store.read(path)  # what came back of it may be in another file as well
        except Failure as fault:
            yield Fault(path, tell_problem(fault))
            continue
        note(sidecar)
        if not sidecar.writable:
            said = f"its version {sidecar.version!r} is not known here: it is read and never written"
            yield Fault(path, f"{said}. A newer Postil may know it", byHand=True)
        elif not sidecar.complete:
            yield Fault(path, INCOMPLETE, _complete(store, path) if fix else "")
        for comment in sidecar.comments:
            other = seen.setdefault(comment.id, path)
            if other != path:
                fixed = _separate(store, comment.id, (other, path), copies) if fix else ""
                if fixed:  # a third file is compared with the one that holds it now
                    seen[comment.id] = path if store.read(path).comment(comment.id) else other
                yield Fault(path, f"comment {comment.id} is also in {other}", fixed, other if fixed else "")


def _separate(store: Store, comment: str, paths: Sequence[RelativePath], copies: set[str]) -> str:
    """Make one of a comment that two branches left in two files; the comment of a copied file gets an id of its own.

    `copies` are the files that were seen to be one: to write a sidecar is to write its own name into it.
    """
    sidecars = [store.read(path) for path in paths]
    if not all(each.comment(comment) for each in sidecars):
        return "already repaired"
    if find_home(sidecars, comment):
        home = join_comment(store, comment, paths)
        return f"joined in {home}" if home else ""
    with store.locked():
        first, second = (read_to_change(store, path) for path in paths)
        # A sidecar says whose it is; a copy names what it was copied from.
        is_first = first.content.file != first.path and second.content.file == second.path
        copy = first if is_first or first.path in copies else second
        if not copy.comment(comment) or not copy.writable:
            return ""
        own = give_own_id(copy, comment)
        copies.add(copy.path)
        store.write(copy)
    return f"the one in {copy.path} is {own} now"


def _complete(store: Store, path: RelativePath) -> str:
    with store.locked():
        sidecar = read_to_change(store, path)
        store.finish(sidecar)
        refuse_full(path, len(content := sidecar.text()))
        atomic_write(store.tree.root, sidecar_path(path), content)
    return "completed: what the extension demands was added"


def _restore(store: Store, path: RelativePath, bring_back: Callable[[RelativePath], None]) -> str:
    with store.locked():
        try:
            store.read(path)
            return "already repaired"
        except SidecarDamaged:
            pass
        damaged = store.read_bytes(path) or b""
        aside = set_aside(store.tree, path, damaged)
        for source, content in _list_copies(store, path):
            if _is_sound(path, content):
                atomic_write(store.tree.root, sidecar_path(path), content)
                return f"restored from {source}; the damaged file is {aside}"
        remove_file(store.tree.root, sidecar_path(path))
    committed = read_at(store.tree, "HEAD", path + SUFFIX) if store.tree.git else None
    if committed is None or not _is_sound(path, committed):
        return f"set aside as {aside}: nothing was found to restore it from"
    bring_back(path)
    with store.locked():
        if store.has(path):
            return f"restored from the last commit, with what was written here since; the damaged file is {aside}"
        atomic_write(store.tree.root, sidecar_path(path), committed)
    return f"restored from the last commit; the damaged file is {aside}"


def _is_sound(path: RelativePath, content: bytes) -> bool:
    try:
        Sidecar(path, content)
    except Unreadable:
        return False
    return True


def _list_copies(store: Store, path: RelativePath) -> Iterator[tuple[str, bytes]]:
    if store.tree.git:
        stages = _read_stages(store, path)
        if 2 in stages and 3 in stages:
            try:
                refuse_merge(path, stages.get(1), stages[2], stages[3])
                yield "both sides of the merge", merge_sidecars(path, stages.get(1), stages[2], stages[3])
            except (Unreadable, CommentFileFull, CommentTooLarge):
                pass
    folder, _, name = path.rpartition("/")
    here = os.path.join(store.tree.root, folder)
    backups = [each for each in os.listdir(here) if each.startswith(f"{name}.backup-") and each.endswith(SUFFIX)]
    for backup in sorted(backups, reverse=True):
        inside = RelativePath(f"{folder}/{backup}" if folder else backup)
        try:
            yield f"the backup {backup}", read_file(store.tree.root, inside)
        except Failure:
            continue  # a link, or too large: the next one


def _read_stages(store: Store, path: RelativePath) -> dict[int, bytes]:
    """Returns the sides of an unfinished merge, as git's index holds them."""
    rows = run_git(store.tree.root, "ls-files", "-u", "-z", "--", path + SUFFIX).split(b"\0")
    found: dict[int, bytes] = {}
    for row in rows:
        head, _, _ = row.partition(b"\t")
        words = head.split()
        if len(words) == 3:
            side = read_blob(store.tree.root, words[1].decode())
            if side is not None:
                found[int(words[2])] = side
    return found
