"""The things of GitLab as Postil shows them: the contract's fields and a named list, nothing copied out by accident.

Every field may be null, because GitLab's may. `line()` is one thing on one line, for lists.
"""

from __future__ import annotations

from msgspec import Struct

from postil.core import call
from postil.core.others.own_words import in_brackets


class Person(Struct, frozen=True):
    """A user, as named beside a thing."""

    id: int | None = None
    name: str | None = None
    username: str | None = None

    def line(self) -> str:
        return f"@{self.username}" if self.username else self.name or "somebody"


class ProjectItem(Struct, frozen=True):
    """A project in a list."""

    id: int | None
    name: str | None
    path: str | None
    namespace: str | None
    visibility: str | None
    web_url: str | None

    def line(self) -> str:
        return f"{self.id} {self.namespace}/{self.path} ({self.visibility}) {self.name}"


class Statistics(Struct, frozen=True):
    """How much a project holds."""

    commit_count: int | None
    storage_size: int | None


class IssueRow(Struct, frozen=True, omit_defaults=True):
    """An issue in a list, as a model reads it: people by name."""

    iid: int | None
    title: str | None
    state: str | None
    description: str | None = None
    labels: list[str] = []
    written_by: str | None = None
    assigned_to: str | None = None
    updated_at: str | None = None
    confidential: bool = False
    web_url: str | None = None
    project_id: int | None = None

    def line(self) -> str:
        return _row_line(self, "#", self.confidential and "confidential")


class IssueItem(Struct, frozen=True):
    """An issue in a project's list, as the contract has it."""

    id: int | None
    iid: int | None
    title: str | None
    description: str | None
    state: str | None
    created_at: str | None
    assignee: Person | None

    def line(self) -> str:
        return _thread_line("#", self.iid, self.state, self.title, self.assignee, self.description)


class FoundIssue(Struct, frozen=True):
    """An issue found by a search, which may be in any project."""

    id: int | None
    iid: int | None
    project_id: int | None
    title: str | None
    description: str | None
    state: str | None
    created_at: str | None
    assignee: Person | None
    web_url: str | None

    def line(self) -> str:
        return f"project {self.project_id} " + _thread_line(
            "#", self.iid, self.state, self.title, self.assignee, self.description
        )


class MergeRequestRow(Struct, frozen=True, omit_defaults=True):
    """A merge request in a list, as a model reads it: people by name."""

    iid: int | None
    title: str | None
    state: str | None
    draft: bool | None = None
    source_branch: str | None = None
    target_branch: str | None = None
    description: str | None = None
    labels: list[str] = []
    written_by: str | None = None
    assigned_to: str | None = None
    asked_reviewers: list[str] = []
    updated_at: str | None = None
    web_url: str | None = None
    project_id: int | None = None

    def line(self) -> str:
        reviewers = f"for review by {', '.join(self.asked_reviewers)}" if self.asked_reviewers else ""
        branches = f"{self.source_branch} → {self.target_branch}" if self.source_branch else ""
        return _row_line(self, "!", self.draft and "draft", branches, reviewers)


class MergeRequestItem(Struct, frozen=True):
    """A merge request in a list."""

    id: int | None
    iid: int | None
    title: str | None
    description: str | None
    state: str | None
    draft: bool | None
    source_branch: str | None
    target_branch: str | None
    sha: str | None
    author: Person | None
    assignee: Person | None
    created_at: str | None
    updated_at: str | None
    web_url: str | None

    def line(self) -> str:
        state = f"{self.state}, draft" if self.draft else self.state
        head = _thread_line("!", self.iid, state, self.title, self.author, None)
        return f"{head} {self.source_branch} → {self.target_branch}"


class PipelineItem(Struct, frozen=True):
    """A pipeline in a list."""

    id: int | None
    status: str | None
    ref: str | None
    sha: str | None
    source: str | None
    created_at: str | None
    updated_at: str | None
    web_url: str | None

    def line(self) -> str:
        return f"{self.id} {self.status} {self.ref} {(self.sha or '')[:8]} {self.source or ''} {_tell(self.created_at)}"


class Job(Struct, frozen=True, omit_defaults=True):
    """A job of a pipeline; `log_tail` only where it failed."""

    id: int | None
    name: str | None
    stage: str | None
    status: str | None
    failure_reason: str | None = None
    allow_failure: bool | None = None
    duration: float | None = None
    web_url: str | None = None
    log_tail: str | None = None

    def line(self) -> str:
        reason = f" ({self.failure_reason})" if self.failure_reason else ""
        return f"{self.stage}/{self.name} ({self.id}): {self.status}{reason}"


