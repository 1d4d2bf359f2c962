"""Operations on CI: pipelines with their jobs, logs and test reports; start, retry, cancel, play, wait."""

from __future__ import annotations

import asyncio
from typing import Annotated, Literal, TypeAlias

from msgspec import UNSET, Meta
from msgspec.structs import replace

from postil.core import call
from postil.core.others.untrusted import clean, shorten
from postil.gitlab.failures import AnswerTooLarge, GitLabFailure, invalid
from postil.gitlab.fitting import choose_tail, choose_window, count_fitting, measure, read_lines, room_for_text
from postil.gitlab.instance.connection import ReadOptions
from postil.gitlab.instance.convert import read
from postil.gitlab.instance.identifiers import check_line, check_number, check_ref
from postil.gitlab.instance.logs import TAIL_CHARACTERS, TAIL_LINES, clean_log, cut_log, find_in_log
from postil.gitlab.instance.long_log import LongLog
from postil.gitlab.instance.records import Record
from postil.gitlab.model import ChildPipeline, Job
from postil.gitlab.operations import answers
from postil.gitlab.operations.arguments import (
    Cache,
    CacheTtl,
    Iid,
    Lines,
    MaxBytes,
    Page,
    PerPage,
    Project,
    check_optional_line,
)
from postil.gitlab.operations.marks import CONTRACT, reads, writes
from postil.gitlab.operations.presentation import fit_beside_others, list_page, remember
from postil.gitlab.part import GitLab
from postil.gitlab.policy.strangers_code import check_run

Status: TypeAlias = Literal[
    "created", "waiting_for_resource", "preparing", "waiting_for_callback", "pending", "running", "success", "failed",
    "canceling", "canceled", "skipped", "manual", "scheduled",
]  # fmt: skip
PipelineId: TypeAlias = Annotated[int, Meta(ge=1, description="id")]
JobId: TypeAlias = Annotated[int, Meta(ge=1, description="id")]
Variables: TypeAlias = dict[str, str | int | float | bool]
MOST_LOGS = 5
MOST_JOBS = 60
"""Jobs of a pipeline that a model is given: those that failed first."""
TAIL = 200
ENDED = ("success", "failed", "canceled", "skipped", "manual")
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 15.0
LONGEST_WAIT = 3600


