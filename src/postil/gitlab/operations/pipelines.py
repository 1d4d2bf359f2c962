"""Operations on pipelines: list, get with the jobs and the end of failed logs, trigger."""

from __future__ import annotations

import asyncio
from typing import Literal, TypeAlias

from postil.gitlab.failures import GitLabFailure, invalid
from postil.gitlab.instance.connection import ReadOptions
from postil.gitlab.instance.convert import cut_log, read
from postil.gitlab.instance.identifiers import check_number, check_ref
from postil.gitlab.instance.records import Record
from postil.gitlab.model import Job
from postil.gitlab.operations.answers import PipelineDetails, Pipelines, Triggered
from postil.gitlab.operations.arguments import Cache, CacheTtl, Iid, Page, PerPage, Project, check_optional_line
from postil.gitlab.operations.marks import reads, writes
from postil.gitlab.operations.presentation import fit_for_models, list_page
from postil.gitlab.part import GitLab

Status: TypeAlias = Literal[
    "created", "waiting_for_resource", "preparing", "waiting_for_callback", "pending", "running", "success", "failed",
    "canceling", "canceled", "skipped", "manual", "scheduled",
]  # fmt: skip
MOST_LOGS = 5


class PipelineOperations:
    """What can be asked of and told to CI."""

    def __init__(self, context: GitLab) -> None:
        self._gitlab = context.connection

    @reads("list_pipelines", toolset="pipelines", shell="gitlab pipelines", positional=("project_id",))
    async def list_pipelines(
        self,
        project_id: Project,
        status: Status | None = None,
        ref: str | None = None,
        page: Page = 1,
        per_page: PerPage = 20,
        cache: Cache = False,
        cache_ttl: CacheTtl = 300,
    ) -> Pipelines:
        """List CI/CD pipelines of a project"""
        path = f"{await self._gitlab.check_project(project_id)}/pipelines"
        query = {"status": status, "ref": check_optional_line("ref", ref)}
        return await list_page(self._gitlab, Pipelines, path, {**query}, ReadOptions(cache, cache_ttl, page, per_page))

    @reads("get_pipeline", toolset="pipelines", shell="gitlab pipeline", positional=("project_id", "pipeline_id"))
    async def get_pipeline(
        self, project_id: Project, pipeline_id: Iid, cache: Cache = False, cache_ttl: CacheTtl = 300
    ) -> PipelineDetails:
        """Get a pipeline with its jobs and the log ends of failed ones"""
        project = await self._gitlab.check_project(project_id)
        options = ReadOptions(cache, cache_ttl)
        path = f"{project}/pipelines/{check_number('pipeline_id', pipeline_id)}"
        raw, jobs = await asyncio.gather(self._gitlab.get_one(path, None, options), self._list_jobs(path, options))
        failed = [job for job in jobs if job.text("status") == "failed"][:MOST_LOGS]
        tails = await asyncio.gather(*(self._read_log_tail(project, job) for job in failed))
        ends = {id(job): tail for job, tail in zip(failed, tails, strict=True)}
        shown = [read(Job, job, log_tail=ends.get(id(job))) for job in jobs]
        return fit_for_models(read(PipelineDetails, raw, jobs=shown))

    @writes("trigger_pipeline", toolset="pipelines", shell="gitlab trigger", positional=("project_id", "ref"))
    async def trigger_pipeline(
        self, project_id: Project, ref: str, variables: dict[str, str | int | float | bool] | None = None
    ) -> Triggered:
        """Start a pipeline on a branch or tag"""
        project = await self._gitlab.check_project(project_id)
        body: dict[str, object] = {"ref": check_ref(ref)}
        if variables:
            body["variables"] = [
                {"key": _check_name(name), "value": _encode(value)} for name, value in variables.items()
            ]
        return read(Triggered, await self._gitlab.send("POST", f"{project}/pipeline", body))

    async def _list_jobs(self, path: str, options: ReadOptions) -> list[Record]:
        return [raw async for raw in self._gitlab.get_every(f"{path}/jobs", options)]

    async def _read_log_tail(self, project: str, job: Record) -> str | None:
        """Return the end of a job's log; a log that cannot be read must not hide the pipeline."""
        number = job.number("id")
        if number is None:
            return None
        try:
            reply = await self._gitlab.get(f"{project}/jobs/{number}/trace")
        except GitLabFailure:
            return None
        return cut_log(reply.body, self._gitlab.token())


def _check_name(name: str) -> str:
    if not (name.isascii() and name.replace("_", "a").isalnum() and len(name) <= 255):
        raise invalid("variables", "must have names of letters, digits and '_'")
    return name


def _encode(value: str | float | bool) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)
