"""Operations on issues and their notes."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from postil.gitlab.failures import GitLabFailure, invalid
from postil.gitlab.instance.connection import ReadOptions
from postil.gitlab.instance.convert import read
from postil.gitlab.instance.identifiers import check_line
from postil.gitlab.instance.records import Record
from postil.gitlab.name_lookup import filter_by_user, find_milestone, find_user
from postil.gitlab.operations import arguments
from postil.gitlab.operations.answers import (
    ContractIssues,
    Created,
    FoundIssues,
    IssueDetails,
    Issues,
    Noted,
    Notes,
)
from postil.gitlab.operations.arguments import (
    Cache,
    CacheTtl,
    Flag,
    Iid,
    IssueState,
    Labels,
    MaxBytes,
    Milestone,
    OrderBy,
    Page,
    PerPage,
    Project,
    Search,
    Since,
    Sort,
    StateEvent,
    Title,
    User,
    UserFilter,
)
from postil.gitlab.operations.marks import CONTRACT, destroys, reads, writes
from postil.gitlab.operations.presentation import fit_beside_others, limit_prose, list_page
from postil.gitlab.part import GitLab


class IssueOperations:
    """What can be done with issues."""

    def __init__(self, context: GitLab) -> None:
        self._gitlab, self._pointer = context.connection, context.pointer

    @reads("list_issues", toolset=CONTRACT, shell="gitlab issues", positional=("project_id",))
    async def list_issues(
        self,
        project_id: Project | None = None,
        state: IssueState | None = None,
        labels: Labels | None = None,
        assignee_id: UserFilter | None = None,
        author: User | None = None,
        milestone: Milestone | None = None,
        search: Search | None = None,
        created_after: Since | None = None,
        updated_after: Since | None = None,
        order_by: OrderBy | None = None,
        sort: Sort | None = None,
        page: Page = 1,
        per_page: PerPage = 20,
        cache: Cache = False,
        cache_ttl: CacheTtl = 300,
    ) -> Issues:
        """List issues of a project; descriptions are shortened"""
        project = await self._pointer.project(project_id)
        query: dict[str, str | int | bool | None] = {
            "state": state,
            "labels": arguments.join_labels(labels),
            "milestone": arguments.check_optional_line("milestone", milestone),
            "search": arguments.check_optional_line("search", search),
            "created_after": arguments.check_time("created_after", created_after),
            "updated_after": arguments.check_time("updated_after", updated_after),
            "order_by": order_by,
            "sort": sort,
            **await filter_by_user(self._gitlab, "assignee_id", assignee_id),
            **await filter_by_user(self._gitlab, "author_id", author),
        }
        options = ReadOptions(cache, cache_ttl, page, per_page)
        return await list_page(self._gitlab, Issues, f"{project}/issues", query, options, plain=ContractIssues)

    @reads("get_issue", toolset=CONTRACT, shell="gitlab issue", positional=("project_id", "issue_id"))
    async def get_issue(
        self,
        project_id: Project | None = None,
        issue_id: Annotated[int | str, Meta(description="global id")] | None = None,
        issue_iid: Iid | None = None,
        max_bytes: MaxBytes | None = None,
        cache: Cache = False,
        cache_ttl: CacheTtl = 300,
    ) -> IssueDetails:
        """Get one issue in full, by its iid (#1) or its global id"""
        options = ReadOptions(cache, cache_ttl)
        named = self._pointer.read(issue_id, "issue_id")
        if issue_id is None and issue_iid is None and self._pointer.read(project_id, "project_id").number is None:
            raise invalid("issue_iid", "or issue_id must be given")
        if issue_iid is None and issue_id is not None and not named.sign:
            issues = f"{await self._pointer.project(project_id)}/issues"
            raw = await self._get_by_global_id(issues, named.number or 0, options)
        else:
            path = await self._pointer.issue(project_id, issue_id if issue_iid is None else issue_iid)
            raw = await self._gitlab.get_one(path, None, options)
        self._gitlab.learn_issues([raw])
        return limit_prose(await fit_beside_others(read(IssueDetails, raw)), max_bytes)

    @writes(
        "create_issue",
        toolset=CONTRACT,
        shell="gitlab create-issue",
        positional=("project_id", "title"),
        requires=("title",),
    )
    async def create_issue(
        self,
        project_id: Project | None = None,
        title: Title = "",
        description: Annotated[str, Meta(description="Markdown")] | None = None,
        assignee_id: User | None = None,
        labels: Labels | None = None,
        milestone: Milestone | None = None,
        confidential: Flag | None = None,
    ) -> Created:
        """Create an issue"""
        body: dict[str, object] = {
            "title": self._gitlab.escape(check_line("title", title, arguments.LONGEST_TITLE)),
            "description": self._gitlab.escape(description),
            "labels": arguments.join_labels(labels),
            "confidential": confidential,
        }
        project = await self._pointer.project(project_id)
        if assignee_id is not None:
            body["assignee_ids"] = [await find_user(self._gitlab, "assignee_id", assignee_id)]
        body["milestone_id"] = await find_milestone(self._gitlab, project, milestone)
        raw = await self._gitlab.send("POST", f"{project}/issues", body)
        self._gitlab.learn_issues([raw])
        return read(Created, raw)

    @destroys(
        "update_issue",
        toolset="issues",
        shell="gitlab update-issue",
        positional=("project_id", "issue_iid"),
        clears=("description", "milestone"),
    )
    async def update_issue(
        self,
        project_id: Project | None = None,
        issue_iid: Iid | None = None,
        title: Title | None = None,
        description: Annotated[str, Meta(description="Markdown")] | None = None,
        state_event: StateEvent | None = None,
        assignee_id: User | None = None,
        add_labels: Labels | None = None,
        remove_labels: Labels | None = None,
        milestone: Annotated[str, Meta(description="title; empty removes it")] | None = None,
        confidential: Flag | None = None,
    ) -> Created:
        """Change an issue: only what is given (assignee_id 0 removes the assignee)"""
        new_title = None if title is None else check_line("title", title, arguments.LONGEST_TITLE)
        body: dict[str, object] = {
            "title": self._gitlab.escape(new_title),
            "description": self._gitlab.escape(description),
            "state_event": state_event,
            "add_labels": arguments.join_labels(add_labels),
            "remove_labels": arguments.join_labels(remove_labels),
            "confidential": confidential,
        }
        if all(value is None for value in (*body.values(), assignee_id, milestone)):
            raise invalid("title", "or another field to change must be given")
        path = await self._pointer.issue(project_id, issue_iid)
        if assignee_id is not None:
            nobody = assignee_id in (0, "0")
            body["assignee_ids"] = [] if nobody else [await find_user(self._gitlab, "assignee_id", assignee_id)]
        body["milestone_id"] = await find_milestone(self._gitlab, path.partition("/issues/")[0], milestone)
        return read(Created, await self._gitlab.send("PUT", path, body))

    @reads("list_issue_notes", toolset="issues", shell="gitlab issue-notes", positional=("project_id", "issue_iid"))
    async def list_issue_notes(
        self,
        project_id: Project | None = None,
        issue_iid: Iid | None = None,
        max_bytes: MaxBytes | None = None,
        page: Page = 1,
        per_page: PerPage = 20,
        cache: Cache = False,
        cache_ttl: CacheTtl = 300,
    ) -> Notes:
        """List the notes of an issue, oldest first"""
        path = f"{await self._pointer.issue(project_id, issue_iid)}/notes"
        options = ReadOptions(cache, cache_ttl, page, per_page)
        return await list_page(self._gitlab, Notes, path, {"sort": "asc"}, options, max_bytes=max_bytes)

    @writes(
        "create_issue_note",
        toolset="issues",
        shell="gitlab note-issue",
        positional=("project_id", "issue_iid"),
        requires=("body",),
    )
    async def create_issue_note(
        self,
        project_id: Project | None = None,
        issue_iid: Iid | None = None,
        body: Annotated[str, Meta(description="Markdown")] = "",
    ) -> Noted:
        """Write a note on an issue"""
        sent = {"body": self._gitlab.escape(arguments.check_body(body))}
        path = f"{await self._pointer.issue(project_id, issue_iid)}/notes"
        return read(Noted, await self._gitlab.send("POST", path, {**sent}))

    @reads("search_issues", toolset=CONTRACT, shell="gitlab search-issues", positional=("search",))
    async def search_issues(
        self,
        search: Search,
        project_id: Annotated[int | str, Meta(description="id or group/path; all projects otherwise")] | None = None,
        state: IssueState | None = None,
        page: Page = 1,
        per_page: PerPage = 20,
        cache: Cache = False,
        cache_ttl: CacheTtl = 300,
    ) -> Issues:
        """Search issues in titles and descriptions, in one project or in all"""
        path = "issues" if project_id is None else f"{await self._pointer.project(project_id)}/issues"
        query: dict[str, str | int | bool | None] = {
            "search": check_line("search", search),
            "in": "title,description",
            "state": state,
            "scope": "all" if project_id is None else None,  # GitLab would search only the caller's own issues
        }
        options = ReadOptions(cache, cache_ttl, page, per_page)
        keeps = self._gitlab.allows_issue if project_id is None else None
        return await list_page(self._gitlab, Issues, path, query, options, keeps, plain=FoundIssues)

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
