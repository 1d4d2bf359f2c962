"""The same script by two independent clients of GitLab and by us, on the same emulator: all must agree.

python-gitlab and @gitbeaker/rest also keep the emulator honest: what they send is what real users send.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from postil.gitlab.failures import GitLabFailure
from postil.gitlab.instance.client import Instance
from postil.gitlab.instance.connection import Connection
from postil.gitlab.part import GitLab
from tests.emulator.app import Emulator
from tests.emulator.world import DEVELOPER
from tests.gitlab.answers import direct
from tests.gitlab.groups import Groups
from tests.needs import NODE_MODULES, ROOT, needs_package

pytestmark = pytest.mark.judge


async def ours(address: str) -> dict[str, Any]:
    """The script, by our operations."""
    part = Groups(GitLab(Connection(Instance(address), lambda: DEVELOPER)))
    seen: dict[str, Any] = {}
    try:
        seen["projects"] = [item["id"] for item in direct(await part.projects.list_projects())["data"]]
        seen["project"] = direct(await part.projects.get_project("username/my-project"))["name"]
        page = direct(await part.issues.list_issues(124, state="opened", labels=["bug"], page=2, per_page=5))
        seen["issues"] = [[item["id"], item["iid"], item["title"]] for item in page["data"]]
        seen["total"] = page["total_count"]
        made = direct(
            await part.issues.create_issue(123, "By a script", "Body", assignee_id=456, labels=["bug", "priority-high"])
        )
        seen["made"] = [made["id"], made["iid"], made["title"]]
        kept = direct(await part.issues.get_issue(123, issue_iid=made["iid"]))
        seen["kept"] = [kept["labels"], kept["assignee"]["username"], kept["state"]]
        seen["merge_requests"] = [
            item["source_branch"]
            for item in direct(await part.merge_requests.list_merge_requests(123, state="opened"))["data"]
        ]
        seen["diffs"] = [item["new_path"] for item in direct(await part.review.get_merge_request_diff(123, 1))["data"]]
        thread = direct(await part.review.list_merge_request_discussions(123, 1))["data"][0]
        await part.review.comment_on_merge_request(123, 1, "Because.", thread["id"])
        after = direct(await part.review.list_merge_request_discussions(123, 1))["data"][0]
        seen["notes"] = [note["body"] for note in after["notes"]]
        seen["pipelines"] = [item["status"] for item in direct(await part.pipelines.list_pipelines(123))["data"]]
        started = direct(await part.pipelines.trigger_pipeline(123, "main", {"CUSTOM_VAR": "value"}))
        seen["started"] = [started["ref"], started["status"]]
        file = direct(await part.repository.get_file_content(123, "src/app.py", "main"))
        seen["file"] = base64.b64decode(file["content"]).decode()
        seen["tree"] = [
            item["path"] for item in direct(await part.repository.list_repository_files(123, "src"))["data"]
        ]
        seen["found"] = [item["id"] for item in direct(await part.projects.search_projects("tools"))["data"]]
        hook = direct(await part.webhooks.configure_webhook(123, "https://93.184.216.34/hook", ["issues"]))
        seen["hook"] = hook["events"]
        try:
            await part.projects.get_project(999)
        except GitLabFailure as failure:
            seen["missing"] = failure.status
    finally:
        await part.close()
    return seen


def by_python_gitlab(address: str) -> dict[str, Any]:
    """The script, by python-gitlab."""
    from gitlab import Gitlab
    from gitlab.exceptions import GitlabGetError

    client: Any = Gitlab(address, oauth_token=DEVELOPER)
    seen: dict[str, Any] = {"projects": [item.id for item in client.projects.list(get_all=False)]}
    project = client.projects.get("username/my-project")
    other = client.projects.get(124)
    seen["project"] = project.name
    page = other.issues.list(state="opened", labels=["bug"], iterator=True)
    seen["total"] = page.total
    page = other.issues.list(state="opened", labels=["bug"], page=2, per_page=5, get_all=False)
    seen["issues"] = [[item.id, item.iid, item.title] for item in page]
    body = {"title": "By a script", "description": "Body", "assignee_ids": [456], "labels": ["bug", "priority-high"]}
    made = project.issues.create(body)
    seen["made"] = [made.id, made.iid, made.title]
    kept = project.issues.get(made.iid)
    seen["kept"] = [kept.labels, kept.assignee["username"], kept.state]
    merge_requests = project.mergerequests.list(state="opened", get_all=False)
    seen["merge_requests"] = [item.source_branch for item in merge_requests]
    merge_request = project.mergerequests.get(1)
    seen["diffs"] = [item["new_path"] for item in client.http_get("/projects/123/merge_requests/1/diffs")]
    thread = merge_request.discussions.list(get_all=False)[0]
    thread.notes.create({"body": "Because."})
    seen["notes"] = [note["body"] for note in merge_request.discussions.get(thread.id).attributes["notes"]]
    seen["pipelines"] = [item.status for item in project.pipelines.list(get_all=False)]
    started = project.pipelines.create({"ref": "main", "variables": [{"key": "CUSTOM_VAR", "value": "value"}]})
    seen["started"] = [started.ref, started.status]
    seen["file"] = project.files.get("src/app.py", ref="main").decode().decode()
    seen["tree"] = [item["path"] for item in project.repository_tree("src", get_all=False)]
    seen["found"] = [item.id for item in client.projects.list(search="tools", get_all=False)]
    hook = project.hooks.create({"url": "https://93.184.216.34/hook", "issues_events": True, "push_events": False})
    seen["hook"] = [name for name in ("push", "issues") if hook.attributes[f"{name}_events"]]
    try:
        client.projects.get(999)
    except GitlabGetError as error:
        seen["missing"] = error.response_code
    client.session.close()
    return seen


def test_python_gitlab_sees_what_we_see(address: str, emulator: Emulator) -> None:
    mine = asyncio.run(ours(address))
    emulator.reset()
    assert by_python_gitlab(address) == mine


def test_gitbeaker_sees_what_we_see(address: str, emulator: Emulator, needs: Callable[[str], str]) -> None:
    needs_package("@gitbeaker/rest")
    mine = asyncio.run(ours(address))
    emulator.reset()
    done = subprocess.run(
        [needs("node"), str(ROOT / "tests" / "gitlab" / "gitbeaker.cjs")],
        env={"PATH": os.environ["PATH"], "NODE_PATH": str(NODE_MODULES), "GITLAB": address, "TOKEN": DEVELOPER},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == mine
