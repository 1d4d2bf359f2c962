"""Operations on issues and their notes."""

from __future__ import annotations

from functools import partial
from typing import Literal

from postil.gitlab.failures import GitLabFailure, invalid
from postil.gitlab.instance.connection import Caching, Connection
from postil.gitlab.instance.convert import read
from postil.gitlab.instance.identifiers import line, number
from postil.gitlab.instance.records import Record
from postil.gitlab.model import FoundIssue, IssueItem, Note
from postil.gitlab.operations.answers import Created, FoundIssues, IssueDetails, Issues, Noted, Notes
from postil.gitlab.operations.arguments import (
    LONGEST_TITLE,
    Assignee,
    Cache,
    CacheTtl,
    Iid,
    IssueState,
    Labels,
    Page,
    PerPage,
    Project,
    caching,
    joined,
)
from postil.gitlab.operations.marks import reads, writes
from postil.gitlab.operations.presentation import SHORT, for_models


class IssueOperations:
    """What can be done with issues."""

    gitlab: Connection

    @reads("list_issues", shell="gitlab issues", positional=("project_id",))
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
        project = await self.gitlab.project(project_id)
        rows, pagination = await self.gitlab.page(
            f"{project}/issues",
            {"state": state, "labels": joined(labels), "assignee_id": assignee_id},
            page,
            per_page,
            partial(read, IssueItem),
            caching(cache, cache_ttl),
        )
        return for_models(Issues(rows, pagination), longest=SHORT)

    @reads("get_issue", shell="gitlab issue", positional=("project_id", "issue_id"))
    async def get_issue(
        self,
        project_id: Project,
        issue_id: Iid | None = None,
        issue_iid: Iid | None = None,
        cache: Cache = False,
        cache_ttl: CacheTtl = 300,
    ) -> IssueDetails:
        """Get one issue in full, by its iid (#1) or its global id"""
        project = await self.gitlab.project(project_id)
        kept = caching(cache, cache_ttl)
        if issue_iid is not None:
            raw = await self._issue(project, number("issue_iid", issue_iid), kept)
        elif issue_id is not None:
            raw = await self._by_global_id(project, number("issue_id", issue_id), kept)
        else:
            raise invalid("issue_iid", "or issue_id must be given")
        self.gitlab.learn_issues([raw])
        return for_models(read(IssueDetails, raw))

    @writes("create_issue", shell="gitlab create-issue", positional=("project_id", "title"))
    async def create_issue(
        self,
        project_id: Project,
        title: str,
        description: str | None = None,
        assignee_id: int | None = None,
        labels: Labels | None = None,
    ) -> Created:
        """Create an issue"""
        project = await self.gitlab.project(project_id)
        body: dict[str, object] = {
            "title": self.gitlab.written(line("title", title, LONGEST_TITLE)),
            "description": self.gitlab.written(description),
            "assignee_ids": None if assignee_id is None else [number("assignee_id", assignee_id)],
            "labels": joined(labels),
        }
        raw = await self.gitlab.send("POST", f"{project}/issues", body)
        self.gitlab.learn_issues([raw])
        return read(Created, raw)

    @writes("update_issue", shell="gitlab update-issue", positional=("project_id", "issue_iid"))
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
        project = await self.gitlab.project(project_id)
        assignees = None if assignee_id is None else [number("assignee_id", assignee_id)] if assignee_id else []
        body: dict[str, object] = {
            "title": None if title is None else self.gitlab.written(line("title", title, LONGEST_TITLE)),
            "description": self.gitlab.written(description),
            "state_event": state_event,
            "assignee_ids": assignees,
            "add_labels": joined(add_labels),
            "remove_labels": joined(remove_labels),
        }
        if all(value is None for value in body.values()):
            raise invalid("title", "or another field to change must be given")
        iid = number("issue_iid", issue_iid)
        return read(Created, await self.gitlab.send("PUT", f"{project}/issues/{iid}", body))

    @reads("list_issue_notes", shell="gitlab issue-notes", positional=("project_id", "issue_iid"))
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
        project = await self.gitlab.project(project_id)
        path = f"{project}/issues/{number('issue_iid', issue_iid)}/notes"
        rows, pagination = await self.gitlab.page(
            path, {"sort": "asc"}, page, per_page, partial(read, Note), caching(cache, cache_ttl)
        )
        return for_models(Notes(rows, pagination))

    @writes("create_issue_note", shell="gitlab note-issue", positional=("project_id", "issue_iid"))
    async def create_issue_note(self, project_id: Project, issue_iid: Iid, body: str) -> Noted:
        """Write a note on an issue"""
        project = await self.gitlab.project(project_id)
        if not body.strip():
            raise invalid("body", "must not be empty")
        path = f"{project}/issues/{number('issue_iid', issue_iid)}/notes"
        return read(Noted, await self.gitlab.send("POST", path, {"body": self.gitlab.written(body)}))

    @reads("search_issues", shell="gitlab search-issues", positional=("search",))
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
        project = "" if project_id is None else await self.gitlab.project(project_id)
        # Without a project GitLab would search only the caller's own issues: the scope must be said.
        scope = None if project else "all"
        rows, pagination = await self.gitlab.page(
            f"{project}/issues" if project else "issues",
            {"search": line("search", search), "in": "title,description", "state": state, "scope": scope},
            page,
            per_page,
            partial(read, FoundIssue),
            caching(cache, cache_ttl),
            keep=None if project else self.gitlab.allows_issue,
        )
        return for_models(FoundIssues(rows, pagination), longest=SHORT)

    async def _issue(self, project: str, iid: int, kept: Caching) -> Record:
        return await self.gitlab.one(f"{project}/issues/{iid}", None, kept)

    async def _by_global_id(self, project: str, issue_id: int, kept: Caching) -> Record:
        """The issue of this project with that global id; failing that, the one with that iid."""
        for iid in await self.gitlab.find_iids(issue_id):
            try:
                raw = await self._issue(project, iid, kept)
            except GitLabFailure as failure:
                if failure.status != 404:
                    raise
                continue
            if raw.number("id") == issue_id:
                return raw
        return await self._issue(project, issue_id, kept)
