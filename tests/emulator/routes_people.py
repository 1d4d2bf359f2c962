"""People, to-dos, merge requests of everywhere, and what a project plans with: labels, milestones."""

from __future__ import annotations

from tests.emulator import shapes
from tests.emulator.params import PAGING, Refusal, Row
from tests.emulator.routes import ISSUE_FILTERS, ordered, wanted
from tests.emulator.routes_code import reviewed
from tests.emulator.routing import Answer, Asked, page, route
from tests.emulator.world import Project


@route(
    "GET",
    "users",
    PAGING | {"username": "str", "search": "str", "active": "bool"},
    scopes=("api", "read_api", "read_user"),
)
def users(asked: Asked) -> Answer:
    name, word = asked.params.get("username"), asked.params.get("search", "").lower()
    rows = [
        row
        for row in asked.world.users.values()
        if (name is None or name.lower() == row["username"].lower())
        and word in f"{row['username']} {row['name']}".lower()
    ]
    answer = page(asked, rows, "users")
    answer.body = [shapes.person(asked.world, row["id"]) for row in answer.body]
    return answer


@route(
    "GET",
    "merge_requests",
    ISSUE_FILTERS
    | {
        "state": ("opened", "closed", "locked", "merged", "all"),
        "scope": ("created_by_me", "assigned_to_me", "reviews_for_me", "all"),
        "reviewer_id": "int_or_word",
        "source_branch": "str",
        "target_branch": "str",
    },
)
def all_merge_requests(asked: Asked) -> Answer:
    scope, user = asked.params.get("scope", "created_by_me"), asked.token.user
    found: list[tuple[Project, Row]] = []
    for owner in asked.world.projects:
        for row in owner.merge_requests if asked.visible(owner) else ():
            mine = {
                "created_by_me": row["author"] == user,
                "assigned_to_me": user in row["assignees"],
                "reviews_for_me": user in row["reviewers"],
                "all": True,
            }
            if mine[scope] and wanted(asked, row) and reviewed(asked, row):
                found.append((owner, row))
    found.sort(key=lambda pair: pair[1]["id"])
    answer = page(asked, ordered(asked, found), "merge_requests")
    answer.body = [shapes.merge_request(asked.world, owner, row, asked.base, full=False) for owner, row in answer.body]
    return answer


@route("GET", "todos", PAGING | {"state": ("pending", "done"), "action": "str", "type": "str", "project_id": "int"})
def todos(asked: Asked) -> Answer:
    rows = [row for row in asked.world.todos if row["user"] == asked.token.user]
    answer = page(asked, rows, "todos")
    answer.body = [_todo(asked, row) for row in answer.body]
    return answer


def _todo(asked: Asked, row: Row) -> Row:
    owner = asked.world.project(str(row["project"]))
    if owner is None:
        raise Refusal(404, {"message": "404 Not found"})
    thing = shapes.merge_request(asked.world, owner, row["target"], asked.base, full=False)
    return {
        "id": row["id"],
        "project": {"id": owner.id, "name": owner.name, "path": owner.path, "path_with_namespace": owner.full_path},
        "author": shapes.person(asked.world, row["author"]),
        "action_name": row["action"],
        "target_type": "MergeRequest",
        "target": thing,
        "target_url": thing["web_url"],
        "body": thing["title"],
        "state": "pending",
        "created_at": "2024-01-02T00:00:00.000Z",
        "updated_at": "2024-01-02T00:00:00.000Z",
    }


@route(
    "GET", "projects/:id/labels", PAGING | {"search": "str", "with_counts": "bool", "include_ancestor_groups": "bool"}
)
def labels(asked: Asked) -> Answer:
    owner = asked.project()
    rows = [row for row in owner.labels if asked.params.get("search", "").lower() in row["name"].lower()]
    answer = page(asked, rows, f"projects/{owner.id}/labels")
    rest = {"text_color": "#FFFFFF", "archived": False, "subscribed": False, "priority": None, "is_project_label": True}
    answer.body = [row | rest | {"description_html": row["description"] or ""} for row in answer.body]
    return answer


@route(
    "GET",
    "projects/:id/milestones",
    PAGING
    | {
        "title": "str",
        "search": "str",
        "state": ("active", "closed"),
        "iids": "ints",
        "include_ancestors": "bool",
    },
)
def milestones(asked: Asked) -> Answer:
    owner, asks = asked.project(), asked.params
    rows = [
        row
        for row in owner.milestones
        if asks.get("title", row["title"]) == row["title"]
        and asks.get("state", row["state"]) == row["state"]
        and asks.get("search", "").lower() in row["title"].lower()
    ]
    answer = page(asked, rows, f"projects/{owner.id}/milestones")
    web = f"{asked.base}/{owner.full_path}/-/milestones"
    rest = {"project_id": owner.id, "start_date": None, "expired": False, "created_at": "2024-01-01T00:00:00.000Z"}
    answer.body = [row | rest | {"web_url": f"{web}/{row['iid']}"} for row in answer.body]
    return answer
