"""Reads on answers with everything null, with keys missing and with unknown keys: no read fails."""

from __future__ import annotations

from collections.abc import Awaitable

import pytest

from tests.emulator.app import Emulator
from tests.gitlab.answers import direct, text
from tests.gitlab.groups import Groups

pytestmark = pytest.mark.anyio


def every_read(gitlab: Groups, pipeline: int) -> list[Awaitable[object]]:
    return [
        gitlab.projects.list_projects(),
        gitlab.projects.get_project(123),
        gitlab.projects.search_projects("project"),
        gitlab.issues.list_issues(124),
        gitlab.issues.get_issue(123, issue_iid=1),
        gitlab.issues.get_issue(123, issue_id=789),
        gitlab.issues.list_issue_notes(123, 1),
        gitlab.issues.search_issues("issue"),
        gitlab.merge_requests.list_merge_requests(123),
        gitlab.merge_requests.get_merge_request(123, 1),
        gitlab.review.get_merge_request_diff(123, 1),
        gitlab.review.list_merge_request_discussions(123, 1),
        gitlab.pipelines.list_pipelines(123),
        gitlab.pipelines.get_pipeline(123, pipeline),
        gitlab.repository.get_file_content(123, "README.md"),
        gitlab.repository.list_repository_files(123),
    ]


@pytest.mark.parametrize("kind", ["nulls", "missing", "extra", "no-totals"])
async def test_no_read_fails_on_odd_but_valid_answers(gitlab: Groups, emulator: Emulator, kind: str) -> None:
    emulator.faults.add(kind)
    for read in every_read(gitlab, emulator.world.projects[0].pipelines[-1]["id"]):
        answer = await read
        assert isinstance(direct(answer), dict)
        assert text(answer)
        assert "from_the_future" not in str(direct(answer))
        assert "glrt-" not in str(direct(answer))


@pytest.mark.parametrize("kind", ["nulls", "extra"])
async def test_a_read_gives_its_own_keys_whatever_gitlab_sends(gitlab: Groups, emulator: Emulator, kind: str) -> None:
    usual = direct(await gitlab.merge_requests.get_merge_request(123, 1))
    emulator.faults.add(kind)
    assert set(direct(await gitlab.merge_requests.get_merge_request(123, 1))) == set(usual)
