"""Operations on projects: list, get, search."""

from __future__ import annotations

from postil.core.operation import reads
from postil.gitlab.answers import ProjectDetails, Projects, for_models
from postil.gitlab.arguments import Cache, CacheTtl, Page, PerPage, Project, Visibility, caching, word
from postil.gitlab.connection import Connection
from postil.gitlab.identifiers import line
from postil.gitlab.reading import project_details, project_item


class ProjectOperations:
    """What can be asked about projects."""

    gitlab: Connection

    @reads("list_projects", shell="gitlab projects", open_world=True)
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
            project_item,
            caching=caching(cache, cache_ttl),
            keep=self.gitlab.allows,
        )
        return for_models(Projects(rows, pagination))

    @reads("get_project", shell="gitlab project", positional=("project_id",), open_world=True)
    async def get_project(self, project_id: Project, cache: Cache = False, cache_ttl: CacheTtl = 300) -> ProjectDetails:
        """Get details of one project"""
        project = await self.gitlab.project(project_id)
        kept = caching(cache, cache_ttl)
        raw = await self.gitlab.one(f"projects/{project}", {"statistics": True}, kept, project)
        return for_models(project_details(raw))

    @reads("search_projects", shell="gitlab search-projects", positional=("search",), open_world=True)
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
        rows, pagination = await self.gitlab.page(
            "projects",
            {"search": line("search", search), "visibility": visibility},
            page,
            per_page,
            project_item,
            caching=caching(cache, cache_ttl),
            keep=self.gitlab.allows,
        )
        return for_models(Projects(rows, pagination))
