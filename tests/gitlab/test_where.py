"""What a caller points at: numbers, paths, references, addresses, and where the local user stands."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from postil.core.call import Call, Caller, enter
from postil.core.failure import Failure
from postil.gitlab.instance.client import Instance
from postil.gitlab.instance.connection import Connection
from postil.gitlab.where import Pointer, Reference, WorkTree, read_remote
from tests.emulator.app import Emulator
from tests.emulator.world import DEVELOPER

pytestmark = pytest.mark.anyio
URL = "https://gitlab.example.com"


MADE: list[Instance] = []


@pytest.fixture
async def closed() -> AsyncGenerator[None]:
    """Close every pool that a test opened, on the loop that it was opened on."""
    yield
    while MADE:
        await MADE.pop().close()


def pointer(url: str = URL, tree: WorkTree | None = None) -> Pointer:
    look = None if tree is None else lambda: tree
    MADE.append(Instance(url))
    return Pointer(Connection(MADE[-1], lambda: DEVELOPER), look)


READ: list[tuple[Any, str, Reference]] = [
    (12, "project_id", Reference(12)),
    ("12", "issue_iid", Reference(number=12)),
    ("group/sub/project", "project_id", Reference("group/sub/project")),
    ("group/project!12", "merge_request_iid", Reference("group/project", "!", 12)),
    ("#34", "issue_iid", Reference(None, "#", 34)),
    (f"{URL}/group/project", "project_id", Reference("group/project")),
    (f"{URL}/group/project/-/issues/34#note_5", "issue_iid", Reference("group/project", "#", 34)),
    (f"{URL}/group/project/-/merge_requests/12/diffs?x=1", "project_id", Reference("group/project", "!", 12)),
]


@pytest.mark.parametrize(("given", "name", "meant"), READ)
def test_what_points_at_something_is_read(given: Any, name: str, meant: Reference) -> None:
    assert pointer().read(given, name) == meant


@pytest.mark.parametrize(
    "given",
    [
        "https://gitlab.example.com.evil.org/group/project",
        "https://gitlab.example.com@evil.org/group/project",
        "https://user@gitlab.example.com/group/project",
        "https://evil.org/group/project",
        "https://gitlab.example.com:444/group/project",
        "https://gitlab.example.com/../x",
        f"{URL}/group/%2e%2e/x",
        f"{URL}/",
        "http://[",
        "!12/..",
    ],
)
def test_addresses_of_others_and_traps_are_refused(given: str) -> None:
    with pytest.raises(Failure):
        pointer().read(given, "project_id")


@pytest.mark.usefixtures("closed")
async def test_one_argument_may_say_project_and_number(emulator: Emulator, address: str) -> None:
    point = pointer(address)
    route = "projects/username%2Fmy-project/merge_requests/1"
    assert await point.merge_request("username/my-project!1", None) == route
    assert await point.merge_request(None, f"{address}/username/my-project/-/merge_requests/1") == route
    assert await point.issue("username/my-project", "#1") == "projects/username%2Fmy-project/issues/1"
    for project, iid in (("username/my-project", "other/project!1"), (123, "#1"), (123, f"{address}/a/b/-/jobs/1")):
        with pytest.raises(Failure, match="merge_request_iid"):
            await point.merge_request(project, iid)


@pytest.mark.usefixtures("closed")
async def test_where_the_local_user_stands_is_the_default(emulator: Emulator, address: str) -> None:
    host = address.partition("://")[2].partition(":")[0]
    tree = WorkTree((f"git@{host}:username/my-project.git",), "feature-branch")
    point = pointer(address, tree)
    assert await point.project(None) == "projects/username%2Fmy-project"
    assert await point.merge_request(None, None) == "projects/username%2Fmy-project/merge_requests/1"
    with pytest.raises(Failure, match="none is open"):
        await pointer(address, WorkTree(tree.remotes, "main")).merge_request(None, None)
    with pytest.raises(Failure, match="no git remote here"):
        await pointer(address, WorkTree(("git@github.com:a/b.git",), "main")).project(None)


@pytest.mark.usefixtures("closed")
async def test_somebody_elses_call_takes_nothing_from_this_work_tree(emulator: Emulator, address: str) -> None:
    host = address.partition("://")[2].partition(":")[0]
    point = pointer(address, WorkTree((f"git@{host}:username/my-project.git",), "feature-branch"))

    async def as_another() -> None:
        enter(Call(Caller("gitlab:somebody", credential=DEVELOPER)))
        await point.project(None)

    with pytest.raises(Failure, match="project_id must be given"):
        await asyncio.create_task(as_another())


@pytest.mark.parametrize(
    ("address", "project"),
    [
        ("git@gitlab.example.com:group/sub/project.git", "group/sub/project"),
        ("ssh://git@gitlab.example.com:2222/group/project.git", "group/project"),
        ("https://oauth2:secret@gitlab.example.com/group/project.git", "group/project"),
        ("git@altssh.gitlab.example.com:group/project", "group/project"),
        ("git@gitlab.example.com.evil.org:group/project", None),
        ("https://github.com/group/project", None),
        ("/srv/git/group/project.git", None),
        ("C:/x/y", None),
        ("https://[", None),
    ],
)
def test_a_remote_names_a_project_of_this_instance_or_none(address: str, project: str | None) -> None:
    assert read_remote(address, URL) == project


def test_an_instance_below_a_path_is_known_by_it() -> None:
    assert read_remote("https://example.com/gitlab/group/project.git", "https://example.com/gitlab") == "group/project"
