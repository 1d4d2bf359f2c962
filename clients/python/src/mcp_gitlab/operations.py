"""A method for each operation of the server, as the contract names them; how a call travels is the client's.

Written by `make docs` from the server's own catalogue: do not edit. `T` is what a call gives: a Result of the
synchronous client, an awaitable of one of the asynchronous client. All arguments are by name; what is left out is the
server's to decide.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Generic, Literal, TypeVar

T = TypeVar("T")
READS = frozenset(
    {
        "list_projects",
        "get_project",
        "search_projects",
        "list_labels",
        "list_milestones",
        "list_issues",
        "get_issue",
        "list_issue_notes",
        "search_issues",
        "list_merge_requests",
        "get_merge_request",
        "get_merge_request_diff",
        "list_merge_request_discussions",
        "compare_merge_request",
        "list_pipelines",
        "get_pipeline",
        "get_job_log",
        "get_test_report",
        "wait_pipeline",
        "get_file_content",
        "list_repository_files",
        "search_code",
        "list_commits",
        "get_commit",
        "compare_refs",
        "blame_file",
        "list_refs",
        "my_work",
        "whoami",
        "find_user",
        "list_webhook_events",
    }
)
"""Those that only read: asking again changes nothing."""


class Operations(Generic[T]):
    """Every operation by name."""

    @abstractmethod
    def call(self, method: str, params: dict[str, Any]) -> T:
        """Call any method of the server and give its result."""

    def list_projects(
        self,
        *,
        visibility: Literal["internal", "private", "public"] | None = None,
        owned: bool | None = None,
        starred: bool | None = None,
        membership: bool | None = None,
        search: str | None = None,
        page: int | None = None,
        per_page: int | None = None,
        cache: bool | None = None,
        cache_ttl: int | None = None,
    ) -> T:
        """List accessible GitLab projects."""
        return self.call(
            "list_projects",
            {
                "visibility": visibility,
                "owned": owned,
                "starred": starred,
                "membership": membership,
                "search": search,
                "page": page,
                "per_page": per_page,
                "cache": cache,
                "cache_ttl": cache_ttl,
            },
        )

    def get_project(
        self,
        *,
        project_id: int | str | None = None,
        max_bytes: int | None = None,
        cache: bool | None = None,
        cache_ttl: int | None = None,
    ) -> T:
        """Get details of one project."""
        return self.call(
            "get_project", {"project_id": project_id, "max_bytes": max_bytes, "cache": cache, "cache_ttl": cache_ttl}
        )

    def search_projects(
        self,
        *,
        search: str,
        visibility: Literal["internal", "private", "public"] | None = None,
        page: int | None = None,
        per_page: int | None = None,
        cache: bool | None = None,
        cache_ttl: int | None = None,
    ) -> T:
        """Search projects by name or description."""
        return self.call(
            "search_projects",
            {
                "search": search,
                "visibility": visibility,
                "page": page,
                "per_page": per_page,
                "cache": cache,
                "cache_ttl": cache_ttl,
            },
        )

    def list_labels(
        self,
        *,
        project_id: int | str | None = None,
        search: str | None = None,
        page: int | None = None,
        per_page: int | None = None,
        cache: bool | None = None,
        cache_ttl: int | None = None,
    ) -> T:
        """List the labels of a project and of the groups above it."""
        return self.call(
            "list_labels",
            {
                "project_id": project_id,
                "search": search,
                "page": page,
                "per_page": per_page,
                "cache": cache,
                "cache_ttl": cache_ttl,
            },
        )

    def list_milestones(
        self,
        *,
        project_id: int | str | None = None,
        state: Literal["active", "closed"] | None = None,
        search: str | None = None,
        page: int | None = None,
        per_page: int | None = None,
        cache: bool | None = None,
        cache_ttl: int | None = None,
    ) -> T:
        """List the milestones of a project and of the groups above it."""
        return self.call(
            "list_milestones",
            {
                "project_id": project_id,
                "state": state,
                "search": search,
                "page": page,
                "per_page": per_page,
                "cache": cache,
                "cache_ttl": cache_ttl,
            },
        )

    def list_issues(
        self,
        *,
        project_id: int | str | None = None,
        state: Literal["all", "closed", "opened"] | None = None,
        labels: list[str] | None = None,
        assignee_id: int | str | None = None,
        author: int | str | None = None,
        milestone: str | None = None,
        search: str | None = None,
        created_after: str | None = None,
        updated_after: str | None = None,
        order_by: Literal["created_at", "priority", "title", "updated_at"] | None = None,
        sort: Literal["asc", "desc"] | None = None,
        page: int | None = None,
        per_page: int | None = None,
        cache: bool | None = None,
        cache_ttl: int | None = None,
    ) -> T:
        """List issues of a project."""
        return self.call(
            "list_issues",
            {
                "project_id": project_id,
                "state": state,
                "labels": labels,
                "assignee_id": assignee_id,
                "author": author,
                "milestone": milestone,
                "search": search,
                "created_after": created_after,
                "updated_after": updated_after,
                "order_by": order_by,
                "sort": sort,
                "page": page,
                "per_page": per_page,
                "cache": cache,
                "cache_ttl": cache_ttl,
            },
        )

    def get_issue(
        self,
        *,
        project_id: int | str | None = None,
        issue_id: int | str | None = None,
        issue_iid: int | str | None = None,
        max_bytes: int | None = None,
        cache: bool | None = None,
        cache_ttl: int | None = None,
    ) -> T:
        """Get one issue in full, by its iid (#1) or its global id."""
        return self.call(
            "get_issue",
            {
                "project_id": project_id,
                "issue_id": issue_id,
                "issue_iid": issue_iid,
                "max_bytes": max_bytes,
                "cache": cache,
                "cache_ttl": cache_ttl,
            },
        )

    def create_issue(
        self,
        *,
        project_id: int | str | None = None,
        title: str,
        description: str | None = None,
        assignee_id: int | str | None = None,
        labels: list[str] | None = None,
        milestone: str | None = None,
        confidential: bool | None = None,
        idempotency_key: str | None = None,
    ) -> T:
        """Create an issue."""
        return self.call(
            "create_issue",
            {
                "project_id": project_id,
                "title": title,
                "description": description,
                "assignee_id": assignee_id,
                "labels": labels,
                "milestone": milestone,
                "confidential": confidential,
                "idempotency_key": idempotency_key,
            },
        )

    def update_issue(
        self,
        *,
        project_id: int | str | None = None,
        issue_iid: int | str | None = None,
        title: str | None = None,
        description: str | None = None,
        state_event: Literal["close", "reopen"] | None = None,
        assignee_id: int | str | None = None,
        add_labels: list[str] | None = None,
        remove_labels: list[str] | None = None,
        milestone: str | None = None,
        confidential: bool | None = None,
        idempotency_key: str | None = None,
    ) -> T:
        """Change an issue: only what is given (assignee_id 0 removes the assignee)."""
        return self.call(
            "update_issue",
            {
                "project_id": project_id,
                "issue_iid": issue_iid,
                "title": title,
                "description": description,
                "state_event": state_event,
                "assignee_id": assignee_id,
                "add_labels": add_labels,
                "remove_labels": remove_labels,
                "milestone": milestone,
                "confidential": confidential,
                "idempotency_key": idempotency_key,
            },
        )

    def list_issue_notes(
        self,
        *,
        project_id: int | str | None = None,
        issue_iid: int | str | None = None,
        max_bytes: int | None = None,
        page: int | None = None,
        per_page: int | None = None,
        cache: bool | None = None,
        cache_ttl: int | None = None,
    ) -> T:
        """List the notes of an issue, oldest first."""
        return self.call(
            "list_issue_notes",
            {
                "project_id": project_id,
                "issue_iid": issue_iid,
                "max_bytes": max_bytes,
                "page": page,
                "per_page": per_page,
                "cache": cache,
                "cache_ttl": cache_ttl,
            },
        )

    def create_issue_note(
        self,
        *,
        project_id: int | str | None = None,
        issue_iid: int | str | None = None,
        body: str,
        idempotency_key: str | None = None,
    ) -> T:
        """Write a note on an issue."""
        return self.call(
            "create_issue_note",
            {"project_id": project_id, "issue_iid": issue_iid, "body": body, "idempotency_key": idempotency_key},
        )

    def search_issues(
        self,
        *,
        search: str,
        project_id: int | str | None = None,
        state: Literal["all", "closed", "opened"] | None = None,
        page: int | None = None,
        per_page: int | None = None,
        cache: bool | None = None,
        cache_ttl: int | None = None,
    ) -> T:
        """Search issues in titles and descriptions, in one project or in all."""
        return self.call(
            "search_issues",
            {
                "search": search,
                "project_id": project_id,
                "state": state,
                "page": page,
                "per_page": per_page,
                "cache": cache,
                "cache_ttl": cache_ttl,
            },
        )

    def list_merge_requests(
        self,
        *,
        project_id: int | str | None = None,
        state: Literal["all", "closed", "locked", "merged", "opened"] | None = None,
        target_branch: str | None = None,
        source_branch: str | None = None,
        author: int | str | None = None,
        assignee: int | str | None = None,
        reviewer: int | str | None = None,
        labels: list[str] | None = None,
        milestone: str | None = None,
        search: str | None = None,
        created_after: str | None = None,
        updated_after: str | None = None,
        order_by: Literal["created_at", "priority", "title", "updated_at"] | None = None,
        sort: Literal["asc", "desc"] | None = None,
        page: int | None = None,
        per_page: int | None = None,
        cache: bool | None = None,
        cache_ttl: int | None = None,
    ) -> T:
        """List merge requests of a project."""
        return self.call(
            "list_merge_requests",
            {
                "project_id": project_id,
                "state": state,
                "target_branch": target_branch,
                "source_branch": source_branch,
                "author": author,
                "assignee": assignee,
                "reviewer": reviewer,
                "labels": labels,
                "milestone": milestone,
                "search": search,
                "created_after": created_after,
                "updated_after": updated_after,
                "order_by": order_by,
                "sort": sort,
                "page": page,
                "per_page": per_page,
                "cache": cache,
                "cache_ttl": cache_ttl,
            },
        )

    def get_merge_request(
        self,
        *,
        project_id: int | str | None = None,
        merge_request_iid: int | str | None = None,
        max_bytes: int | None = None,
        cache: bool | None = None,
        cache_ttl: int | None = None,
    ) -> T:
        """Get one merge request in full."""
        return self.call(
            "get_merge_request",
            {
                "project_id": project_id,
                "merge_request_iid": merge_request_iid,
                "max_bytes": max_bytes,
                "cache": cache,
                "cache_ttl": cache_ttl,
            },
        )

    def create_merge_request(
        self,
        *,
        project_id: int | str | None = None,
        title: str,
        source_branch: str,
        target_branch: str,
        description: str | None = None,
        assignee_id: int | str | None = None,
        remove_source_branch: bool | None = None,
        reviewers: list[int | str] | None = None,
        labels: list[str] | None = None,
        milestone: str | None = None,
        draft: bool | None = None,
        squash: bool | None = None,
        idempotency_key: str | None = None,
    ) -> T:
        """Create a merge request."""
        return self.call(
            "create_merge_request",
            {
                "project_id": project_id,
                "title": title,
                "source_branch": source_branch,
                "target_branch": target_branch,
                "description": description,
                "assignee_id": assignee_id,
                "remove_source_branch": remove_source_branch,
                "reviewers": reviewers,
                "labels": labels,
                "milestone": milestone,
                "draft": draft,
                "squash": squash,
                "idempotency_key": idempotency_key,
            },
        )

    def update_merge_request(
        self,
        *,
        project_id: int | str | None = None,
        merge_request_iid: int | str | None = None,
        title: str | None = None,
        description: str | None = None,
        state_event: Literal["close", "reopen"] | None = None,
        draft: bool | None = None,
        target_branch: str | None = None,
        assignees: list[int | str] | None = None,
        reviewers: list[int | str] | None = None,
        add_labels: list[str] | None = None,
        remove_labels: list[str] | None = None,
        milestone: str | None = None,
        squash: bool | None = None,
        remove_source_branch: bool | None = None,
        idempotency_key: str | None = None,
    ) -> T:
        """Change a merge request: only what is given (an empty list removes all reviewers or assignees)."""
        return self.call(
            "update_merge_request",
            {
                "project_id": project_id,
                "merge_request_iid": merge_request_iid,
                "title": title,
                "description": description,
                "state_event": state_event,
                "draft": draft,
                "target_branch": target_branch,
                "assignees": assignees,
                "reviewers": reviewers,
                "add_labels": add_labels,
                "remove_labels": remove_labels,
                "milestone": milestone,
                "squash": squash,
                "remove_source_branch": remove_source_branch,
                "idempotency_key": idempotency_key,
            },
        )

    def approve_merge_request(
        self,
        *,
        project_id: int | str | None = None,
        merge_request_iid: int | str | None = None,
        sha: str | None = None,
        revoke: bool | None = None,
        idempotency_key: str | None = None,
    ) -> T:
        """Approve a merge request, or revoke your approval."""
        return self.call(
            "approve_merge_request",
            {
                "project_id": project_id,
                "merge_request_iid": merge_request_iid,
                "sha": sha,
                "revoke": revoke,
                "idempotency_key": idempotency_key,
            },
        )

    def merge_merge_request(
        self,
        *,
        project_id: int | str | None = None,
        merge_request_iid: int | str | None = None,
        sha: str | None = None,
        when_pipeline_succeeds: bool | None = None,
        squash: bool | None = None,
        remove_source_branch: bool | None = None,
        message: str | None = None,
        idempotency_key: str | None = None,
    ) -> T:
        """Merge a merge request now, or when its pipeline succeeds."""
        return self.call(
            "merge_merge_request",
            {
                "project_id": project_id,
                "merge_request_iid": merge_request_iid,
                "sha": sha,
                "when_pipeline_succeeds": when_pipeline_succeeds,
                "squash": squash,
                "remove_source_branch": remove_source_branch,
                "message": message,
                "idempotency_key": idempotency_key,
            },
        )

    def get_merge_request_diff(
        self,
        *,
        project_id: int | str | None = None,
        merge_request_iid: int | str | None = None,
        path: str | None = None,
        lines: str | None = None,
        max_bytes: int | None = None,
        page: int | None = None,
        per_page: int | None = None,
        cache: bool | None = None,
        cache_ttl: int | None = None,
    ) -> T:
        """Get the changed files of a merge request as unified diffs."""
        return self.call(
            "get_merge_request_diff",
            {
                "project_id": project_id,
                "merge_request_iid": merge_request_iid,
                "path": path,
                "lines": lines,
                "max_bytes": max_bytes,
                "page": page,
                "per_page": per_page,
                "cache": cache,
                "cache_ttl": cache_ttl,
            },
        )

    def list_merge_request_discussions(
        self,
        *,
        project_id: int | str | None = None,
        merge_request_iid: int | str | None = None,
        max_bytes: int | None = None,
        page: int | None = None,
        per_page: int | None = None,
        cache: bool | None = None,
        cache_ttl: int | None = None,
    ) -> T:
        """List the discussions of a merge request with their notes."""
        return self.call(
            "list_merge_request_discussions",
            {
                "project_id": project_id,
                "merge_request_iid": merge_request_iid,
                "max_bytes": max_bytes,
                "page": page,
                "per_page": per_page,
                "cache": cache,
                "cache_ttl": cache_ttl,
            },
        )

    def comment_on_merge_request(
        self,
        *,
        project_id: int | str | None = None,
        merge_request_iid: int | str | None = None,
        body: str | None = None,
        discussion_id: str | None = None,
        path: str | None = None,
        line: int | None = None,
        old_line: int | None = None,
        start_line: int | None = None,
        start_old_line: int | None = None,
        suggestion: str | None = None,
        sha: str | None = None,
        idempotency_key: str | None = None,
    ) -> T:
        """Comment on a merge request, on lines of its diff (with a suggestion), or reply in a discussion."""
        return self.call(
            "comment_on_merge_request",
            {
                "project_id": project_id,
                "merge_request_iid": merge_request_iid,
                "body": body,
                "discussion_id": discussion_id,
                "path": path,
                "line": line,
                "old_line": old_line,
                "start_line": start_line,
                "start_old_line": start_old_line,
                "suggestion": suggestion,
                "sha": sha,
                "idempotency_key": idempotency_key,
            },
        )

    def review_merge_request(
        self,
        *,
        project_id: int | str | None = None,
        merge_request_iid: int | str | None = None,
        comments: list[Mapping[str, Any]] | None = None,
        body: str | None = None,
        sha: str | None = None,
        idempotency_key: str | None = None,
    ) -> T:
        """Submit several comments as one review: all of them, or none."""
        return self.call(
            "review_merge_request",
            {
                "project_id": project_id,
                "merge_request_iid": merge_request_iid,
                "comments": comments,
                "body": body,
                "sha": sha,
                "idempotency_key": idempotency_key,
            },
        )

    def resolve_discussion(
        self,
        *,
        project_id: int | str | None = None,
        merge_request_iid: int | str | None = None,
        discussion_id: str,
        resolved: bool | None = None,
        body: str | None = None,
        idempotency_key: str | None = None,
    ) -> T:
        """Resolve a discussion of a merge request, or open it again."""
        return self.call(
            "resolve_discussion",
            {
                "project_id": project_id,
                "merge_request_iid": merge_request_iid,
                "discussion_id": discussion_id,
                "resolved": resolved,
                "body": body,
                "idempotency_key": idempotency_key,
            },
        )

    def compare_merge_request(
        self,
        *,
        project_id: int | str | None = None,
        merge_request_iid: int | str | None = None,
        files: list[str] | None = None,
        skip: int | None = None,
        cache: bool | None = None,
        cache_ttl: int | None = None,
    ) -> T:
        """List the files that a merge request changes, and show how some differ, with changed words and colours."""
        return self.call(
            "compare_merge_request",
            {
                "project_id": project_id,
                "merge_request_iid": merge_request_iid,
                "files": files,
                "skip": skip,
                "cache": cache,
                "cache_ttl": cache_ttl,
            },
        )

    def list_pipelines(
        self,
        *,
        project_id: int | str | None = None,
        status: Literal[
            "canceled",
            "canceling",
            "created",
            "failed",
            "manual",
            "pending",
            "preparing",
            "running",
            "scheduled",
            "skipped",
            "success",
            "waiting_for_callback",
            "waiting_for_resource",
        ]
        | None = None,
        ref: str | None = None,
        merge_request_iid: int | str | None = None,
        page: int | None = None,
        per_page: int | None = None,
        cache: bool | None = None,
        cache_ttl: int | None = None,
    ) -> T:
        """List CI/CD pipelines of a project, or of a merge request."""
        return self.call(
            "list_pipelines",
            {
                "project_id": project_id,
                "status": status,
                "ref": ref,
                "merge_request_iid": merge_request_iid,
                "page": page,
                "per_page": per_page,
                "cache": cache,
                "cache_ttl": cache_ttl,
            },
        )

    def get_pipeline(
        self,
        *,
        project_id: int | str | None = None,
        pipeline_id: int | None = None,
        merge_request_iid: int | str | None = None,
        cache: bool | None = None,
        cache_ttl: int | None = None,
    ) -> T:
        """Get a pipeline with its jobs and the log ends of failed ones."""
        return self.call(
            "get_pipeline",
            {
                "project_id": project_id,
                "pipeline_id": pipeline_id,
                "merge_request_iid": merge_request_iid,
                "cache": cache,
                "cache_ttl": cache_ttl,
            },
        )

    def get_job_log(
        self,
        *,
        project_id: int | str | None = None,
        job_id: int,
        tail: int | None = None,
        lines: str | None = None,
        search: str | None = None,
        max_bytes: int | None = None,
        cache: bool | None = None,
        cache_ttl: int | None = None,
    ) -> T:
        """Get the log of a CI job: its end, a range of lines, or the lines with certain words."""
        return self.call(
            "get_job_log",
            {
                "project_id": project_id,
                "job_id": job_id,
                "tail": tail,
                "lines": lines,
                "search": search,
                "max_bytes": max_bytes,
                "cache": cache,
                "cache_ttl": cache_ttl,
            },
        )

    def get_test_report(
        self,
        *,
        project_id: int | str | None = None,
        pipeline_id: int | None = None,
        merge_request_iid: int | str | None = None,
        max_bytes: int | None = None,
        cache: bool | None = None,
        cache_ttl: int | None = None,
    ) -> T:
        """Get what the tests of a pipeline said: counts, and the failed cases."""
        return self.call(
            "get_test_report",
            {
                "project_id": project_id,
                "pipeline_id": pipeline_id,
                "merge_request_iid": merge_request_iid,
                "max_bytes": max_bytes,
                "cache": cache,
                "cache_ttl": cache_ttl,
            },
        )

    def trigger_pipeline(
        self,
        *,
        project_id: int | str | None = None,
        ref: str,
        variables: Mapping[str, str | int | float | bool] | None = None,
        idempotency_key: str | None = None,
    ) -> T:
        """Start a pipeline on a branch or tag."""
        return self.call(
            "trigger_pipeline",
            {"project_id": project_id, "ref": ref, "variables": variables, "idempotency_key": idempotency_key},
        )

    def control_pipeline(
        self,
        *,
        project_id: int | str | None = None,
        action: Literal["cancel", "play", "retry"],
        pipeline_id: int | None = None,
        job_id: int | None = None,
        variables: Mapping[str, str | int | float | bool] | None = None,
        idempotency_key: str | None = None,
    ) -> T:
        """Retry or cancel a pipeline or a job, or play a manual job."""
        return self.call(
            "control_pipeline",
            {
                "project_id": project_id,
                "action": action,
                "pipeline_id": pipeline_id,
                "job_id": job_id,
                "variables": variables,
                "idempotency_key": idempotency_key,
            },
        )

    def wait_pipeline(
        self,
        *,
        project_id: int | str | None = None,
        pipeline_id: int | None = None,
        merge_request_iid: int | str | None = None,
        timeout_seconds: int | None = None,
        cache: bool | None = None,
        cache_ttl: int | None = None,
    ) -> T:
        """Wait until a pipeline has ended, or the time is over."""
        return self.call(
            "wait_pipeline",
            {
                "project_id": project_id,
                "pipeline_id": pipeline_id,
                "merge_request_iid": merge_request_iid,
                "timeout_seconds": timeout_seconds,
                "cache": cache,
                "cache_ttl": cache_ttl,
            },
        )

    def get_file_content(
        self,
        *,
        project_id: int | str | None = None,
        file_path: str,
        ref: str | None = None,
        lines: str | None = None,
        max_bytes: int | None = None,
        cache: bool | None = None,
        cache_ttl: int | None = None,
    ) -> T:
        """Get a file of the repository with its last commit."""
        return self.call(
            "get_file_content",
            {
                "project_id": project_id,
                "file_path": file_path,
                "ref": ref,
                "lines": lines,
                "max_bytes": max_bytes,
                "cache": cache,
                "cache_ttl": cache_ttl,
            },
        )

    def list_repository_files(
        self,
        *,
        project_id: int | str | None = None,
        path: str | None = None,
        ref: str | None = None,
        recursive: bool | None = None,
        page: int | None = None,
        per_page: int | None = None,
        cache: bool | None = None,
        cache_ttl: int | None = None,
    ) -> T:
        """List a folder of the repository."""
        return self.call(
            "list_repository_files",
            {
                "project_id": project_id,
                "path": path,
                "ref": ref,
                "recursive": recursive,
                "page": page,
                "per_page": per_page,
                "cache": cache,
                "cache_ttl": cache_ttl,
            },
        )

    def search_code(
        self,
        *,
        search: str,
        project_id: int | str | None = None,
        ref: str | None = None,
        page: int | None = None,
        per_page: int | None = None,
        cache: bool | None = None,
        cache_ttl: int | None = None,
    ) -> T:
        """Search the code of a project."""
        return self.call(
            "search_code",
            {
                "search": search,
                "project_id": project_id,
                "ref": ref,
                "page": page,
                "per_page": per_page,
                "cache": cache,
                "cache_ttl": cache_ttl,
            },
        )

    def list_commits(
        self,
        *,
        project_id: int | str | None = None,
        ref: str | None = None,
        path: str | None = None,
        author: str | None = None,
        since: str | None = None,
        until: str | None = None,
        page: int | None = None,
        per_page: int | None = None,
        cache: bool | None = None,
        cache_ttl: int | None = None,
    ) -> T:
        """List commits, newest first."""
        return self.call(
            "list_commits",
            {
                "project_id": project_id,
                "ref": ref,
                "path": path,
                "author": author,
                "since": since,
                "until": until,
                "page": page,
                "per_page": per_page,
                "cache": cache,
                "cache_ttl": cache_ttl,
            },
        )

    def get_commit(
        self,
        *,
        project_id: int | str | None = None,
        sha: str,
        path: str | None = None,
        lines: str | None = None,
        max_bytes: int | None = None,
        cache: bool | None = None,
        cache_ttl: int | None = None,
    ) -> T:
        """Get a commit with its message and changes."""
        return self.call(
            "get_commit",
            {
                "project_id": project_id,
                "sha": sha,
                "path": path,
                "lines": lines,
                "max_bytes": max_bytes,
                "cache": cache,
                "cache_ttl": cache_ttl,
            },
        )

    def compare_refs(
        self,
        *,
        project_id: int | str | None = None,
        base: str,
        head: str,
        path: str | None = None,
        lines: str | None = None,
        straight: bool | None = None,
        max_bytes: int | None = None,
        cache: bool | None = None,
        cache_ttl: int | None = None,
    ) -> T:
        """Compare two refs: the commits and changes that one has more than the other."""
        return self.call(
            "compare_refs",
            {
                "project_id": project_id,
                "base": base,
                "head": head,
                "path": path,
                "lines": lines,
                "straight": straight,
                "max_bytes": max_bytes,
                "cache": cache,
                "cache_ttl": cache_ttl,
            },
        )

    def blame_file(
        self,
        *,
        project_id: int | str | None = None,
        file_path: str,
        ref: str | None = None,
        lines: str | None = None,
        max_bytes: int | None = None,
        cache: bool | None = None,
        cache_ttl: int | None = None,
    ) -> T:
        """Say which commit wrote each line of a file last."""
        return self.call(
            "blame_file",
            {
                "project_id": project_id,
                "file_path": file_path,
                "ref": ref,
                "lines": lines,
                "max_bytes": max_bytes,
                "cache": cache,
                "cache_ttl": cache_ttl,
            },
        )

    def list_refs(
        self,
        *,
        project_id: int | str | None = None,
        kind: Literal["branches", "tags"] | None = None,
        search: str | None = None,
        page: int | None = None,
        per_page: int | None = None,
        cache: bool | None = None,
        cache_ttl: int | None = None,
    ) -> T:
        """List the branches or tags of a project."""
        return self.call(
            "list_refs",
            {
                "project_id": project_id,
                "kind": kind,
                "search": search,
                "page": page,
                "per_page": per_page,
                "cache": cache,
                "cache_ttl": cache_ttl,
            },
        )

    def my_work(self, *, per_page: int | None = None, cache: bool | None = None, cache_ttl: int | None = None) -> T:
        """Show reviews asked of you, your merge requests, your issues and to-dos."""
        return self.call("my_work", {"per_page": per_page, "cache": cache, "cache_ttl": cache_ttl})

    def whoami(self, *, cache: bool | None = None, cache_ttl: int | None = None) -> T:
        """Say whose GitLab token this is, and what it may do."""
        return self.call("whoami", {"cache": cache, "cache_ttl": cache_ttl})

    def find_user(
        self,
        *,
        search: str,
        page: int | None = None,
        per_page: int | None = None,
        cache: bool | None = None,
        cache_ttl: int | None = None,
    ) -> T:
        """Find users by name."""
        return self.call(
            "find_user", {"search": search, "page": page, "per_page": per_page, "cache": cache, "cache_ttl": cache_ttl}
        )

    def configure_webhook(
        self,
        *,
        project_id: int | str,
        url: str,
        events: list[Literal["issues", "merge_requests", "notes", "pipelines", "push", "wiki"]],
        token: str | None = None,
        idempotency_key: str | None = None,
    ) -> T:
        """Make a project's webhook send these events, or change the one with this url."""
        return self.call(
            "configure_webhook",
            {
                "project_id": project_id,
                "url": url,
                "events": events,
                "token": token,
                "idempotency_key": idempotency_key,
            },
        )

    def list_webhook_events(
        self,
        *,
        project_id: int | None = None,
        event: str | None = None,
        after: str | None = None,
        before: str | None = None,
        since: str | None = None,
        limit: int | None = None,
        payload: bool | None = None,
    ) -> T:
        """List events that webhooks sent here, newest first."""
        return self.call(
            "list_webhook_events",
            {
                "project_id": project_id,
                "event": event,
                "after": after,
                "before": before,
                "since": since,
                "limit": limit,
                "payload": payload,
            },
        )
