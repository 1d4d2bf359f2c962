"""The refs that hold logs: their names, which of them exist, and the locks that a killed git left on them.

A log is one's own, or was brought by a fetch, or was kept when somebody rewrote it. Readers look at every place a log
can be, so a plain `git fetch` or clone is enough; only writers and `init` ask which place is one's own (custom refs, or
branches for hosts that refuse those). Imported by `fast_list`, so without msgspec and git's process.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from typing import NamedTuple

from postil.core import limits
from postil.workspace.disk import open_regular, read_regular

LOG = "refs/postil/log/"
REMOTE = "refs/postil/remote/"
KEPT = "refs/postil/kept/"
BRANCH_LOG = "refs/heads/postil/log/"
PATTERNS = (LOG, REMOTE, KEPT, BRANCH_LOG, "refs/remotes/*/postil/log/*")
FETCH = "+refs/postil/log/*:refs/postil/remote/{remote}/*"
_BRANCH_REMOTE = r"refs/remotes/(?P<remote>.+)/postil/log/(?P<replica>[^/]+)\Z"
_OID = re.compile(r"(?!0+\Z)(?:[0-9a-f]{40}|[0-9a-f]{64})\Z")
_ODD = re.compile(r"[^\w/.+-]|\.\.|//|/\.|\./|refs/remotes/[^/]+/(?!postil/)")
"""What is in names that git may refuse, or its pattern above does not find."""
_FEW = 256
"""So many loose refs are read in less time than git takes to start."""
LONGEST_LOCKED = 10.0
"""Seconds that a living git keeps a lock on a ref."""
_INSIDE = b"/postil/"
_REPLICA = re.compile(r"[a-z2-7]{12,40}\Z")


class Tip(NamedTuple):
    """A ref that holds a log, and the commit it ends at."""

    ref: str
    oid: str
    replica: str
    remote: str | None = None


def parse_log_ref(ref: str) -> tuple[str, str | None] | None:
    """Returns the replica whose log a ref holds, and the remote it came from; None when the ref is no log."""
    remote: str | None = None
    if ref.startswith(LOG):
        replica = ref.removeprefix(LOG)
    elif ref.startswith(BRANCH_LOG):
        replica = ref.removeprefix(BRANCH_LOG)
    elif ref.startswith(REMOTE):
        remote, _, replica = ref.removeprefix(REMOTE).rpartition("/")
    elif ref.startswith(KEPT):
        replica = ref.removeprefix(KEPT).partition("/")[0]
    elif found := re.match(_BRANCH_REMOTE, ref):
        remote, replica = found["remote"], found["replica"]
    else:
        return None
    return (replica, remote) if _REPLICA.match(replica) else None


def list_logs(root: str) -> list[Tip]:
    """Returns every log there is, local and fetched. git is asked only where its files do not say it plainly."""
    from postil.workspace.git import check_repository  # the fast list does without msgspec

    git_dir = check_repository(root)
    found = read_ref_files(git_dir, _FEW)
    if found is None:
        _refuse_very_many(os.path.join(git_dir, "packed-refs"))
        return _ask_git(root)
    return found


def _refuse_very_many(packed: str) -> None:
    """Raises TooManyLogs where a file names so many that git would take gigabytes to list them."""
    count = 0
    try:
        size = os.path.getsize(packed)
        with open_regular(packed) as file:
            rest = b""
            while size <= limits.PACKED_REFS and count <= limits.LOGS and (chunk := file.read(limits.MIB)):
                chunk = rest + chunk
                count += chunk.count(_INSIDE)
                rest = chunk[-(len(_INSIDE) - 1) :]
    except OSError:
        return  # there is none, or git says what is wrong with it
    if count > limits.LOGS or size > limits.PACKED_REFS:
        from postil.tracker.failures import TooManyLogs  # hardly ever

        raise TooManyLogs(packed, size)


def _ask_git(root: str) -> list[Tip]:
    from postil.workspace.git import run_git

    listed = run_git(root, "for-each-ref", "--format=%(objectname) %(refname)", *PATTERNS)
    found: list[Tip] = []
    for line in listed.decode("utf-8", "replace").splitlines():
        oid, _, ref = line.partition(" ")
        named = parse_log_ref(ref)
        if named is not None:
            found.append(Tip(ref, oid, *named))
    return found


def read_ref_files(git_dir: str, most: int = 1 << 20) -> list[Tip] | None:
    """Returns every log there is, from the files that git keeps refs in; None for what only git itself can read.

    Also None for more than so many loose ones. These first, as git does: one that is packed meanwhile is then found
    among the packed ones.
    """
    if os.path.exists(os.path.join(git_dir, "reftable")):
        return None
    found: dict[str, str] = {}
    for path, ref in walk_ref_files(git_dir):
        if not path.endswith(".lock"):
            if len(found) == most:
                return None
            content = read_regular(path, 128)
            if content is not None:
                found[ref] = content.decode("ascii", "replace").rstrip()
            elif os.path.lexists(path):
                return None
    packed = os.path.join(git_dir, "packed-refs")
    content = read_regular(packed, limits.REFS) if os.path.exists(packed) else b""
    if content is None:
        return None
    if content.count(_INSIDE) > limits.LOGS:
        return None
    if _INSIDE in content:
        for line in content.decode("utf-8", "replace").split("\n"):
            oid, _, ref = line.partition(" ")
            if "/postil/" in ref and not line.startswith(("#", "^")):
                found.setdefault(ref, oid)
    tips: list[Tip] = []
    for ref, oid in sorted(found.items()):
        named = parse_log_ref(ref)
        if named is None:
            continue
        if not _OID.match(oid) or _ODD.search(ref):
            return None
        tips.append(Tip(ref, oid, *named))
    return tips


def name_own_ref(replica: str, branches: bool) -> str:
    """Returns the ref that this replica writes."""
    return (BRANCH_LOG if branches else LOG) + replica


def is_own(tip: Tip, replica: str) -> bool:
    """Returns whether this is the log that this replica itself writes here."""
    return tip.ref in (LOG + replica, BRANCH_LOG + replica)


def walk_ref_files(git_dir: str) -> Iterator[tuple[str, str]]:
    """Yields every file that git keeps where refs of logs are (path, ref), the locks included."""
    starts = ["refs/postil", "refs/heads/postil"]
    remotes = os.path.join(git_dir, "refs", "remotes")
    if os.path.isdir(remotes):
        starts += [f"refs/remotes/{name}/postil" for name in os.listdir(remotes)]
    for start in starts:
        for folder, _, files in os.walk(os.path.join(git_dir, start)):
            inside = os.path.relpath(folder, git_dir)
            for name in files:
                yield os.path.join(folder, name), f"{inside}/{name}"


def find_stale_locks(common_dir: str) -> list[str]:
    """Returns the lock files on refs of logs that are older than any living git keeps one."""
    return [
        path for path, _ in walk_ref_files(common_dir) if path.endswith(".lock") and _measure_age(path) > LONGEST_LOCKED
    ]


def _measure_age(path: str) -> float:
    try:
        return time.time() - os.stat(path).st_mtime
    except OSError:  # it is gone: its owner lived
        return 0.0
