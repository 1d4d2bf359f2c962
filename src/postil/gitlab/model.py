"""The things of GitLab as Postil shows them: the contract's fields and a named list, nothing copied out by accident.

Every field may be null, because GitLab's may. `line()` is one thing on one line, for lists.
"""

from __future__ import annotations

from msgspec import Struct


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


class IssueItem(Struct, frozen=True):
    """An issue in a project's list."""

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
        return f"{self.id} {self.status} {self.ref} {(self.sha or '')[:8]} {self.source or ''} {self.created_at or ''}"


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
        return f"{self.stage}/{self.name}: {self.status}{reason}"


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


class LastCommit(Struct, frozen=True, omit_defaults=True):
    """The commit that last changed a file; only its id where the commit could not be read."""

    id: str | None
    message: str | None = None
    author_name: str | None = None


class Note(Struct, frozen=True, omit_defaults=True):
    """A note on an issue or merge request; `file` and `line_number` where it stands on code."""

    id: int | None
    body: str | None
    author: Person | None
    created_at: str | None
    system: bool | None = None
    file: str | None = None
    line_number: int | None = None

    def line(self) -> str:
        where = f" on {self.file}:{self.line_number}" if self.file else ""
        who = self.author.line() if self.author else "somebody"
        return f"{who}{where}, {self.created_at}: {self.body or ''}"


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

    def line(self) -> str:
        return f"--- {self.old_path}\n+++ {self.new_path}\n{self.diff or ''}"


def _thread_line(
    mark: str, iid: int | None, state: str | None, title: str | None, person: Person | None, description: str | None
) -> str:
    who = f" {person.line()}" if person else ""
    about = f": {' '.join(description.split())}" if description else ""
    return f"{mark}{iid} [{state}]{who} {title or ''}{about}"
