"""Projects, issues and people: the routes and their rules."""

from __future__ import annotations

from typing import Any

from tests.emulator import shapes
from tests.emulator.params import PAGING, Kinds, Refusal, Row
from tests.emulator.routing import GUEST, MAINTAINER, REPORTER, Answer, Asked, page, route
from tests.emulator.world import HOOK_EVENTS, Project

VISIBILITY = ("private", "internal", "public")
ORDERS = ("created_at", "updated_at", "priority", "title", "due_date", "relative_position", "id", "ref", "status")
ORDER: Kinds = {"order_by": ORDERS, "sort": ("asc", "desc")}


@route("GET", "user", scopes=("api", "read_api", "read_user"))
def own_user(asked: Asked) -> Answer:
    return Answer(shapes.own_user(asked.world, asked.token.user))


@route(
    "GET", "personal_access_tokens/self", scopes=("api", "read_api", "read_user", "read_repository", "write_repository")
)
def own_token(asked: Asked) -> Answer:
    return Answer(shapes.token(asked.token, 1))


@route("GET", "version", scopes=("api", "read_api", "read_user"))
def version(asked: Asked) -> Answer:
    return Answer({"version": "18.5.0-ee", "revision": "0000000"})


@route(
    "GET",
    "projects",
    PAGING
    | ORDER
    | {
        "visibility": VISIBILITY,
        "owned": "bool",
        "starred": "bool",
        "membership": "bool",
        "simple": "bool",
        "search": "str",
        "archived": "bool",
        "statistics": "bool",
    },
)
def projects(asked: Asked) -> Answer:
    asks, user = asked.params, asked.token.user
    word = asks.get("search", "").lower()
    rows = [
        row
        for row in reversed(asked.world.projects)
        if asked.visible(row)
        and asks.get("visibility", row.visibility) == row.visibility
        and (not asks.get("owned") or row.owner == user)
        and (not asks.get("starred") or user in row.starred_by)
        and (not asks.get("membership") or asked.role(row) > 0)
        and word in f"{row.name} {row.path} {row.description or ''}".lower()
    ]
    if asks.get("sort") == "asc":
        rows.reverse()
    answer = page(asked, rows, "projects")
    answer.body = [shapes.project(asked.world, row, asked.base) for row in answer.body]
    return answer


@route("GET", "projects/:id", {"statistics": "bool", "license": "bool"})
def one_project(asked: Asked) -> Answer:
    found = asked.project()
    statistics = bool(asked.params.get("statistics")) and asked.role(found) >= REPORTER
    return Answer(shapes.project(asked.world, found, asked.base, statistics))


ISSUE_FILTERS: Kinds = (
    PAGING
    | ORDER
    | {
        "state": ("opened", "closed", "all"),
        "labels": "csv",
        "assignee_id": "int_or_word",
        "assignee_username": "csv",
        "author_id": "int",
        "milestone": "str",
        "created_after": "str",
        "updated_after": "str",
        "search": "str",
        "in": "str",
        "scope": ("created_by_me", "assigned_to_me", "all"),
        "iids": "ints",
        "with_labels_details": "bool",
    }
)


def wanted(asked: Asked, row: Row) -> bool:
    """Whether an issue or merge request passes the filters both share."""
    asks = asked.params
    if asks.get("state", "all") not in ("all", row["state"]):
        return False
    if not set(asks.get("labels", [])) <= set(row["labels"]):
        return False
    chosen = asks.get("assignee_id")
    if (chosen == "None" and row["assignees"]) or (chosen == "Any" and not row["assignees"]):
        return False
    if isinstance(chosen, int) and chosen not in row["assignees"]:
        return False
    if asks.get("author_id", row["author"]) != row["author"]:
        return False
    if asks.get("iids") and row["iid"] not in asks["iids"]:
        return False
    chosen = asks.get("milestone")
    title = row["milestone"]["title"] if row["milestone"] else None
    if chosen is not None and not {"None": title is None, "Any": title is not None}.get(chosen, chosen == title):
        return False
    for name in ("created_after", "updated_after"):
        if row[name.replace("_after", "_at")] < asks.get(name, ""):
            return False
    within = asks.get("in", "title,description").split(",")
    return asks.get("search", "").lower() in " ".join(row[name] or "" for name in within).lower()


def ordered(asked: Asked, rows: list[Any]) -> list[Any]:
    field = asked.params.get("order_by")
    if field in ("updated_at", "title") and rows and isinstance(rows[0], dict):
        rows = sorted(rows, key=lambda row: row[field])
    return rows if asked.params.get("sort") == "asc" else list(reversed(rows))


