"""The names of the refs that hold logs: one's own, those that a fetch brought.

And those kept when a log was rewritten.

Reading looks at every place a log can be, so a plain `git fetch` or clone is enough; only writing and `init` ask
which place is one's own (custom refs, or branches for hosts that refuse those).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from postil.workspace.git import run_git

LOG = "refs/postil/log/"
REMOTE = "refs/postil/remote/"
KEPT = "refs/postil/kept/"
BRANCH_LOG = "refs/heads/postil/log/"
PATTERNS = (LOG, REMOTE, KEPT, BRANCH_LOG, "refs/remotes/*/postil/log/*")
FETCH = "+refs/postil/log/*:refs/postil/remote/{remote}/*"
_BRANCH_REMOTE = re.compile(r"refs/remotes/(?P<remote>.+)/postil/log/(?P<replica>[^/]+)\Z")
_REPLICA = re.compile(r"[a-z2-7]{12,40}\Z")


class Tip(msgspec.Struct, frozen=True):
    """A ref that holds a log, and the commit it ends at."""

    ref: str
    oid: str
    replica: str
    remote: str | None = None


def tips(root: str) -> list[Tip]:
    """Every log there is, local and fetched."""
    listed = run_git(root, "for-each-ref", "--format=%(objectname) %(refname)", *PATTERNS)
    found: list[Tip] = []
    for line in listed.decode("utf-8", "replace").splitlines():
        oid, _, ref = line.partition(" ")
        tip = _tip(ref, oid)
        if tip is not None:
            found.append(tip)
    return found


def own_ref(replica: str, branches: bool) -> str:
    """Where this replica writes."""
    return (BRANCH_LOG if branches else LOG) + replica


def is_own(tip: Tip, replica: str) -> bool:
    """Whether this is the log that this replica itself writes here."""
    return tip.replica == replica and tip.ref in (LOG + replica, BRANCH_LOG + replica)


def local_logs(found: Sequence[Tip]) -> list[Tip]:
    """The logs written in this repository."""
    return [tip for tip in found if tip.ref.startswith((LOG, BRANCH_LOG))]


def _tip(ref: str, oid: str) -> Tip | None:
    remote: str | None = None
    if ref.startswith(LOG):
        replica = ref.removeprefix(LOG)
    elif ref.startswith(BRANCH_LOG):
        replica = ref.removeprefix(BRANCH_LOG)
    elif ref.startswith(REMOTE):
        remote, _, replica = ref.removeprefix(REMOTE).rpartition("/")
    elif ref.startswith(KEPT):
        replica = ref.removeprefix(KEPT).partition("/")[0]
    elif found := _BRANCH_REMOTE.match(ref):
        remote, replica = found["remote"], found["replica"]
    else:
        return None
    return Tip(ref, oid, replica, remote) if _REPLICA.match(replica) else None