class ChildPipeline(Struct, frozen=True, omit_defaults=True):
    """A pipeline that a job of another one started, in the same project or in another."""

    job: str | None
    """The job that started it."""
    status: str | None
    id: int | None = None
    project_id: int | None = None
    web_url: str | None = None

    def line(self) -> str:
        where = f" in project {self.project_id}" if self.project_id else ""
        return (
            f"{self.job} started pipeline {self.id}{where}: {self.status}" if self.id else f"{self.job}: {self.status}"
        )


class PipelineState(Struct, frozen=True):
    """The pipeline at the head of a merge request."""

    id: int | None
    status: str | None
    web_url: str | None


class FileItem(Struct, frozen=True):
    """A file or folder of the repository."""

    id: str | None
    name: str | None
    type: str | None
    path: str | None
    mode: str | None

    def line(self) -> str:
        return f"{self.path}/" if self.type == "tree" else self.path or ""


class Label(Struct, frozen=True, omit_defaults=True):
    """A label of a project."""

    id: int | None
    name: str | None
    color: str | None = None
    about: str | None = None

    def line(self) -> str:
        return f"{self.name}: {self.about}" if self.about else self.name or ""


class MilestoneItem(Struct, frozen=True):
    """A milestone of a project."""

    id: int | None
    iid: int | None
    title: str | None
    description: str | None
    state: str | None
    due_date: str | None
    web_url: str | None

    def line(self) -> str:
        due = f", due {self.due_date}" if self.due_date else ""
        return f"{self.title} {in_brackets(f'{self.state}{due}')} {' '.join((self.description or '').split())}".rstrip()


class LastCommit(Struct, frozen=True, omit_defaults=True):
    """The commit that last changed a file; only its id where the commit could not be read."""

    id: str | None
    message: str | None = None
    author_name: str | None = None


class CommitItem(Struct, frozen=True):
    """A commit in a list."""

    id: str | None
    title: str | None
    author_name: str | None
    authored_date: str | None
    web_url: str | None

    def line(self) -> str:
        return f"{(self.id or '')[:12]} {_tell_day(self.authored_date)} {self.author_name}: {self.title}"


class RefItem(Struct, frozen=True, omit_defaults=True):
    """A branch or a tag."""

    name: str | None
    commit_id: str | None
    commit_title: str | None = None
    commit_date: str | None = None
    is_default: bool = False
    is_protected: bool = False
    is_merged: bool = False

    def line(self) -> str:
        flags = (("default", self.is_default), ("protected", self.is_protected), ("merged", self.is_merged))
        words = ", ".join(word for word, holds in flags if holds)
        said = f" ({words})" if words else ""
        date = _tell_day(self.commit_date)
        return f"{self.name}{said} {(self.commit_id or '')[:12]} {date} {self.commit_title or ''}".rstrip()


class CodeMatch(Struct, frozen=True):
    """Lines of a file in which a search found its words."""

    path: str | None
    startline: int | None
    data: str | None
    ref: str | None

    def line(self) -> str:
        return f"{self.path}:{self.startline}\n{(self.data or '').rstrip()}"


class BlameRange(Struct, frozen=True):
    """Lines that one commit wrote last."""

    lines: str
    commit_id: str | None
    author_name: str | None
    date: str | None
    title: str | None
    text: str

    def line(self) -> str:
        head = f"{self.lines} {(self.commit_id or '')[:12]} {_tell_day(self.date)} {self.author_name}: {self.title}"
        return f"{head}\n{self.text}"


class UserItem(Struct, frozen=True):
    """A user of this GitLab."""

    id: int | None
    username: str | None
    name: str | None
    state: str | None
    web_url: str | None

    def line(self) -> str:
        state = "" if self.state in (None, "active") else f" ({self.state})"
        return f"{self.id} @{self.username} {self.name}{state}"


class Todo(Struct, frozen=True):
    """Something that GitLab reminds the caller of."""

    id: int | None
    action: str | None
    reference: str | None
    title: str | None
    written_by: str | None
    created_at: str | None
    web_url: str | None

    def line(self) -> str:
        return f"{self.action} {self.reference} {self.title or ''} (by {self.written_by}) {self.web_url or ''}".rstrip()