@route("GET", "projects/:id/issues", ISSUE_FILTERS)
def project_issues(asked: Asked) -> Answer:
    owner = asked.project()
    rows = ordered(asked, [row for row in owner.issues if wanted(asked, row) and not hidden(asked, owner, row)])
    answer = page(asked, rows, f"projects/{owner.id}/issues")
    answer.body = [shapes.issue(asked.world, owner, row, asked.base) for row in answer.body]
    return answer


@route("GET", "issues", ISSUE_FILTERS)
def all_issues(asked: Asked) -> Answer:
    scope, user = asked.params.get("scope", "created_by_me"), asked.token.user
    found: list[tuple[Project, Row]] = []
    for owner in asked.world.projects:
        if not asked.visible(owner):
            continue
        for row in owner.issues:
            mine = {"created_by_me": row["author"] == user, "assigned_to_me": user in row["assignees"], "all": True}
            if mine[scope] and wanted(asked, row) and not hidden(asked, owner, row):
                found.append((owner, row))
    found.sort(key=lambda pair: pair[1]["id"])
    answer = page(asked, ordered(asked, found), "issues")
    answer.body = [shapes.issue(asked.world, owner, row, asked.base) for owner, row in answer.body]
    return answer


def the_issue(asked: Asked, role: int = 0) -> tuple[Project, Row]:
    owner = asked.project(role)
    found = next((row for row in owner.issues if row["iid"] == asked.number("iid")), None)
    if found is None or hidden(asked, owner, found):
        raise Refusal(404, {"message": "404 Issue Not Found"})
    return owner, found


def hidden(asked: Asked, owner: Project, row: Row) -> bool:
    """A confidential issue is for its author, its assignees and those from Reporter up."""
    own = asked.token.user in (row["author"], *row["assignees"])
    return bool(row["confidential"]) and not own and asked.role(owner) < REPORTER


@route("GET", "projects/:id/issues/:iid")
def one_issue(asked: Asked) -> Answer:
    owner, row = the_issue(asked)
    return Answer(shapes.issue(asked.world, owner, row, asked.base) | {"subscribed": True})


ISSUE_FIELDS: Kinds = {
    "title": "str",
    "description": "str",
    "assignee_ids": "ints",
    "labels": "csv",
    "milestone_id": "int",
    "due_date": "str",
    "confidential": "bool",
}


def the_milestone(owner: Project, number: int | None) -> Row | None:
    """The milestone of this number as other answers show it; GitLab ignores one that is not there."""
    return next((row for row in owner.milestones if row["id"] == number), None)


def act_on_commands(asked: Asked, row: Row) -> None:
    """Quick actions: GitLab runs and removes lines of a text that begin with a slash and a known word."""
    kept: list[str] = []
    for line in (row["description"] or "").split("\n"):
        word = line.strip().split(" ", 1)[0]
        if word == "/close":
            row["state"] = "closed"
        elif word == "/confidential":
            row["confidential"] = True
        elif word == "/label":
            row["labels"] = [*row["labels"], line.strip().split(" ", 1)[-1].lstrip("~")]
        else:
            kept.append(line)
    row["description"] = "\n".join(kept) or None


@route("POST", "projects/:id/issues", ISSUE_FIELDS, ("title",))
def create_issue(asked: Asked) -> Answer:
    owner, asks = asked.project(GUEST), asked.params
    if len(asks["title"]) > 255:
        raise Refusal(400, {"message": {"title": ["is too long (maximum is 255 characters)"]}})
    row = asked.world.add_issue(
        owner,
        asked.token.user,
        asks["title"],
        description=asks.get("description"),
        assignees=[user for user in asks.get("assignee_ids", []) if user in asked.world.users],
        labels=asks.get("labels", []),
        confidential=asks.get("confidential", False),
        due_date=asks.get("due_date"),
        milestone=the_milestone(owner, asks.get("milestone_id")),
    )
    act_on_commands(asked, row)
    return Answer(shapes.issue(asked.world, owner, row, asked.base), 201)


