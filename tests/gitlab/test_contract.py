"""The contract, example by example, on the world of the emulator in which its examples are true."""

from __future__ import annotations

import base64

import pytest

from postil.gitlab.failures import GitLabFailure
from tests.emulator.app import Emulator
from tests.gitlab.answers import direct, structured, text
from tests.gitlab.groups import Groups

pytestmark = pytest.mark.anyio


async def test_projects_are_listed_in_both_shapes_of_the_contract(gitlab: Groups, address: str) -> None:
    answer = direct(await gitlab.projects.list_projects(visibility="private"))
    project = {
        "id": 123,
        "name": "My Project",
        "path": "my-project",
        "namespace": "username",
        "visibility": "private",
        "web_url": f"{address}/username/my-project",
    }
    pagination = {"page": 1, "per_page": 20, "total": 1, "total_pages": 1, "has_next": False, "has_prev": False}
    assert answer == {"projects": [project], "total_count": 1, "data": [project], "pagination": pagination}


async def test_a_tool_answers_the_named_key_with_pagination_alone(gitlab: Groups) -> None:
    assert set(structured(await gitlab.projects.list_projects())) == {"projects", "pagination", "untrusted"}


async def test_a_project_has_the_contracts_fields(gitlab: Groups) -> None:
    assert direct(await gitlab.projects.get_project(123)) == {
        "id": 123,
        "name": "My Project",
        "description": "Project description",
        "default_branch": "main",
        "created_at": "2024-01-01T00:00:00.000Z",
        "last_activity_at": "2024-01-15T12:00:00.000Z",
        "statistics": {"commit_count": 150, "storage_size": 1024000},
    }


async def test_issues_have_the_contracts_fields(gitlab: Groups) -> None:
    issue = {
        "id": 789,
        "iid": 1,
        "title": "Issue title",
        "description": "Issue description",
        "state": "opened",
        "created_at": "2024-01-01T00:00:00.000Z",
        "assignee": {"id": 456, "name": "John Doe", "username": "johndoe"},
    }
    answer = direct(await gitlab.issues.list_issues(123, state="opened", labels=["bug"], assignee_id=456))
    assert answer["issues"] == [issue] == answer["data"]
    assert answer["total_count"] == 1


async def test_a_created_issue_is_answered_as_in_the_contract(gitlab: Groups, address: str) -> None:
    made = await gitlab.issues.create_issue(
        123, "New issue title", "Issue description", assignee_id=456, labels=["bug", "priority-high"]
    )
    assert direct(made) == {
        "id": 790,
        "iid": 2,
        "title": "New issue title",
        "web_url": f"{address}/username/my-project/-/issues/2",
    }
    kept = await gitlab.issues.get_issue(123, issue_iid=2)
    assert kept.labels == ["bug", "priority-high"]
    assert kept.assignee is not None
    assert kept.assignee.username == "johndoe"


async def test_an_issue_is_found_by_the_global_id_it_was_created_with(gitlab: Groups) -> None:
    made = await gitlab.issues.create_issue(123, "Test issue")
    assert made.id is not None
    assert (await gitlab.issues.get_issue(123, issue_id=made.id)).title == "Test issue"


async def test_a_file_comes_with_its_last_commit(gitlab: Groups, emulator: Emulator) -> None:
    answer = direct(await gitlab.repository.get_file_content(123, "README.md", "main"))
    last = answer.pop("last_commit")
    content = base64.b64decode(answer.pop("content"))
    assert answer == {"file_name": "README.md", "file_path": "README.md", "encoding": "base64", "size": 1024}
    assert len(content) == 1024
    assert last["message"] == "Update README"
    assert last["author_name"] == "John Doe"


async def test_the_error_is_the_contracts(gitlab: Groups) -> None:
    with pytest.raises(GitLabFailure) as caught:
        await gitlab.projects.get_project(999)
    failure = caught.value
    assert (failure.code, failure.message) == (-32000, "GitLab API Error")
    assert failure.data["status"] == 404
    assert failure.data["message"] == "Project not found"
    assert failure.data["request_id"]


async def test_a_page_says_where_it_stands(gitlab: Groups, emulator: Emulator) -> None:
    second = direct(await gitlab.issues.list_issues(124, page=2, per_page=10))
    expected = {"page": 2, "per_page": 10, "total": 45, "total_pages": 5, "has_next": True, "has_prev": True}
    assert second["pagination"] == expected
    assert direct(await gitlab.issues.list_issues(124, per_page=500))["pagination"]["per_page"] == 100
    emulator.faults.add("no-totals")
    uncounted = direct(await gitlab.issues.list_issues(124, page=2, per_page=10))
    assert uncounted["total_count"] is None
    assert uncounted["pagination"] == expected | {"total": None, "total_pages": None}


async def test_twenty_issues_cost_a_model_less_than_seven_kilobytes(gitlab: Groups, emulator: Emulator) -> None:
    for row in emulator.world.projects[1].issues:
        row |= {"description": "Steps to reproduce: " + "do this, then that. " * 40, "assignees": [456]}
    page = await gitlab.issues.list_issues(124)
    assert len(page.issues) == 20
    assert len(text(page).encode()) <= 7_000
    from msgspec.json import encode

    assert len(encode(page)) <= 7_000
    assert len(encode(page.plain())) > 20_000  # a program gets all of it
