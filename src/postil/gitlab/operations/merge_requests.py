"""Operations on merge requests: list, get, create, change, approve, merge."""

from __future__ import annotations

import re
from typing import Annotated

from msgspec import Meta

from postil.gitlab.failures import GitLabFailure, invalid
from postil.gitlab.instance.connection import ReadOptions
from postil.gitlab.instance.convert import read
from postil.gitlab.instance.identifiers import check_commit, check_line, check_ref
from postil.gitlab.name_lookup import filter_by_user, find_milestone, find_user, find_users
from postil.gitlab.operations import answers, arguments
from postil.gitlab.operations.arguments import (
    Branch,
    Cache,
    CacheTtl,
    Flag,
    Iid,
    Labels,
    MaxBytes,
    MergeRequestState,
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
    Users,
)
from postil.gitlab.operations.marks import CONTRACT, destroys, reads, writes
from postil.gitlab.operations.presentation import fit_beside_others, limit_prose, list_page
from postil.gitlab.part import GitLab

TOOLSET = "review"
ONE = ("project_id", "merge_request_iid")
NOT_MERGEABLE = (405, 406, 422)
"""Statuses with which GitLab refuses to merge without saying why."""
_DRAFT = re.compile(r"^\s*(?:\[draft\]|\(draft\)|draft:)\s*", re.IGNORECASE)
_STATUS = re.compile(r"[a-z_]{1,40}")