@route(
    "PUT",
    "projects/:id/issues/:iid",
    ISSUE_FIELDS
    | {"state_event": ("close", "reopen"), "add_labels": "csv", "remove_labels": "csv", "discussion_locked": "bool"},
)
def update_issue(asked: Asked) -> Answer:
    owner, row = the_issue(asked, REPORTER)
    asks = asked.params
    if not asks:
        raise Refusal(
            400, {"error": "assignee_ids, title, description, … are missing, at least one parameter must be provided"}
        )
    for name in ("title", "description", "labels", "confidential", "due_date"):
        if name in asks:
            row[name] = asks[name]
    if "milestone_id" in asks:
        row["milestone"] = the_milestone(owner, asks["milestone_id"])
    if "assignee_ids" in asks:
        row["assignees"] = [user for user in asks["assignee_ids"] if user in asked.world.users]
    row["labels"] = [name for name in row["labels"] if name not in asks.get("remove_labels", [])]
    row["labels"] += [name for name in asks.get("add_labels", []) if name not in row["labels"]]
    if "state_event" in asks:
        row["state"] = "closed" if asks["state_event"] == "close" else "opened"
        row["closed_at"] = asked.world.now() if row["state"] == "closed" else None
    row["updated_at"] = asked.world.now()
    if "description" in asks:
        act_on_commands(asked, row)
    return Answer(shapes.issue(asked.world, owner, row, asked.base))


@route("GET", "projects/:id/issues/:iid/notes", PAGING | ORDER)
def issue_notes(asked: Asked) -> Answer:
    owner, row = the_issue(asked)
    answer = page(asked, ordered(asked, row["notes"]), f"projects/{owner.id}/issues/{row['iid']}/notes")
    answer.body = [shapes.note(asked.world, item) for item in answer.body]
    return answer


@route("POST", "projects/:id/issues/:iid/notes", {"body": "str", "internal": "bool"}, ("body",))
def add_issue_note(asked: Asked) -> Answer:
    _, row = the_issue(asked, GUEST)
    if asked.params["body"].strip() == "/close":
        row["state"] = "closed"
        return Answer({"commands_changes": {"state_event": "close"}, "summary": ["Closed this issue."]}, 202)
    made = asked.world.note(asked.token.user, asked.params["body"])
    row["notes"].append(made)
    return Answer(shapes.note(asked.world, made), 201)


@route("GET", "projects/:id/issues_statistics", {"state": "str", "labels": "csv"})
def issue_statistics(asked: Asked) -> Answer:
    states = [row["state"] for row in asked.project().issues]
    counts = {"all": len(states), "opened": states.count("opened"), "closed": states.count("closed")}
    return Answer({"statistics": {"counts": counts}})


HOOK_FIELDS: Kinds = {
    **dict.fromkeys(HOOK_EVENTS, "bool"),
    "url": "str",
    "token": "str",
    "signing_token": "str",
    "enable_ssl_verification": "bool",
    "push_events_branch_filter": "str",
    "name": "str",
    "description": "str",
}


@route("GET", "projects/:id/hooks", PAGING)
def hooks(asked: Asked) -> Answer:
    owner = asked.project(MAINTAINER)
    answer = page(asked, owner.hooks, f"projects/{owner.id}/hooks")
    answer.body = [shapes.hook(owner, row) for row in answer.body]
    return answer


def _kept(asked: Asked, row: Row) -> None:
    url = asked.params.get("url", row.get("url", ""))
    if not url.startswith(("http://", "https://")) or "//localhost" in url or "//127." in url:
        raise Refusal(422, {"error": "Invalid url given"})
    if row.get("url") not in (None, url):
        row["token"] = None  # as GitLab does: a new address resets the secret
    row |= asked.params


@route("POST", "projects/:id/hooks", HOOK_FIELDS, ("url",))
def add_hook(asked: Asked) -> Answer:
    owner = asked.project(MAINTAINER)
    row: Row = {"enable_ssl_verification": True, "push_events": True}
    _kept(asked, row)
    row |= {"id": asked.world.new_id("hook"), "created_at": asked.world.now()}
    owner.hooks.append(row)
    return Answer(shapes.hook(owner, row), 201)


@route("PUT", "projects/:id/hooks/:hook_id", HOOK_FIELDS, ("url",))
def change_hook(asked: Asked) -> Answer:
    owner = asked.project(MAINTAINER)
    row = next((item for item in owner.hooks if item["id"] == asked.number("hook_id")), None)
    if row is None:
        raise Refusal(404, {"message": "404 Not found"})
    _kept(asked, row)
    return Answer(shapes.hook(owner, row))


@route("GET", "projects/:id/members/all/:user_id")
def member(asked: Asked) -> Answer:
    owner, user = asked.project(), asked.number("user_id")
    level = 50 if owner.owner == user else owner.members.get(user, 0)
    if not level:
        raise Refusal(404, {"message": "404 Not Found"})
    return Answer({"id": user, "username": asked.world.users[user]["username"], "access_level": level})
