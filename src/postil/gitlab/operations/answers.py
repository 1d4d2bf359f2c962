"""What operations answer. How these are made fit for their reader is said in `presentation.py`."""

from __future__ import annotations

from typing import ClassVar

from msgspec import UNSET, UnsetType, field

from postil.core.answer import Answer
from postil.core.others.untrusted import clean
from postil.gitlab import model
from postil.gitlab.instance.identifiers import check_commit
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
    path_with_namespace: str | None = None
    visibility: str | None = None
    web_url: str | None = None

    def shape(self, body: dict[str, object]) -> dict[str, object]:
        for name in ("path_with_namespace", "visibility", "web_url"):  # the contract has none of these
            del body[name]
        return super().shape(body)


class Issues(Listing, frozen=True, dict=True):
    """A page of a project's issues."""

    longest: ClassVar[int | None] = SHORT
    issues: list[model.IssueRow]


class ContractIssues(Listing, frozen=True, dict=True):
    """A page of a project's issues, as programs get it."""

    issues: list[model.IssueItem]


class FoundIssues(Listing, frozen=True, dict=True):
    """A page of issues found, as programs get it."""

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
        thread = f" in discussion {self.discussion_id}" if check_commit(self.discussion_id) else ""
        return f"Noted ({self.id}){thread}" if self.id else "GitLab accepted it; its answer could not be read."


class MergeRequests(Listing, frozen=True, dict=True):
    """A page of merge requests."""

    longest: ClassVar[int | None] = SHORT
    merge_requests: list[model.MergeRequestRow]


class PlainMergeRequests(Listing, frozen=True, dict=True):
    """A page of merge requests, as programs get it."""

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


class Approved(Answer, frozen=True):
    """Whether the caller approves now."""

    approved: bool

    def for_model(self) -> str:
        return "Approved" if self.approved else "The approval is revoked"


class Merged(Answer, frozen=True):
    """A merge request after it was merged, or told to merge when its pipeline succeeds."""

    iid: int | None
    state: str | None
    merge_commit_sha: str | None
    web_url: str | None
    waits: bool = False

    def for_model(self) -> str:
        if self.waits:
            return f"!{self.iid} will be merged when its pipeline succeeds"
        return f"!{self.iid} is {self.state} {self.merge_commit_sha or ''}".rstrip()


class Changes(Listing, frozen=True, dict=True):
    """A page of changed files."""

    diffs: list[model.Change]
    head_sha: str | UnsetType = UNSET
    """The commit whose diff this is: to be given back with comments."""

    def write(self) -> str:
        head = f"head_sha: {self.head_sha}\n" if self.head_sha else ""
        return head + super().write()


class Discussions(Listing, frozen=True, dict=True):
    """A page of discussions."""

    discussions: list[model.Discussion]


class Reviewed(Answer, frozen=True):
    """A review that was submitted."""

    comments: int
    other_drafts: int
    """Drafts of the same person that were there before, and still are."""

    def for_model(self) -> str:
        kept = f"; {self.other_drafts} earlier drafts stay drafts" if self.other_drafts else ""
        return f"Submitted a review of {self.comments} comments{kept}"


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
    children: list[model.ChildPipeline] = field(default_factory=list[model.ChildPipeline])
    """Pipelines that jobs of this one started."""
    untold_failures: int = 0
    """Failed jobs whose logs are not here."""

    def write(self) -> str:
        tails = [f"\nend of the log of {job.name} (job {job.id}):\n{job.log_tail}" for job in self.jobs if job.log_tail]
        return super().write() + "".join(tails)


class JobLog(Details, frozen=True, dict=True):
    """Some lines of a job's log."""

    job_id: int
    total_lines: int
    content: str

    def write(self) -> str:
        rest = f"\n({self.left_out})" if self.left_out else ""
        return f"log of job {self.job_id}, {self.total_lines} lines\n{self.content}{rest}"

    def shape(self, body: dict[str, object]) -> dict[str, object]:
        return body


class TestReport(Details, frozen=True, dict=True):
    """What the tests of a pipeline said."""

    total: int
    passed: int
    failed: int
    errors: int
    skipped: int
    seconds: float | None
    failures: list[str]

    def write(self) -> str:
        counts = f"{self.passed} passed, {self.failed} failed, {self.errors} errors, {self.skipped} skipped"
        head = f"{self.total} tests: {counts}"
        return "\n".join([head, *self.failures, *([f"({self.left_out})"] if self.left_out else [])])

    def shape(self, body: dict[str, object]) -> dict[str, object]:
        return body


