"""The names of the refs that hold logs: one's own, those that a fetch brought, and those kept when a log was rewritten.

Reading looks at every place a log can be, so a plain `git fetch` or clone is enough; only writing and `init` ask which
place is one's own (custom refs, or branches for hosts that refuse those). Names only: `refs.py` asks git which exist.
"""

from __future__ import annotations

import re

LOG = "refs/postil/log/"
REMOTE = "refs/postil/remote/"
KEPT = "refs/postil/kept/"
BRANCH_LOG = "refs/heads/postil/log/"
PATTERNS = (LOG, REMOTE, KEPT, BRANCH_LOG, "refs/remotes/*/postil/log/*")
FETCH = "+refs/postil/log/*:refs/postil/remote/{remote}/*"
_BRANCH_REMOTE = re.compile(r"refs/remotes/(?P<remote>.+)/postil/log/(?P<replica>[^/]+)\Z")
_REPLICA = re.compile(r"[a-z2-7]{12,40}\Z")


def parse_log_ref(ref: str) -> tuple[str, str | None] | None:
    """The replica whose log a ref holds, and the remote it came from; None when it is no log."""
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
    return (replica, remote) if _REPLICA.match(replica) else None
