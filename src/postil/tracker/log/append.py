"""Appending to one's own log: a commit made durable, then the ref moved if nobody moved it meanwhile."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from postil.core import call, limits
from postil.core.failure import StorageFailed
from postil.tracker.log.format import SEAL, LogCommit, LogDamaged, Objects, Segment, open_objects
from postil.tracker.log.new_objects import Author, NewObjects, sign
from postil.tracker.log.ref_file import move_file
from postil.tracker.log.salvage import REFLOG_MESSAGE
from postil.workspace.failures import GitFailed
from postil.workspace.git import DURABLE, run_git, try_git
from postil.workspace.repository import Repository

_SHELF = 65536
_STALE = 2.0
"""Seconds after which a lock of a ref that only we write has no living owner: git holds one for an instant."""
_BULK_SEGMENT = 2048


def find_author(root: str, name: str | None = None, mail: str | None = None) -> Author:
    """Returns the author git would name, or the one given."""
    verified = call.current().sign(name or "")
    if verified != (name or ""):  # somebody else than the local user: not under the name that git has for that one
        return Author(_strip_markup(verified), "verified-by@postil.invalid")
    if name and mail:
        return Author(_strip_markup(name), _strip_markup(mail))
    asked = try_git(root, "config", "-z", "--get-regexp", r"^user\.(name|email)$")
    told: dict[str, str] = {}
    for entry in asked.out.decode("utf-8", "replace").split("\0"):
        key, _, value = entry.partition("\n")
        told[key] = value
    name = name or os.environ.get("GIT_AUTHOR_NAME") or told.get("user.name") or "git-mile"
    mail = mail or os.environ.get("GIT_AUTHOR_EMAIL") or told.get("user.email") or "git-mile@example.com"
    return Author(_strip_markup(name), _strip_markup(mail))


class Tail(NamedTuple):
    """What this process knows of the end of its own log, so that git need not be asked for it."""

    commit: LogCommit
    segments: Sequence[Segment] | None = None
    """Those of the commit's tree; None where they are not known."""
    held: Sequence[bytes] = ()
    """The lines after them, then."""


def append(
    repository: Repository,
    ref: str,
    tip: str | None,
    lines: bytes,
    count: int,
    clock: int,
    author: Author,
    tail: Tail | None = None,
) -> Tail:
    """Put a run of events after the tip and move the ref there. Durable when it returns; call with the lock held.

    `tail` is what this process knows of the log: while it ends at the tip, git is not asked for it.
    """
    own = _split(lines)
    if len(lines) > limits.LOG_SEGMENT:  # more than a commit's message should hold
        return Tail(append_bulk(repository, ref, tip, own, clock, author))
    new = NewObjects(repository)
    segments: Sequence[Segment] | None = None
    held: Sequence[bytes] = ()
    if tip is None:
        position, tree = 0, new.write_tree([])
    else:
        if tail is None or not _reaches(tail, tip, count, new):
            tail = _look_at(repository, tip, count)
        last, segments, held = tail
        position, tree, held = last.end, last.tree, [*held, *own]
        if segments is not None and _is_full(last, count):
            tree, segments = _seal(new, segments, held)
            held = ()
    message = b"postil %d %d %d\n\n%s" % (position, count, clock, lines)
    oid = new.write_commit(tree, tip, author, message)
    move_ref(repository, ref, oid, tip, author, new)
    commit = LogCommit(oid, tree, tip, position, count, clock, lines)
    if segments is None or sum(map(len, held)) > limits.LOG_SEGMENT:  # more than is kept in memory for it
        return Tail(commit)
    return Tail(commit, segments, held)


def _reaches(tail: Tail, tip: str, count: int, new: NewObjects) -> bool:
    """Returns whether what is known is the tip, is still there, and is all that so many more events need."""
    known = tail.segments is not None or not _is_full(tail.commit, count)
    return tail.commit.oid == tip and known and new.is_loose(tip)


def _look_at(repository: Repository, tip: str, count: int) -> Tail:
    """Returns what git knows of a tip, with the segments if so many more events make one."""
    with open_objects(repository.root) as git:
        before = git.commit(tip)
        if _is_full(before, count):
            try:
                segments = git.segments(before.tree)
                return Tail(before, segments, _read_unsealed(git, before, segments))
            except LogDamaged:  # which must stop no writer
                pass
        return Tail(before)


def append_bulk(
    repository: Repository, ref: str, tip: str | None, lines: Sequence[bytes], clock: int, author: Author
) -> LogCommit:
    """Put very many events after the tip as one commit whose events are in segments alone."""
    root = repository.root
    with open_objects(root) as git:
        before = git.commit(tip) if tip else None
        segments = git.segments(before.tree) if before else []
        held = _read_unsealed(git, before, segments) if before else []
    end = before.end if before else 0
    start = segments[-1].end if segments else 0
    everything = [*held, *lines]
    script = [b"feature done\n"]
    paths: list[bytes] = []
    for mark, part in enumerate(_cut(everything), 1):
        blob = b"\n".join(part) + b"\n"
        script.append(b"blob\nmark :%d\ndata %d\n%s\n" % (mark, len(blob), blob))
        paths.append(b"M 100644 :%d %s\n" % (mark, name_segment(start, len(part)).encode()))
        start += len(part)
    message = b"postil %d %d %d\n\n" % (end, len(lines), clock)
    aside = f"refs/postil/aside/{ref.rpartition('/')[2]}"
    stamp = sign(author)
    script.append(
        b"commit %s\nauthor %s\ncommitter %s\ndata %d\n%s\n" % (aside.encode(), stamp, stamp, len(message), message)
    )
    if tip:
        script.append(b"from %s\n" % tip.encode())
    script += [*paths, b"done\n"]
    run_git(root, "fast-import", "--quiet", "--force", "--done", input=b"".join(script), mode=DURABLE, timeout=3600)
    oid = run_git(root, "rev-parse", "--verify", "--end-of-options", aside).decode().strip()
    move_ref(repository, ref, oid, tip, author, NewObjects(repository))
    run_git(root, "update-ref", "-d", aside)
    with open_objects(root) as git:
        return git.commit(oid)


