"""Operations on merge requests: read, create, look at the changes, take part in the discussions."""

from __future__ import annotations

from functools import partial

from postil.gitlab.failures import invalid
from postil.gitlab.instance.connection import Connection
from postil.gitlab.instance.convert import read
from postil.gitlab.instance.identifiers import discussion, line, number, ref
from postil.gitlab.instance.records import Record
from postil.gitlab.model import Change, Discussion, MergeRequestItem
from postil.gitlab.operations.answers import (
    Changes,
    Created,
    Discussions,
    MergeRequestDetails,
    MergeRequests,
    Noted,
    Resolved,
)
from postil.gitlab.operations.arguments import (
    LONGEST_TITLE,
    Cache,
    CacheTtl,
    Iid,
    MergeRequestState,
    Page,
    PerPage,
    Project,
    caching,
    word,
)
from postil.gitlab.operations.marks import reads, writes
from postil.gitlab.operations.presentation import SHORT, for_models
from postil.gitlab.policy.guard import WITHHELD


class MergeRequestOperations:
    """What a reviewer does with merge requests."""

    gitlab: Connection

    @reads("list_merge_requests", shell="gitlab merge-requests", positional=("project_id",))
    async def list_merge_requests(
        self,
        project_id: Project,
        state: MergeRequestState | None = None,
        target_branch: str | None = None,
        source_branch: str | None = None,
        page: Page = 1,
        per_page: PerPage = 20,
        cache: Cache = False,
        cache_ttl: CacheTtl = 300,
    ) -> MergeRequests:
        """List merge requests of a project"""
        project = await self.gitlab.project(project_id)
        rows, pagination = await self.gitlab.page(
            f"{project}/merge_requests",
            {
                "state": state,
                "target_branch": word("target_branch", target_branch),
                "source_branch": word("source_branch", source_branch),
            },
            page,
            per_page,
            partial(read, MergeRequestItem),
            caching(cache, cache_ttl),
        )
        return for_models(MergeRequests(rows, pagination), longest=SHORT)

    @reads(
        "get_merge_request",
        shell="gitlab merge-request",
        positional=("project_id", "merge_request_iid"),
    )
    async def get_merge_request(
        self, project_id: Project, merge_request_iid: Iid, cache: Cache = False, cache_ttl: CacheTtl = 300
    ) -> MergeRequestDetails:
        """Get one merge request in full"""
        path = await self._at(project_id, merge_request_iid)
        raw = await self.gitlab.one(path, None, caching(cache, cache_ttl))
        return for_models(read(MergeRequestDetails, raw))

    @writes("create_merge_request", shell="gitlab create-merge-request", positional=("project_id",))
    async def create_merge_request(
        self,
        project_id: Project,
        title: str,
        source_branch: str,
        target_branch: str,
        description: str | None = None,
        assignee_id: int | None = None,
        remove_source_branch: bool | None = None,
    ) -> Created:
        """Create a merge request"""
        project = await self.gitlab.project(project_id)
        body: dict[str, object] = {
            "title": self.gitlab.written(line("title", title, LONGEST_TITLE)),
            "source_branch": ref(source_branch, "source_branch"),
            "target_branch": ref(target_branch, "target_branch"),
            "description": self.gitlab.written(description),
            "assignee_ids": None if assignee_id is None else [number("assignee_id", assignee_id)],
            "remove_source_branch": remove_source_branch,
        }
        return read(Created, await self.gitlab.send("POST", f"{project}/merge_requests", body))

    @reads(
        "get_merge_request_diff",
        shell="gitlab merge-request-diff",
        positional=("project_id", "merge_request_iid"),
    )
    async def get_merge_request_diff(
        self,
        project_id: Project,
        merge_request_iid: Iid,
        page: Page = 1,
        per_page: PerPage = 20,
        cache: Cache = False,
        cache_ttl: CacheTtl = 300,
    ) -> Changes:
        """Get the changed files of a merge request as unified diffs"""
        path = await self._at(project_id, merge_request_iid)
        rows, pagination = await self.gitlab.page(
            f"{path}/diffs", {}, page, per_page, partial(read, Change), caching(cache, cache_ttl)
        )
        if self.gitlab.guard.policy.lockdown and (await self.gitlab.one(path)).text("title") == WITHHELD:
            rows = [Change(None, None, WITHHELD) for _ in rows]  # a diff is its author's words, and so are file names
        return for_models(Changes(rows, pagination))

    @reads(
        "list_merge_request_discussions",
        shell="gitlab discussions",
        positional=("project_id", "merge_request_iid"),
    )
    async def list_merge_request_discussions(
        self,
        project_id: Project,
        merge_request_iid: Iid,
        page: Page = 1,
        per_page: PerPage = 20,
        cache: Cache = False,
        cache_ttl: CacheTtl = 300,
    ) -> Discussions:
        """List the discussions of a merge request with their notes"""
        path = await self._at(project_id, merge_request_iid)
        rows, pagination = await self.gitlab.page(
            f"{path}/discussions", {}, page, per_page, partial(read, Discussion), caching(cache, cache_ttl)
        )
        return for_models(Discussions(rows, pagination))

    @writes(
        "comment_on_merge_request",
        shell="gitlab comment",
        positional=("project_id", "merge_request_iid"),
    )
    async def comment_on_merge_request(
        self, project_id: Project, merge_request_iid: Iid, body: str, discussion_id: str | None = None
    ) -> Noted:
        """Reply in a discussion of a merge request, or start one"""
        path = await self._at(project_id, merge_request_iid)
        if not body.strip():
            raise invalid("body", "must not be empty")
        sent: dict[str, object] = {"body": self.gitlab.written(body)}
        if discussion_id is not None:
            thread = discussion(discussion_id)
            raw = await self.gitlab.send("POST", f"{path}/discussions/{thread}/notes", sent)
            return read(Noted, raw, discussion_id=thread)
        raw = await self.gitlab.send("POST", f"{path}/discussions", sent)
        notes = raw.records("notes")
        return read(Noted, notes[0] if notes else Record(None), discussion_id=raw.text("id"))

    @writes(
        "resolve_discussion",
        shell="gitlab resolve",
        positional=("project_id", "merge_request_iid", "discussion_id"),
    )
    async def resolve_discussion(
        self, project_id: Project, merge_request_iid: Iid, discussion_id: str, resolved: bool = True
    ) -> Resolved:
        """Resolve a discussion of a merge request, or open it again"""
        path = await self._at(project_id, merge_request_iid)
        thread = discussion(discussion_id)
        await self.gitlab.send("PUT", f"{path}/discussions/{thread}", {"resolved": resolved})
        return Resolved(thread, resolved)

    async def _at(self, project_id: int | str, iid: int) -> str:
        project = await self.gitlab.project(project_id)
        return f"{project}/merge_requests/{number('merge_request_iid', iid)}"
