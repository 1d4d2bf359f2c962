"""Pipelines: listed, shown with the ends of failed logs, triggered."""

from __future__ import annotations

import asyncio

import pytest

from postil.core.call import Call, enter
from postil.core.failure import Failure
from postil.gitlab.failures import GitLabFailure
from postil.gitlab.instance.logs import TAIL_CHARACTERS
from postil.gitlab.operations import pipelines
from postil.gitlab.operations.answers import PipelineEnd
from tests.emulator.app import Emulator
from tests.gitlab.answers import direct, text
from tests.gitlab.conftest import Connect, Naps
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


async def test_a_job_log_is_read_by_its_end_a_range_and_a_search(gitlab: Groups, emulator: Emulator) -> None:
    log = gitlab.pipelines.get_job_log
    end = await log(123, 1003, tail=3)
    assert end.content.split("\n") == ["line 300", "AssertionError: 1 != 2", "ERROR: Job failed: exit code 1"]
    assert "lines=1-299 has what comes before" in text(end)
    assert (await log(123, 1003, lines="2-3")).content == "line 2\nline 3"
    found = await log(123, 1003, search="assertionerror")
    assert "301: AssertionError: 1 != 2" in found.content
    assert "1 of 302 lines" in text(found)
    emulator.world.projects[0].jobs[2]["trace"] = "x" * 60 + "\n"
    emulator.world.projects[0].jobs[2]["trace"] *= 20_000
    assert len(text(await log(123, 1003, tail=100_000)).encode()) <= 24_000
    with pytest.raises(Failure, match="exclude"):
        await log(123, 1003, tail=3, lines="1-2")


async def test_a_pipeline_says_how_many_failed_jobs_it_left_out(gitlab: Groups, emulator: Emulator) -> None:
    jobs = emulator.world.projects[0].jobs
    failed = next(job for job in jobs if job["status"] == "failed")
    jobs += [{**failed, "id": 9000 + number, "name": f"job {number}"} for number in range(7)]
    pipeline = await gitlab.pipelines.get_pipeline(123, failed["pipeline"])
    assert direct(pipeline)["untold_failures"] == 3
    assert "3 more failed jobs" in text(pipeline)
    assert "job 6 (9006)" in text(pipeline)
    assert len(text(pipeline).encode()) <= 24_000


async def test_ci_is_told_to_retry_cancel_and_play(gitlab: Groups, emulator: Emulator) -> None:
    project = emulator.world.projects[0]
    control = gitlab.pipelines.control_pipeline
    assert (await control(123, "retry", pipeline_id=1002)).status == "running"
    assert (await control(123, "cancel", pipeline_id=1002)).status == "canceled"
    manual = emulator.world.add_job(project, project.pipelines[0], "deploy", "deploy", "manual", "")
    played = await control(123, "play", job_id=manual["id"], variables={"TO": "prod"})
    assert (played.what, played.status) == ("job", "pending")
    assert manual["variables"] == [{"key": "TO", "value": "prod"}]
    with pytest.raises(GitLabFailure, match="Invalid params"):
        await control(123, "play", job_id=manual["id"])
    for wrong in (control(123, "retry"), control(123, "play", pipeline_id=1), control(123, "retry", 1, 2)):
        with pytest.raises(Failure):
            await wrong


async def test_a_test_report_shows_counts_and_failed_cases(gitlab: Groups, emulator: Emulator) -> None:
    cases = [{"status": "success", "name": f"t{number}", "classname": "A"} for number in range(50)]
    cases.append({"status": "failed", "name": "bad", "classname": "A", "system_output": "expected 1\ngot 2"})
    emulator.world.projects[0].reports[1002] = [{"name": "unit", "time": 1.5, "test_cases": cases}]
    report = await gitlab.pipelines.get_test_report(123, 1002)
    assert (report.total, report.passed, report.failed) == (51, 50, 1)
    assert "unit: A bad (failed): expected 1 got 2" in text(report)
    assert (await gitlab.pipelines.get_test_report(123, merge_request_iid=1)).total == 51


async def test_waiting_ends_with_the_pipeline_and_tells_progress(
    gitlab: Groups, emulator: Emulator, naps: Naps
) -> None:
    run = emulator.world.projects[0].pipelines[-1]
    run["status"] = "running"
    told: list[tuple[float, float | None, str]] = []

    class Listening(Call):
        def progress(self, done: float, total: float | None = None, message: str = "") -> None:
            told.append((done, total, message))
            run["status"] = "success"

    async def waits() -> object:
        enter(Listening())
        return await gitlab.pipelines.wait_pipeline(123, run["id"])

    ended = await asyncio.create_task(waits())
    assert isinstance(ended, PipelineEnd)
    assert (ended.ended, ended.status) == (True, "success")
    assert told == [(2.0, 2.0, "running")]
    assert naps.taken == [1.0]


