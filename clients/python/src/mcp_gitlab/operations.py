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

    def get_project(self, *, project_id: int | str, cache: bool | None = None, cache_ttl: int | None = None) -> T:
        """Get details of one project."""
        return self.call("get_project", {"project_id": project_id, "cache": cache, "cache_ttl": cache_ttl})

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

    def list_issues(
        self,
        *,
        project_id: int | str,
        state: Literal["all", "closed", "opened"] | None = None,
        labels: list[str] | None = None,
        assignee_id: int | Literal["Any", "None"] | None = None,
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
                "page": page,
                "per_page": per_page,
                "cache": cache,
                "cache_ttl": cache_ttl,
            },
        )

    def get_issue(
        self,
        *,
        project_id: int | str,
        issue_id: int | None = None,
        issue_iid: int | None = None,
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
                "cache": cache,
                "cache_ttl": cache_ttl,
            },
        )

    def create_issue(
        self,
        *,
        project_id: int | str,
        title: str,
        description: str | None = None,
        assignee_id: int | None = None,
        labels: list[str] | None = None,
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
                "idempotency_key": idempotency_key,
            },
        )

    def update_issue(
        self,
        *,
        project_id: int | str,
        issue_iid: int,
        title: str | None = None,
        description: str | None = None,
        state_event: Literal["close", "reopen"] | None = None,
        assignee_id: int | None = None,
        add_labels: list[str] | None = None,
        remove_labels: list[str] | None = None,
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
                "idempotency_key": idempotency_key,
            },
        )

    def list_issue_notes(
        self,
        *,
        project_id: int | str,
        issue_iid: int,
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
                "page": page,
                "per_page": per_page,
                "cache": cache,
                "cache_ttl": cache_ttl,
            },
        )

    def create_issue_note(
        self, *, project_id: int | str, issue_iid: int, body: str, idempotency_key: str | None = None
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
        project_id: int | str,
        state: Literal["all", "closed", "locked", "merged", "opened"] | None = None,
        target_branch: str | None = None,
        source_branch: str | None = None,
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
                "page": page,
                "per_page": per_page,
                "cache": cache,
                "cache_ttl": cache_ttl,
            },
        )

    def get_merge_request(
        self, *, project_id: int | str, merge_request_iid: int, cache: bool | None = None, cache_ttl: int | None = None
    ) -> T:
        """Get one merge request in full."""
        return self.call(
            "get_merge_request",
            {"project_id": project_id, "merge_request_iid": merge_request_iid, "cache": cache, "cache_ttl": cache_ttl},
        )

    def create_merge_request(
        self,
        *,
        project_id: int | str,
        title: str,
        source_branch: str,
        target_branch: str,
        description: str | None = None,
        assignee_id: int | None = None,
        remove_source_branch: bool | None = None,
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
                "idempotency_key": idempotency_key,
            },
        )

    def get_merge_request_diff(
        self,
        *,
        project_id: int | str,
        merge_request_iid: int,
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
                "page": page,
                "per_page": per_page,
                "cache": cache,
                "cache_ttl": cache_ttl,
            },
        )

    def list_merge_request_discussions(
        self,
        *,
        project_id: int | str,
        merge_request_iid: int,
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
                "page": page,
                "per_page": per_page,
                "cache": cache,
                "cache_ttl": cache_ttl,
            },
        )

    def comment_on_merge_request(
        self,
        *,
        project_id: int | str,
        merge_request_iid: int,
        body: str,
        discussion_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> T:
        """Reply in a discussion of a merge request, or start one."""
        return self.call(
            "comment_on_merge_request",
            {
                "project_id": project_id,
                "merge_request_iid": merge_request_iid,
                "body": body,
                "discussion_id": discussion_id,
                "idempotency_key": idempotency_key,
            },
        )

    def resolve_discussion(
        self,
        *,
        project_id: int | str,
        merge_request_iid: int,
        discussion_id: str,
        resolved: bool | None = None,
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
                "idempotency_key": idempotency_key,
            },
        )

    def list_pipelines(
        self,
        *,
        project_id: int | str,
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
        page: int | None = None,
        per_page: int | None = None,
        cache: bool | None = None,
        cache_ttl: int | None = None,
    ) -> T:
        """List CI/CD pipelines of a project."""
        return self.call(
            "list_pipelines",
            {
                "project_id": project_id,
                "status": status,
                "ref": ref,
                "page": page,
                "per_page": per_page,
                "cache": cache,
                "cache_ttl": cache_ttl,
            },
        )

    def get_pipeline(
        self, *, project_id: int | str, pipeline_id: int, cache: bool | None = None, cache_ttl: int | None = None
    ) -> T:
        """Get a pipeline with its jobs and the log ends of failed ones."""
        return self.call(
            "get_pipeline",
            {"project_id": project_id, "pipeline_id": pipeline_id, "cache": cache, "cache_ttl": cache_ttl},
        )

    def trigger_pipeline(
        self,
        *,
        project_id: int | str,
        ref: str,
        variables: Mapping[str, str | int | float | bool] | None = None,
        idempotency_key: str | None = None,
    ) -> T:
        """Start a pipeline on a branch or tag."""
        return self.call(
            "trigger_pipeline",
            {"project_id": project_id, "ref": ref, "variables": variables, "idempotency_key": idempotency_key},
        )

    def get_file_content(
        self,
        *,
        project_id: int | str,
        file_path: str,
        ref: str | None = None,
        cache: bool | None = None,
        cache_ttl: int | None = None,
    ) -> T:
        """Get a file of the repository with its last commit."""
        return self.call(
            "get_file_content",
            {"project_id": project_id, "file_path": file_path, "ref": ref, "cache": cache, "cache_ttl": cache_ttl},
        )

    def list_repository_files(
        self,
        *,
        project_id: int | str,
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

    def configure_webhook(
        self,
        *,
        project_id: int | str,
        url: str,
        events: list[Literal["issues", "merge_requests", "pipelines", "push", "wiki"]],
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
        limit: int | None = None,
        payload: bool | None = None,
    ) -> T:
        """List events that webhooks sent here, oldest first."""
        return self.call(
            "list_webhook_events",
            {"project_id": project_id, "event": event, "after": after, "limit": limit, "payload": payload},
        )
