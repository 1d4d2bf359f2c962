"""Which received events a caller may see: those about things that GitLab lets this caller read, asked of GitLab itself.

A member of a project may see its issues and still not its code, and not a confidential issue of others. So GitLab is
asked once for each kind of event, and once for each confidential issue. The local user owns the machine that the events
came to, and sees all.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from postil.core.others.number import decode_json
from postil.core.ports import Delivery
from postil.gitlab.failures import GitLabFailure
from postil.gitlab.instance.connection import Connection
from postil.gitlab.instance.records import Record

READ_BY = {
    "push": "repository/tree",
    "issues": "issues",
    "merge_requests": "merge_requests",
    "pipelines": "pipelines",
    "wiki": "wikis",
    "notes": "issues",
}
"""What of a project must be readable for an event of this kind. Other kinds are for the local user."""
AT_ONCE = 8


async def filter_visible(gitlab: Connection, project: str, found: Sequence[Delivery]) -> list[Delivery]:
    """Return the events of one project that this caller may see."""
    room = asyncio.Semaphore(AT_ONCE)

    async def may_read(path: str) -> bool:
        async with room:
            try:
                await gitlab.get(path, None if path.rpartition("/")[2].isdigit() else {"per_page": 1})
            except GitLabFailure as failure:
                if failure.status in (401, 403, 404):
                    return False
                raise
            return True

    deliveries = [delivery for delivery in found if delivery.event in READ_BY]
    needs = {delivery.id: _list_needs(delivery) for delivery in deliveries}
    paths = sorted({path for each in needs.values() for path in each})
    readable = dict(zip(paths, await asyncio.gather(*(may_read(f"{project}/{path}") for path in paths)), strict=True))
    return [delivery for delivery in deliveries if all(readable[path] for path in needs[delivery.id])]


def _list_needs(delivery: Delivery) -> list[str]:
    needed = [READ_BY[delivery.event]]
    if delivery.event == "notes":
        needed = [_find_noted(Record(decode_json(delivery.body)))]
    if is_confidential(delivery):
        about = Record(decode_json(delivery.body)).record("object_attributes")
        needed.append(f"issues/{about.number('iid') or 0}")  # 0 is nobody's
    return needed


def _find_noted(said: Record) -> str:
    """Return what a note is about: the very issue or merge request, or the code for a note on a commit."""
    for name, route in (("merge_request", "merge_requests"), ("issue", "issues")):
        about = said.record(name)
        if about:
            return f"{route}/{about.number('iid') or 0}"
    return READ_BY["push"]


def is_confidential(delivery: Delivery) -> bool:
    """Whether GitLab marked it as not for every member."""
    said = Record(decode_json(delivery.body))
    about = said.record("object_attributes")
    kind = said.text("event_type") or ""
    return bool(about.flag("confidential") or about.flag("internal") or kind.startswith("confidential_"))
