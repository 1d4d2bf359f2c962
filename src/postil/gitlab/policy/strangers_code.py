"""In lockdown: code of a public project that somebody below Developer may have written, and what it said in CI.

Who cannot push sends a merge request from a fork. Its commits can be read in the project then, though they are on none
of its branches, and its pipelines may run there. Without lockdown nothing is asked.
"""

from __future__ import annotations

import re

from postil.gitlab.failures import NotOffered
from postil.gitlab.instance.connection import Connection, ReadOptions
from postil.gitlab.instance.identifiers import make_route
from postil.gitlab.instance.records import Record
from postil.gitlab.policy.guard import WITHHELD

_OF_THE_PROJECT = ("refs/heads/", "refs/tags/")
_MERGE_REQUEST = re.compile(r"refs/merge-requests/(\d{1,19})/.*", re.ASCII)


async def check_on_branch(gitlab: Connection, project: str, *refs: str | None) -> None:
    """Raise NotOffered for a commit that is on no branch and no tag of a project that is locked down."""
    given = [ref for ref in refs if ref not in (None, "HEAD")]
    if not given or not await gitlab.locks(project):
        return
    for ref in given:
        asked = f"{project}/repository/commits/{make_route(ref or '')}/refs"
        odd = str(ref).startswith("refs/") and not str(ref).startswith(_OF_THE_PROJECT)
        rows = [] if odd else (await gitlab.get_page(asked, {"type": "all"}, ReadOptions(per_page=1)))[0]
        if not rows:
            raise NotOffered("This commit is on no branch and no tag of this public project: anybody may have made it")


async def check_run(gitlab: Connection, project: str, run: Record) -> None:
    """Raise NotOffered for a pipeline or a job that ran the code of a merge request whose words are withheld."""
    found = _MERGE_REQUEST.fullmatch(run.text("ref") or "")
    if found is None or not await gitlab.locks(project):
        return
    about = await gitlab.get_one(f"{project}/merge_requests/{int(found[1])}")
    if about.text("title") == WITHHELD:
        raise NotOffered("This ran the code of someone below Developer in this public project")
