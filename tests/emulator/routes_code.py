"""Merge requests, pipelines and the repository: the routes and their rules."""

from __future__ import annotations

from tests.emulator import shapes
from tests.emulator.params import PAGING, Kinds, Refusal, Row
from tests.emulator.routes import ORDER, ordered, the_milestone, wanted
from tests.emulator.routing import DEVELOPER_ROLE, READ, REPORTER, Answer, Asked, keyset, page, route
from tests.emulator.world import Project

FILES = (*READ, "read_repository")
STATUSES = (
    "created waiting_for_resource preparing pending running success failed canceling canceled skipped manual scheduled "
    "waiting_for_callback"
)


@route(
    "GET",
    "projects/:id/merge_requests",
    PAGING
    | ORDER
    | {
        "state": ("opened", "closed", "locked", "merged", "all"),
        "source_branch": "str",
        "target_branch": "str",
        "search": "str",
        "in": "str",
        "scope": ("created_by_me", "assigned_to_me", "all"),
        "labels": "csv",
        "author_id": "int",
        "assignee_id": "int_or_word",
        "reviewer_id": "int_or_word",
        "milestone": "str",
        "created_after": "str",
        "updated_after": "str",
        "iids": "ints",
    },
)
def merge_requests(asked: Asked) -> Answer:
    owner, asks = asked.project(), asked.params
    rows = [
        row
        for row in owner.merge_requests
        if wanted(asked, row)
        and reviewed(asked, row)
        and asks.get("source_branch", row["source_branch"]) == row["source_branch"]
        and asks.get("target_branch", row["target_branch"]) == row["target_branch"]
    ]
    answer = page(asked, ordered(asked, rows), f"projects/{owner.id}/merge_requests")
    answer.body = [shapes.merge_request(asked.world, owner, row, asked.base, full=False) for row in answer.body]
    return answer


def reviewed(asked: Asked, row: Row) -> bool:
    """Whether a merge request passes the filter of reviewers."""
    chosen = asked.params.get("reviewer_id")
    if chosen in ("None", "Any"):
        return bool(row["reviewers"]) == (chosen == "Any")
    return chosen is None or chosen in row["reviewers"]


def the_merge_request(asked: Asked, role: int = 0) -> tuple[Project, Row]:
    owner = asked.project(role)
    found = next((row for row in owner.merge_requests if row["iid"] == asked.number("iid")), None)
    if found is None:
        raise Refusal(404, {"message": "404 Not found"})
    return owner, found


@route("GET", "projects/:id/merge_requests/:iid")
def one_merge_request(asked: Asked) -> Answer:
    owner, row = the_merge_request(asked)
    return Answer(shapes.merge_request(asked.world, owner, row, asked.base, full=True))


@route(
    "POST",
    "projects/:id/merge_requests",
    {
        "title": "str",
        "source_branch": "str",
        "target_branch": "str",
        "description": "str",
        "assignee_ids": "ints",
        "reviewer_ids": "ints",
        "labels": "csv",
        "remove_source_branch": "bool",
        "squash": "bool",
        "milestone_id": "int",
        "target_project_id": "int",
    },
    ("title", "source_branch", "target_branch"),
)
def create_merge_request(asked: Asked) -> Answer:
    owner, asks = asked.project(DEVELOPER_ROLE), asked.params
    for name in ("source_branch", "target_branch"):
        if asks[name] not in owner.branches:
            word = name.replace("_", " ").capitalize()
            raise Refusal(400, {"message": {"base": [f'{word} "{asks[name]}" does not exist']}})
    for row in owner.merge_requests:
        same = (row["source_branch"], row["target_branch"]) == (asks["source_branch"], asks["target_branch"])
        if row["state"] == "opened" and same:
            words = f"Another open merge request already exists for this source branch: !{row['iid']}"
            raise Refusal(409, {"message": [words]})
    row = asked.world.add_merge_request(
        owner,
        asked.token.user,
        asks["title"],
        asks["source_branch"],
        asks["target_branch"],
        description=asks.get("description"),
        assignees=[user for user in asks.get("assignee_ids", []) if user in asked.world.users],
        labels=asks.get("labels", []),
        remove_source_branch=asks.get("remove_source_branch"),
        reviewers=[user for user in asks.get("reviewer_ids", []) if user in asked.world.users],
        milestone=the_milestone(owner, asks.get("milestone_id")),
        squash=asks.get("squash", False),
    )
    return Answer(shapes.merge_request(asked.world, owner, row, asked.base, full=True), 201)


@route(
    "GET",
    "projects/:id/pipelines",
    PAGING
    | ORDER
    | {
        "status": tuple(STATUSES.split()),
        "scope": ("running", "pending", "finished", "branches", "tags"),
        "ref": "str",
        "sha": "str",
        "source": "str",
        "name": "str",
        "username": "str",
    },
)
def pipelines(asked: Asked) -> Answer:
    owner, asks = asked.project(), asked.params
    fields = [name for name in ("status", "ref", "sha", "source") if name in asks]
    rows = [row for row in owner.pipelines if all(row[name] == asks[name] for name in fields)]
    answer = page(asked, ordered(asked, rows), f"projects/{owner.id}/pipelines")
    answer.body = [shapes.pipeline_basic(owner, row, asked.base) for row in answer.body]
    return answer


def the_pipeline(asked: Asked) -> tuple[Project, Row]:
    owner = asked.project()
    found = next((row for row in owner.pipelines if row["id"] == asked.number("pipeline_id")), None)
    if found is None:
        raise Refusal(404, {"message": "404 Not found"})
    return owner, found


