"""Where the local user stands: the project of the remotes, the merge request of the branch."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest

from postil.core.call import Call, Caller, enter
from postil.core.failure import Failure
from postil.gitlab.instance.client import Instance
from postil.gitlab.instance.connection import Connection
from postil.gitlab.standing import Standing, WorkTree, read_remote
from tests.emulator.app import Emulator
from tests.emulator.world import DEVELOPER, Project, sha

pytestmark = pytest.mark.anyio
URL = "https://gitlab.example.com"
MINE = "projects/username%2Fmy-project/merge_requests/"
Stand = Callable[..., Standing]


@pytest.fixture
async def stand(emulator: Emulator, address: str) -> AsyncGenerator[Stand]:
    """Make standings at these projects, the one that is pushed to first, on this branch."""
    made: list[Instance] = []
    host = address.partition("://")[2].partition(":")[0]

    def make(*projects: str, branch: str = "feature-branch", upstream: str | None = None, **rules: Any) -> Standing:
        made.append(Instance(address))
        remotes = tuple(one if ":" in one else f"git@{host}:{one}.git" for one in projects)
        tree = WorkTree(remotes, branch, upstream)
        return Standing(Connection(made[-1], lambda: DEVELOPER, **rules), lambda: tree)

    yield make
    for one in made:
        await one.close()


def fork(emulator: Emulator, number: int, path: str) -> Project:
    """A fork of the main project, which the caller may see."""
    project = Project(number, path, path, "username", "private", members={456: 40})
    emulator.world.projects.append(project)
    return project


def open_from(emulator: Emulator, source: Project | None, branch: str) -> int:
    """A merge request into the main project, from a branch of this project or of one that is gone."""
    main = emulator.world.projects[0]
    main.branches.setdefault(branch, sha(branch))
    gone = None if source is None else source.id
    return emulator.world.add_merge_request(main, 456, "Words", branch, "main", source_project=gone)["iid"]


async def test_the_first_remote_that_leads_here_names_the_project(stand: Stand) -> None:
    assert await stand("username/my-project").find_project() == "username/my-project"
    assert await stand("git@github.com:a/b.git", "group/sub/open-tools").find_project() == "group/sub/open-tools"
    with pytest.raises(Failure, match="no git remote here"):
        await stand("git@github.com:a/b.git").find_project()


async def test_the_branch_names_the_merge_request(stand: Stand) -> None:
    assert await stand("username/my-project").find_merge_request(None) == MINE + "1"
    assert await stand("username/my-project").find_merge_request("123") == "projects/123/merge_requests/1"
    with pytest.raises(Failure, match="of the branch main none is open"):
        await stand("username/my-project", branch="main").find_merge_request(None)


async def test_another_name_at_the_remote_is_tried_next(stand: Stand) -> None:
    mine = stand("username/my-project", branch="review-it", upstream="feature-branch")
    assert await mine.find_merge_request(None) == MINE + "1"


async def test_a_branch_that_was_begun_from_the_default_branch_is_not_the_default_branch(
    stand: Stand, emulator: Emulator
) -> None:
    main = emulator.world.projects[0]
    emulator.world.add_merge_request(main, 456, "Release", "main", "other")
    with pytest.raises(Failure, match="of the branch begun none is open"):
        await stand("username/my-project", branch="begun", upstream="main").find_merge_request(None)
    with pytest.raises(Failure, match="none is open"):
        await stand("username/my-project", branch="begun", upstream="gone").find_merge_request(None)


async def test_the_merge_request_of_a_fork_is_found_where_it_goes_to(stand: Stand, emulator: Emulator) -> None:
    mine = fork(emulator, 901, "fork")
    iid = open_from(emulator, mine, "topic")
    standing = stand("username/fork", "username/my-project", branch="topic")
    assert await standing.find_project() == "username/fork"
    assert await standing.find_merge_request(None) == MINE + str(iid)
    assert await standing.find_merge_request(123) == f"projects/123/merge_requests/{iid}"


async def test_a_branch_of_the_same_name_in_a_strangers_fork_is_not_meant(stand: Stand, emulator: Emulator) -> None:
    open_from(emulator, fork(emulator, 902, "strangers"), "patch-1")
    open_from(emulator, None, "patch-1")
    for remotes in (("username/my-project",), ("username/fork", "username/my-project"), ()):
        for given in (None, 123):
            with pytest.raises(Failure, match=r"none is open|must be given"):
                await stand(*remotes, branch="patch-1").find_merge_request(given)
    mine = fork(emulator, 901, "fork")
    iid = open_from(emulator, mine, "patch-1")
    found = await stand("username/fork", "username/my-project", branch="patch-1").find_merge_request(None)
    assert found == MINE + str(iid)


async def test_remotes_that_are_not_offered_or_not_seen_are_passed_over(stand: Stand, emulator: Emulator) -> None:
    remotes = ("username/my-project", "admins/secret", "username/nowhere", "group/sub/open-tools")
    with pytest.raises(Failure, match="none is open"):
        await stand(*remotes, branch="topic", projects=("username/my-project",)).find_merge_request(None)
    asked = [one.path for one in emulator.seen]
    assert not any("open-tools/merge_requests" in path for path in asked)
    with pytest.raises(Failure, match="GitLab API Error"):
        await stand("group/sub/open-tools", projects=("username/my-project",)).find_merge_request(None)


async def test_somebody_elses_call_takes_nothing_from_this_work_tree(stand: Stand) -> None:
    standing = stand("username/my-project")

    async def as_another() -> None:
        enter(Call(Caller("gitlab:somebody", credential=DEVELOPER)))
        await standing.find_project()

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
