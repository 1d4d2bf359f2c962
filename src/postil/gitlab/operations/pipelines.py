"""Operations on pipelines: list, get with the jobs and the end of failed logs, trigger."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Literal, TypeAlias

from postil.gitlab.failures import GitLabFailure, invalid
from postil.gitlab.instance.connection import Caching, Connection
from postil.gitlab.instance.convert import log_tail, read
from postil.gitlab.instance.identifiers import number, ref
from postil.gitlab.instance.records import Record
from postil.gitlab.model import Job, PipelineItem
from postil.gitlab.operations.answers import PipelineDetails, Pipelines, Triggered
from postil.gitlab.operations.arguments import Cache, CacheTtl, Iid, Page, PerPage, Project, caching, word
from postil.gitlab.operations.marks import reads, writes
from postil.gitlab.operations.presentation import for_models

Status: TypeAlias = Literal[
    "created",
    "waiting_for_resource",
    "preparing",
    "waiting_for_callback",
    "pending",
    "running",
    "success",
    "failed",
    "canceling",
    "canceled",
    "skipped",
    "manual",
    "scheduled",
]
MOST_LOGS = 5


class PipelineOperations:
    """What can be asked of and told to CI."""

    gitlab: Connection

    @reads("list_pipelines", shell="gitlab pipelines", positional=("project_id",))
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
        project = await self.gitlab.project(project_id)
        rows, pagination = await self.gitlab.page(
            f"{project}/pipelines",
            {"status": status, "ref": word("ref", ref)},
            page,
            per_page,
            partial(read, PipelineItem),
            caching(cache, cache_ttl),
        )
        return for_models(Pipelines(rows, pagination))

    @reads("get_pipeline", shell="gitlab pipeline", positional=("project_id", "pipeline_id"))
    async def get_pipeline(
        self, project_id: Project, pipeline_id: Iid, cache: Cache = False, cache_ttl: CacheTtl = 300
    ) -> PipelineDetails:
        """Get a pipeline with its jobs and the log ends of failed ones"""
        project = await self.gitlab.project(project_id)
        kept = caching(cache, cache_ttl)
        path = f"{project}/pipelines/{number('pipeline_id', pipeline_id)}"
        raw, jobs = await asyncio.gather(self.gitlab.one(path, None, kept), self._jobs(path, kept))
        failed = [one for one in jobs if one.text("status") == "failed"][:MOST_LOGS]
        tails = await asyncio.gather(*(self._log_tail(project, one) for one in failed))
        ends = {id(one): tail for one, tail in zip(failed, tails, strict=True)}
        shown = [read(Job, one, log_tail=ends.get(id(one))) for one in jobs]
        return for_models(read(PipelineDetails, raw, jobs=shown))

    @writes("trigger_pipeline", shell="gitlab trigger", positional=("project_id", "ref"))
    async def trigger_pipeline(
        self, project_id: Project, ref: str, variables: dict[str, str | int | float | bool] | None = None
    ) -> Triggered:
        """Start a pipeline on a branch or tag"""
        project = await self.gitlab.project(project_id)
        body: dict[str, object] = {"ref": _checked_ref(ref)}
        if variables:
            body["variables"] = [{"key": _key(key), "value": _value(value)} for key, value in variables.items()]
        return read(Triggered, await self.gitlab.send("POST", f"{project}/pipeline", body))

    async def _jobs(self, path: str, kept: Caching) -> list[Record]:
        return [raw async for raw in self.gitlab.every(f"{path}/jobs", kept)]

    async def _log_tail(self, project: str, raw: Record) -> str | None:
        """The end of a job's log; a log that cannot be read must not hide the pipeline."""
        number = raw.number("id")
        if number is None:
            return None
        try:
            reply = await self.gitlab.get(f"{project}/jobs/{number}/trace")
        except GitLabFailure:
            return None
        return log_tail(reply.body, self.gitlab.token())


_checked_ref = ref  # the argument of the same name hides it inside the operation


def _key(name: str) -> str:
    if not (name.isascii() and name.replace("_", "a").isalnum() and len(name) <= 255):
        raise invalid("variables", "must have names of letters, digits and '_'")
    return name


def _value(value: str | float | bool) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)
