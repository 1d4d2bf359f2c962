"""People: who the caller is, who others are, and what waits for the caller."""

from __future__ import annotations

import pytest

from postil.gitlab.policy.guard import WITHHELD, Guard, Policy
from tests.emulator.app import Emulator
from tests.gitlab.answers import text
from tests.gitlab.conftest import Connect
from tests.gitlab.groups import Groups

pytestmark = pytest.mark.anyio


def wait_for_me(emulator: Emulator) -> None:
    merge = emulator.world.projects[0].merge_requests[0]
    merge["reviewers"] = [456]
    todo = {"id": 1, "user": 456, "project": 123, "target": merge, "author": 1, "action": "review_requested"}
    emulator.world.todos.append(todo)


async def test_my_work_is_what_waits_for_me(gitlab: Groups, emulator: Emulator) -> None:
    wait_for_me(emulator)
    found = await gitlab.people.my_work()
    assert [row.iid for row in found.reviews] == [1] == [row.iid for row in found.merge_requests]
    assert [row.title for row in found.issues] == ["Issue title"]
    assert found.todos[0].reference == "username/my-project!1"
    assert "review_requested username/my-project!1 Add greeting" in text(found)


async def test_my_work_keeps_to_the_offered_projects_and_the_rules(connect: Connect, emulator: Emulator) -> None:
    wait_for_me(emulator)
    other = await connect(projects=("group/sub/open-tools",)).people.my_work()
    assert (other.reviews, other.merge_requests, other.issues, other.todos) == ([], [], [], [])
    locked = await connect(guard=Guard(Policy(lockdown=True))).people.my_work()
    assert locked.todos[0].title == WITHHELD


async def test_much_work_fits(gitlab: Groups, emulator: Emulator) -> None:
    project = emulator.world.projects[0]
    for number in range(90):
        emulator.world.add_issue(project, 1, f"{number} {'long ' * 40}", assignees=[456], description="x" * 900)
    found = await gitlab.people.my_work(per_page=100)
    assert len(text(found).encode()) <= 24_000
    assert "of issues are left out" in text(found)


async def test_whoami_says_whose_token_it_is(gitlab: Groups, address: str) -> None:
    me = await gitlab.people.whoami()
    assert (me.username, me.scopes, me.instance) == ("johndoe", ["api"], address)


async def test_users_are_found_by_name(gitlab: Groups) -> None:
    assert [user.username for user in (await gitlab.people.find_user("@john")).users] == ["johndoe"]