def _cut(lines: Sequence[bytes]) -> Iterator[list[bytes]]:
    """Yields the lines in segments, none larger than is read again."""
    part: list[bytes] = []
    size = 0
    for line in lines:
        if part and (len(part) == _BULK_SEGMENT or size + len(line) > limits.LOG_SEGMENT):
            yield part
            part, size = [], 0
        part.append(line)
        size += len(line) + 1
    if part:
        yield part


def move_ref(repository: Repository, ref: str, oid: str, old: str | None, author: Author, new: NewObjects) -> None:
    """Move a ref of ours from old to oid, durably; a lock that a killed git left behind is cleared.

    Its reflog names the move: that is how the log is found again when a commit of it is lost.
    """
    wait_for_sync = new.begin_sync()
    if old and new.are_files and move_file(repository, ref, oid, old, sign(author), wait_for_sync):
        if new.outlive_collection():
            _sync_moved(new, ref)
        return
    wait_for_sync()
    deadline = time.monotonic() + _STALE + 10
    who = {"GIT_COMMITTER_NAME": author.name, "GIT_COMMITTER_EMAIL": author.mail}
    options = ("--create-reflog", "-m", REFLOG_MESSAGE, "--end-of-options")
    while True:
        done = try_git(repository.root, "update-ref", *options, ref, oid, old or "0" * len(oid), env=who, mode=DURABLE)
        if done.status == 0:
            new.outlive_collection()
            _sync_moved(new, ref)
            return
        said = done.err.decode("utf-8", "replace")
        if "nonexistent object" in said and new.restore():
            continue  # collected as garbage before the ref named it
        if ".lock'" not in said or "exists" not in said:
            raise GitFailed("update-ref", done.status, said)
        if not _clear_stale_lock(repository, ref):
            if time.monotonic() > deadline:
                raise StorageFailed(
                    f"The ref {ref} is locked by another git process",
                    advice="If no git is running, delete the .lock file beside it and try again",
                )
            time.sleep(0.05)


def _sync_moved(new: NewObjects, ref: str) -> None:
    """Sync what a ref names that has moved. Raises StorageFailed: made it is, so a repeat would make it twice."""
    try:
        new.begin_sync()()
        new.sync_folders(ref)
    except StorageFailed as unsure:
        unsure.doubtful = True
        raise


def name_segment(position: int, count: int) -> str:
    """Returns where in the tree a segment lies: on shelves, so that sealing rewrites small trees only."""
    return f"seg/{position // _SHELF:06d}/{position:09d}-{count}"


def _clear_stale_lock(repository: Repository, ref: str) -> bool:
    lock = os.path.join(repository.common_dir, *ref.split("/")) + ".lock"
    try:
        # Only this clone's writers touch this ref and we hold their lock: an old lock has no living owner.
        if time.time() - os.stat(lock).st_mtime > _STALE:
            os.unlink(lock)
            return True
    except OSError:
        pass
    return False


def _is_full(before: LogCommit, count: int) -> bool:
    """Returns whether so many more events make a segment."""
    return (before.end + count) // SEAL > before.end // SEAL


def _seal(new: NewObjects, segments: Sequence[Segment], lines: Sequence[bytes]) -> tuple[str, Sequence[Segment]]:
    """Returns the tree with one more segment, of these lines, and all its segments."""
    everything = [*segments]
    start = everything[-1].end if everything else 0
    for part in _cut(lines):
        blob = b"\n".join(part) + b"\n"
        everything.append(Segment(start, len(part), new.write("blob", blob)))
        start += len(part)
    shelves: dict[int, list[Segment]] = {}
    for segment in everything:
        shelves.setdefault(segment.position // _SHELF, []).append(segment)
    trees = [
        (
            "40000",
            f"{shelf:06d}",
            new.write_tree([("100644", name_segment(s.position, s.count).rpartition("/")[2], s.oid) for s in members]),
        )
        for shelf, members in sorted(shelves.items())
    ]
    return new.write_tree([("40000", "seg", new.write_tree(trees))]), everything


def _read_unsealed(git: Objects, before: LogCommit, segments: list[Segment]) -> list[bytes]:
    """Returns the lines after the last segment, in order."""
    sealed = segments[-1].end if segments else 0
    tail: list[LogCommit] = []
    at: LogCommit | None = before
    while at is not None and at.end > sealed:
        tail.append(at)
        at = git.commit(at.parent) if at.parent else None
    return [line for commit in reversed(tail) for line in _split(commit.lines)]


def _split(lines: bytes) -> list[bytes]:
    return [line for line in lines.split(b"\n") if line]


def _strip_markup(text: str) -> str:
    return "".join(c for c in text if c not in "<>\n\r\0").strip() or "unknown"
