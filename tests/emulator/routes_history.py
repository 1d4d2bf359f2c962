"""The history of a repository: commits, comparison, blame, branches, tags, and a search in the code."""

from __future__ import annotations

from tests.emulator import shapes
from tests.emulator.params import PAGING, Refusal, Row
from tests.emulator.routes_code import FILES, head_of
from tests.emulator.routing import Answer, Asked, page, route
from tests.emulator.world import Project


def commits_of(owner: Project, head: str | None) -> list[Row]:
    """The commits behind a head, newest first."""
    found: list[Row] = []
    while head in owner.commits and owner.commits[head] not in found:
        found.append(owner.commits[head])
        head = next(iter(owner.commits[head]["parents"]), None)
    return found


@route(
    "GET",
    "projects/:id/repository/commits",
    PAGING | {"ref_name": "str", "path": "str", "author": "str", "since": "str", "until": "str", "with_stats": "bool"},
    scopes=FILES,
)
def commits(asked: Asked) -> Answer:
    owner, asks = asked.project(), asked.params
    head = head_of(owner, asks.get("ref_name", "HEAD"))
    if head is None:
        raise Refusal(
            404, {"message": "404 Repository Not Found"} if not owner.branches else {"message": "404 Not Found"}
        )
    rows = [
        row
        for row in commits_of(owner, head)
        if asks.get("author", "").lower() in row["author_name"].lower()
        and asks.get("since", "") <= row["created_at"]
        and row["created_at"] <= asks.get("until", "9999")
        and ("path" not in asks or asks["path"] in [path for path, at in owner.file_commit.items() if at == row["id"]])
    ]
    answer = page(asked, rows, f"projects/{owner.id}/repository/commits", no_totals=True)
    answer.body = [shapes.commit(owner, row, asked.base) for row in answer.body]
    return answer


@route("GET", "projects/:id/repository/commits/:sha/diff", PAGING | {"unidiff": "bool"}, scopes=FILES)
def commit_diff(asked: Asked) -> Answer:
    owner = asked.project()
    head = head_of(owner, asked.path["sha"])
    if head not in owner.commits:
        raise Refusal(404, {"message": "404 Commit Not Found"})
    return page(asked, diffs_of(owner, head or ""), f"projects/{owner.id}/repository/commits/{head}/diff")


@route("GET", "projects/:id/repository/commits/:sha/refs", PAGING | {"type": ("branch", "tag", "all")}, scopes=FILES)
def commit_refs(asked: Asked) -> Answer:
    owner = asked.project()
    wanted = head_of(owner, asked.path["sha"])
    if wanted is None:
        raise Refusal(404, {"message": "404 Commit Not Found"})
    heads = [("branch", name, at) for name, at in owner.branches.items()]
    heads += [("tag", name, at) for name, at in owner.tags.items()]
    rows: list[Row] = [
        {"type": kind, "name": name}
        for kind, name, at in heads
        if wanted == at or wanted in [row["id"] for row in commits_of(owner, at)]
    ]
    return page(asked, rows, f"projects/{owner.id}/repository/commits/{wanted}/refs")


def diffs_of(owner: Project, commit: str) -> list[Row]:
    found: list[Row] = []
    for path, at in owner.file_commit.items():
        if at == commit:
            lines = owner.files[path].decode("utf-8", "replace").splitlines()
            body = "".join(f"+{line}\n" for line in lines)
            text = f"@@ -0,0 +1,{len(lines)} @@\n{body}"
            found.append(shapes.diff({"old_path": path, "new_path": path, "diff": text, "new_file": True}))
    return found


@route(
    "GET",
    "projects/:id/repository/compare",
    {"from": "str", "to": "str", "straight": "bool", "from_project_id": "int", "unidiff": "bool"},
    ("from", "to"),
    scopes=FILES,
)
def compare(asked: Asked) -> Answer:
    owner, asks = asked.project(), asked.params
    base, head = head_of(owner, asks["from"]), head_of(owner, asks["to"])
    if base is None or head is None:
        raise Refusal(404, {"message": "404 Ref Not Found"})
    known = [row["id"] for row in commits_of(owner, base)]
    new = [row for row in commits_of(owner, head) if row["id"] not in known]
    shown = [shapes.commit(owner, row, asked.base) for row in reversed(new)]
    return Answer(
        {
            "commit": shown[-1] if shown else None,
            "commits": shown,
            "diffs": [one for row in reversed(new) for one in diffs_of(owner, row["id"])],
            "compare_timeout": False,
            "compare_same_ref": base == head,
            "web_url": f"{asked.base}/{owner.full_path}/-/compare/{asks['from']}...{asks['to']}",
        }
    )