@route("GET", "projects/:id/pipelines/:pipeline_id")
def one_pipeline(asked: Asked) -> Answer:
    owner, row = the_pipeline(asked)
    return Answer(shapes.pipeline(asked.world, owner, row, asked.base))


@route("GET", "projects/:id/pipelines/:pipeline_id/jobs", PAGING | {"scope": "csv", "include_retried": "bool"})
def pipeline_jobs(asked: Asked) -> Answer:
    owner, row = the_pipeline(asked)
    jobs = [job for job in owner.jobs if job["pipeline"] == row["id"]]
    answer = page(asked, jobs, f"projects/{owner.id}/pipelines/{row['id']}/jobs")
    answer.body = [shapes.job(asked.world, owner, job, asked.base) for job in answer.body]
    return answer


@route("GET", "projects/:id/pipelines/:pipeline_id/bridges", PAGING | {"scope": "csv"})
def pipeline_bridges(asked: Asked) -> Answer:
    owner, row = the_pipeline(asked)
    bridges = [bridge for bridge in owner.bridges if bridge["pipeline"] == row["id"]]
    answer = page(asked, bridges, f"projects/{owner.id}/pipelines/{row['id']}/bridges")
    answer.body = [shapes.bridge(asked.world, owner, bridge, asked.base) for bridge in answer.body]
    return answer


@route("GET", "projects/:id/jobs/:job_id/trace")
def job_trace(asked: Asked) -> Answer:
    job = next((row for row in asked.project().jobs if row["id"] == asked.number("job_id")), None)
    if job is None:
        raise Refusal(404, {"message": "404 Not found"})
    return Answer(job["trace"], 200, {"Content-Type": "text/plain"})


@route("POST", "projects/:id/pipeline", {"ref": "str", "variables": "list", "inputs": "object"}, ("ref",))
def trigger(asked: Asked) -> Answer:
    owner, asks = asked.project(DEVELOPER_ROLE), asked.params
    if asks["ref"] not in owner.branches:
        raise Refusal(400, {"message": {"base": ["Reference not found"]}})
    for variable in asks.get("variables", []):
        if not isinstance(variable, dict) or not isinstance(variable.get("value"), str):  # pyright: ignore[reportUnknownMemberType]
            raise Refusal(400, {"error": "variables is invalid"})
    row = asked.world.add_pipeline(owner, asks["ref"], "created", "api", asked.token.user)
    row["variables"] = asks.get("variables", [])
    return Answer(shapes.pipeline(asked.world, owner, row, asked.base), 201)


def head_of(owner: Project, ref: str) -> str | None:
    name = owner.default_branch if ref == "HEAD" else ref
    return owner.branches.get(name or "") or owner.tags.get(ref) or (ref if ref in owner.commits else None)


@route("GET", "projects/:id/repository/files/:file_path", {"ref": "str"}, ("ref",), scopes=FILES)
def repository_file(asked: Asked) -> Answer:
    owner, path, ref = asked.project(), asked.path["file_path"], asked.params["ref"]
    head = head_of(owner, ref)
    if head is None:
        raise Refusal(404, {"message": "404 Commit Not Found"})
    if path not in owner.files:
        raise Refusal(404, {"message": "404 File Not Found"})
    return Answer(shapes.file(owner, path, ref, head))


TREE: Kinds = PAGING | {
    "path": "str",
    "ref": "str",
    "recursive": "bool",
    "pagination": ("keyset", "none"),
    "page_token": "str",
}


@route("GET", "projects/:id/repository/tree", TREE, scopes=FILES)
def tree(asked: Asked) -> Answer:
    owner, asks = asked.project(), asked.params
    if owner.visibility == "private" and asked.role(owner) < REPORTER:
        raise Refusal(403, {"message": "403 Forbidden"})
    if not owner.branches or head_of(owner, asks.get("ref", "HEAD")) is None:
        raise Refusal(404, {"message": "404 Tree Not Found"})
    under = asks.get("path", "")
    if under.endswith("/"):
        raise Refusal(404, {"message": "404 invalid revision or path Not Found"})
    entries: set[tuple[str, str]] = set()
    for path in owner.files:
        if under and not path.startswith(f"{under}/"):
            continue
        parts = path.split("/")
        depth = len(under.split("/")) if under else 0
        last = len(parts) if asks.get("recursive") else depth + 1
        for size in range(depth + 1, last + 1):
            entries.add(("blob" if size == len(parts) else "tree", "/".join(parts[:size])))
    if under and not entries:
        raise Refusal(404, {"message": "404 invalid revision or path Not Found"})
    rows = [
        shapes.tree_entry(path, kind) for kind, path in sorted(entries, key=lambda pair: (pair[0] != "tree", pair[1]))
    ]
    name = f"projects/{owner.id}/repository/tree"
    return keyset(asked, rows, name) if asks.get("pagination") == "keyset" else page(asked, rows, name)


@route("GET", "projects/:id/repository/commits/:sha", {"stats": "bool"}, scopes=FILES)
def commit(asked: Asked) -> Answer:
    owner = asked.project()
    found = owner.commits.get(head_of(owner, asked.path["sha"]) or "")
    if found is None:
        raise Refusal(404, {"message": "404 Commit Not Found"})
    return Answer(shapes.commit(owner, found, asked.base))


@route("GET", "projects/:id/wikis", PAGING | {"with_content": "bool"})
def wikis(asked: Asked) -> Answer:
    return page(asked, [], f"projects/{asked.project().id}/wikis")
