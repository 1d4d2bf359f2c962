"""Which keys real GitLab answers hold, of those that this project reads, with their JSON types.

`null string` may be null, `string?` may be missing. The first kinds were recorded from over a thousand answers; those
behind them are what GitLab's documentation shows. `recorded.py` compares with a whole recording.
"""

from __future__ import annotations

# fmt: off
KNOWN: dict[str, dict[str, str]] = {
    "project": {
        "created_at": "string", "default_branch": "null string", "description": "null string", "id": "integer",
        "last_activity_at": "string", "name": "string", "namespace": "object", "path": "string",
        "path_with_namespace": "string", "permissions": "object", "statistics": "object?", "visibility": "string",
        "web_url": "string",
    },
    "user": {
        "id": "integer", "name": "string", "username": "string", "web_url": "string",
    },
    "commit": {
        "author_name": "string", "authored_date": "string", "committed_date": "string", "created_at": "string",
        "id": "string", "message": "string", "parent_ids": "array", "title": "string", "web_url": "string",
    },
    "file": {
        "content": "string", "encoding": "string", "file_name": "string", "file_path": "string",
        "last_commit_id": "string", "size": "integer",
    },
    "tree": {
        "id": "string", "mode": "string", "name": "string", "path": "string", "type": "string",
    },
    "issue": {
        "assignee": "null object", "assignees": "array", "author": "object", "closed_at": "null string",
        "confidential": "boolean", "created_at": "string", "description": "null string", "due_date": "null string",
        "id": "integer", "iid": "integer", "labels": "array", "milestone": "null object", "project_id": "integer",
        "references": "object", "state": "string", "title": "string", "updated_at": "string",
        "user_notes_count": "integer", "web_url": "string",
    },
    "mr": {
        "assignee": "null object", "assignees": "array", "author": "object", "changes_count": "null string",
        "created_at": "string", "description": "null string", "detailed_merge_status": "string?", "diff_refs": "object",
        "draft": "boolean?", "has_conflicts": "boolean", "head_pipeline": "null object", "id": "integer",
        "iid": "integer", "labels": "array", "merge_commit_sha": "null string", "merge_status": "string",
        "merged_at": "null string", "pipeline": "null object", "project_id": "integer", "reviewers": "array?",
        "sha": "null string", "source_branch": "string", "source_project_id": "integer null", "state": "string",
        "target_branch": "string", "target_project_id": "integer", "title": "string", "updated_at": "string",
        "web_url": "string", "work_in_progress": "boolean",
    },
    "mr_basic": {
        "assignee": "null object", "assignees": "array", "author": "object", "created_at": "string",
        "description": "null string", "draft": "boolean?", "id": "integer", "iid": "integer", "labels": "array",
        "project_id": "integer", "references": "object", "reviewers": "array?", "sha": "null string",
        "source_branch": "string", "source_project_id": "integer null", "state": "string", "target_branch": "string",
        "target_project_id": "integer", "title": "string", "updated_at": "string", "web_url": "string",
        "work_in_progress": "boolean",
    },
    "pipeline": {
        "created_at": "string", "duration": "integer null", "finished_at": "null string", "id": "integer",
        "project_id": "integer", "ref": "string", "sha": "string", "status": "string", "user": "object",
        "web_url": "string", "yaml_errors": "null string",
    },
    "pipeline_basic": {
        "created_at": "string", "id": "integer", "ref": "string", "sha": "string", "status": "string",
        "updated_at": "string",
    },
    "hook": {
        "id": "integer", "issues_events": "boolean", "merge_requests_events": "boolean", "note_events": "boolean",
        "pipeline_events": "boolean", "push_events": "boolean", "url": "string", "wiki_page_events": "boolean",
    },
    # not recorded
    "job": {
        "allow_failure": "boolean", "duration": "null number", "failure_reason": "null string?", "id": "integer",
        "name": "string", "ref": "string", "stage": "string", "status": "string", "web_url": "string",
    },
    "bridge": {
        "downstream_pipeline": "null object", "id": "integer", "name": "string", "status": "string",
    },
    "downstream_pipeline": {
        "id": "integer", "project_id": "integer?", "ref": "string", "sha": "string", "status": "string",
        "web_url": "string",
    },
    "draft_note": {
        "author_id": "integer", "discussion_id": "null string", "id": "integer", "note": "string",
        "position": "null object", "resolve_discussion": "boolean",
    },
    "version": {
        "base_commit_sha": "null string", "created_at": "string", "head_commit_sha": "string", "id": "integer",
        "real_size": "string", "start_commit_sha": "null string", "state": "string",
    },
    "whole_version": {"diffs": "array", "head_commit_sha": "string", "id": "integer"},
    "discussion": {"id": "string", "individual_note": "boolean", "notes": "array"},
    "note": {
        "author": "object", "body": "string", "created_at": "string", "id": "integer", "resolvable": "boolean",
        "resolved": "boolean?", "system": "boolean", "position": "null object?", "suggestions": "array?",
    },
    "diff": {
        "collapsed": "boolean?", "deleted_file": "boolean", "diff": "string", "new_file": "boolean",
        "new_path": "string", "old_path": "string", "renamed_file": "boolean", "too_large": "boolean?",
    },
    "todo": {
        "action_name": "string", "author": "object", "created_at": "string", "id": "integer", "project": "null object?",
        "target": "object", "target_type": "string", "target_url": "string",
    },
    "report_summary": {"test_suites": "array", "total": "object"},
    "report_total": {
        "count": "integer", "error": "integer", "failed": "integer", "skipped": "integer", "success": "integer",
        "time": "integer number",
    },
    "report": {"test_suites": "array", "total_count": "integer", "total_time": "integer number"},
    "report_suite": {"name": "string", "test_cases": "array"},
    "comparison": {
        "commits": "array", "compare_timeout": "boolean", "diffs": "array", "web_url": "string",
    },
    "blame": {"commit": "object", "lines": "array"},
    "blame_commit": {
        "author_name": "string", "authored_date": "string", "id": "string", "message": "string", "parent_ids": "array",
    },
    "branch": {
        "commit": "object", "default": "boolean", "merged": "boolean", "name": "string", "protected": "boolean",
    },
    "tag": {"commit": "object", "name": "string", "protected": "boolean"},
    "commit_ref": {"name": "string", "type": "string"},
    "label": {"color": "string", "description": "null string", "id": "integer", "name": "string"},
    "milestone": {
        "description": "null string", "due_date": "null string", "id": "integer", "iid": "integer", "state": "string",
        "title": "string", "web_url": "string",
    },
    "blob": {
        "data": "string", "path": "string", "ref": "null string", "startline": "integer",
    },
    "person": {"id": "integer", "name": "string", "state": "string", "username": "string", "web_url": "string"},
    "token": {"expires_at": "null string", "scopes": "array"},
    "approval": {"id": "integer", "iid": "integer", "title": "string"},
}
# fmt: on
