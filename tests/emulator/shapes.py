"""Rows of the world in the shapes GitLab's REST API answers with: every key a recorded answer always has."""

from __future__ import annotations

import hashlib
from typing import Any

from tests.emulator.world import HOOK_EVENTS, LATER, START, Project, Row, World, encoded, sha

ENABLED = [
    "builds_access_level",
    "forking_access_level",
    "issues_access_level",
    "merge_requests_access_level",
    "pages_access_level",
    "repository_access_level",
    "snippets_access_level",
    "wiki_access_level",
]

OFF = [
    "allow_merge_on_skipped_pipeline",
    "auto_devops_enabled",
    "emails_disabled",
    "mirror",
    "only_allow_merge_if_pipeline_succeeds",
    "only_allow_merge_if_all_discussions_are_resolved",
    "request_access_enabled",
    "resolve_outdated_diff_discussions",
    "service_desk_enabled",
]
ON = [
    "autoclose_referenced_issues",
    "can_create_merge_request_in",
    "container_registry_enabled",
    "issues_enabled",
    "jobs_enabled",
    "lfs_enabled",
    "merge_requests_enabled",
    "packages_enabled",
    "printing_merge_request_link_enabled",
    "public_jobs",
    "remove_source_branch_after_merge",
    "shared_runners_enabled",
    "snippets_enabled",
    "wiki_enabled",
]


def person(world: World, user: int | None) -> Row | None:
    """A user as embedded in other answers."""
    if user is None:
        return None
    row = world.users[user]
    return {
        "id": row["id"],
        "username": row["username"],
        "name": row["name"],
        "state": "active",
        "avatar_url": "https://secure.gravatar.com/avatar/0?s=80&d=identicon",
        "web_url": f"https://gitlab.example.com/{row['username']}",
    }


def own_user(world: World, user: int) -> Row:
    """The answer of `GET /user`."""
    row = person(world, user) or {}
    texts = ["bio", "bio_html", "job_title", "linkedin", "skype", "twitter", "website_url"]
    return (
        row
        | dict.fromkeys(texts, "")
        | {
            "can_create_group": True,
            "can_create_project": True,
            "color_scheme_id": 1,
            "confirmed_at": START,
            "created_at": START,
            "current_sign_in_at": LATER,
            "email": f"{row['username']}@example.com",
            "external": False,
            "extra_shared_runners_minutes_limit": None,
            "identities": [],
            "last_activity_on": "2024-01-15",
            "last_sign_in_at": LATER,
            "location": None,
            "organization": None,
            "private_profile": False,
            "projects_limit": 100000,
            "public_email": None,
            "shared_runners_minutes_limit": None,
            "theme_id": 1,
            "two_factor_enabled": True,
            "work_information": None,
        }
    )


