"""Operations on projects: list, get, search."""

from __future__ import annotations

from functools import partial

from postil.gitlab.instance.connection import Connection
from postil.gitlab.instance.convert import read
from postil.gitlab.model import ProjectItem
from postil.gitlab.operations.answers import ProjectDetails, Projects
from postil.gitlab.operations.arguments import Cache, CacheTtl, Page, PerPage, Project, Visibility, caching, word
from postil.gitlab.operations.marks import reads
from postil.gitlab.operations.presentation import for_models


class ProjectOperations:
    """What can be asked about projects."""

    gitlab: Connection

    @reads("list_projects", shell="gitlab projects")
    async def list_projects(
        self,
        visibility: Visibility | None = None,
        owned: bool | None = None,
        starred: bool | None = None,
        membership: bool | None = None,
        search: str | None = None,
        page: Page = 1,
        per_page: PerPage = 20,
        cache: Cache = False,
        cache_ttl: CacheTtl = 300,
    ) -> Projects:
        """List accessible GitLab projects"""
        rows, pagination = await self.gitlab.page(
            "projects",
            {
                "visibility": visibility,
                "owned": owned or None,
                "starred": starred or None,
                "membership": membership or None,
                "search": word("search", search),
            },
            page,
            per_page,
            partial(read, ProjectItem),
            caching(cache, cache_ttl),
            keep=self.gitlab.allows,
        )
        return for_models(Projects(rows, pagination))

    @reads("get_project", shell="gitlab project", positional=("project_id",))
    async def get_project(self, project_id: Project, cache: Cache = False, cache_ttl: CacheTtl = 300) -> ProjectDetails:
        """Get details of one project"""
        project = await self.gitlab.project(project_id)
        raw = await self.gitlab.one(project, {"statistics": True}, caching(cache, cache_ttl))
        return for_models(read(ProjectDetails, raw))

    @reads("search_projects", shell="gitlab search-projects", positional=("search",))
    async def search_projects(
        self,
        search: str,
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
