"""Operations on projects: list, get, search."""

from __future__ import annotations

from postil.gitlab.instance.connection import ReadOptions
from postil.gitlab.instance.convert import read
from postil.gitlab.operations.answers import ProjectDetails, Projects
from postil.gitlab.operations.arguments import Cache, CacheTtl, Page, PerPage, Project, Visibility, check_optional_line
from postil.gitlab.operations.marks import reads
from postil.gitlab.operations.presentation import fit_for_models, list_page
from postil.gitlab.part import GitLab


class ProjectOperations:
    """What can be asked about projects."""

    def __init__(self, context: GitLab) -> None:
        self._gitlab = context.connection

    @reads("list_projects", toolset="projects", shell="gitlab projects")
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
        query: dict[str, str | int | bool | None] = {
            "visibility": visibility,
            "owned": owned or None,
            "starred": starred or None,
            "membership": membership or None,
            "search": check_optional_line("search", search),
        }
        options = ReadOptions(cache, cache_ttl, page, per_page)
        return await list_page(self._gitlab, Projects, "projects", query, options, self._gitlab.allows)

    @reads("get_project", toolset="projects", shell="gitlab project", positional=("project_id",))
    async def get_project(self, project_id: Project, cache: Cache = False, cache_ttl: CacheTtl = 300) -> ProjectDetails:
        """Get details of one project"""
        project = await self._gitlab.check_project(project_id)
        raw = await self._gitlab.get_one(project, {"statistics": True}, ReadOptions(cache, cache_ttl))
        return fit_for_models(read(ProjectDetails, raw))

    @reads("search_projects", toolset="projects", shell="gitlab search-projects", positional=("search",))
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
