"""Operations on projects: list, get, search, and what belongs to one: labels, milestones."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from postil.gitlab.instance.connection import ReadOptions
from postil.gitlab.instance.convert import read
from postil.gitlab.operations.answers import Labels, Milestones, ProjectDetails, Projects
from postil.gitlab.operations.arguments import (
    Cache,
    CacheTtl,
    MaxBytes,
    Page,
    PerPage,
    Project,
    Visibility,
    check_optional_line,
)
from postil.gitlab.operations.marks import CONTRACT, reads
from postil.gitlab.operations.presentation import fit_beside_others, limit_prose, list_page
from postil.gitlab.part import GitLab


class ProjectOperations:
    """What can be asked about projects."""

    def __init__(self, context: GitLab) -> None:
        self._gitlab, self._pointer = context.connection, context.pointer

    @reads("list_projects", toolset=CONTRACT, shell="gitlab projects")
    async def list_projects(
        self,
        visibility: Visibility | None = None,
        owned: Annotated[bool, Meta(description="only yours")] | None = None,
        starred: Annotated[bool, Meta(description="only starred by you")] | None = None,
        membership: Annotated[bool, Meta(description="only where you are a member")] | None = None,
        search: Annotated[str, Meta(description="in name and description")] | None = None,
        page: Page = 1,
        per_page: PerPage = 20,
        cache: Cache = False,
        cache_ttl: CacheTtl = 300,
    ) -> Projects:
        """List accessible GitLab projects"""
        query: dict[str, str | int | bool | None] = {
            "visibility": visibility,
            "owned": owned or None,
            "starred": starred or None,
            "membership": membership or None,
            "search": check_optional_line("search", search),
        }
        options = ReadOptions(cache, cache_ttl, page, per_page)
        return await list_page(self._gitlab, Projects, "projects", query, options, self._gitlab.allows)

    @reads("get_project", toolset=CONTRACT, shell="gitlab project", positional=("project_id",))
    async def get_project(
        self,
        project_id: Project | None = None,
        max_bytes: MaxBytes | None = None,
        cache: Cache = False,
        cache_ttl: CacheTtl = 300,
    ) -> ProjectDetails:
        """Get details of one project"""
        project = await self._pointer.project(project_id)
        raw = await self._gitlab.get_one(project, {"statistics": True}, ReadOptions(cache, cache_ttl))
        return limit_prose(await fit_beside_others(read(ProjectDetails, raw)), max_bytes)

    @reads("search_projects", toolset=CONTRACT, shell="gitlab search-projects", positional=("search",))
    async def search_projects(
        self,
        search: Annotated[str, Meta(description="in name and description")],
        visibility: Visibility | None = None,
        page: Page = 1,
        per_page: PerPage = 20,
        cache: Cache = False,
        cache_ttl: CacheTtl = 300,
    ) -> Projects:
        """Search projects by name or description"""
        return await self.list_projects(
            visibility, search=search, page=page, per_page=per_page, cache=cache, cache_ttl=cache_ttl
        )

    @reads("list_labels", toolset="issues", shell="gitlab labels", positional=("project_id",))
    async def list_labels(
        self,
        project_id: Project | None = None,
        search: Annotated[str, Meta(description="in the name")] | None = None,
        page: Page = 1,
        per_page: PerPage = 20,
        cache: Cache = False,
        cache_ttl: CacheTtl = 300,
    ) -> Labels:
        """List the labels of a project and of the groups above it"""
        path = f"{await self._pointer.project(project_id)}/labels"
        query = {"search": check_optional_line("search", search)}
        return await list_page(self._gitlab, Labels, path, {**query}, ReadOptions(cache, cache_ttl, page, per_page))

    @reads("list_milestones", toolset="issues", shell="gitlab milestones", positional=("project_id",))
    async def list_milestones(
        self,
        project_id: Project | None = None,
        state: Annotated[Literal["active", "closed"], Meta(description="only these")] | None = None,
        search: Annotated[str, Meta(description="in title and description")] | None = None,
        page: Page = 1,
        per_page: PerPage = 20,
        cache: Cache = False,
        cache_ttl: CacheTtl = 300,
    ) -> Milestones:
        """List the milestones of a project and of the groups above it"""
        path = f"{await self._pointer.project(project_id)}/milestones"
        query: dict[str, str | int | bool | None] = {
            "state": state,
            "search": check_optional_line("search", search),
            "include_ancestors": True,
        }
        return await list_page(self._gitlab, Milestones, path, query, ReadOptions(cache, cache_ttl, page, per_page))
