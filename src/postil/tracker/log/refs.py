"""Which logs there are in a repository, as git lists them; and the locks that a killed git left on their refs."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

import msgspec

from postil.tracker.log.ref_names import BRANCH_LOG, LOG, PATTERNS, parse_log_ref
from postil.workspace.git import run_git


class Tip(msgspec.Struct, frozen=True):
    """A ref that holds a log, and the commit it ends at."""

    ref: str
    oid: str
    replica: str
    remote: str | None = None


def list_logs(root: str) -> list[Tip]:
    """Every log there is, local and fetched."""
    listed = run_git(root, "for-each-ref", "--format=%(objectname) %(refname)", *PATTERNS)
    found: list[Tip] = []
    for line in listed.decode("utf-8", "replace").splitlines():
        oid, _, ref = line.partition(" ")
        named = parse_log_ref(ref)
        if named is not None:
            found.append(Tip(ref, oid, *named))
    return found


def name_own_ref(replica: str, branches: bool) -> str:
    """Where this replica writes."""
    return (BRANCH_LOG if branches else LOG) + replica


def is_own(tip: Tip, replica: str) -> bool:
    """Whether this is the log that this replica itself writes here."""
    return tip.replica == replica and tip.ref in (LOG + replica, BRANCH_LOG + replica)


def local_logs(found: Sequence[Tip]) -> list[Tip]:
    """The logs written in this repository."""
    return [tip for tip in found if tip.ref.startswith((LOG, BRANCH_LOG))]


def find_stale_locks(common_dir: str, age: float = 10.0) -> list[str]:
    """Lock files on refs that hold logs, older than any living git keeps one."""
    starts = ["refs/postil", "refs/heads/postil"]
    remotes = os.path.join(common_dir, "refs", "remotes")
    if os.path.isdir(remotes):
        starts += [f"refs/remotes/{name}/postil" for name in os.listdir(remotes)]
    found = [
        os.path.join(folder, name)
        for start in starts
        for folder, _, names in os.walk(os.path.join(common_dir, start))
        for name in names
        if name.endswith(".lock")
    ]
    return [path for path in found if _measure_age(path) > age]


def _measure_age(path: str) -> float:
    try:
        return time.time() - os.stat(path).st_mtime
    except OSError:  # it is gone: its owner lived
        return 0.0
