"""What is looked at before a sidecar is begun: git may hold one that is not in the work tree.

The next commit would lose what that holds. One that a sparse checkout leaves out is not begun; of one that somebody
deleted without git (`rm`) the comments are taken along, but for those that were deleted or moved away here; in the
middle of a merge those of both sides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from postil.comments.failures import CommentFileFull, CommentTooLarge, FileAccessDenied, refuse_full
from postil.comments.git.outside import advise_outside
from postil.comments.git.taken_out import SUFFIX, Staged, find_commit_time, read_staged
from postil.comments.sidecar.dialects import Unreadable
from postil.comments.sidecar.document import Sidecar
from postil.comments.sidecar.merge import merge_sidecars
from postil.comments.source_tree import tell_ignored
from postil.comments.storage.giants import refuse_giants, refuse_merge
from postil.comments.storage.last_written import has_stayed, look_at_index
from postil.core.failure import Failure
from postil.workspace.files import atomic_write
from postil.workspace.paths import RelativePath

if TYPE_CHECKING:
    from postil.comments.storage.store import Store


class _Came(Exception):
    """Another program made the file meanwhile."""


def refuse_outside(store: Store, path: str) -> None:
    """A sidecar that a sparse checkout leaves out is not begun anew."""
    tree = store.tree
    if advice := advise_outside(tree.root, tree.git_dir, path + SUFFIX):
        raise FileAccessDenied(path + SUFFIX, "git holds it, and it is not here", advice)


def take_along(store: Store, sidecar: Sidecar) -> bool:
    """Write a new sidecar with the comments that git holds of it. Returns whether there are any; else none is written.

    The caller holds the lock. A git that does not say what it has is no git that has nothing: raises its Failure.
    """
    path = RelativePath(sidecar.path)
    staged = read_staged(store.tree, path)
    try:
        content = _join(path, staged)
        there = store.parse(path, content) if content else None
    except (CommentTooLarge, CommentFileFull):
        raise
    except (Failure, Unreadable):
        return False  # it is damaged, and says nothing
    if there is None:
        return False
    store.refuse_unknown(there)
    _take_out(store, there)
    if not there.comments:
        return False
    merged = merge_sidecars(path, None, there.text(), sidecar.text())
    refuse_full(path, len(merged))

    def look_again() -> None:
        if store.has(path):
            raise _Came

    name, index = RelativePath(path + SUFFIX), look_at_index(store.tree.git_dir)
    try:
        atomic_write(store.tree.root, name, merged, look_again)
    except _Came:
        return False
    if not has_stayed(store.tree.git_dir, index, lambda: store.read_bytes(path) == merged):
        return False  # a git put its own there: the comment is merged into that
    store.taken_along[path] = len(there.comments)
    return True


def _join(path: RelativePath, staged: Staged) -> bytes | None:
    """Returns what git's index has of a sidecar; of a merge that nobody concluded what both sides have."""
    for each in staged:
        refuse_giants(path, each)
    if staged.ours and staged.theirs:
        refuse_merge(path, *staged)
        return merge_sidecars(path, staged.base, staged.ours, staged.theirs)
    return staged.whole or staged.ours or staged.theirs


def _take_out(store: Store, there: Sidecar) -> None:
    """Take out what was deleted here, or moved to another file, since it was committed."""
    left: dict[str, str] = {}
    with store.log.open() as log:
        for row in log.rows():
            if row.path == there.path:
                left.pop(row.id, None)
                if not row.has_comment:
                    left[row.id] = row.at
    committed = find_commit_time(store.tree, there.path) if left else ""
    for name, at in left.items():
        found = there.comment(name)
        if found and at > max(committed, found.updated or found.created):
            there.remove(name)


def tell_first(store: Store, paths: Sequence[str]) -> list[str]:
    """Returns what has to be known of comment files that were perhaps begun now."""
    said = tell_ignored(store.tree, paths)
    for path in paths:
        if count := store.taken_along.pop(path, 0):
            those, them = "comment that git has of it was", "it"
            if count > 1:
                those, them = f"{count} comments that git has of it were", "them"
            said.append(
                f"{path}{SUFFIX} was gone from the work tree. The {those} taken along, so that the next commit does "
                f"not lose {them}; if that was meant, delete {them}"
            )
    return said