class PipelineOperations:
    """What can be asked of and told to CI."""

    def __init__(self, context: GitLab) -> None:
        self._gitlab, self._pointer = context.connection, context.pointer

    @reads("list_pipelines", toolset=CONTRACT, shell="gitlab pipelines", positional=("project_id",))
    async def list_pipelines(
        self,
        project_id: Project | None = None,
        status: Annotated[Status, Meta(description="only these")] | None = None,
        ref: Annotated[str, Meta(description="branch or tag")] | None = None,
        merge_request_iid: Annotated[int | str, Meta(description="of this merge request")] | None = None,
        page: Page = 1,
        per_page: PerPage = 20,
        cache: Cache = False,
        cache_ttl: CacheTtl = 300,
    ) -> answers.Pipelines:
        """List CI/CD pipelines of a project, or of a merge request"""
        options = ReadOptions(cache, cache_ttl, page, per_page)
        if merge_request_iid is None:
            path = f"{await self._pointer.project(project_id)}/pipelines"
            query = {"status": status, "ref": check_optional_line("ref", ref)}
            return await list_page(self._gitlab, answers.Pipelines, path, {**query}, options)
        if status is not None or ref is not None:
            raise invalid("merge_request_iid", "cannot stand beside status or ref: GitLab does not filter these")
        path = f"{await self._pointer.merge_request(project_id, merge_request_iid)}/pipelines"
        return await list_page(self._gitlab, answers.Pipelines, path, {}, options)

    @reads("get_pipeline", toolset="ci", shell="gitlab pipeline", positional=("project_id", "pipeline_id"))
    async def get_pipeline(
        self,
        project_id: Project | None = None,
        pipeline_id: PipelineId | None = None,
        merge_request_iid: Annotated[int | str, Meta(description="its newest pipeline")] | None = None,
        cache: Cache = False,
        cache_ttl: CacheTtl = 300,
    ) -> answers.PipelineDetails:
        """Get a pipeline with its jobs and the log ends of failed ones"""
        project, path = await self._find_pipeline(project_id, pipeline_id, merge_request_iid)
        options = ReadOptions(cache, cache_ttl)
        raw, jobs, bridges = await asyncio.gather(
            self._gitlab.get_one(path, None, options),
            self._list_jobs(path, options),
            self._list_bridges(path, options),
        )
        await check_run(self._gitlab, project, raw)
        children = self._read_children(raw, bridges)
        failed = [job for job in jobs if job.text("status") == "failed"]
        tails = await asyncio.gather(*(self._read_log_tail(project, job) for job in failed[:MOST_LOGS]))
        ends = {id(job): tail for job, tail in zip(failed, tails, strict=False)}
        shown = [read(Job, job, log_tail=ends.get(id(job))) for job in jobs]
        untold = max(0, len(failed) - MOST_LOGS)
        original = read(answers.PipelineDetails, raw, jobs=shown, untold_failures=untold, children=children)
        return _limit_jobs(await fit_beside_others(original), [read(Job, job) for job in failed[MOST_LOGS:]])

    @reads(
        "get_job_log", toolset="ci", shell="gitlab job-log", positional=("project_id", "job_id"),
        requires=("job_id",),
    )  # fmt: skip
    async def get_job_log(
        self,
        project_id: Project | None = None,
        job_id: JobId = 0,
        tail: Annotated[int, Meta(ge=1, le=100_000, description="last lines; 200 otherwise")] | None = None,
        lines: Lines | None = None,
        search: Annotated[str, Meta(description="words to find")] | None = None,
        max_bytes: MaxBytes | None = None,
        cache: Cache = False,
        cache_ttl: CacheTtl = 300,
    ) -> answers.JobLog:
        """Get the log of a CI job: its end, a range of lines, or the lines with certain words"""
        wanted = read_lines(lines)
        if sum(given is not None for given in (tail, lines, search)) > 1:
            raise invalid("lines", "tail and search exclude each other: give one of them")
        words = None if search is None else check_line("search", search)
        number = check_number("job_id", job_id)
        project = await self._pointer.project(project_id)
        room = room_for_text(max_bytes)
        if await self._gitlab.locks(project):
            await check_run(self._gitlab, project, await self._gitlab.get_one(f"{project}/jobs/{number}"))
        route = f"{project}/jobs/{number}/trace"
        try:
            reply = await self._gitlab.get(route, None, ReadOptions(cache, cache_ttl))
        except AnswerTooLarge:
            long = await self._read_long_log(route, wanted, words)
            if words is not None:
                return _tell_found(number, long.total, long.found, long.hits, max_bytes)
            window = await asyncio.to_thread(long.choose, tail or TAIL, room)
        else:
            # Megabytes that anybody may have written: in a thread, since all others wait for the loop.
            text = await asyncio.to_thread(_read_log, reply.body, self._gitlab.token())
            if words is not None:
                found, hits = await asyncio.to_thread(find_in_log, text, words)
                return _tell_found(number, text.count("\n") + 1, found, hits, max_bytes)
            window = choose_window(text, wanted, room) if wanted else choose_tail(text, tail or TAIL, room)
        left = f"lines {window.first}-{window.last} of {window.total}"
        if window.is_cut:
            left += "; the line is cut: max_bytes gets more"
        if window.first > 1 and wanted is None:
            left += f"; lines=1-{window.first - 1} has what comes before"
        elif window.last < window.total and wanted is not None:
            left += f"; lines={window.last + 1}- goes on"
        log = answers.JobLog(number, window.total, window.text, left_out=UNSET if window.is_whole else left)
        return remember(log, log, max_bytes)

    @reads(
        "get_test_report", toolset="ci", shell="gitlab test-report", positional=("project_id", "pipeline_id"),
    )  # fmt: skip
    async def get_test_report(
        self,
        project_id: Project | None = None,
        pipeline_id: PipelineId | None = None,
        merge_request_iid: Annotated[int | str, Meta(description="its newest pipeline")] | None = None,
        max_bytes: MaxBytes | None = None,
        cache: Cache = False,
        cache_ttl: CacheTtl = 300,
    ) -> answers.TestReport:
        """Get what the tests of a pipeline said: counts, and the failed cases"""
        project, path = await self._find_pipeline(project_id, pipeline_id, merge_request_iid)
        options = ReadOptions(cache, cache_ttl)
        if await self._gitlab.locks(project):
            await check_run(self._gitlab, project, await self._gitlab.get_one(path))
        total = (await self._gitlab.get_one(f"{path}/test_report_summary", None, options)).record("total")
        count, passed, failed, errors, skipped = (
            total.number(name) or 0 for name in ("count", "success", "failed", "error", "skipped")
        )
        cases: list[str] = []
        if failed or errors:
            whole = await self._gitlab.get_one(f"{path}/test_report", None, options)
            cases = [_write_case(suite, case) for suite in whole.records("test_suites") for case in _list_bad(suite)]
        cases = [clean(case) for case in cases]
        kept = count_fitting(cases, room_for_text(max_bytes))
        left = f"{len(cases) - kept} failed cases are left out: max_bytes gets more" if kept < len(cases) else UNSET
        seconds = total.seconds("time")
        report = answers.TestReport(count, passed, failed, errors, skipped, seconds, cases[:kept], left_out=left)
        return remember(report, report, max_bytes)

    @writes(
        "trigger_pipeline",
        toolset=CONTRACT,
        shell="gitlab trigger",
        positional=("project_id", "ref"),
        requires=("ref",),
    )
    async def trigger_pipeline(
        self,
        project_id: Project | None = None,
        ref: Annotated[str, Meta(description="branch or tag")] = "",
        variables: Annotated[Variables, Meta(description="name to value")] | None = None,
    ) -> answers.Triggered:
        """Start a pipeline on a branch or tag"""
        body: dict[str, object] = {"ref": check_ref(ref)}
        if variables:
            body["variables"] = _list_variables(variables, "value")
        project = await self._pointer.project(project_id)
        return read(answers.Triggered, await self._gitlab.send("POST", f"{project}/pipeline", body))

    @writes(
        "control_pipeline", toolset="ci", shell="gitlab ci", positional=("action", "project_id"), requires=("action",)
    )
    async def control_pipeline(
        self,
        project_id: Project | None = None,
        action: Annotated[Literal["retry", "cancel", "play"], Meta(description="play: a manual job")] = "retry",
        pipeline_id: PipelineId | None = None,
        job_id: JobId | None = None,
        variables: Annotated[Variables, Meta(description="for play")] | None = None,
    ) -> answers.Controlled:
        """Retry or cancel a pipeline or a job, or play a manual job"""
        if (pipeline_id is None) == (job_id is None):
            raise invalid("pipeline_id", "or job_id must be given, not both")
        if action == "play" and job_id is None:
            raise invalid("job_id", "must be given: only a job can be played")
        if variables and action != "play":
            raise invalid("variables", "can only be given to play")
        body: dict[str, object] = {"job_variables_attributes": _list_variables(variables, "value")} if variables else {}
        kind, number = ("pipelines", pipeline_id) if job_id is None else ("jobs", job_id)
        project = await self._pointer.project(project_id)
        route = f"{project}/{kind}/{check_number('job_id' if job_id else 'pipeline_id', number or 0)}/{action}"
        raw = await self._gitlab.send("POST", route, body)
        return read(answers.Controlled, raw, what=kind.removesuffix("s"), action=action)

    @reads(
        "wait_pipeline",
        toolset="ci",
        waits=True,
        task="optional",
        shell="gitlab wait",
        positional=("project_id", "pipeline_id"),
        ignores=("cache", "cache_ttl"),
    )
    async def wait_pipeline(
        self,
        project_id: Project | None = None,
        pipeline_id: PipelineId | None = None,
        merge_request_iid: Annotated[int | str, Meta(description="its newest pipeline")] | None = None,
        timeout_seconds: Annotated[int, Meta(ge=0, le=LONGEST_WAIT, description="at most 3600")] = 600,
    ) -> answers.PipelineEnd:
        """Wait until a pipeline has ended, or the time is over; reports progress"""
        project, path = await self._find_pipeline(project_id, pipeline_id, merge_request_iid)
        if await self._gitlab.locks(project):  # jobs have the names that its code gives them
            await check_run(self._gitlab, project, await self._gitlab.get_one(path))
        loop = asyncio.get_running_loop()
        deadline, pause, told = loop.time() + timeout_seconds, FIRST_PAUSE, -1.0
        while True:
            raw = await self._gitlab.get_one(path)
            status = raw.text("status")
            if status in ENDED:
                return read(answers.PipelineEnd, raw, ended=True)
            left = deadline - loop.time()
            if left <= 0 or status is None:  # what says nothing will not say it later either
                return read(answers.PipelineEnd, raw, ended=False)
            told = await self._tell_progress(path, status, told)
            call.current().check()
            await self._gitlab.instance.pause(min(pause, left))
            pause = min(LONGEST_PAUSE, pause * 1.5)

    async def _tell_progress(self, path: str, status: str, told: float) -> float:
        """Say how many jobs have ended, when more have than before. Returns how many were told."""
        jobs = await self._list_jobs(path, ReadOptions())
        done = float(sum(job.text("status") in ENDED for job in jobs))
        if done > told:
            running = ", ".join(job.text("name") or "" for job in jobs if job.text("status") == "running")[:200]
            call.current().progress(
                done, float(len(jobs)) or None, clean(f"{status}: {running}" if running else status)
            )
        return max(done, told)

    async def _find_pipeline(
        self, project_id: int | str | None, pipeline_id: int | None, iid: Iid | None
    ) -> tuple[str, str]:
        """Return the routes of a project and a pipeline: the one given, or the newest of a merge request."""
        if pipeline_id is not None:
            if iid is not None:
                raise invalid("pipeline_id", "and merge_request_iid exclude each other: give one of them")
            project = await self._pointer.project(project_id)
            return project, f"{project}/pipelines/{check_number('pipeline_id', pipeline_id)}"
        route = await self._pointer.merge_request(project_id, iid)
        project = route.partition("/merge_requests/")[0]
        rows, _ = await self._gitlab.get_page(f"{route}/pipelines", {})
        newest = max((row.number("id") or 0 for row in rows), default=0)
        if not newest:
            raise invalid("pipeline_id", "must be given: the merge request has no pipeline")
        return project, f"{project}/pipelines/{newest}"

    async def _read_long_log(self, route: str, wanted: tuple[int, int | None] | None, words: str | None) -> LongLog:
        """Read a log that is too long to be held."""
        log = LongLog(self._gitlab.token(), wanted, words)
        await self._gitlab.stream(route, log.feed)
        log.finish()
        return log

    async def _list_bridges(self, path: str, options: ReadOptions) -> list[Record]:
        """Return the jobs that started other pipelines. None where GitLab has no such jobs, or does not show them."""
        try:
            return [raw async for raw in self._gitlab.get_every(f"{path}/bridges", options)]
        except GitLabFailure as failure:
            if failure.status in (403, 404):
                return []
            raise

    def _read_children(self, pipeline: Record, bridges: list[Record]) -> list[ChildPipeline]:
        """Return the pipelines that were started; those of projects that are not offered here are left out."""
        children: list[ChildPipeline] = []
        for bridge in bridges:
            child = bridge.record("downstream_pipeline")
            project = child.number("project_id")
            if project in (None, pipeline.number("project_id")) or self._gitlab.allows_issue(child):
                status = child.text("status") or bridge.text("status")
                children.append(
                    ChildPipeline(bridge.text("name"), status, child.number("id"), project, child.text("web_url"))
                )
        return children

    async def _list_jobs(self, path: str, options: ReadOptions) -> list[Record]:
        return [raw async for raw in self._gitlab.get_every(f"{path}/jobs", options)]

    async def _read_log_tail(self, project: str, job: Record) -> str | None:
        """Return the end of a job's log; a log that cannot be read must not hide the pipeline."""
        number = job.number("id")
        if number is None:
            return None
        route = f"{project}/jobs/{number}/trace"
        try:
            reply = await self._gitlab.get(route)
        except AnswerTooLarge:
            return await self._read_long_tail(route)
        except GitLabFailure:
            return None
        return cut_log(reply.body, self._gitlab.token())

    async def _read_long_tail(self, route: str) -> str | None:
        try:
            return (await self._read_long_log(route, None, None)).choose(TAIL_LINES, TAIL_CHARACTERS).text
        except GitLabFailure:
            return None


