"""Merge requests: listed, made once, reviewed."""

from __future__ import annotations

import pytest

from postil.gitlab.failures import GitLabFailure
from tests.gitlab.answers import direct
from tests.gitlab.groups import Groups

pytestmark = pytest.mark.anyio


async def test_merge_requests_are_listed_by_branch_and_state(gitlab: Groups) -> None:
    found = await gitlab.merge_requests.list_merge_requests(123, "opened", "main", "feature-branch")
    assert [item.iid for item in found.merge_requests] == [1]
    assert (await gitlab.merge_requests.list_merge_requests(123, "merged")).merge_requests == []


async def test_a_merge_request_is_created_once(gitlab: Groups) -> None:
    made = await gitlab.merge_requests.create_merge_request(123, "Other", "other", "main", "MR description", 456, True)
    assert set(direct(made)) == {"id", "iid", "title", "web_url"}
    with pytest.raises(GitLabFailure) as caught:
        await gitlab.merge_requests.create_merge_request(123, "Again", "other", "main")
    assert (caught.value.code, caught.value.data["status"]) == (-32000, 409)
    assert caught.value.data["message"] == "Another open merge request already exists for this source branch: !2"


async def test_a_merge_request_shows_its_pipeline_and_people(gitlab: Groups) -> None:
    found = await gitlab.merge_requests.get_merge_request(123, 1)
    assert found.pipeline is not None
    assert found.pipeline.status == "failed"
    assert found.author is not None
    assert found.author.username == "johndoe"


async def test_a_reviewer_reads_the_changes_and_takes_part_in_the_discussion(gitlab: Groups) -> None:
    changes = await gitlab.review.get_merge_request_diff(123, 1)
    assert [item.new_path for item in changes.diffs] == ["src/app.py", "docs/new.md"]
    assert changes.pagination.total is None
    (thread,) = (await gitlab.review.list_merge_request_discussions(123, 1)).discussions
    assert (thread.resolvable, thread.resolved, thread.notes[0].file) == (True, False, "src/app.py")
    assert thread.id is not None
    await gitlab.review.comment_on_merge_request(123, 1, "Because.", thread.id)
    await gitlab.review.resolve_discussion(123, 1, thread.id)
    (after,) = (await gitlab.review.list_merge_request_discussions(123, 1)).discussions
    assert after.resolved
    assert [note.body for note in after.notes] == ["Why not `hello`?", "Because."]
    started = await gitlab.review.comment_on_merge_request(123, 1, "Another thing")
    assert started.discussion_id is not None
    assert started.id is not None
