"""One good call of every operation of the part, and the routes of GitLab that each may ask for."""

from __future__ import annotations

from typing import Any

from postil.app import read_catalogue

HOOK_TOKEN = "whsec_c2VjcmV0LW9mLXRoZS1ob29r"
MR: dict[str, Any] = {"project_id": 123, "merge_request_iid": 1}
ISSUE: dict[str, Any] = {"project_id": 123, "issue_iid": 1}

CALLS: dict[str, dict[str, Any]] = {
    "connect_gitlab": {},
    "list_projects": {"search": "my"},
    "get_project": {"project_id": "username/my-project"},
    "search_projects": {"search": "my"},
    "list_issues": {"project_id": 123},
    "get_issue": {"project_id": 123, "issue_id": 789},
    "create_issue": {"project_id": 123, "title": "New", "description": "Words", "labels": ["bug"]},
    "update_issue": {**ISSUE, "title": "Newer"},
    "list_issue_notes": ISSUE,
    "create_issue_note": {**ISSUE, "body": "A note"},
    "search_issues": {"search": "issue", "project_id": 123},
    "list_merge_requests": {"project_id": 123},
    "get_merge_request": MR,
    "create_merge_request": {"project_id": 123, "title": "Mine", "source_branch": "other", "target_branch": "main"},
    "get_merge_request_diff": MR,
    "list_merge_request_discussions": MR,
    "compare_merge_request": {**MR, "files": ["src/app.py"]},
    "comment_on_merge_request": {**MR, "body": "Well done"},
    "resolve_discussion": {**MR, "discussion_id": "dc9278024a8e8df7237dfc4cc6bd8d133197c486"},
    "list_pipelines": {"project_id": 123, "ref": "main"},
    "get_pipeline": {"project_id": 123, "pipeline_id": 1002},
    "trigger_pipeline": {"project_id": 123, "ref": "main", "variables": {"A": "b"}},
    "get_file_content": {"project_id": 123, "file_path": "README.md", "ref": "main"},
    "list_repository_files": {"project_id": 123, "path": "src", "ref": "main"},
    "configure_webhook": {
        "project_id": 123,
        "url": "https://93.184.216.34/hook",
        "events": ["push"],
        "token": HOOK_TOKEN,
    },
    "list_webhook_events": {"project_id": 123},
    "list_labels": {"project_id": 123},
    "list_milestones": {"project_id": 123, "state": "active"},
    "review_merge_request": {**MR, "comments": [{"path": "src/app.py", "line": 1, "body": "Hm"}], "body": "Fine"},
    "update_merge_request": {**MR, "title": "Better", "add_labels": ["bug"]},
    "approve_merge_request": MR,
    "merge_merge_request": MR,
    "get_job_log": {"project_id": 123, "job_id": 1003},
    "get_test_report": {"project_id": 123, "pipeline_id": 1002},
    "control_pipeline": {"project_id": 123, "action": "retry", "pipeline_id": 1002},
    "wait_pipeline": {"project_id": 123, "pipeline_id": 1001, "timeout_seconds": 0},
    "search_code": {"project_id": 123, "search": "hello"},
    "list_commits": {"project_id": 123, "ref": "main"},
    "get_commit": {"project_id": 123, "sha": "main"},
    "compare_refs": {"project_id": 123, "base": "main", "head": "other"},
    "blame_file": {"project_id": 123, "file_path": "src/app.py"},
    "list_refs": {"project_id": 123, "kind": "tags"},
    "my_work": {},
    "whoami": {},
    "find_user": {"search": "john"},
}

