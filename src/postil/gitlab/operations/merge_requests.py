"""Operations on merge requests: read, create, look at the changes, take part in the discussions."""

from __future__ import annotations

from postil.gitlab.instance.connection import ReadOptions
from postil.gitlab.instance.convert import read
from postil.gitlab.instance.identifiers import check_discussion, check_line, check_number, check_ref
from postil.gitlab.instance.records import Record
from postil.gitlab.model import Change
from postil.gitlab.operations import answers, arguments
from postil.gitlab.operations.arguments import Cache, CacheTtl, Iid, MergeRequestState, Page, PerPage, Project
from postil.gitlab.operations.marks import reads, writes
from postil.gitlab.operations.presentation import fit_for_models, list_page
from postil.gitlab.part import GitLab
from postil.gitlab.policy.guard import WITHHELD

TOOLSET = "merge_requests"
ONE = ("project_id", "merge_request_iid")


class MergeRequestOperations:
    """What a reviewer does with merge requests."""

    def __init__(self, context: GitLab) -> None:
        self._gitlab = context.connection

    @reads("list_merge_requests", toolset=TOOLSET, shell="gitlab merge-requests", positional=("project_id",))
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
    ) -> answers.MergeRequests:
        """List merge requests of a project"""
        path = f"{await self._gitlab.check_project(project_id)}/merge_requests"
        query: dict[str, str | int | bool | None] = {
            "state": state,
            "target_branch": arguments.check_optional_line("target_branch", target_branch),
            "source_branch": arguments.check_optional_line("source_branch", source_branch),
        }
        options = ReadOptions(cache, cache_ttl, page, per_page)
        return await list_page(self._gitlab, answers.MergeRequests, path, query, options)

    @reads("get_merge_request", toolset=TOOLSET, shell="gitlab merge-request", positional=ONE)
    async def get_merge_request(
        self, project_id: Project, merge_request_iid: Iid, cache: Cache = False, cache_ttl: CacheTtl = 300
    ) -> answers.MergeRequestDetails:
        """Get one merge request in full"""
        path = await self._make_path(project_id, merge_request_iid)
        raw = await self._gitlab.get_one(path, None, ReadOptions(cache, cache_ttl))
        return fit_for_models(read(answers.MergeRequestDetails, raw))

    @writes("create_merge_request", toolset=TOOLSET, shell="gitlab create-merge-request", positional=("project_id",))
    async def create_merge_request(
        self,
        project_id: Project,
        title: str,
        source_branch: str,
        target_branch: str,
        description: str | None = None,
        assignee_id: int | None = None,
        remove_source_branch: bool | None = None,
    ) -> answers.Created:
        """Create a merge request"""
        project = await self._gitlab.check_project(project_id)
        body: dict[str, object] = {
            "title": self._gitlab.escape(check_line("title", title, arguments.LONGEST_TITLE)),
            "source_branch": check_ref(source_branch, "source_branch"),
            "target_branch": check_ref(target_branch, "target_branch"),
            "description": self._gitlab.escape(description),
            "assignee_ids": arguments.list_assignees(assignee_id),
            "remove_source_branch": remove_source_branch,
        }
        return read(answers.Created, await self._gitlab.send("POST", f"{project}/merge_requests", body))

    @reads("get_merge_request_diff", toolset=TOOLSET, shell="gitlab merge-request-diff", positional=ONE)
    async def get_merge_request_diff(
        self,
        project_id: Project,
        merge_request_iid: Iid,
        page: Page = 1,
        per_page: PerPage = 20,
        cache: Cache = False,
        cache_ttl: CacheTtl = 300,
    ) -> answers.Changes:
        """Get the changed files of a merge request as unified diffs"""
        path = await self._make_path(project_id, merge_request_iid)
        options = ReadOptions(cache, cache_ttl, page, per_page)
        changes = await list_page(self._gitlab, answers.Changes, f"{path}/diffs", {}, options)
        if self._gitlab.guard.policy.lockdown and (await self._gitlab.get_one(path)).text("title") == WITHHELD:
            # a diff is its author's words, and so are file names
            return answers.Changes([Change(None, None, WITHHELD) for _ in changes.diffs], pagination=changes.pagination)
        return changes

    @reads("list_merge_request_discussions", toolset=TOOLSET, shell="gitlab discussions", positional=ONE)
    async def list_merge_request_discussions(
        self,
        project_id: Project,
        merge_request_iid: Iid,
        page: Page = 1,
        per_page: PerPage = 20,
        cache: Cache = False,
        cache_ttl: CacheTtl = 300,
    ) -> answers.Discussions:
        """List the discussions of a merge request with their notes"""
        path = f"{await self._make_path(project_id, merge_request_iid)}/discussions"
        options = ReadOptions(cache, cache_ttl, page, per_page)
        return await list_page(self._gitlab, answers.Discussions, path, {}, options)

    @writes("comment_on_merge_request", toolset=TOOLSET, shell="gitlab comment", positional=ONE)
    async def comment_on_merge_request(
        self, project_id: Project, merge_request_iid: Iid, body: str, discussion_id: str | None = None
    ) -> answers.Noted:
        """Reply in a discussion of a merge request, or start one"""
        path = f"{await self._make_path(project_id, merge_request_iid)}/discussions"
        sent: dict[str, object] = {"body": self._gitlab.escape(arguments.check_body(body))}
        if discussion_id is not None:
            thread = check_discussion(discussion_id)
            raw = await self._gitlab.send("POST", f"{path}/{thread}/notes", sent)
            return read(answers.Noted, raw, discussion_id=thread)
        raw = await self._gitlab.send("POST", path, sent)
        first = next(iter(raw.records("notes")), Record(None))
        return read(answers.Noted, first, discussion_id=raw.text("id"))

    @writes("resolve_discussion", toolset=TOOLSET, shell="gitlab resolve", positional=(*ONE, "discussion_id"))
    async def resolve_discussion(
        self, project_id: Project, merge_request_iid: Iid, discussion_id: str, resolved: bool = True
    ) -> answers.Resolved:
        """Resolve a discussion of a merge request, or open it again"""
        path = await self._make_path(project_id, merge_request_iid)
        thread = check_discussion(discussion_id)
        await self._gitlab.send("PUT", f"{path}/discussions/{thread}", {"resolved": resolved})
        return answers.Resolved(thread, resolved)

    async def _make_path(self, project_id: int | str, iid: int) -> str:
        project = await self._gitlab.check_project(project_id)
        return f"{project}/merge_requests/{check_number('merge_request_iid', iid)}"