@route(
    "GET",
    "projects/:id/repository/files/:file_path/blame",
    {"ref": "str", "range[start]": "int", "range[end]": "int"},
    ("ref",),
    scopes=FILES,
)
def blame(asked: Asked) -> Answer:
    owner, path = asked.project(), asked.path["file_path"]
    if head_of(owner, asked.params["ref"]) is None:
        raise Refusal(404, {"message": "404 Commit Not Found"})
    if path not in owner.files:
        raise Refusal(404, {"message": "404 File Not Found"})
    first, last = asked.params.get("range[start]"), asked.params.get("range[end]")
    if (first is None) != (last is None):
        raise Refusal(400, {"error": "range[start], range[end] are missing, provide all or none of parameters"})
    lines = owner.files[path].decode("utf-8", "replace").splitlines()
    if first is not None and first > len(lines):
        raise Refusal(400, {"message": "400 Bad request - range[start] is past the end of the file"})
    commit = shapes.commit(owner, owner.commits[owner.file_commit[path]], asked.base)
    commit = {name: value for name, value in commit.items() if name not in ("title", "short_id", "created_at")}
    return Answer([{"commit": commit, "lines": lines[(first or 1) - 1 : last]}])


@route(
    "GET", "projects/:id/repository/branches", PAGING | {"search": "str", "regex": "str", "sort": "str"}, scopes=FILES
)
def branches(asked: Asked) -> Answer:
    owner = asked.project()
    names = [name for name in sorted(owner.branches) if asked.params.get("search", "") in name]
    rows = [branch_row(owner, name, asked.base) for name in names]
    return page(asked, rows, f"projects/{owner.id}/repository/branches")


@route("GET", "projects/:id/repository/branches/:branch", {}, scopes=FILES)
def branch(asked: Asked) -> Answer:
    owner, name = asked.project(), asked.path["branch"]
    if name not in owner.branches:
        raise Refusal(404, {"message": "404 Branch Not Found"})
    return Answer(branch_row(owner, name, asked.base))


def branch_row(owner: Project, name: str, base: str) -> Row:
    at = owner.branches[name]
    return {
        "name": name,
        "merged": False,
        "protected": name == owner.default_branch,
        "default": name == owner.default_branch,
        "developers_can_push": False,
        "developers_can_merge": False,
        "can_push": True,
        "web_url": f"{base}/{owner.full_path}/-/tree/{name}",
        "commit": shapes.commit(owner, owner.commits[at], base) if at in owner.commits else {"id": at},
    }


@route(
    "GET", "projects/:id/repository/tags", PAGING | {"search": "str", "order_by": "str", "sort": "str"}, scopes=FILES
)
def tags(asked: Asked) -> Answer:
    owner = asked.project()
    rows = [
        {
            "name": name,
            "message": "",
            "target": at,
            "commit": shapes.commit(owner, owner.commits[at], asked.base),
            "release": None,
            "protected": False,
            "created_at": None,
        }
        for name, at in sorted(owner.tags.items())
        if asked.params.get("search", "") in name
    ]
    return page(asked, rows, f"projects/{owner.id}/repository/tags")


@route(
    "GET",
    "projects/:id/search",
    PAGING
    | {"scope": ("blobs", "issues", "merge_requests", "commits", "notes", "users"), "search": "str", "ref": "str"},
    ("scope", "search"),
)
def search(asked: Asked) -> Answer:
    owner, word = asked.project(), asked.params["search"].lower()
    if asked.params["scope"] != "blobs":
        raise Refusal(400, {"error": "this emulator searches blobs only"})
    rows: list[Row] = []
    for path, content in owner.files.items():
        lines = content.decode("utf-8", "replace").splitlines()
        hit = next((number for number, line in enumerate(lines, 1) if word in line.lower()), None)
        if hit is not None:
            data = "\n".join(lines[max(0, hit - 2) : hit + 1]) + "\n"
            names = {"basename": path.rsplit(".", 1)[0], "path": path, "filename": path, "id": None}
            where = {"ref": asked.params.get("ref", owner.default_branch), "startline": max(1, hit - 1)}
            rows.append({**names, "data": data, **where, "project_id": owner.id})
    return page(asked, rows, f"projects/{owner.id}/search")