LOCATING = {
    "GET projects/:id/merge_requests/:iid",
    "GET projects/:id/merge_requests/:iid/diffs",
    "GET projects/:id/merge_requests/:iid/versions",
    "GET projects/:id/merge_requests/:iid/versions/:version",
}
NEWEST_PIPELINE = {"GET projects/:id/merge_requests/:iid/pipelines"}
ROUTES: dict[str, set[str]] = {
    "connect_gitlab": set(),
    "list_projects": {"GET projects"},
    "get_project": {"GET projects/:id"},
    "search_projects": {"GET projects"},
    "list_issues": {"GET projects/:id/issues"},
    "get_issue": {"GET projects/:id/issues/:iid", "POST graphql"},
    "create_issue": {"POST projects/:id/issues"},
    "update_issue": {"PUT projects/:id/issues/:iid"},
    "list_issue_notes": {"GET projects/:id/issues/:iid/notes"},
    "create_issue_note": {"POST projects/:id/issues/:iid/notes"},
    "search_issues": {"GET projects/:id/issues", "GET issues"},
    "list_merge_requests": {"GET projects/:id/merge_requests"},
    "get_merge_request": {"GET projects/:id/merge_requests/:iid"},
    "create_merge_request": {"POST projects/:id/merge_requests"},
    "get_merge_request_diff": {
        "GET projects/:id/merge_requests/:iid",
        "GET projects/:id/merge_requests/:iid/diffs",
    },
    "compare_merge_request": {
        "GET projects/:id/merge_requests/:iid",
        "GET projects/:id/merge_requests/:iid/diffs",
    },
    "list_merge_request_discussions": {"GET projects/:id/merge_requests/:iid/discussions"},
    "comment_on_merge_request": {
        *LOCATING,
        "POST projects/:id/merge_requests/:iid/discussions",
        "POST projects/:id/merge_requests/:iid/discussions/:discussion/notes",
    },
    "resolve_discussion": {
        "PUT projects/:id/merge_requests/:iid/discussions/:discussion",
        "POST projects/:id/merge_requests/:iid/discussions/:discussion/notes",
    },
    "list_pipelines": {"GET projects/:id/pipelines", *NEWEST_PIPELINE},
    "get_pipeline": {
        *NEWEST_PIPELINE,
        "GET projects/:id/pipelines/:pipeline",
        "GET projects/:id/pipelines/:pipeline/jobs",
        "GET projects/:id/pipelines/:pipeline/bridges",
        "GET projects/:id/jobs/:job/trace",
    },
    "trigger_pipeline": {"POST projects/:id/pipeline"},
    "get_file_content": {"GET projects/:id/repository/files/:path", "GET projects/:id/repository/commits/:sha"},
    "list_repository_files": {"GET projects/:id/repository/tree"},
    "configure_webhook": {"GET projects/:id/hooks", "POST projects/:id/hooks", "PUT projects/:id/hooks/:hook"},
    "list_webhook_events": {"GET projects/:id"},
    "list_labels": {"GET projects/:id/labels"},
    "list_milestones": {"GET projects/:id/milestones"},
    "review_merge_request": {
        *LOCATING,
        "GET projects/:id/merge_requests/:iid/draft_notes",
        "POST projects/:id/merge_requests/:iid/draft_notes",
        "POST projects/:id/merge_requests/:iid/draft_notes/bulk_publish",
        "PUT projects/:id/merge_requests/:iid/draft_notes/:draft/publish",
        "DELETE projects/:id/merge_requests/:iid/draft_notes/:draft",
    },
    "update_merge_request": {
        "GET projects/:id/merge_requests/:iid",
        "PUT projects/:id/merge_requests/:iid",
        "GET users",
        "GET projects/:id/milestones",
    },
    "approve_merge_request": {
        "POST projects/:id/merge_requests/:iid/approve",
        "POST projects/:id/merge_requests/:iid/unapprove",
    },
    "merge_merge_request": {"GET projects/:id/merge_requests/:iid", "PUT projects/:id/merge_requests/:iid/merge"},
    "get_job_log": {"GET projects/:id/jobs/:job/trace"},
    "get_test_report": {
        *NEWEST_PIPELINE,
        "GET projects/:id/pipelines/:pipeline/test_report_summary",
        "GET projects/:id/pipelines/:pipeline/test_report",
    },
    "control_pipeline": {
        f"POST projects/:id/{kind}/:number/{action}"
        for kind in ("pipelines", "jobs")
        for action in ("retry", "cancel", "play")
    },
    "wait_pipeline": {
        *NEWEST_PIPELINE,
        "GET projects/:id/pipelines/:pipeline",
        "GET projects/:id/pipelines/:pipeline/jobs",
    },
    "search_code": {"GET projects/:id/search"},
    "list_commits": {"GET projects/:id/repository/commits"},
    "get_commit": {"GET projects/:id/repository/commits/:sha", "GET projects/:id/repository/commits/:sha/diff"},
    "compare_refs": {"GET projects/:id/repository/compare"},
    "blame_file": {"GET projects/:id/repository/files/:path/blame"},
    "list_refs": {"GET projects/:id/repository/branches", "GET projects/:id/repository/tags"},
    "my_work": {"GET user", "GET merge_requests", "GET issues", "GET todos"},
    "whoami": {"GET user", "GET personal_access_tokens/self"},
    "find_user": {"GET users"},
}

ENTRIES = {entry.name: entry for entry in read_catalogue(["gitlab"]).operations}
WRITES = sorted(name for name, entry in ENTRIES.items() if entry.effect != "reads")
for table, what in ((CALLS, "CALLS"), (ROUTES, "ROUTES")):  # an operation that is not here would go untested
    assert set(ENTRIES) == set(table), f"{what} lacks or has too much: {set(ENTRIES) ^ set(table)}"