def project(world: World, row: Project, base: str, statistics: bool = False) -> Row:
    """A project in full, with the secrets a maintainer is shown."""
    kind = "group" if "/" in row.namespace else "user"
    api = f"{base}/api/v4/projects/{row.id}"
    answer: Row = {
        "id": row.id,
        "name": row.name,
        "path": row.path,
        "description": row.description,
        "name_with_namespace": f"{row.namespace} / {row.name}",
        "path_with_namespace": row.full_path,
        "namespace": {
            "id": row.id + 1000,
            "name": row.namespace,
            "path": row.namespace.rsplit("/", 1)[-1],
            "kind": kind,
            "full_path": row.namespace,
            "parent_id": None,
            "avatar_url": None,
            "web_url": f"{base}/{row.namespace}",
        },
        "visibility": row.visibility,
        "web_url": f"{base}/{row.full_path}",
        "http_url_to_repo": f"{base}/{row.full_path}.git",
        "ssh_url_to_repo": f"git@gitlab.example.com:{row.full_path}.git",
        "readme_url": f"{base}/{row.full_path}/-/blob/main/README.md" if "README.md" in row.files else None,
        "default_branch": row.default_branch,
        "created_at": START,
        "last_activity_at": LATER,
        "creator_id": row.owner,
        "owner": person(world, row.owner),
        "avatar_url": None,
        "tag_list": [],
        "topics": [],
        "forks_count": 0,
        "star_count": len(row.starred_by),
        "open_issues_count": sum(issue["state"] == "opened" for issue in row.issues),
        "archived": False,
        "empty_repo": not row.branches,
        "import_status": "none",
        "import_error": None,
        "import_url": "https://someone:hunter2@example.com/repo.git",
        "runners_token": "GR1348941emulatorsecret",
        "merge_method": "merge",
        "ci_config_path": None,
        "ci_default_git_depth": 20,
        "build_timeout": 3600,
        "build_git_strategy": "fetch",
        "build_coverage_regex": None,
        "auto_cancel_pending_pipelines": "enabled",
        "auto_devops_deploy_strategy": "continuous",
        "approvals_before_merge": 0,
        "compliance_frameworks": [],
        "shared_with_groups": [],
        "external_authorization_classification_label": "",
        "suggestion_commit_message": None,
        "service_desk_address": None,
        "marked_for_deletion_at": None,
        "marked_for_deletion_on": None,
        "permissions": {"project_access": None, "group_access": None},
        "_links": {"self": api, "issues": f"{api}/issues", "merge_requests": f"{api}/merge_requests"},
    }
    answer |= dict.fromkeys(OFF, False) | dict.fromkeys(ON, True) | dict.fromkeys(ENABLED, "enabled")
    if statistics:
        answer["statistics"] = {
            "commit_count": 150,
            "storage_size": 1024000,
            "repository_size": 1024000,
            "wiki_size": 0,
        }
    return answer


def _thread(world: World, owner: Project, row: Row, base: str, kind: str, mark: str) -> Row:
    """What issues and merge requests have in common."""
    people = [person(world, user) for user in row["assignees"]]
    return {
        "id": row["id"],
        "iid": row["iid"],
        "project_id": owner.id,
        "title": row["title"],
        "description": row["description"] or "",
        "state": row["state"],
        "created_at": row["created_at"],
        "updated_at": row["updated_at"],
        "closed_at": row["closed_at"],
        "closed_by": person(world, row["author"]) if row["closed_at"] else None,
        "labels": row["labels"],
        "milestone": row["milestone"],
        "assignees": people,
        "assignee": people[0] if people else None,
        "author": person(world, row["author"]),
        "user_notes_count": len(row.get("notes", row.get("discussions", []))),
        "upvotes": 0,
        "downvotes": 0,
        "discussion_locked": None,
        "web_url": f"{base}/{owner.full_path}/-/{kind}/{row['iid']}",
        "time_stats": {
            "time_estimate": 0,
            "total_time_spent": 0,
            "human_time_estimate": None,
            "human_total_time_spent": None,
        },
        "task_completion_status": {"count": 0, "completed_count": 0},
        "references": {
            "short": f"{mark}{row['iid']}",
            "relative": f"{mark}{row['iid']}",
            "full": f"{owner.full_path}{mark}{row['iid']}",
        },
    }


def issue(world: World, owner: Project, row: Row, base: str) -> Row:
    api = f"{base}/api/v4/projects/{owner.id}/issues/{row['iid']}"
    return _thread(world, owner, row, base, "issues", "#") | {
        "confidential": row["confidential"],
        "due_date": row["due_date"],
        "blocking_issues_count": 0,
        "has_tasks": False,
        "health_status": None,
        "issue_type": "issue",
        "type": "ISSUE",
        "severity": "UNKNOWN",
        "merge_requests_count": 0,
        "moved_to_id": None,
        "service_desk_reply_to": None,
        "weight": None,
        "_links": {"self": api, "notes": f"{api}/notes"},
    }