class Suggestion(Struct, frozen=True):
    """A change that a note suggests: these lines of the new file, replaced by this text."""

    id: int | None
    from_line: int | None
    to_line: int | None
    applied: bool | None
    to_content: str | None


class Note(Struct, frozen=True, omit_defaults=True):
    """A note on an issue or merge request; `file`, `line_number` and `side` where it stands on code."""

    id: int | None
    body: str | None
    author: Person | None
    created_at: str | None
    system: bool | None = None
    file: str | None = None
    line_number: int | None = None
    side: str | None = None
    """Whether the line is of the old file or of the new one."""
    first_line: int | None = None
    """Where a range begins that ends at `line_number`."""
    first_side: str | None = None
    suggestions: list[Suggestion] = []

    def line(self) -> str:
        place = str(self.line_number) + (" of the old file" if self.side == "old" else "")
        if self.first_line is not None:
            crosses = self.first_side is not None and self.first_side != self.side
            place = f"{self.first_line}{' of the old file' if crosses and self.first_side == 'old' else ''}-{place}"
        where = f" on {self.file}:{place}" if self.file and self.line_number is not None else ""
        where = where or (f" on {self.file}" if self.file else "")
        who = self.author.line() if self.author else "somebody"
        applied = " (suggestion applied)" if any(one.applied for one in self.suggestions) else ""
        return f"{who}{where}, {_tell(self.created_at)}{applied}: {self.body or ''}"


class Discussion(Struct, frozen=True):
    """A thread of notes."""

    id: str | None
    resolvable: bool
    resolved: bool
    notes: list[Note]

    def line(self) -> str:
        state = ("resolved" if self.resolved else "open") if self.resolvable else "talk"
        return "\n  ".join([f"discussion {self.id} ({state})", *(note.line() for note in self.notes)])


class Change(Struct, frozen=True, omit_defaults=True):
    """One changed file of a merge request, as a unified diff."""

    old_path: str | None
    new_path: str | None
    diff: str | None
    new_file: bool = False
    renamed_file: bool = False
    deleted_file: bool = False
    too_large: bool = False
    collapsed: bool = False
    left_out: str | None = None
    """Which lines of the diff a model was not given, and the call that gets them."""

    def line(self) -> str:
        words = (
            (self.new_file, "new file"),
            (self.deleted_file, "deleted"),
            (self.renamed_file, f"renamed from {self.old_path}"),
            (self.too_large, "too large: GitLab does not show the diff"),
            (self.collapsed, "collapsed: GitLab does not show the diff here"),
        )
        said = ", ".join(word for holds, word in words if holds)
        head = f"--- {self.old_path}\n+++ {self.new_path}" + (f"  ({said})" if said else "")
        return "\n".join(part for part in (head, (self.diff or "").rstrip("\n"), self.left_out) if part)


def _tell(moment: str | None) -> str:
    return call.current().tell_moment(moment) if moment else ""


def _tell_day(moment: str | None) -> str:
    return call.current().tell_moment(moment, moment[:10]) if moment else ""


def _row_line(row: IssueRow | MergeRequestRow, sign: str, *words: str | bool | None) -> str:
    """Return a row of a list on one line: what it is, who is about it, what it says, where it is."""
    about = [
        *(word for word in words if isinstance(word, str)),
        f"by {row.written_by}" if row.written_by else "",
        f"assigned to {row.assigned_to}" if row.assigned_to else "",
        f"labels {', '.join(row.labels)}" if row.labels else "",
        f"updated {_tell_day(row.updated_at)}" if row.updated_at else "",
    ]
    said = ", ".join(word for word in about if word)
    project = f"project {row.project_id} " if row.project_id else ""
    text = f": {' '.join(row.description.split())}" if row.description else ""
    return f"{project}{sign}{row.iid} {in_brackets(row.state)} {row.title or ''} ({said}){text}" + (
        f" {row.web_url}" if row.web_url and row.project_id else ""
    )


def _thread_line(
    mark: str, iid: int | None, state: str | None, title: str | None, person: Person | None, description: str | None
) -> str:
    who = f" {person.line()}" if person else ""
    about = f": {' '.join(description.split())}" if description else ""
    return f"{mark}{iid} {in_brackets(state)}{who} {title or ''}{about}"
