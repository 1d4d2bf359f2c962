"""The contract, example by example, on the world of the emulator in which its examples are true."""

from __future__ import annotations

import base64

import pytest

from postil.gitlab.failures import GitLabFailure
from postil.gitlab.instance.convert import TAIL_CHARACTERS
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


async def test_a_project_is_found_by_its_path_too(gitlab: Groups) -> None:
    assert (await gitlab.projects.get_project("username/my-project")).id == 123


async def test_statistics_that_gitlab_does_not_tell_are_null(gitlab: Groups, emulator: Emulator) -> None:
    emulator.world.projects[1].members[456] = 10
    assert (await gitlab.projects.get_project(124)).statistics is None


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


async def test_an_issue_is_found_by_a_global_id_never_seen_before(gitlab: Groups) -> None:
    assert (await gitlab.issues.get_issue(123, issue_id=789)).iid == 1


async def test_a_number_that_is_no_global_id_is_taken_as_an_iid(gitlab: Groups) -> None:
    assert (await gitlab.issues.get_issue(124, issue_id=3)).title == "Public issue 3"


async def test_the_global_id_of_another_projects_issue_is_not_found_here(gitlab: Groups) -> None:
    other = (await gitlab.issues.list_issues(124)).issues[0].id
    assert other is not None
    with pytest.raises(GitLabFailure) as caught:
        await gitlab.issues.get_issue(123, issue_id=other)
    assert caught.value.status == 404


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
    changes = await gitlab.merge_requests.get_merge_request_diff(123, 1)
    assert [item.new_path for item in changes.diffs] == ["src/app.py", "docs/new.md"]
    assert changes.pagination.total is None
    (thread,) = (await gitlab.merge_requests.list_merge_request_discussions(123, 1)).discussions
    assert (thread.resolvable, thread.resolved, thread.notes[0].file) == (True, False, "src/app.py")
    assert thread.id is not None
    await gitlab.merge_requests.comment_on_merge_request(123, 1, "Because.", thread.id)
    await gitlab.merge_requests.resolve_discussion(123, 1, thread.id)
    (after,) = (await gitlab.merge_requests.list_merge_request_discussions(123, 1)).discussions
    assert after.resolved
    assert [note.body for note in after.notes] == ["Why not `hello`?", "Because."]
    started = await gitlab.merge_requests.comment_on_merge_request(123, 1, "Another thing")
    assert started.discussion_id is not None
    assert started.id is not None


async def test_pipelines_are_listed_by_status_and_ref(gitlab: Groups) -> None:
    (found,) = (await gitlab.pipelines.list_pipelines(123, "success", "main")).pipelines
    assert found.status == "success"


async def test_a_failed_pipeline_shows_the_end_of_the_failed_jobs_log(gitlab: Groups) -> None:
    (failed,) = (await gitlab.pipelines.list_pipelines(123, "failed")).pipelines
    assert failed.id is not None
    found = await gitlab.pipelines.get_pipeline(123, failed.id)
    lint, unit = found.jobs
    assert lint.log_tail is None
    assert unit.log_tail is not None
    assert unit.log_tail.endswith("AssertionError: 1 != 2\nERROR: Job failed: exit code 1")
    assert unit.log_tail.count("\n") < 40
    assert "end of the log of unit" in text(found)


async def test_a_job_that_failed_is_found_among_hundreds(gitlab: Groups, emulator: Emulator) -> None:
    jobs = emulator.world.projects[0].jobs
    failed = next(job for job in jobs if job["status"] == "failed")
    jobs.remove(failed)
    jobs += [{**failed, "id": 9000 + number, "name": f"job {number}", "status": "success"} for number in range(250)]
    jobs.append(failed)
    pipeline = await gitlab.pipelines.get_pipeline(123, failed["pipeline"])
    assert len(pipeline.jobs) > 250
    assert [job.name for job in pipeline.jobs if job.log_tail] == [failed["name"]]
    assert sum(seen.path.endswith("/jobs") for seen in emulator.seen) == 3


async def test_the_end_of_a_log_keeps_its_lines_and_loses_its_secrets(gitlab: Groups, emulator: Emulator) -> None:
    failed = next(job for job in emulator.world.projects[0].jobs if job["status"] == "failed")
    token = "glpat-" + "x" * 60
    filler = "y" * (TAIL_CHARACTERS - len("\nbuilt 10%\nfailed") - 20)
    failed["trace"] = f"{token}{filler}\r\nbuilt 5%\rbuilt 10%\r\nfailed\r\n"
    pipeline = await gitlab.pipelines.get_pipeline(123, 1002)
    (tail,) = [job.log_tail for job in pipeline.jobs if job.log_tail]
    assert tail.splitlines()[1:] == ["built 10%", "failed"]
    assert "xxx" not in tail  # cut in the middle, it would not look like a token any more


async def test_variables_reach_the_pipeline_as_gitlab_wants_them(gitlab: Groups, emulator: Emulator) -> None:
    made = await gitlab.pipelines.trigger_pipeline(123, "main", {"CUSTOM_VAR": "value", "COUNT": 3, "DEEP": True})
    assert set(direct(made)) == {"id", "status", "ref", "sha", "web_url"}
    sent = emulator.world.projects[0].pipelines[-1]["variables"]
    assert sent == [
        {"key": "CUSTOM_VAR", "value": "value"},
        {"key": "COUNT", "value": "3"},
        {"key": "DEEP", "value": "true"},
    ]


