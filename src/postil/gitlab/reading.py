"""From GitLab's JSON to the things of `model.py` and `answers.py`. Pure; nothing GitLab may leave out is required."""

from __future__ import annotations

import base64
import binascii
import re

from postil.gitlab.answers import (
    Created,
    FileContent,
    IssueDetails,
    MergeRequestDetails,
    Noted,
    PipelineDetails,
    ProjectDetails,
    Triggered,
)
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
from postil.gitlab.records import Record
from postil.gitlab.redaction import redacted

TAIL_LINES = 40
TAIL_CHARACTERS = 4000
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07|section_(?:start|end):\d+:[\w.-]+(?:\[[^\]]*\])?\r?")


def person(raw: Record | None) -> Person | None:
    return Person(raw.number("id"), raw.text("name"), raw.text("username")) if raw else None


def people(raw: list[Record]) -> list[Person]:
    return [Person(one.number("id"), one.text("name"), one.text("username")) for one in raw]


def assignee(raw: Record) -> Person | None:
    """`assignee` is deprecated: where it is gone, the first of `assignees` is it."""
    one = raw.record("assignee")
    if one is None:
        several = raw.records("assignees")
        one = several[0] if several else None
    return person(one)


def project_item(raw: Record) -> ProjectItem:
    space = raw.record("namespace")
    namespace = space.text("full_path") if space else raw.text("namespace")
    return ProjectItem(
        raw.number("id"), raw.text("name"), raw.text("path"), namespace, raw.text("visibility"), raw.text("web_url")
    )


def project_details(raw: Record) -> ProjectDetails:
    counts = raw.record("statistics")
    return ProjectDetails(
        id=raw.number("id"),
        name=raw.text("name"),
        description=raw.text("description"),
        default_branch=raw.text("default_branch"),
        created_at=raw.text("created_at"),
        last_activity_at=raw.text("last_activity_at"),
        statistics=Statistics(counts.number("commit_count"), counts.number("storage_size")) if counts else None,
    )


def issue_item(raw: Record) -> IssueItem:
    return IssueItem(
        raw.number("id"),
        raw.number("iid"),
        raw.text("title"),
        raw.text("description"),
        raw.text("state"),
        raw.text("created_at"),
        assignee(raw),
    )


def found_issue(raw: Record) -> FoundIssue:
    return FoundIssue(
        raw.number("id"),
        raw.number("iid"),
        raw.number("project_id"),
        raw.text("title"),
        raw.text("description"),
        raw.text("state"),
        raw.text("created_at"),
        assignee(raw),
        raw.text("web_url"),
    )


def issue_details(raw: Record) -> IssueDetails:
    milestone = raw.record("milestone")
    return IssueDetails(
        id=raw.number("id"),
        iid=raw.number("iid"),
        project_id=raw.number("project_id"),
        title=raw.text("title"),
        description=raw.text("description"),
        state=raw.text("state"),
        labels=labels(raw),
        milestone=milestone.text("title") if milestone else None,
        author=person(raw.record("author")),
        assignee=assignee(raw),
        assignees=people(raw.records("assignees")),
        confidential=raw.flag("confidential"),
        due_date=raw.text("due_date"),
        created_at=raw.text("created_at"),
        updated_at=raw.text("updated_at"),
        closed_at=raw.text("closed_at"),
        user_notes_count=raw.number("user_notes_count"),
        web_url=raw.text("web_url"),
    )


def labels(raw: Record) -> list[str]:
    """Names of labels, which some versions and options of GitLab give as objects."""
    return raw.texts("labels") or [name for one in raw.records("labels") if (name := one.text("name"))]


def created(raw: Record) -> Created:
    return Created(raw.number("id"), raw.number("iid"), raw.text("title"), raw.text("web_url"))


def merge_request_item(raw: Record) -> MergeRequestItem:
    draft = raw.flag("draft")
    return MergeRequestItem(
        id=raw.number("id"),
        iid=raw.number("iid"),
        title=raw.text("title"),
        description=raw.text("description"),
        state=raw.text("state"),
        draft=raw.flag("work_in_progress") if draft is None else draft,
        source_branch=raw.text("source_branch"),
        target_branch=raw.text("target_branch"),
        sha=raw.text("sha"),
        author=person(raw.record("author")),
        assignee=assignee(raw),
        created_at=raw.text("created_at"),
        updated_at=raw.text("updated_at"),
        web_url=raw.text("web_url"),
    )


