"""What operations answer. How these are made fit for their reader is said in `presentation.py`."""

from __future__ import annotations

from typing import ClassVar

from postil.core.answer import Answer
from postil.core.others.untrusted import clean
from postil.gitlab import model
from postil.gitlab.operations.presentation import SHORT, Details, Listing


class Projects(Listing, frozen=True, dict=True):
    """A page of projects."""

    projects: list[model.ProjectItem]


class ProjectDetails(Details, frozen=True, dict=True):
    """One project; `statistics` is null where GitLab does not tell."""

    id: int | None
    name: str | None
    description: str | None
    default_branch: str | None
    created_at: str | None
    last_activity_at: str | None
    statistics: model.Statistics | None


class Issues(Listing, frozen=True, dict=True):
    """A page of a project's issues."""

    longest: ClassVar[int | None] = SHORT
    issues: list[model.IssueItem]


class FoundIssues(Listing, frozen=True, dict=True):
    """A page of issues found."""

    longest: ClassVar[int | None] = SHORT
    issues: list[model.FoundIssue]


class IssueDetails(Details, frozen=True, dict=True):
    """One issue in full."""

    id: int | None
    iid: int | None
    project_id: int | None
    title: str | None
    description: str | None
    state: str | None
    labels: list[str]
    milestone: str | None
    author: model.Person | None
    assignee: model.Person | None
    assignees: list[model.Person]
    confidential: bool | None
    due_date: str | None
    created_at: str | None
    updated_at: str | None
    closed_at: str | None
    user_notes_count: int | None
    web_url: str | None


class Created(Answer, frozen=True):
    """What was made, and where it is. All null means that GitLab accepted it and said nothing readable."""

    id: int | None
    iid: int | None
    title: str | None
    web_url: str | None

    def for_model(self) -> str:
        if self.iid is None and self.web_url is None:
            return "GitLab accepted it; its answer could not be read. Do not send it again."
        return f"{self.iid}: {clean(self.title or '')} {self.web_url or ''}".rstrip()


class Notes(Listing, frozen=True, dict=True):
    """A page of notes."""

    notes: list[model.Note]


class Noted(Answer, frozen=True, omit_defaults=True):
    """A note that was written; `discussion_id` names its thread."""

    id: int | None
    created_at: str | None
    discussion_id: str | None = None

    def for_model(self) -> str:
        return f"Noted ({self.id})" if self.id else "GitLab accepted it; its answer could not be read."


class MergeRequests(Listing, frozen=True, dict=True):
    """A page of merge requests."""

    longest: ClassVar[int | None] = SHORT
    merge_requests: list[model.MergeRequestItem]


class MergeRequestDetails(Details, frozen=True, dict=True):
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
    author: model.Person | None
    assignee: model.Person | None
    assignees: list[model.Person]
    reviewers: list[model.Person]
    pipeline: model.PipelineState | None
    created_at: str | None
    updated_at: str | None
    merged_at: str | None
    web_url: str | None


class Changes(Listing, frozen=True, dict=True):
    """A page of changed files."""

    diffs: list[model.Change]


class Discussions(Listing, frozen=True, dict=True):
    """A page of discussions."""

    discussions: list[model.Discussion]


class Resolved(Answer, frozen=True):
    """The state of a discussion after it was resolved or opened again."""

    discussion_id: str | None
    resolved: bool | None

    def for_model(self) -> str:
        return f"Discussion {self.discussion_id} is {'resolved' if self.resolved else 'open'}"


class Pipelines(Listing, frozen=True, dict=True):
    """A page of pipelines."""

    pipelines: list[model.PipelineItem]


class PipelineDetails(Details, frozen=True, dict=True):
    """One pipeline with its jobs."""

    id: int | None
    status: str | None
    ref: str | None
    sha: str | None
    source: str | None
    duration: float | None
    yaml_errors: str | None
    user: model.Person | None
    created_at: str | None
    finished_at: str | None
    web_url: str | None
    jobs: list[model.Job]

    def write(self) -> str:
        tails = [f"\nend of the log of {job.name}:\n{job.log_tail}" for job in self.jobs if job.log_tail]
        return super().write() + "".join(tails)


class Triggered(Answer, frozen=True):
    """A pipeline that was started."""

    id: int | None
    status: str | None
    ref: str | None
    sha: str | None
    web_url: str | None

    def for_model(self) -> str:
        return f"Pipeline {self.id} on {self.ref}: {self.status} {self.web_url or ''}".rstrip()


class FileContent(Details, frozen=True, dict=True):
    """One file. To a model its text (`encoding` "text"), in direct JSON-RPC GitLab's base64."""

    file_name: str | None
    file_path: str | None
    content: str | None
    encoding: str | None
    size: int | None
    last_commit: model.LastCommit | None

    def write(self) -> str:
        head = f"{self.file_path} ({self.size} bytes)"
        return f"{head}\n{self.content or ''}" if self.encoding == "text" else f"{head}, not text"


class Files(Listing, frozen=True, dict=True):
    """A page of a folder."""

    files: list[model.FileItem]


class Webhook(Answer, frozen=True):
    """A webhook as it now is; its token is never shown."""

    id: int | None
    url: str | None
    events: list[str]

    def for_model(self) -> str:
        return f"Webhook {self.id} sends {', '.join(self.events) or 'nothing'} to {self.url}"
