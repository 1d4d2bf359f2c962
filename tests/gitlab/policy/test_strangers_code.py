"""In lockdown, code that somebody below Developer may have written, and what it said in CI."""

from __future__ import annotations

from typing import Any, cast

import pytest

from postil.gitlab.failures import NotOffered
from postil.gitlab.instance.connection import Connection
from postil.gitlab.instance.identifiers import make_route
from postil.gitlab.instance.records import Record
from postil.gitlab.policy.guard import Guard, Policy
from postil.gitlab.policy.strangers_code import check_on_branch, check_run
from tests.emulator.app import Emulator
from tests.emulator.world import sha
from tests.gitlab.conftest import Connect
from tests.gitlab.test_every_operation import open_to_all, run, say

pytestmark = pytest.mark.anyio
FORKED = sha("a stranger's commit")
OF_A_COMMIT: dict[str, dict[str, Any]] = {
    "get_commit": {"sha": FORKED},
    "list_commits": {"ref": FORKED},
    "compare_refs": {"head": FORKED},
    "blame_file": {"ref": FORKED},
    "get_file_content": {"ref": FORKED},
    "list_repository_files": {"ref": FORKED},
    "search_code": {"ref": FORKED},
}


@pytest.mark.parametrize("name", OF_A_COMMIT)
async def test_lockdown_withholds_commits_that_are_on_no_branch_and_no_tag(
    connect: Connect, emulator: Emulator, name: str
) -> None:
    main = open_to_all(emulator.world)
    main.commits[FORKED] = main.commits[main.branches["main"]] | {"id": FORKED, "message": "STRANGERSAYS"}
    locked = connect(guard=Guard(Policy(lockdown=True)))
    for ref in (FORKED, FORKED[:12], "refs/merge-requests/1/head"):
        main.commits.setdefault(ref, main.commits[FORKED])
        given = dict.fromkeys(OF_A_COMMIT[name], ref)
        with pytest.raises(NotOffered):
            await run(locked, name, **given)
        assert "STRANGERSAYS" not in repr(emulator.seen)
    main.visibility = "private"
    assert say(await run(connect(guard=Guard(Policy(lockdown=True))), name, **OF_A_COMMIT[name]))


@pytest.mark.parametrize("name", ["get_pipeline", "get_job_log", "get_test_report", "wait_pipeline"])
async def test_lockdown_withholds_what_a_strangers_code_said_in_ci(
    connect: Connect, emulator: Emulator, name: str
) -> None:
    main = open_to_all(emulator.world)
    main.merge_requests[0]["author"] = 7
    for row in main.pipelines:
        row["ref"] = "refs/merge-requests/1/head"
    for job in main.jobs:
        job |= {"trace": "STRANGERSAYS", "name": "STRANGERSAYS"}
    suite = {"name": "STRANGERSAYS", "time": 1, "test_cases": [{"status": "failed", "name": "STRANGERSAYS"}]}
    main.reports[1002] = [suite]
    locked = connect(guard=Guard(Policy(lockdown=True)))
    with pytest.raises(NotOffered):
        await run(locked, name)
    main.merge_requests[0]["author"] = 456  # a Developer's code says what it says
    assert say(await run(locked, name))


async def test_without_lockdown_nothing_more_is_asked(connect: Connect, emulator: Emulator) -> None:
    open_to_all(emulator.world)
    await run(connect(), "get_commit")
    assert len(emulator.seen) == 2
    assert not any(seen.path.endswith("/refs") for seen in emulator.seen)


async def test_a_branch_and_a_commit_on_it_are_read_as_ever(connect: Connect, emulator: Emulator) -> None:
    main = open_to_all(emulator.world)
    locked = connect(guard=Guard(Policy(lockdown=True)))
    for ref in ("main", main.branches["main"], "v0.1"):
        assert say(await run(locked, "list_commits", ref=ref))


class LockedProject:
    """A connection to a public project: every commit is on a branch."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def locks(self, project: str) -> bool:
        return project == "projects/1"

    async def get_page(self, path: str, *_: object) -> tuple[list[Record], None]:
        self.asked.append(path)
        return [Record({"name": "main"})], None


@pytest.mark.parametrize("ref", ["main", "refs/heads/main", "refs/tags/v1", "team/refs/x", "x-refs/heads/"])
async def test_a_name_of_the_project_is_looked_up(ref: str) -> None:
    gitlab = LockedProject()
    await check_on_branch(cast("Connection", gitlab), "projects/1", ref)
    assert gitlab.asked == [f"projects/1/repository/commits/{make_route(ref)}/refs"]


@pytest.mark.parametrize("ref", ["refs/merge-requests/1/head", "refs/keep-around/abc", "refs/"])
async def test_any_other_ref_is_refused_unasked(ref: str) -> None:
    gitlab = LockedProject()
    with pytest.raises(NotOffered):
        await check_on_branch(cast("Connection", gitlab), "projects/1", ref)
    assert gitlab.asked == []


@pytest.mark.parametrize("refs", [(), (None,), ("HEAD", None)])
async def test_without_a_ref_nothing_is_asked(refs: tuple[str | None, ...]) -> None:
    gitlab = LockedProject()
    await check_on_branch(cast("Connection", gitlab), "projects/1", *refs)
    await check_on_branch(cast("Connection", gitlab), "projects/private", "main")
    assert gitlab.asked == []


async def test_a_run_of_a_branch_is_no_merge_requests() -> None:
    gitlab = LockedProject()
    for ref in ("main", None, "refs/heads/refs/merge-requests/1/head"):
        await check_run(cast("Connection", gitlab), "projects/1", Record({"ref": ref}))
    assert gitlab.asked == []