async def test_waiting_that_takes_too_long_says_so(gitlab: Groups, emulator: Emulator) -> None:
    run = emulator.world.projects[0].pipelines[-1]
    run["status"] = "running"
    ended = await gitlab.pipelines.wait_pipeline(123, run["id"], timeout_seconds=0)
    assert (ended.ended, ended.status) == (False, "running")
    assert "wait_pipeline again" in ended.for_model()


async def test_pipelines_of_a_merge_request_are_listed(gitlab: Groups) -> None:
    (found,) = (await gitlab.pipelines.list_pipelines(123, merge_request_iid="!1")).pipelines
    assert found.ref == "feature-branch"
    with pytest.raises(Failure, match="does not filter"):
        await gitlab.pipelines.list_pipelines(123, "failed", merge_request_iid=1)


LONG = b"".join(b"step %07d \x1b[32mfine\x1b[0m\n" % number for number in range(1, 200_001)) + b"ERROR: it broke\n"


async def test_a_log_beyond_the_bound_is_read_through_and_says_what_is_left_out(
    gitlab: Groups, emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("postil.gitlab.instance.client.LARGEST_ANSWER", 1_000_000)
    job = emulator.world.projects[0].jobs[-1]
    job["trace"] = LONG.decode()
    end = await gitlab.pipelines.get_job_log(123, job["id"], tail=2)
    assert end.content == "step 0200000 fine\nERROR: it broke"
    assert end.total_lines == 200_001
    assert end.left_out == "lines 200000-200001 of 200001; lines=1-199999 has what comes before"
    some = await gitlab.pipelines.get_job_log(123, job["id"], lines="150000-150001")
    assert some.content == "step 0150000 fine\nstep 0150001 fine"
    found = await gitlab.pipelines.get_job_log(123, job["id"], search="error")
    assert found.content.endswith("200001: ERROR: it broke")
    assert found.left_out == "1 of 200001 lines have these words"
    told = await gitlab.pipelines.get_pipeline(123, 1002)
    assert "ERROR: it broke" in (next(each for each in told.jobs if each.id == job["id"]).log_tail or "")


async def test_a_log_that_is_slow_to_clean_holds_up_nobody_else(gitlab: Groups, emulator: Emulator) -> None:
    """Ten megabytes of joined signs: for 8 s nobody was answered."""
    job = emulator.world.projects[0].jobs[-1]
    job["trace"] = "\u0628\u200c" * 1_000_000 + "\nthe end"
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0.005)

    counting = asyncio.create_task(count())
    reading = pipelines.__dict__["_read_log"]

    def read_log(trace: bytes, token: str) -> str:
        before = turns
        try:
            return reading(trace, token)
        finally:
            at_once.append(turns - before)

    at_once: list[int] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipelines, "_read_log", read_log)
        found = await gitlab.pipelines.get_job_log(123, job["id"], tail=1)
    counting.cancel()
    assert found.content.endswith("the end")
    assert at_once[0] > 2


async def test_a_log_beyond_every_bound_is_refused(
    gitlab: Groups, emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("postil.gitlab.instance.client.LARGEST_ANSWER", 1_000)
    monkeypatch.setattr("postil.gitlab.instance.client.LONGEST_STREAM", 100_000)
    job = emulator.world.projects[0].jobs[-1]
    job["trace"] = "x" * 200_000
    with pytest.raises(GitLabFailure) as caught:
        await gitlab.pipelines.get_job_log(123, job["id"])
    assert "larger than" in str(caught.value.data["message"])


async def test_a_pipeline_names_the_pipelines_that_it_started(gitlab: Groups, emulator: Emulator) -> None:
    world = emulator.world
    mine, other = world.projects[0], world.projects[1]
    failed = next(row for row in mine.pipelines if row["id"] == 1002)
    world.add_bridge(mine, failed, "e2e", other, world.add_pipeline(other, "main", "failed", "pipeline", 456))
    told = await gitlab.pipelines.get_pipeline(123, 1002)
    first = told.children[0]
    assert (first.job, first.id, first.status) == ("deploy", 1001, "success")
    assert "e2e started pipeline" in text(told)
    assert f"in project {other.id}: failed" in text(told)


async def test_a_child_in_a_project_that_is_not_offered_is_not_named(connect: Connect, emulator: Emulator) -> None:
    world = emulator.world
    mine, other = world.projects[0], world.projects[1]
    failed = next(row for row in mine.pipelines if row["id"] == 1002)
    world.add_bridge(mine, failed, "e2e", other, world.add_pipeline(other, "main", "failed", "pipeline", 456))
    told = await connect(projects=("username/my-project",)).pipelines.get_pipeline(123, 1002)
    assert [child.job for child in told.children] == ["deploy"]


async def test_a_gitlab_without_bridges_still_shows_the_pipeline(gitlab: Groups, emulator: Emulator) -> None:
    emulator.faults.add("404", path="/bridges")
    told = await gitlab.pipelines.get_pipeline(123, 1002)
    assert told.children == []
    assert told.jobs
