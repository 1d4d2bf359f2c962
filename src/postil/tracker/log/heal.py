"""Mending logs: what git lost or somebody rewrote is looked for everywhere and appended to one's own log again.

Everywhere: the remotes, other refs, reflogs, objects that nothing names any more, and the index, which may hold the
last copy. Nothing is deleted before its replacement has been read back.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from postil.core.failure import Failure
from postil.tracker.events import decode
from postil.tracker.log.format import (
    LogDamaged,
    is_ancestor,
    open_objects,
    parse_commit,
    read_whole_log,
    read_whole_logs,
)
from postil.tracker.log.refs import KEPT, Tip, is_own, list_logs
from postil.tracker.log.replica import make_replica, read_replica
from postil.tracker.log.salvage import REFLOG_MESSAGE, find_surviving, read_reflog, walk
from postil.tracker.text import format_count
from postil.workspace.git import DURABLE, NETWORK, run_git, try_git

if TYPE_CHECKING:
    from postil.tracker.store import Store

_LARGEST_MESSAGE = 64 << 20


def heal(store: Store, damaged: Sequence[Tip]) -> list[str]:
    """Bring back what these logs and those that were rewritten have lost. Returns what was done, in words."""
    root = store.repository.root
    held = _read_index(store)
    done: list[str] = []
    if damaged:
        _fetch_objects(store)
        still = [tip for tip in damaged if not _is_whole(root, tip)]
        done += [f"{tip.ref}: the missing objects came from a remote" for tip in damaged if tip not in still]
        damaged = still
    kept = [tip for tip in list_logs(root) if tip.ref.startswith(KEPT)]
    intact = [tip for tip in list_logs(root) if tip not in damaged and tip not in kept]
    present = {line for tip in intact for line in _read_lines(root, tip)}
    found = dict.fromkeys(held)
    for tip in (*damaged, *kept):
        found.update(dict.fromkeys(_read_lines(root, tip)))
    if damaged:
        found.update(dict.fromkeys(_read_strays(root, {tip.replica for tip in damaged})))
    lost = [line for line in found if line not in present and decode(line) is not None]
    mine = read_replica(store.repository)
    if mine is not None and any(is_own(tip, mine.id) for tip in damaged):
        make_replica(store.repository)  # a log with a hole cannot be pushed: go on in a new one
    if lost:
        with store.transaction() as tx:
            for line in lost:
                tx.copy(line)
        done.append(f"{format_count(len(lost), 'event')} appended to this clone's own log again")
    back = {
        line for tip in list_logs(root) if tip not in damaged and tip not in kept for line in _read_lines(root, tip)
    }
    if all(line in back for line in lost):
        for tip in (*damaged, *kept):
            run_git(root, "update-ref", "-d", "--end-of-options", tip.ref, mode=DURABLE)
            done.append(f"{tip.ref} is gone: all that could be read of it is in other logs")
    return done


def heal_rewritten(store: Store) -> int:
    """Append the events that a rewritten ref lost, whoever wrote them. Returns how many there were.

    Somebody who can force-push may show a log to some clones and another to the rest: what any of them has seen, all
    get. A clone that never wrote has no log to append to; it keeps what it saw for itself.
    """
    root = store.repository.root
    mine = read_replica(store.repository)
    if mine is None:
        return 0
    store.refresh()
    found = list_logs(root)
    own = [tip for tip in found if is_own(tip, mine.id)]
    kept = [tip for tip in found if tip.ref.startswith(KEPT)]
    ends = [*(tip.oid for tip in kept), *(old for tip in own for old in _find_rewritten(root, tip))]
    if not ends:
        return 0
    present = set(_read_all(root, [tip for tip in found if not tip.ref.startswith(KEPT)]))
    lines = dict.fromkeys(_read_all(root, [Tip("", end, mine.id) for end in ends]))
    lost = [line for line in lines if line not in present and decode(line) is not None]
    if lost:
        with store.transaction() as tx:
            for line in lost:
                tx.copy(line)
    if kept:  # what they held is in other logs now
        gone = "".join(f"delete {tip.ref} {tip.oid}\n" for tip in kept)
        run_git(root, "update-ref", "--stdin", input=gone.encode(), mode=DURABLE)
    return len(lost)


def _read_all(root: str, tips: Sequence[Tip]) -> Iterator[bytes]:
    """Yields the lines of many logs, as many as can be read."""
    by_end = {tip.oid: tip for tip in tips}
    for oid, lines in read_whole_logs(root, by_end):
        yield from _read_lines(root, by_end[oid]) if lines is None else lines


def _find_rewritten(root: str, tip: Tip) -> list[str]:
    """Returns the ends that a ref of ours had and that it does not continue: somebody else moved it."""
    moves = [(old, new) for old, new, why in read_reflog(root, tip.ref) if why != REFLOG_MESSAGE]
    lost = [old for old, new in moves[:20] if old.strip("0") and not is_ancestor(root, old, new)]
    return [old for old in lost if not is_ancestor(root, old, tip.oid)]


def _read_index(store: Store) -> list[bytes]:
    """Returns the lines that the index holds itself: of what it read before the damage, perhaps the last copy."""
    rows = store.index.query("SELECT lines FROM log WHERE lines IS NOT NULL")
    return [line for (lines,) in rows for line in lines.split(b"\n") if line]


def _is_whole(root: str, tip: Tip) -> bool:
    try:
        read_whole_log(root, tip.oid)
    except LogDamaged:
        return False
    return True


def _read_lines(root: str, tip: Tip) -> list[bytes]:
    """Returns the lines of a log, as many as can be read."""
    try:
        return read_whole_log(root, tip.oid)
    except LogDamaged:
        pass
    unread = find_surviving(root, tip)
    lines = [line for commit in unread.commits for line in commit.lines.split(b"\n")]
    for segment in unread.segments:
        try:
            with open_objects(root) as git:
                git.ask(segment.oid)
                lines += git.segment(segment.oid).split(b"\n")
        except LogDamaged:
            within = walk(root, [tip.oid, *(new for _, new, _ in read_reflog(root, tip.ref))], segment.position)
            lines += [line for commit in within for line in commit.lines.split(b"\n")]
    return [line for line in lines if line]


def _read_strays(root: str, replicas: Iterable[str]) -> list[bytes]:
    """Returns the lines of all commits of some logs that git still has, also those that nothing names any more."""
    listed = try_git(root, "cat-file", "--batch-all-objects", "--batch-check=%(objecttype) %(objectname) %(objectsize)")
    commits: list[str] = []
    for line in listed.out.decode("ascii", "replace").splitlines():
        kind, _, rest = line.partition(" ")
        oid, _, size = rest.partition(" ")
        if kind == "commit" and size.isdigit() and int(size) <= _LARGEST_MESSAGE:
            commits.append(oid)
    found: list[bytes] = []
    named = [f'"r":"{replica}"'.encode() for replica in replicas]
    while commits:
        try:
            with open_objects(root) as git:
                while commits:
                    _, content = git.read(commits.pop())
                    if b"\n\npostil " in content and any(name in content for name in named):
                        found += [line for line in parse_commit("", content).lines.split(b"\n") if line]
        except LogDamaged:
            continue
    return found


def _fetch_objects(store: Store) -> None:
    """Bring the objects of all logs from every remote that can be reached, whatever git believes to have already."""
    import tempfile  # only repairing pays for it

    root = store.repository.root
    for remote in run_git(root, "remote").decode("utf-8", "replace").split():
        url = try_git(root, "ls-remote", "--get-url", "--end-of-options", remote).out.decode("utf-8", "replace").strip()
        local = os.path.join(root, url)
        with tempfile.TemporaryDirectory(prefix="postil-refetch-") as folder:
            run_git(root, "init", "--quiet", "--bare", folder)
            specs = ("+refs/postil/log/*:refs/postil/log/*", "+refs/heads/postil/log/*:refs/heads/postil/log/*")
            options = ("--quiet", "--no-tags", "--no-recurse-submodules")
            place = local if os.path.isdir(local) else url
            with suppress(Failure):  # what is too large, or not to be reached, is looked for elsewhere
                if try_git(folder, "fetch", *options, place, *specs, mode=NETWORK, timeout=600).status == 0:
                    pack = try_git(folder, "pack-objects", "--quiet", "--all", "--stdout", "--revs", timeout=600)
                    if pack.status == 0:
                        try_git(root, "index-pack", "--stdin", input=pack.out, mode=DURABLE, timeout=600)