def merge_request_details(raw: Record) -> MergeRequestDetails:
    item = merge_request_item(raw)
    head = raw.record("head_pipeline") or raw.record("pipeline")
    return MergeRequestDetails(
        id=item.id,
        iid=item.iid,
        project_id=raw.number("project_id"),
        title=item.title,
        description=item.description,
        state=item.state,
        draft=item.draft,
        source_branch=item.source_branch,
        target_branch=item.target_branch,
        sha=item.sha,
        detailed_merge_status=raw.text("detailed_merge_status") or raw.text("merge_status"),
        has_conflicts=raw.flag("has_conflicts"),
        changes_count=raw.text("changes_count"),
        labels=labels(raw),
        author=item.author,
        assignee=item.assignee,
        assignees=people(raw.records("assignees")),
        reviewers=people(raw.records("reviewers")),
        pipeline=PipelineState(head.number("id"), head.text("status"), head.text("web_url")) if head else None,
        created_at=item.created_at,
        updated_at=item.updated_at,
        merged_at=raw.text("merged_at"),
        web_url=item.web_url,
    )


def change(raw: Record) -> Change:
    return Change(
        raw.text("old_path"),
        raw.text("new_path"),
        raw.text("diff"),
        bool(raw.flag("new_file")),
        bool(raw.flag("renamed_file")),
        bool(raw.flag("deleted_file")),
        bool(raw.flag("too_large") or raw.flag("collapsed")),
    )


def note(raw: Record) -> Note:
    position = raw.record("position")
    return Note(
        id=raw.number("id"),
        body=raw.text("body"),
        author=person(raw.record("author")),
        created_at=raw.text("created_at"),
        system=raw.flag("system") or None,
        file=(position.text("new_path") or position.text("old_path")) if position else None,
        line_number=(position.number("new_line") or position.number("old_line")) if position else None,
    )


def noted(raw: Record, discussion_id: str | None = None) -> Noted:
    return Noted(raw.number("id"), raw.text("created_at"), discussion_id)


def discussion(raw: Record) -> Discussion:
    """A discussion is resolved when all of its notes that can be are."""
    notes = raw.records("notes")
    able = [one for one in notes if one.flag("resolvable")]
    resolved = bool(able) and all(one.flag("resolved") for one in able)
    return Discussion(raw.text("id"), bool(able), resolved, [note(one) for one in notes])


def pipeline_item(raw: Record) -> PipelineItem:
    return PipelineItem(
        raw.number("id"),
        raw.text("status"),
        raw.text("ref"),
        raw.text("sha"),
        raw.text("source"),
        raw.text("created_at"),
        raw.text("updated_at"),
        raw.text("web_url"),
    )


def pipeline_details(raw: Record, jobs: list[Job]) -> PipelineDetails:
    return PipelineDetails(
        id=raw.number("id"),
        status=raw.text("status"),
        ref=raw.text("ref"),
        sha=raw.text("sha"),
        source=raw.text("source"),
        duration=raw.seconds("duration"),
        yaml_errors=raw.text("yaml_errors"),
        user=person(raw.record("user")),
        created_at=raw.text("created_at"),
        finished_at=raw.text("finished_at"),
        web_url=raw.text("web_url"),
        jobs=jobs,
    )


def job(raw: Record, log_tail: str | None = None) -> Job:
    return Job(
        id=raw.number("id"),
        name=raw.text("name"),
        stage=raw.text("stage"),
        status=raw.text("status"),
        failure_reason=raw.text("failure_reason"),
        allow_failure=raw.flag("allow_failure") or None,
        duration=raw.seconds("duration"),
        web_url=raw.text("web_url"),
        log_tail=log_tail,
    )


def log_tail(trace: bytes, token: str) -> str:
    """The end of a job's log: no colours, no secrets, the last lines."""
    text = _ANSI.sub("", trace[-16 * TAIL_CHARACTERS :].decode("utf-8", "replace"))
    lines = [line.rsplit("\r", 1)[-1] for line in text.rstrip().split("\n")]
    return redacted("\n".join(lines[-TAIL_LINES:])[-TAIL_CHARACTERS:], token)


def triggered(raw: Record) -> Triggered:
    return Triggered(raw.number("id"), raw.text("status"), raw.text("ref"), raw.text("sha"), raw.text("web_url"))


def file_item(raw: Record) -> FileItem:
    return FileItem(raw.text("id"), raw.text("name"), raw.text("type"), raw.text("path"), raw.text("mode"))


def last_commit(raw: Record | None, known: str | None) -> LastCommit | None:
    if raw is not None:
        return LastCommit(raw.text("id") or known, raw.text("message"), raw.text("author_name"))
    return LastCommit(known) if known else None


def file_content(raw: Record, commit: LastCommit | None) -> FileContent:
    return FileContent(
        file_name=raw.text("file_name"),
        file_path=raw.text("file_path"),
        content=raw.text("content"),
        encoding=raw.text("encoding"),
        size=raw.number("size"),
        last_commit=commit,
    )


def decoded(content: str | None, encoding: str | None) -> str | None:
    """The text of a base64 file, or None when it is not text."""
    if content is None or encoding != "base64":
        return None
    try:
        return base64.b64decode(content).decode("utf-8")
    except (binascii.Error, ValueError):
        return None