class Controlled(Answer, frozen=True):
    """A pipeline or a job after it was told what to do."""

    what: str
    action: str
    id: int | None
    status: str | None
    web_url: str | None

    def for_model(self) -> str:
        return f"{self.action}: {self.what} {self.id} is {self.status} {self.web_url or ''}".rstrip()


class PipelineEnd(Answer, frozen=True):
    """How a pipeline ended, or that it has not yet."""

    id: int | None
    status: str | None
    ended: bool
    duration: float | None
    web_url: str | None

    def for_model(self) -> str:
        took = f" after {self.duration:.0f} s" if self.duration else ""
        again = "" if self.ended else "; it has not ended: wait_pipeline again"
        return f"Pipeline {self.id}: {self.status}{took} {self.web_url or ''}".rstrip() + again


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
        rest = f"\n({self.left_out})" if self.left_out else ""
        return f"{head}\n{self.content or ''}{rest}" if self.encoding == "text" else f"{head}, not text"


class Labels(Listing, frozen=True, dict=True):
    """A page of labels."""

    labels: list[model.Label]


class Milestones(Listing, frozen=True, dict=True):
    """A page of milestones."""

    longest: ClassVar[int | None] = SHORT
    milestones: list[model.MilestoneItem]


class Commits(Listing, frozen=True, dict=True):
    """A page of commits."""

    commits: list[model.CommitItem]


class CommitDetails(Details, frozen=True, dict=True):
    """One commit with its changes."""

    id: str | None
    title: str | None
    message: str | None
    author_name: str | None
    authored_date: str | None
    parent_ids: list[str]
    web_url: str | None
    diffs: list[model.Change]

    def write(self) -> str:
        head = (f"commit {self.id}", f"{self.author_name}, {self.authored_date}", (self.message or "").strip())
        rest = [f"({self.left_out})"] if self.left_out else []
        return "\n".join([*head, *(one.line() for one in self.diffs), *rest])


class Comparison(Details, frozen=True, dict=True):
    """What one ref has that another has not."""

    commits: list[model.CommitItem]
    diffs: list[model.Change]
    compare_timeout: bool | None
    web_url: str | None

    def write(self) -> str:
        rest = [f"({self.left_out})"] if self.left_out else []
        lines = [f"{len(self.commits)} commits, {len(self.diffs)} changed files"]
        return "\n".join([*lines, *(one.line() for one in (*self.commits, *self.diffs)), *rest])


class Blame(Details, frozen=True, dict=True):
    """Who wrote the lines of a file last."""

    file_path: str
    ranges: list[model.BlameRange]

    def write(self) -> str:
        rest = [f"({self.left_out})"] if self.left_out else []
        return "\n".join([self.file_path, *(one.line() for one in self.ranges), *rest])


class Refs(Listing, frozen=True, dict=True):
    """A page of branches or tags."""

    refs: list[model.RefItem]


class CodeMatches(Listing, frozen=True, dict=True):
    """A page of matches in the code."""

    matches: list[model.CodeMatch]


class Users(Listing, frozen=True, dict=True):
    """A page of users."""

    users: list[model.UserItem]


class Myself(Details, frozen=True, dict=True):
    """Whose token this is, and what it may do."""

    id: int | None
    username: str | None
    name: str | None
    web_url: str | None
    scopes: list[str]
    expires_at: str | None
    instance: str


class MyWork(Details, frozen=True, dict=True):
    """What waits for the caller."""

    reviews: list[model.MergeRequestRow]
    merge_requests: list[model.MergeRequestRow]
    issues: list[model.IssueRow]
    todos: list[model.Todo]

    def write(self) -> str:
        kinds = (
            ("reviews asked of you", self.reviews),
            ("your open merge requests", self.merge_requests),
            ("issues assigned to you", self.issues),
            ("to-dos", self.todos),
        )
        lines = [
            line for name, rows in kinds for line in (f"{name}: {len(rows)}", *(f"  {row.line()}" for row in rows))
        ]
        return "\n".join([*lines, *([f"({self.left_out})"] if self.left_out else [])])


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
