"""The shapes that we read and the shapes that the emulator gives, against the types that real answers have."""

from __future__ import annotations

import json
import urllib.parse
import urllib.request
from typing import Any, cast

import pytest
from msgspec import Struct
from msgspec.structs import fields

from postil.gitlab import model
from postil.gitlab.instance.convert import OURS, WAYS, read
from postil.gitlab.instance.records import Record
from postil.gitlab.operations import answers
from tests.emulator.app import Emulator
from tests.emulator.known_types import KNOWN
from tests.emulator.recorded import json_type
from tests.emulator.world import DEVELOPER, Row

PROJECT = "projects/123"
MR = f"{PROJECT}/merge_requests/1"
FILE = f"{PROJECT}/repository/files/src%2Fapp.py"
ROUTES: dict[str, str] = {
    "project": "projects?statistics=true",
    "user": "user",
    "commit": f"{PROJECT}/repository/commits",
    "file": f"{FILE}?ref=main",
    "tree": f"{PROJECT}/repository/tree",
    "issue": f"{PROJECT}/issues",
    "mr": MR,
    "mr_basic": f"{PROJECT}/merge_requests",
    "pipeline": f"{PROJECT}/pipelines/1002",
    "pipeline_basic": f"{PROJECT}/pipelines",
    "hook": f"{PROJECT}/hooks",
    "job": f"{PROJECT}/pipelines/1002/jobs",
    "bridge": f"{PROJECT}/pipelines/1002/bridges",
    "downstream_pipeline": f"{PROJECT}/pipelines/1002/bridges downstream_pipeline",
    "draft_note": f"{MR}/draft_notes",
    "version": f"{MR}/versions",
    "whole_version": f"{MR}/versions/1001",
    "discussion": f"{MR}/discussions",
    "note": f"{MR}/discussions notes",
    "diff": f"{MR}/diffs",
    "todo": "todos",
    "report_summary": f"{PROJECT}/pipelines/1002/test_report_summary",
    "report_total": f"{PROJECT}/pipelines/1002/test_report_summary total",
    "report": f"{PROJECT}/pipelines/1002/test_report",
    "report_suite": f"{PROJECT}/pipelines/1002/test_report test_suites",
    "comparison": f"{PROJECT}/repository/compare?from=main&to=other",
    "blame": f"{FILE}/blame?ref=main",
    "blame_commit": f"{FILE}/blame?ref=main commit",
    "branch": f"{PROJECT}/repository/branches",
    "tag": f"{PROJECT}/repository/tags",
    "commit_ref": f"{PROJECT}/repository/commits/main/refs",
    "label": f"{PROJECT}/labels",
    "milestone": f"{PROJECT}/milestones",
    "blob": f"{PROJECT}/search?scope=blobs&search=hello",
    "person": "users?search=john",
    "token": "personal_access_tokens/self",
}
READ: dict[str, tuple[type[Struct], ...]] = {
    "project": (model.ProjectItem, answers.ProjectDetails),
    "commit": (model.CommitItem, answers.CommitDetails, model.LastCommit),
    "file": (answers.FileContent,),
    "tree": (model.FileItem,),
    "issue": (model.IssueRow, model.IssueItem, model.FoundIssue, answers.IssueDetails),
    "mr": (answers.MergeRequestDetails, answers.Merged),
    "mr_basic": (model.MergeRequestRow, model.MergeRequestItem),
    "pipeline": (answers.PipelineDetails, answers.PipelineEnd, answers.Triggered),
    "pipeline_basic": (model.PipelineItem,),
    "job": (model.Job, answers.Controlled),
    "discussion": (model.Discussion,),
    "note": (model.Note, answers.Noted),
    "diff": (model.Change,),
    "label": (model.Label,),
    "milestone": (model.MilestoneItem,),
    "branch": (model.RefItem,),
    "blob": (model.CodeMatch,),
    "person": (model.Person, model.UserItem),
    "comparison": (answers.Comparison,),
}
SAID_BY_US = {
    "waits", "ended", "children", "untold_failures", "what", "action", "log_tail", "jobs", "diffs", "last_commit",
    "discussion_id", *OURS,
}  # fmt: skip
NEWER = {"source", "web_url", "system", "updated_at"}
"""Keys that few recordings hold, and that GitLab's documentation shows."""
SAMPLES: dict[str, Any] = {
    "string": "words", "integer": 7, "number": 1.5, "boolean": True, "array": [], "object": {"id": 7, "name": "x"},
    "null": None,
}  # fmt: skip


