"""Pipelines: listed, shown with the ends of failed logs, triggered."""

from __future__ import annotations

import pytest

from postil.gitlab.failures import GitLabFailure
from postil.gitlab.instance.logs import TAIL_CHARACTERS
from tests.emulator.app import Emulator
from tests.gitlab.answers import direct, text
from tests.gitlab.groups import Groups

pytestmark = pytest.mark.anyio


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
    assert len(direct(pipeline)["jobs"]) > 250
    assert "of 252 jobs are left out" in text(pipeline)
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
