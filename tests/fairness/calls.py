"""The workspace that is asked, and a call of every operation that it answers."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from postil.app import read_catalogue
from tests.surfaces.programs import BIN
from tests.workspace.repositories import git, new_repository

Given: TypeAlias = Callable[[int, bool], dict[str, Any]]
"""The arguments of the so-many-th call of the good callers; or, if True is given, of the hostile one."""
LEFT_OUT = {
    "inbox_wait": "it waits for what nobody sends",
    "request_review": "it waits for a person",
    "gitlab_issue_from_issue": "it asks GitLab, as the part `gitlab` does",
    "git_mile_edit_comment": "each may change what itself wrote alone; it writes as git_mile_comment does",
    "issue_resolve": "it needs two heads of a field, which a single clone does not have",
}
DEAR: tuple[tuple[str, dict[str, Any]], ...] = (
    ("export_comments", {"format": "json"}),
    ("search_comments", {"query": "remark"}),
    ("git_mile_list", {"entity": "issue"}),
)
_PICTURE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
_GIVEN: dict[str, Any] = {
    "filePath": "a.py", "file": "a.py", "line": 1, "query": "remark", "text": "a remark", "body": "a remark",
    "title": "a title", "format": "json", "name": "mine", "entity": "issue", "filter": "status:open", "base": "HEAD~1",
    "display_name": "A", "email": "a@example.org", "targetFile": "a.py", "targetLine": 2, "type": "related",
    "to": "closed",
}  # fmt: skip
_OWN: dict[str, dict[str, Any]] = {
    "workspace_picture": {"file": "dot.png"},
    "edit_comment": {"text": "another remark"},
    "comments_diff": {"revision": "HEAD"},
    "comments_move_all": {"target": "b.py"},
    "comments_restore": {"all": True},
    "git_mile_update": {"title": "another title"},
    "git_mile_label": {"add": ["slow"]},
    "git_mile_edit_all": {"add_labels": ["slow"]},
    "issue_sync": {"direction": "pull"},
}


def tick(issues: list[str], number: int, hostile: bool) -> dict[str, Any]:
    """Returns the arguments that tick the criterion of each issue in turn, and then clear it.

    A criterion that every call adds makes each one dearer than the one before, and measures how many there were.
    """
    own = _share(issues, hostile)
    return {"id": own[number % len(own)], "number": 1, "done": number // len(own) % 2 == 0}


def remark(issues: list[str], number: int, hostile: bool) -> dict[str, Any]:
    """Returns the arguments that comment on each issue in turn: of a thousand comments on one, each is dearer."""
    own = _share(issues, hostile)
    return {"id": own[number % len(own)], "body": "a remark"}


def _share(issues: list[str], hostile: bool) -> list[str]:
    half = len(issues) // 2
    return issues[half:] if hostile else issues[:half]


def list_calls(ids: dict[str, Any]) -> Iterator[tuple[str, Given]]:
    """Yields every operation that answers by itself, with arguments that it takes."""
    for entry in read_catalogue().operations:
        if entry.part == "gitlab" or not entry.tool or entry.name in LEFT_OUT:
            continue
        own = {
            "inbox_apply": {"id": ids["suggestion"]},
            "comments_undo": {"commentId": ids["moved"]},
            "milestone_chart": {"id": ids["milestone"]},
        }.get(entry.name, {})
        id_ = ids["issue" if entry.part == "tracker" else "message"]
        given = {
            **_GIVEN,
            "id": id_,
            "commentId": ids["comment"],
            "target": ids["other"],
        }
        required = json.loads(bytes(entry.input_schema)).get("required", ())
        fixed = {name: given[name] for name in required} | _OWN.get(entry.name, {}) | own
        if entry.name == "git_mile_check":
            yield entry.name, partial(tick, ids["issues"])
        elif entry.name == "git_mile_comment":
            yield entry.name, partial(remark, ids["issues"])
        else:
            yield entry.name, lambda number, hostile, fixed=fixed: fixed


def prepare(root: Path, keys: int, many: int = 20) -> tuple[list[str], dict[str, Any]]:
    """Make a repository with remarks, comments and issues. Returns so many keys, and the ids that calls name."""
    code = "def f():\n    return 1\n"
    new_repository(root, a__py=code, b__py=code)
    git(root, "config", "user.name", "A")
    git(root, "config", "user.email", "a@example.org")
    git(root, "commit", "-qm", "nothing", "--allow-empty")
    (root / "dot.png").write_bytes(_PICTURE)
    git(root, "clone", "-q", "--bare", str(root), f"{root}-origin")
    git(root, "remote", "add", "origin", f"{root}-origin")

    def postil(*arguments: str) -> str:
        command = [BIN / "postil", *arguments]
        return subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout.strip()

    def ask(*arguments: str) -> Any:
        return json.loads(postil(*arguments, "--json"))

    for number in range(many):
        postil("comments", "add", "a.py", "1", f"remark {number}")
        postil("issue", "create", f"issue {number}", "-d", "- [ ] it works")
    comments = [comment["id"] for comment in ask("comments", "list")["comments"]]
    issues = [issue["id"] for issue in ask("issue", "list")["items"]]
    postil("comments", "move", comments[-1], "a.py", "2")
    postil("comments", "move", comments[-1], "a.py", "1")
    milestone = ask("milestone", "create", "a milestone")["id"]
    ids = {
        "comment": comments[0], "moved": comments[-1], "issue": issues[0], "other": issues[1],
        "issues": issues, "milestone": milestone,
        "message": ask("inbox", "send", "-f", "a.py", "-l", "1", "-c", "look")["id"],
        "suggestion": ask("inbox", "send", "-f", "a.py", "-l", "2", "-c", "so", "--suggest", "    return 2")["id"],
    }  # fmt: skip
    return [postil("key", "create", f"k{number}", "--workspace") for number in range(keys)], ids