class MergeRequestOperations:
    """What is done with a merge request as a whole."""

    def __init__(self, context: GitLab) -> None:
        self._gitlab, self._pointer = context.connection, context.pointer

    @reads("list_merge_requests", toolset=CONTRACT, shell="gitlab merge-requests", positional=("project_id",))
    async def list_merge_requests(
        self,
        project_id: Project | None = None,
        state: MergeRequestState | None = None,
        target_branch: Branch | None = None,
        source_branch: Branch | None = None,
        author: User | None = None,
        assignee: UserFilter | None = None,
        reviewer: UserFilter | None = None,
        labels: Labels | None = None,
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
    ) -> answers.MergeRequests:
        """List merge requests of a project"""
        path = f"{await self._pointer.project(project_id)}/merge_requests"
        query: dict[str, str | int | bool | None] = {
            "state": state,
            "target_branch": arguments.check_optional_line("target_branch", target_branch),
            "source_branch": arguments.check_optional_line("source_branch", source_branch),
            "labels": arguments.join_labels(labels),
            "milestone": arguments.check_optional_line("milestone", milestone),
            "search": arguments.check_optional_line("search", search),
            "created_after": arguments.check_time("created_after", created_after),
            "updated_after": arguments.check_time("updated_after", updated_after),
            "order_by": order_by,
            "sort": sort,
            **await filter_by_user(self._gitlab, "author_id", author),
            **await filter_by_user(self._gitlab, "assignee_id", assignee),
            **await filter_by_user(self._gitlab, "reviewer_id", reviewer),
        }
        options = ReadOptions(cache, cache_ttl, page, per_page)
        return await list_page(
            self._gitlab, answers.MergeRequests, path, query, options, plain=answers.PlainMergeRequests
        )

    @reads("get_merge_request", toolset=TOOLSET, shell="gitlab merge-request", positional=ONE)
    async def get_merge_request(
        self,
        project_id: Project | None = None,
        merge_request_iid: Iid | None = None,
        max_bytes: MaxBytes | None = None,
        cache: Cache = False,
        cache_ttl: CacheTtl = 300,
    ) -> answers.MergeRequestDetails:
        """Get one merge request in full"""
        path = await self._pointer.merge_request(project_id, merge_request_iid)
        raw = await self._gitlab.get_one(path, None, ReadOptions(cache, cache_ttl))
        return limit_prose(await fit_beside_others(read(answers.MergeRequestDetails, raw)), max_bytes)

    @writes(
        "create_merge_request",
        toolset=CONTRACT,
        shell="gitlab create-merge-request",
        positional=("project_id",),
        requires=("title", "source_branch", "target_branch"),
    )
    async def create_merge_request(
        self,
        project_id: Project | None = None,
        title: Title = "",
        source_branch: Branch = "",
        target_branch: Branch = "",
        description: Annotated[str, Meta(description="Markdown")] | None = None,
        assignee_id: User | None = None,
        remove_source_branch: Annotated[bool, Meta(description="when merged")] | None = None,
        reviewers: Users | None = None,
        labels: Labels | None = None,
        milestone: Milestone | None = None,
        draft: Flag | None = None,
        squash: Annotated[bool, Meta(description="into one commit")] | None = None,
    ) -> answers.Created:
        """Create a merge request"""
        named = check_line("title", title, arguments.LONGEST_TITLE)
        body: dict[str, object] = {
            "title": self._gitlab.escape(named if draft is None else set_draft(named, draft)),
            "source_branch": check_ref(source_branch, "source_branch"),
            "target_branch": check_ref(target_branch, "target_branch"),
            "description": self._gitlab.escape(description),
            "remove_source_branch": remove_source_branch,
            "labels": arguments.join_labels(labels),
            "squash": squash,
        }
        project = await self._pointer.project(project_id)
        if assignee_id is not None:
            body["assignee_ids"] = [await find_user(self._gitlab, "assignee_id", assignee_id)]
        body["reviewer_ids"] = await find_users(self._gitlab, "reviewers", reviewers)
        body["milestone_id"] = await find_milestone(self._gitlab, project, milestone)
        return read(answers.Created, await self._gitlab.send("POST", f"{project}/merge_requests", body))

    @destroys(
        "update_merge_request",
        toolset=TOOLSET,
        shell="gitlab update-merge-request",
        positional=ONE,
        clears=("description", "milestone"),
    )
    async def update_merge_request(
        self,
        project_id: Project | None = None,
        merge_request_iid: Iid | None = None,
        title: Title | None = None,
        description: Annotated[str, Meta(description="Markdown")] | None = None,
        state_event: StateEvent | None = None,
        draft: Annotated[bool, Meta(description="false marks it as ready")] | None = None,
        target_branch: Branch | None = None,
        assignees: Users | None = None,
        reviewers: Users | None = None,
        add_labels: Labels | None = None,
        remove_labels: Labels | None = None,
        milestone: Annotated[str, Meta(description="title; empty removes it")] | None = None,
        squash: Annotated[bool, Meta(description="into one commit")] | None = None,
        remove_source_branch: Annotated[bool, Meta(description="when merged")] | None = None,
    ) -> answers.Created:
        """Change a merge request: only what is given (an empty list removes all reviewers or assignees)"""
        new_title = None if title is None else check_line("title", title, arguments.LONGEST_TITLE)
        body: dict[str, object] = {
            "description": self._gitlab.escape(description),
            "state_event": state_event,
            "target_branch": None if target_branch is None else check_ref(target_branch, "target_branch"),
            "add_labels": arguments.join_labels(add_labels),
            "remove_labels": arguments.join_labels(remove_labels),
            "squash": squash,
            "remove_source_branch": remove_source_branch,
        }
        others = (new_title, draft, assignees, reviewers, milestone)
        if all(value is None for value in (*body.values(), *others)):
            raise invalid("title", "or another field to change must be given")
        path = await self._pointer.merge_request(project_id, merge_request_iid)
        if draft is not None:  # GitLab keeps it in the title
            now = new_title or (await self._gitlab.get_one(path)).text("title") or ""
            new_title = set_draft(now, draft)
        body["title"] = self._gitlab.escape(new_title)
        body["assignee_ids"] = await find_users(self._gitlab, "assignees", assignees)
        body["reviewer_ids"] = await find_users(self._gitlab, "reviewers", reviewers)
        body["milestone_id"] = await find_milestone(self._gitlab, path.partition("/merge_requests/")[0], milestone)
        return read(answers.Created, await self._gitlab.send("PUT", path, body))

    @writes("approve_merge_request", toolset=TOOLSET, shell="gitlab approve", positional=ONE)
    async def approve_merge_request(
        self,
        project_id: Project | None = None,
        merge_request_iid: Iid | None = None,
        sha: Annotated[str, Meta(description="head_sha that was reviewed")] | None = None,
        revoke: Annotated[bool, Meta(description="take your approval back")] = False,
    ) -> answers.Approved:
        """Approve a merge request, or revoke your approval"""
        head = check_sha(sha)
        path = await self._pointer.merge_request(project_id, merge_request_iid)
        if revoke:
            try:
                await self._gitlab.send("POST", f"{path}/unapprove", {})
            except GitLabFailure as failure:
                if failure.status == 404:  # also where there is no approval
                    failure.advice = "You have not approved it, or there is no such merge request."
                raise
        else:
            await self._gitlab.send("POST", f"{path}/approve", {"sha": head})
        return answers.Approved(not revoke)

    @destroys("merge_merge_request", toolset=TOOLSET, shell="gitlab merge", positional=ONE)
    async def merge_merge_request(
        self,
        project_id: Project | None = None,
        merge_request_iid: Iid | None = None,
        sha: Annotated[str, Meta(description="head_sha that was reviewed")] | None = None,
        when_pipeline_succeeds: Annotated[bool, Meta(description="not before")] = False,
        squash: Annotated[bool, Meta(description="into one commit")] | None = None,
        remove_source_branch: Annotated[bool, Meta(description="when merged")] | None = None,
        message: Annotated[str, Meta(description="merge commit message")] | None = None,
    ) -> answers.Merged:
        """Merge a merge request now, or when its pipeline succeeds"""
        head = check_sha(sha)
        path = await self._pointer.merge_request(project_id, merge_request_iid)
        if head is None:  # a push that comes between this question and the merge is refused all the same
            head = check_commit((await self._gitlab.get_one(path)).text("sha"))
        body: dict[str, object] = {
            "sha": head,
            "squash": squash,
            "should_remove_source_branch": remove_source_branch,
            "merge_commit_message": message,
            # auto_merge since 17.11; earlier versions know the other name only, and later ones still take it
            "auto_merge": when_pipeline_succeeds or None,
            "merge_when_pipeline_succeeds": when_pipeline_succeeds or None,
        }
        try:
            raw = await self._gitlab.send("PUT", f"{path}/merge", body)
        except GitLabFailure as failure:
            if failure.status in NOT_MERGEABLE:
                failure.advice = await self._say_why(path)
            raise
        return read(answers.Merged, raw, waits=raw.text("state") == "opened")

    async def _say_why(self, path: str) -> str:
        """Return why GitLab does not merge: it says so in the merge request, not in its refusal."""
        try:
            found = await self._gitlab.get_one(path)
        except GitLabFailure:
            return "get_merge_request says why, as detailed_merge_status."
        state, status = found.text("state"), found.text("detailed_merge_status") or found.text("merge_status")
        if state in ("merged", "closed", "locked"):
            return f"It is {state}."
        known = status if status is not None and _STATUS.fullmatch(status) else "not told"
        return f"It cannot be merged now: detailed_merge_status is {known}."


def set_draft(title: str, draft: bool) -> str:
    """Return a title that marks a draft, or one that does not."""
    while (found := _DRAFT.match(title)) is not None:
        title = title[found.end() :]
    return f"Draft: {title}" if draft else title


def check_sha(given: str | None) -> str | None:
    """Return a commit that guards a write: all of its digits, because GitLab compares them."""
    if given is not None and (check_commit(given) is None or len(given) not in (40, 64)):
        raise invalid("sha", "must be a whole commit id of 40 digits")
    return given
