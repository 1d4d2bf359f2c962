"""Operations on issues and their notes."""

from __future__ import annotations

from typing import Literal

from postil.gitlab.failures import GitLabFailure, invalid
from postil.gitlab.instance.connection import ReadOptions
from postil.gitlab.instance.convert import read
from postil.gitlab.instance.identifiers import check_line, check_number
from postil.gitlab.instance.records import Record
from postil.gitlab.operations import arguments
from postil.gitlab.operations.answers import Created, FoundIssues, IssueDetails, Issues, Noted, Notes
from postil.gitlab.operations.arguments import (
    Assignee,
    Cache,
    CacheTtl,
    Iid,
    IssueState,
    Labels,
    Page,
    PerPage,
    Project,
)
from postil.gitlab.operations.marks import reads, writes
from postil.gitlab.operations.presentation import fit_for_models, list_page
from postil.gitlab.part import GitLab


class IssueOperations:
    """What can be done with issues."""

    def __init__(self, context: GitLab) -> None:
        self._gitlab = context.connection

    @reads("list_issues", toolset="issues", shell="gitlab issues", positional=("project_id",))
    async def list_issues(
        self,
        project_id: Project,
        state: IssueState | None = None,
        labels: Labels | None = None,
        assignee_id: Assignee | None = None,
        page: Page = 1,
        per_page: PerPage = 20,
        cache: Cache = False,
        cache_ttl: CacheTtl = 300,
    ) -> Issues:
        """List issues of a project; descriptions are shortened"""
        project = await self._gitlab.check_project(project_id)
        query = {"state": state, "labels": arguments.join_labels(labels), "assignee_id": assignee_id}
        options = ReadOptions(cache, cache_ttl, page, per_page)
        return await list_page(self._gitlab, Issues, f"{project}/issues", query, options)

    @reads("get_issue", toolset="issues", shell="gitlab issue", positional=("project_id", "issue_id"))
    async def get_issue(
        self,
        project_id: Project,
        issue_id: Iid | None = None,
        issue_iid: Iid | None = None,
        cache: Cache = False,
        cache_ttl: CacheTtl = 300,
    ) -> IssueDetails:
        """Get one issue in full, by its iid (#1) or its global id"""
        issues = f"{await self._gitlab.check_project(project_id)}/issues"
        options = ReadOptions(cache, cache_ttl)
        if issue_iid is not None:
            raw = await self._gitlab.get_one(f"{issues}/{check_number('issue_iid', issue_iid)}", None, options)
        elif issue_id is not None:
            raw = await self._get_by_global_id(issues, check_number("issue_id", issue_id), options)
        else:
            raise invalid("issue_iid", "or issue_id must be given")
        self._gitlab.learn_issues([raw])
        return fit_for_models(read(IssueDetails, raw))

    @writes("create_issue", toolset="issues", shell="gitlab create-issue", positional=("project_id", "title"))
    async def create_issue(
        self,
        project_id: Project,
        title: str,
        description: str | None = None,
        assignee_id: int | None = None,
        labels: Labels | None = None,
    ) -> Created:
        """Create an issue"""
        project = await self._gitlab.check_project(project_id)
        body: dict[str, object] = {
            "title": self._gitlab.escape(check_line("title", title, arguments.LONGEST_TITLE)),
            "description": self._gitlab.escape(description),
            "assignee_ids": arguments.list_assignees(assignee_id),
            "labels": arguments.join_labels(labels),
        }
        raw = await self._gitlab.send("POST", f"{project}/issues", body)
        self._gitlab.learn_issues([raw])
        return read(Created, raw)

    @writes(
        "update_issue",
        toolset="issues",
        shell="gitlab update-issue",
        positional=("project_id", "issue_iid"),
        clears=("description",),
    )
    async def update_issue(
        self,
        project_id: Project,
        issue_iid: Iid,
        title: str | None = None,
        description: str | None = None,
        state_event: Literal["close", "reopen"] | None = None,
        assignee_id: int | None = None,
        add_labels: Labels | None = None,
        remove_labels: Labels | None = None,
    ) -> Created:
        """Change an issue: only what is given (assignee_id 0 removes the assignee)"""
        project = await self._gitlab.check_project(project_id)
        new_title = None if title is None else check_line("title", title, arguments.LONGEST_TITLE)
        body: dict[str, object] = {
            "title": self._gitlab.escape(new_title),
            "description": self._gitlab.escape(description),
            "state_event": state_event,
            "assignee_ids": [] if assignee_id == 0 else arguments.list_assignees(assignee_id),
            "add_labels": arguments.join_labels(add_labels),
            "remove_labels": arguments.join_labels(remove_labels),
        }
        if all(value is None for value in body.values()):
            raise invalid("title", "or another field to change must be given")
        iid = check_number("issue_iid", issue_iid)
        return read(Created, await self._gitlab.send("PUT", f"{project}/issues/{iid}", body))

    @reads("list_issue_notes", toolset="issues", shell="gitlab issue-notes", positional=("project_id", "issue_iid"))
    async def list_issue_notes(
        self,
        project_id: Project,
        issue_iid: Iid,
        page: Page = 1,
        per_page: PerPage = 20,
        cache: Cache = False,
        cache_ttl: CacheTtl = 300,
    ) -> Notes:
        """List the notes of an issue, oldest first"""
        path = await self._make_notes_path(project_id, issue_iid)
        options = ReadOptions(cache, cache_ttl, page, per_page)
        return await list_page(self._gitlab, Notes, path, {"sort": "asc"}, options)

    @writes("create_issue_note", toolset="issues", shell="gitlab note-issue", positional=("project_id", "issue_iid"))
    async def create_issue_note(self, project_id: Project, issue_iid: Iid, body: str) -> Noted:
        """Write a note on an issue"""
        path = await self._make_notes_path(project_id, issue_iid)
        sent = {"body": self._gitlab.escape(arguments.check_body(body))}
        return read(Noted, await self._gitlab.send("POST", path, {**sent}))

    @reads("search_issues", toolset="issues", shell="gitlab search-issues", positional=("search",))
    async def search_issues(
        self,
        search: str,
        project_id: Project | None = None,
        state: IssueState | None = None,
        page: Page = 1,
        per_page: PerPage = 20,
        cache: Cache = False,
        cache_ttl: CacheTtl = 300,
    ) -> FoundIssues:
        """Search issues in titles and descriptions, in one project or in all"""
        path = "issues" if project_id is None else f"{await self._gitlab.check_project(project_id)}/issues"
        query: dict[str, str | int | bool | None] = {
            "search": check_line("search", search),
            "in": "title,description",
            "state": state,
            "scope": "all" if project_id is None else None,  # GitLab would search only the caller's own issues
        }
        options = ReadOptions(cache, cache_ttl, page, per_page)
        keeps = self._gitlab.allows_issue if project_id is None else None
        return await list_page(self._gitlab, FoundIssues, path, query, options, keeps)

    async def _make_notes_path(self, project_id: int | str, issue_iid: int) -> str:
        project = await self._gitlab.check_project(project_id)
        return f"{project}/issues/{check_number('issue_iid', issue_iid)}/notes"

    async def _get_by_global_id(self, issues: str, issue_id: int, options: ReadOptions) -> Record:
        """Return the issue of this project with that global id; failing that, the one with that iid."""
        iid = await self._gitlab.find_iid(issue_id)
        if iid is not None:
            try:
                raw = await self._gitlab.get_one(f"{issues}/{iid}", None, options)
                if raw.number("id") == issue_id:
                    return raw
            except GitLabFailure as failure:
                if failure.status != 404:
                    raise
        return await self._gitlab.get_one(f"{issues}/{issue_id}", None, options)