def merge_request(world: World, owner: Project, row: Row, base: str, full: bool) -> Row:
    answer = _thread(world, owner, row, base, "merge_requests", "!") | {
        "source_branch": row["source_branch"],
        "target_branch": row["target_branch"],
        "source_project_id": row.get("source_project", owner.id),
        "target_project_id": owner.id,
        "sha": row["sha"],
        "draft": row["title"].startswith("Draft:"),
        "work_in_progress": row["title"].startswith("Draft:"),
        "merge_status": "can_be_merged",
        "detailed_merge_status": row.get("detailed_merge_status", "mergeable"),
        "has_conflicts": False,
        "merge_when_pipeline_succeeds": row["auto_merge"],
        "merge_commit_sha": row.get("merge_commit_sha"),
        "squash_commit_sha": None,
        "squash": row["squash"],
        "squash_on_merge": False,
        "should_remove_source_branch": None,
        "force_remove_source_branch": row["remove_source_branch"],
        "merged_at": row["merged_at"],
        "merged_by": None,
        "merge_user": None,
        "prepared_at": row["created_at"],
        "reviewers": [person(world, user) for user in row["reviewers"]],
        "reference": f"!{row['iid']}",
        "blocking_discussions_resolved": True,
        "approvals_before_merge": None,
    }
    if not full:
        return answer
    base_sha = owner.branches.get(row["target_branch"], sha("base"))
    refs = {"base_sha": base_sha, "head_sha": row["sha"], "start_sha": base_sha}
    if row["versions"]:
        refs = {name: row["versions"][-1][name] for name in refs}
    runs = [pipeline for pipeline in owner.pipelines if pipeline["ref"] == row["source_branch"]]
    head = pipeline_basic(owner, runs[-1], base) if runs else None
    return answer | {
        "changes_count": str(len(row["diffs"])) if row["diffs"] else None,
        "diff_refs": refs,
        "first_deployed_to_production_at": None,
        "first_contribution": False,
        "head_pipeline": head,
        "pipeline": head,
        "latest_build_finished_at": None,
        "latest_build_started_at": None,
        "merge_error": None,
        "subscribed": True,
        "user": {"can_merge": True},
    }


def diff(row: Row) -> Row:
    rest = {"a_mode": "100644", "b_mode": "100644", "new_file": False, "renamed_file": False, "deleted_file": False}
    shown = {name: value for name, value in row.items() if not name.startswith("_")}
    return rest | {"collapsed": False, "too_large": False, "generated_file": False} | shown


def note(world: World, row: Row) -> Row:
    answer: Row = {
        "id": row["id"],
        "type": row.get("type"),
        "body": row["body"],
        "author": person(world, row["author"]),
        "created_at": row["created_at"],
        "updated_at": row["created_at"],
        "system": row["system"],
        "resolvable": row["resolvable"],
        "internal": False,
        "attachment": None,
    }
    if row["resolvable"]:
        answer |= {"resolved": row["resolved"], "resolved_by": None, "position": row["position"], "suggestions": []}
    return answer


def draft(row: Row) -> Row:
    """A note that only its author sees yet."""
    return {
        "id": row["id"],
        "author_id": row["author"],
        "merge_request_id": row["merge_request"],
        "resolve_discussion": False,
        "discussion_id": row["discussion"],
        "note": row["note"],
        "commit_id": None,
        "line_code": None,
        "position": row["position"],
    }


def version(row: Row, base: str, full: bool) -> Row:
    """A version of a merge request's diff."""
    answer: Row = {
        "id": row["id"],
        "base_commit_sha": row["base_sha"],
        "start_commit_sha": row["start_sha"],
        "head_commit_sha": row["head_sha"],
        "created_at": row["created_at"],
        "merge_request_id": 1,
        "state": "collected",
        "real_size": str(len(row["diffs"])),
        "patch_id_sha": None,
    }
    return answer | {"commits": [], "diffs": [diff(one) for one in row["diffs"]]} if full else answer


def discussion(world: World, row: Row) -> Row:
    return {
        "id": row["id"],
        "individual_note": row["individual_note"],
        "notes": [note(world, item) for item in row["notes"]],
    }


def pipeline_basic(owner: Project, row: Row, base: str) -> Row:
    """A pipeline in a list: fewer keys than one read alone."""
    web = f"{base}/{owner.full_path}/-/pipelines/{row['id']}"
    own = ("id", "iid", "ref", "sha", "status", "source", "created_at", "updated_at")
    return {name: row[name] for name in own} | {"project_id": owner.id, "web_url": web}