def ask(address: str, route: str) -> Any:
    """What the emulator answers."""
    request = urllib.request.Request(f"{address}/api/v4/{route}", headers={"PRIVATE-TOKEN": DEVELOPER})
    with urllib.request.urlopen(request, timeout=20) as response:
        return json.load(response)


def list_rows(address: str, source: str) -> list[Row]:
    """The rows of a kind: of a route, or of a field of its rows."""
    route, _, field = source.partition(" ")
    rows = flatten([ask(address, route)])
    return flatten([row[field] for row in rows]) if field else rows


def flatten(values: list[Any]) -> list[Any]:
    """The values, and in the place of a list its items."""
    return [one for value in values for one in (cast("list[Any]", value) if isinstance(value, list) else [value])]


def plant(emulator: Emulator) -> None:
    """One thing of every kind that the world does not begin with."""
    main = emulator.world.projects[0]
    target = main.merge_requests[0]
    emulator.world.todos.append(
        {"id": 1, "user": 456, "project": 123, "author": 7, "action": "mentioned", "target": target}
    )
    case = {"status": "failed", "name": "one", "classname": "a", "execution_time": 1.5, "system_output": None}
    main.reports[1002] = [{"name": "unit", "time": 1.5, "test_cases": [case]}]
    main.hooks.append({"id": 1, "url": "https://x.example", "created_at": "2024", "enable_ssl_verification": True})


def find_differences(kind: str, row: Row) -> list[str]:
    """What a real answer of this kind never looks like."""
    found: list[str] = []
    for name, types in KNOWN[kind].items():
        if name not in row:
            found += [] if types.endswith("?") else [f"{kind}.{name} is missing"]
        elif json_type(row[name]) not in types.removesuffix("?").split():
            found.append(f"{kind}.{name} is {json_type(row[name])}, and should be {types}")
    return found


def test_every_kind_has_a_route() -> None:
    assert set(ROUTES) | {"approval"} == set(KNOWN)


def test_the_emulator_gives_the_known_types(emulator: Emulator, address: str) -> None:
    plant(emulator)
    body = urllib.parse.urlencode({"note": "words"}).encode()
    request = urllib.request.Request(f"{address}/api/v4/{MR}/draft_notes", body, headers={"PRIVATE-TOKEN": DEVELOPER})
    with urllib.request.urlopen(request, timeout=20) as response:
        assert find_differences("draft_note", json.load(response)) == []
    for kind, source in ROUTES.items():
        rows = list_rows(address, source)
        assert rows, kind
        assert [said for row in rows for said in find_differences(kind, row)] == []


def test_a_wrong_type_and_a_missing_key_would_be_noticed() -> None:
    row = {"id": "7", "name": "x", "description": None}
    assert find_differences("label", row) == ["label.color is missing", "label.id is string, and should be integer"]


@pytest.mark.parametrize("kind", READ)
def test_what_is_read_is_there_and_no_known_type_is_lost(kind: str) -> None:
    for struct in READ[kind]:
        for field in fields(struct):
            if field.name in SAID_BY_US or (field.name in WAYS and field.name not in KNOWN[kind]):
                continue
            assert field.name in {*KNOWN[kind], *NEWER}, f"{struct.__name__}.{field.name}: GitLab's {kind} has none"
            for name in KNOWN[kind].get(field.name, "null").removesuffix("?").split():
                given = dict.fromkeys(KNOWN[kind]) | {field.name: SAMPLES[name]}
                more = {one.name: None for one in fields(struct) if one.name in SAID_BY_US - set(OURS)}
                value = getattr(read(struct, Record(given), **more), field.name)
                assert name == "null" or value is not None or field.name in WAYS, (struct.__name__, field.name, name)
                if name in ("string", "integer", "number", "boolean") and field.name not in WAYS:
                    assert value == SAMPLES[name]
