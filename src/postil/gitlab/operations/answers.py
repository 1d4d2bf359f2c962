"""What operations answer: a struct for tools/call, `direct()` for direct JSON-RPC, `text()` for people and models.

How these are made fit for their reader is said in `presentation.py`.
"""

from __future__ import annotations

from msgspec import Struct

from postil.gitlab.instance.pages import Pagination
from postil.gitlab.model import (
    Change,
    Discussion,
    FileItem,
    FoundIssue,
    IssueItem,
    Job,
    LastCommit,
    MergeRequestItem,
    Note,
    Person,
    PipelineItem,
    PipelineState,
    ProjectItem,
    Statistics,
)
from postil.gitlab.operations.presentation import Answer, Listing, written_fields
from postil.gitlab.policy.untrusted import clean


class Projects(Listing, frozen=True, dict=True):
    """A page of projects."""

    projects: list[ProjectItem]
    pagination: Pagination
    untrusted: bool = True


class ProjectDetails(Answer, frozen=True, dict=True):
    """One project; `statistics` is null where GitLab does not tell."""

    id: int | None
    name: str | None
    description: str | None
    default_branch: str | None
    created_at: str | None
    last_activity_at: str | None
    statistics: Statistics | None
    untrusted: bool = True


class Issues(Listing, frozen=True, dict=True):
    """A page of a project's issues."""

    issues: list[IssueItem]
    pagination: Pagination
    untrusted: bool = True


class FoundIssues(Listing, frozen=True, dict=True):
    """A page of issues found."""

    issues: list[FoundIssue]
    pagination: Pagination
    untrusted: bool = True


class IssueDetails(Answer, frozen=True, dict=True):
    """One issue in full."""

    id: int | None
    iid: int | None
    project_id: int | None
    title: str | None
    description: str | None
    state: str | None
    labels: list[str]
    milestone: str | None
    author: Person | None
    assignee: Person | None
    assignees: list[Person]
    confidential: bool | None
    due_date: str | None
    created_at: str | None
    updated_at: str | None
    closed_at: str | None
    user_notes_count: int | None
    web_url: str | None
    untrusted: bool = True


class Created(Struct, frozen=True):
    """What was made, and where it is. All null means that GitLab accepted it and said nothing readable."""

    id: int | None
    iid: int | None
    title: str | None
    web_url: str | None

    def text(self) -> str:
        """One sentence."""
        if self.iid is None and self.web_url is None:
            return "GitLab accepted it; its answer could not be read. Do not send it again."
        return f"{self.iid}: {clean(self.title or '')} {self.web_url or ''}".rstrip()


class Notes(Listing, frozen=True, dict=True):
    """A page of notes."""

    notes: list[Note]
    pagination: Pagination
    untrusted: bool = True


class Noted(Struct, frozen=True, omit_defaults=True):
    """A note that was written; `discussion_id` names its thread."""

    id: int | None
    created_at: str | None
    discussion_id: str | None = None

    def text(self) -> str:
        """One sentence."""
        return f"Noted ({self.id})" if self.id else "GitLab accepted it; its answer could not be read."


class MergeRequests(Listing, frozen=True, dict=True):
    """A page of merge requests."""

    merge_requests: list[MergeRequestItem]
    pagination: Pagination
    untrusted: bool = True


class MergeRequestDetails(Answer, frozen=True, dict=True):
    """One merge request in full."""

    id: int | None
    iid: int | None
    project_id: int | None
    title: str | None
    description: str | None
    state: str | None
    draft: bool | None
    source_branch: str | None
    target_branch: str | None
    sha: str | None
    detailed_merge_status: str | None
    has_conflicts: bool | None
    changes_count: str | None
    labels: list[str]
    author: Person | None
    assignee: Person | None
    assignees: list[Person]
    reviewers: list[Person]
    pipeline: PipelineState | None
    created_at: str | None
    updated_at: str | None
    merged_at: str | None
    web_url: str | None
    untrusted: bool = True


class Changes(Listing, frozen=True, dict=True):
    """A page of changed files."""

    diffs: list[Change]
    pagination: Pagination
    untrusted: bool = True


class Discussions(Listing, frozen=True, dict=True):
    """A page of discussions."""

    discussions: list[Discussion]
    pagination: Pagination
    untrusted: bool = True


class Resolved(Struct, frozen=True):
    """The state of a discussion after it was resolved or opened again."""

    discussion_id: str | None
    resolved: bool | None

    def text(self) -> str:
        """One sentence."""
        return f"Discussion {self.discussion_id} is {'resolved' if self.resolved else 'open'}"


class Pipelines(Listing, frozen=True, dict=True):
    """A page of pipelines."""

    pipelines: list[PipelineItem]
    pagination: Pagination
    untrusted: bool = True


class PipelineDetails(Answer, frozen=True, dict=True):
    """One pipeline with its jobs."""

    id: int | None
    status: str | None
    ref: str | None
    sha: str | None
    source: str | None
    duration: float | None
    yaml_errors: str | None
    user: Person | None
    created_at: str | None
    finished_at: str | None
    web_url: str | None
    jobs: list[Job]
    untrusted: bool = True

    def written(self) -> str:
        tails = [f"\nend of the log of {job.name}:\n{job.log_tail}" for job in self.jobs if job.log_tail]
        return written_fields(self) + "".join(tails)


class Triggered(Struct, frozen=True):
    """A pipeline that was started."""

    id: int | None
    status: str | None
    ref: str | None
    sha: str | None
    web_url: str | None

    def text(self) -> str:
        """One sentence."""
        return f"Pipeline {self.id} on {self.ref}: {self.status} {self.web_url or ''}".rstrip()


class FileContent(Answer, frozen=True, dict=True):
    """One file. To a model its text (`encoding` "text"), in direct JSON-RPC GitLab's base64."""

    file_name: str | None
    file_path: str | None
    content: str | None
    encoding: str | None
    size: int | None
    last_commit: LastCommit | None
    untrusted: bool = True

    def written(self) -> str:
        head = f"{self.file_path} ({self.size} bytes)"
        return f"{head}\n{self.content or ''}" if self.encoding == "text" else f"{head}, not text"


class Files(Listing, frozen=True, dict=True):
    """A page of a folder."""

    files: list[FileItem]
    pagination: Pagination
    untrusted: bool = True


class Webhook(Struct, frozen=True):
    """A webhook as it now is; its token is never shown."""

    id: int | None
    url: str | None
    events: list[str]

    def text(self) -> str:
        """One sentence."""
        return f"Webhook {self.id} sends {', '.join(self.events) or 'nothing'} to {self.url}"