async def test_an_unknown_ref_is_an_invalid_parameter(gitlab: Groups) -> None:
    with pytest.raises(GitLabFailure) as caught:
        await gitlab.pipelines.trigger_pipeline(123, "nowhere")
    assert (caught.value.code, caught.value.data["message"]) == (-32602, "Reference not found")


async def test_a_file_comes_with_its_last_commit(gitlab: Groups, emulator: Emulator) -> None:
    answer = direct(await gitlab.repository.get_file_content(123, "README.md", "main"))
    last = answer.pop("last_commit")
    content = base64.b64decode(answer.pop("content"))
    assert answer == {"file_name": "README.md", "file_path": "README.md", "encoding": "base64", "size": 1024}
    assert len(content) == 1024
    assert last["message"] == "Update README"
    assert last["author_name"] == "John Doe"


async def test_a_file_with_a_percent_sign_in_its_name_can_be_read(gitlab: Groups, emulator: Emulator) -> None:
    with pytest.raises(GitLabFailure) as caught:
        await gitlab.repository.get_file_content(123, "docs/100% sure.md")
    assert caught.value.status == 404  # asked for, and not there
    assert emulator.seen[-1].path.endswith("/files/docs%2F100%25%20sure.md")


async def test_a_very_large_file_is_cut_for_a_model_and_whole_for_a_program(gitlab: Groups, emulator: Emulator) -> None:
    project = emulator.world.projects[0]
    files = {"large.txt": b"line\n" * 300_000, "large.bin": b"\xff\x00" * 500_000, "small.bin": b"\xff\x00"}
    emulator.world.commit_files(project, "Large", "John Doe", files)
    large = await gitlab.repository.get_file_content(123, "large.txt")
    assert structured(large)["content"].endswith("\n[cut here: the first 1000000 of 1500000 characters]")
    binary = await gitlab.repository.get_file_content(123, "large.bin")
    assert structured(binary)["content"] is None
    assert "not text" in text(binary)
    for name, answer in (("large.txt", large), ("large.bin", binary)):
        assert base64.b64decode(direct(answer)["content"]) == files[name]
    small = await gitlab.repository.get_file_content(123, "small.bin")
    assert base64.b64decode(structured(small)["content"]) == files["small.bin"]


async def test_a_model_reads_a_file_as_text(gitlab: Groups) -> None:
    answer = await gitlab.repository.get_file_content("username/my-project", "src/lib/deep.py")
    assert (answer.content, answer.encoding) == ("x = 1\n", "text")


async def test_a_folder_is_listed_with_or_without_its_trailing_slash(gitlab: Groups) -> None:
    with_slash = (await gitlab.repository.list_repository_files(123, "src/", "main", recursive=False)).files
    assert [item.path for item in with_slash] == ["src/lib", "src/app.py"]
    assert (await gitlab.repository.list_repository_files(123, "src")).files == with_slash


async def test_an_empty_repository_has_no_files_to_list(gitlab: Groups) -> None:
    with pytest.raises(GitLabFailure) as caught:
        await gitlab.repository.list_repository_files(125)
    assert caught.value.data["message"] == "Tree not found"


async def test_projects_and_issues_are_searched(gitlab: Groups) -> None:
    assert [item.id for item in (await gitlab.projects.search_projects("tools")).projects] == [124]
    everywhere = direct(await gitlab.issues.search_issues("issue", state="opened"))
    assert everywhere["total_count"] == 37
    assert {item["project_id"] for item in everywhere["issues"]} <= {123, 124}
    inside = direct(await gitlab.issues.search_issues("issue", project_id=123))
    assert [item["id"] for item in inside["issues"]] == [789]


async def test_a_webhook_is_made_once_and_then_changed(gitlab: Groups, emulator: Emulator) -> None:
    url = "https://93.184.216.34/webhook"
    first = await gitlab.webhooks.configure_webhook(123, url, ["push", "issues", "merge_requests"])
    again = await gitlab.webhooks.configure_webhook(123, url, ["pipelines"], token="secret-of-the-hook")
    assert first.id == again.id
    assert (first.events, again.events) == (["push", "issues", "merge_requests"], ["pipelines"])
    (kept,) = emulator.world.projects[0].hooks
    assert kept["push_events"] is False
    assert "secret-of-the-hook" not in str(direct(again))


async def test_an_issue_is_changed_and_noted(gitlab: Groups) -> None:
    await gitlab.issues.update_issue(
        123, 1, title="Better", state_event="close", add_labels=["x"], remove_labels=["bug"]
    )
    await gitlab.issues.create_issue_note(123, 1, "Done.")
    after = await gitlab.issues.get_issue(123, issue_iid=1)
    assert (after.title, after.state, after.labels) == ("Better", "closed", ["x"])
    notes = (await gitlab.issues.list_issue_notes(123, 1)).notes
    assert [note.body for note in notes] == ["Seen it too.\n", "Done."]
    await gitlab.issues.update_issue(123, 1, assignee_id=0)
    assert (await gitlab.issues.get_issue(123, issue_iid=1)).assignee is None


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
