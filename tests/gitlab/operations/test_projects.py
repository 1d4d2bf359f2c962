"""Projects: found by number and path, listed and searched."""

from __future__ import annotations

import pytest

from tests.emulator.app import Emulator
from tests.gitlab.answers import direct
from tests.gitlab.groups import Groups

pytestmark = pytest.mark.anyio


async def test_a_project_is_found_by_its_path_too(gitlab: Groups) -> None:
    assert (await gitlab.projects.get_project("username/my-project")).id == 123


async def test_statistics_that_gitlab_does_not_tell_are_null(gitlab: Groups, emulator: Emulator) -> None:
    emulator.world.projects[1].members[456] = 10
    assert (await gitlab.projects.get_project(124)).statistics is None


async def test_projects_and_issues_are_searched(gitlab: Groups) -> None:
    assert [item.id for item in (await gitlab.projects.search_projects("tools")).projects] == [124]
    everywhere = direct(await gitlab.issues.search_issues("issue", state="opened"))
    assert everywhere["total_count"] == 37
    assert {item["project_id"] for item in everywhere["issues"]} <= {123, 124}
    inside = direct(await gitlab.issues.search_issues("issue", project_id=123))
    assert [item["id"] for item in inside["issues"]] == [789]