def pipeline(world: World, owner: Project, row: Row, base: str) -> Row:
    return pipeline_basic(owner, row, base) | {
        "before_sha": "0" * 40,
        "tag": False,
        "yaml_errors": None,
        "user": person(world, row["user"]),
        "started_at": None,
        "finished_at": row["updated_at"] if row["status"] in ("success", "failed") else None,
        "committed_at": None,
        "duration": 34 if row["status"] in ("success", "failed") else None,
        "queued_duration": 0.5,
        "detailed_status": {"icon": f"status_{row['status']}", "text": row["status"], "label": row["status"]},
    }


def job(world: World, owner: Project, row: Row, base: str) -> Row:
    run = next(item for item in owner.pipelines if item["id"] == row["pipeline"])
    return {
        "id": row["id"],
        "name": row["name"],
        "stage": row["stage"],
        "status": row["status"],
        "ref": run["ref"],
        "tag": False,
        "coverage": None,
        "allow_failure": False,
        "failure_reason": "script_failure" if row["status"] == "failed" else None,
        "created_at": row["created_at"],
        "started_at": row["created_at"],
        "finished_at": row["created_at"],
        "duration": 12.5,
        "queued_duration": 0.2,
        "user": person(world, run["user"]),
        "pipeline": pipeline_basic(owner, run, base),
        "web_url": f"{base}/{owner.full_path}/-/jobs/{row['id']}",
    }


def bridge(world: World, owner: Project, row: Row, base: str) -> Row:
    return job(world, owner, row, base) | {
        "downstream_pipeline": pipeline_basic(row["owner"], row["child"], base) if row["child"] else None
    }


def file(owner: Project, path: str, ref: str, head: str) -> Row:
    content = owner.files[path]
    return {
        "file_name": path.rsplit("/", 1)[-1],
        "file_path": path,
        "size": len(content),
        "encoding": "base64",
        "content": encoded(content),
        "content_sha256": hashlib.sha256(content).hexdigest(),
        "ref": ref,
        "blob_id": hashlib.sha1(content).hexdigest(),
        "commit_id": head,
        "last_commit_id": owner.file_commit[path],
        "execute_filemode": False,
    }


def tree_entry(path: str, kind: str) -> Row:
    mode = "040000" if kind == "tree" else "100644"
    return {"id": sha(f"{kind} {path}"), "name": path.rsplit("/", 1)[-1], "type": kind, "path": path, "mode": mode}


def commit(owner: Project, row: Row, base: str) -> Row:
    email = f"{row['author_name'].split()[0].lower()}@example.com"
    times = dict.fromkeys(("authored_date", "committed_date", "created_at"), row["created_at"])
    return times | {
        "id": row["id"],
        "short_id": row["id"][:8],
        "title": row["message"].split("\n", 1)[0],
        "message": row["message"],
        "author_name": row["author_name"],
        "author_email": email,
        "committer_name": row["author_name"],
        "committer_email": email,
        "parent_ids": row["parents"],
        "trailers": {},
        "extended_trailers": {},
        "stats": {"additions": 1, "deletions": 0, "total": 1},
        "project_id": owner.id,
        "web_url": f"{base}/{owner.full_path}/-/commit/{row['id']}",
    }


def hook(owner: Project, row: Row) -> Row:
    """A hook as GitLab shows it: the token is never given back."""
    return {
        "id": row["id"],
        "url": row["url"],
        "project_id": owner.id,
        "created_at": row["created_at"],
        "enable_ssl_verification": row["enable_ssl_verification"],
        "push_events_branch_filter": "",
        "alert_status": "executable",
        "disabled_until": None,
    } | {name: row.get(name, False) for name in HOOK_EVENTS}


def token(row: Any, number: int) -> Row:
    return {
        "id": number,
        "name": "emulator",
        "revoked": row.revoked,
        "created_at": START,
        "scopes": list(row.scopes),
        "user_id": row.user,
        "last_used_at": LATER,
        "active": not row.revoked,
        "expires_at": "2030-01-01",
    }