def _limit_jobs(whole: answers.PipelineDetails, untold: list[Job]) -> answers.PipelineDetails:
    """Return a pipeline with the jobs that a model needs: those that failed, then the others, and how many are left."""
    room = room_for_text(None)
    order = sorted(whole.jobs, key=lambda job: (job.status != "failed", job.status == "success"))
    bare = [replace(job, log_tail=None).line() for job in order]
    kept = order[: min(MOST_JOBS, count_fitting(bare, room // 2))]
    children = whole.children[: count_fitting([child.line() for child in whole.children], room // 8)]
    said: list[str] = []
    if untold:
        ids = ", ".join(f"{shorten(job.name or '', 60)} ({job.id})" for job in untold[:10])
        said.append(f"{len(untold)} more failed jobs without a log here: get_job_log with job_id gets them: {ids}")
    if len(kept) < len(order):
        said.append(f"{len(order) - len(kept)} of {len(order)} jobs are left out")
    if len(children) < len(whole.children):
        said.append(f"{len(whole.children) - len(children)} pipelines that it started are left out")
    jobs = whole.jobs if len(kept) == len(order) else kept
    fit = replace(whole, jobs=jobs, children=children, left_out="; ".join(said) or UNSET)
    tails = sum(job.log_tail is not None for job in jobs)
    if tails:
        others = measure(replace(fit, jobs=[replace(job, log_tail=None) for job in jobs]).write())
        share = max(400, (room - others) // tails)
        fit = replace(fit, jobs=[_cut_tail(job, share) for job in jobs])
    return remember(fit, whole)


def _cut_tail(job: Job, room: int) -> Job:
    return job if job.log_tail is None else replace(job, log_tail=choose_tail(job.log_tail, 40, room).text)


def _read_log(trace: bytes, token: str) -> str:
    return clean(clean_log(trace, token))


def _tell_found(number: int, total: int, found: list[str], hits: int, max_bytes: int | None) -> answers.JobLog:
    kept = count_fitting(found, room_for_text(max_bytes))
    said = f"{hits} of {total} lines have these words"
    if kept < len(found):
        said += f"; {len(found) - kept} lines are left out: lines= or max_bytes gets them"
    log = answers.JobLog(number, total, "\n".join(found[:kept]), left_out=said)
    return remember(log, log, max_bytes)


def _list_bad(suite: Record) -> list[Record]:
    return [case for case in suite.records("test_cases") if case.text("status") in ("failed", "error")]


def _write_case(suite: Record, case: Record) -> str:
    output = case.fields.get("system_output")
    words = output if isinstance(output, str) else (Record(output).text("message") or "")
    lines = " ".join(words.split())[:300]
    where = " ".join(filter(None, (case.text("classname"), case.text("name"))))
    return f"{suite.text('name')}: {where} ({case.text('status')})" + (f": {lines}" if lines else "")


def _list_variables(variables: Variables, field: str) -> list[dict[str, str]]:
    return [{"key": _check_name(name), field: _encode(value)} for name, value in variables.items()]


def _check_name(name: str) -> str:
    if not (name.isascii() and name.replace("_", "a").isalnum() and len(name) <= 255):
        raise invalid("variables", "must have names of letters, digits and '_'")
    return name


def _encode(value: str | float | bool) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)
