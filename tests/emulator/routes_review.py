"""Reviewing merge requests: changes, discussions, drafts, approval, changes of the request itself, merging."""

from __future__ import annotations

from tests.emulator import shapes
from tests.emulator.changes import judge
from tests.emulator.params import PAGING, Kinds, Refusal, Row
from tests.emulator.routes import the_milestone
from tests.emulator.routes_code import the_merge_request
from tests.emulator.routing import DEVELOPER_ROLE, GUEST, Answer, Asked, page, route

POSITIONS: Kinds = {"position": "object", "commit_id": "str"}


@route("GET", "projects/:id/merge_requests/:iid/diffs", PAGING | {"unidiff": "bool"})
def merge_request_diffs(asked: Asked) -> Answer:
    owner, row = the_merge_request(asked)
    answer = page(asked, row["diffs"], f"projects/{owner.id}/merge_requests/{row['iid']}/diffs", no_totals=True)
    answer.body = [shapes.diff(item) for item in answer.body]
    return answer


@route("GET", "projects/:id/merge_requests/:iid/discussions", PAGING)
def discussions(asked: Asked) -> Answer:
    owner, row = the_merge_request(asked)
    answer = page(asked, row["discussions"], f"projects/{owner.id}/merge_requests/{row['iid']}/discussions")
    answer.body = [shapes.discussion(asked.world, item) for item in answer.body]
    return answer


@route("POST", "projects/:id/merge_requests/:iid/discussions", {"body": "str", **POSITIONS}, ("body",))
def start_discussion(asked: Asked) -> Answer:
    _, row = the_merge_request(asked, GUEST)
    position = asked.params.get("position")
    if position is not None:
        judge(row["versions"], position)
    kind = "DiffNote" if position else "DiscussionNote"
    made = asked.world.note(asked.token.user, asked.params["body"], resolvable=True, position=position, type=kind)
    return Answer(shapes.discussion(asked.world, asked.world.add_discussion(row, [made])), 201)


def the_discussion(asked: Asked) -> Row:
    _, row = the_merge_request(asked, GUEST)
    found = next((item for item in row["discussions"] if item["id"] == asked.path["discussion_id"]), None)
    if found is None:
        raise Refusal(404, {"message": "404 Discussion Not Found"})
    return found


@route("GET", "projects/:id/merge_requests/:iid/discussions/:discussion_id")
def one_discussion(asked: Asked) -> Answer:
    return Answer(shapes.discussion(asked.world, the_discussion(asked)))


@route("POST", "projects/:id/merge_requests/:iid/discussions/:discussion_id/notes", {"body": "str"}, ("body",))
def reply(asked: Asked) -> Answer:
    thread = the_discussion(asked)
    made = asked.world.note(asked.token.user, asked.params["body"], resolvable=thread["notes"][0]["resolvable"])
    thread["notes"].append(made)
    return Answer(shapes.note(asked.world, made), 201)


@route("PUT", "projects/:id/merge_requests/:iid/discussions/:discussion_id", {"resolved": "bool"}, ("resolved",))
def resolve(asked: Asked) -> Answer:
    thread = the_discussion(asked)
    for item in thread["notes"]:
        item["resolved"] = asked.params["resolved"]
    return Answer(shapes.discussion(asked.world, thread))


@route("GET", "projects/:id/merge_requests/:iid/versions", PAGING)
def versions(asked: Asked) -> Answer:
    owner, row = the_merge_request(asked)
    answer = page(asked, row["versions"][::-1], f"projects/{owner.id}/merge_requests/{row['iid']}/versions")
    answer.body = [shapes.version(one, asked.base, full=False) for one in answer.body]
    return answer


@route("GET", "projects/:id/merge_requests/:iid/versions/:version_id", {"unidiff": "bool"})
def one_version(asked: Asked) -> Answer:
    _, row = the_merge_request(asked)
    found = next((one for one in row["versions"] if one["id"] == asked.number("version_id")), None)
    if found is None:
        raise Refusal(404, {"message": "404 Not found"})
    return Answer(shapes.version(found, asked.base, full=True))


def own_drafts(asked: Asked, row: Row) -> list[Row]:
    return [one for one in row["drafts"] if one["author"] == asked.token.user]


@route("GET", "projects/:id/merge_requests/:iid/draft_notes", PAGING)
def drafts(asked: Asked) -> Answer:
    owner, row = the_merge_request(asked)
    answer = page(asked, own_drafts(asked, row), f"projects/{owner.id}/merge_requests/{row['iid']}/draft_notes")
    answer.body = [shapes.draft(one) for one in answer.body]
    return answer


DRAFT: Kinds = {
    "note": "str",
    "in_reply_to_discussion_id": "str",
    "resolve_discussion": "bool",
    **POSITIONS,
}


@route("POST", "projects/:id/merge_requests/:iid/draft_notes", DRAFT, ("note",))
def add_draft(asked: Asked) -> Answer:
    _, row = the_merge_request(asked, GUEST)
    asks = asked.params
    if asks.get("position") is not None:
        judge(row["versions"], asks["position"])
    thread = asks.get("in_reply_to_discussion_id")
    if thread is not None and all(one["id"] != thread for one in row["discussions"]):
        raise Refusal(404, {"message": "404 Discussion Not Found"})
    made: Row = {
        "id": asked.world.new_id("draft"),
        "author": asked.token.user,
        "merge_request": row["id"],
        "note": asks["note"],
        "discussion": thread,
        "position": asks.get("position"),
    }
    row["drafts"].append(made)
    return Answer(shapes.draft(made), 201)


def the_draft(asked: Asked) -> tuple[Row, Row]:
    _, row = the_merge_request(asked, GUEST)
    found = next((one for one in own_drafts(asked, row) if one["id"] == asked.number("draft_id")), None)
    if found is None:
        raise Refusal(404, {"message": "404 Not found"})
    return row, found


@route("DELETE", "projects/:id/merge_requests/:iid/draft_notes/:draft_id")
def drop_draft(asked: Asked) -> Answer:
    row, found = the_draft(asked)
    row["drafts"].remove(found)
    return Answer("", 204)


def publish(asked: Asked, row: Row, found: Row) -> None:
    row["drafts"].remove(found)
    made = asked.world.note(found["author"], found["note"], resolvable=True, position=found["position"])
    thread = next((one for one in row["discussions"] if one["id"] == found["discussion"]), None)
    if thread is None:
        asked.world.add_discussion(row, [made])
    else:
        thread["notes"].append(made)


@route("PUT", "projects/:id/merge_requests/:iid/draft_notes/:draft_id/publish")
def publish_draft(asked: Asked) -> Answer:
    publish(asked, *the_draft(asked))
    return Answer("", 204)


@route("POST", "projects/:id/merge_requests/:iid/draft_notes/bulk_publish")
def publish_drafts(asked: Asked) -> Answer:
    _, row = the_merge_request(asked, GUEST)
    for found in own_drafts(asked, row):
        publish(asked, row, found)
    row["reviews"] = row.get("reviews", 0) + 1
    return Answer("", 204)


def check_head(asked: Asked, row: Row) -> None:
    wanted = asked.params.get("sha")
    if wanted is not None and wanted != row["sha"]:
        raise Refusal(409, {"message": f"SHA does not match HEAD of source branch: {row['sha']}"})


@route("POST", "projects/:id/merge_requests/:iid/approve", {"sha": "str", "approval_password": "str"})
def approve(asked: Asked) -> Answer:
    owner, row = the_merge_request(asked)
    if asked.role(owner) < DEVELOPER_ROLE or asked.token.user in row["approved_by"]:
        raise Refusal(401, {"message": "401 Unauthorized"})
    check_head(asked, row)
    row["approved_by"].append(asked.token.user)
    return Answer(approvals_of(asked, row), 201)


@route("POST", "projects/:id/merge_requests/:iid/unapprove")
def unapprove(asked: Asked) -> Answer:
    _, row = the_merge_request(asked)
    if asked.token.user not in row["approved_by"]:
        raise Refusal(404, {"message": "404 Not found"})
    row["approved_by"].remove(asked.token.user)
    return Answer(approvals_of(asked, row), 201)


@route("GET", "projects/:id/merge_requests/:iid/approvals")
def approvals(asked: Asked) -> Answer:
    return Answer(approvals_of(asked, the_merge_request(asked)[1]))


def approvals_of(asked: Asked, row: Row) -> Row:
    people = [{"user": shapes.person(asked.world, user)} for user in row["approved_by"]]
    return {
        "id": row["id"],
        "iid": row["iid"],
        "title": row["title"],
        "state": row["state"],
        "approved": True,
        "approvals_required": 0,
        "approvals_left": 0,
        "approved_by": people,
        "user_has_approved": asked.token.user in row["approved_by"],
        "user_can_approve": asked.token.user not in row["approved_by"],
    }


FIELDS: Kinds = {
    "title": "str",
    "description": "str",
    "target_branch": "str",
    "state_event": ("close", "reopen"),
    "assignee_ids": "ints",
    "reviewer_ids": "ints",
    "labels": "csv",
    "add_labels": "csv",
    "remove_labels": "csv",
    "milestone_id": "int",
    "squash": "bool",
    "remove_source_branch": "bool",
    "discussion_locked": "bool",
}


@route("PUT", "projects/:id/merge_requests/:iid", FIELDS)
def update_merge_request(asked: Asked) -> Answer:
    owner, row = the_merge_request(asked, DEVELOPER_ROLE)
    asks = asked.params
    if not asks:
        raise Refusal(400, {"error": "assignee_ids, title, … are missing, at least one parameter must be provided"})
    if asks.get("target_branch", row["target_branch"]) not in owner.branches:
        raise Refusal(409, {"message": ["Target branch does not exist"]})
    for name in ("title", "description", "target_branch", "labels", "squash", "remove_source_branch"):
        if name in asks:
            row[name] = asks[name]
    for name, kept in (("assignee_ids", "assignees"), ("reviewer_ids", "reviewers")):
        if name in asks:
            row[kept] = [user for user in asks[name] if user in asked.world.users]
    if "milestone_id" in asks:
        row["milestone"] = the_milestone(owner, asks["milestone_id"])
    row["labels"] = [name for name in row["labels"] if name not in asks.get("remove_labels", [])]
    row["labels"] += [name for name in asks.get("add_labels", []) if name not in row["labels"]]
    if "state_event" in asks:
        row["state"] = "closed" if asks["state_event"] == "close" else "opened"
    row["updated_at"] = asked.world.now()
    return Answer(shapes.merge_request(asked.world, owner, row, asked.base, full=True))


MERGE: Kinds = {
    "sha": "str",
    "merge_commit_message": "str",
    "squash_commit_message": "str",
    "squash": "bool",
    "should_remove_source_branch": "bool",
    "auto_merge": "bool",
    "merge_when_pipeline_succeeds": "bool",
    "skip_merge_train": "bool",
}


@route("PUT", "projects/:id/merge_requests/:iid/merge", MERGE)
def merge(asked: Asked) -> Answer:
    owner, row = the_merge_request(asked)
    asks = asked.params
    if asked.role(owner) < DEVELOPER_ROLE:
        raise Refusal(401, {"message": "401 Unauthorized"})
    if row["state"] != "opened" or row["title"].startswith("Draft:"):
        raise Refusal(405, {"message": "405 Method Not Allowed"})
    check_head(asked, row)
    if row.get("conflicts"):
        raise Refusal(422, {"message": "Branch cannot be merged"})
    runs = [run for run in owner.pipelines if run["ref"] == row["source_branch"]]
    running = bool(runs) and runs[-1]["status"] in ("created", "pending", "running")
    if (asks.get("auto_merge") or asks.get("merge_when_pipeline_succeeds")) and running:
        row["auto_merge"] = True
    else:
        now = asked.world.now()
        row |= {"state": "merged", "merged_at": now, "merge_commit_sha": shapes.sha(f"merge {now}")}
        owner.branches[row["target_branch"]] = row["merge_commit_sha"]
        owner.commits[row["merge_commit_sha"]] = {
            **next(iter(owner.commits.values())),
            "id": row["merge_commit_sha"],
            "message": asks.get("merge_commit_message", f"Merge branch '{row['source_branch']}'"),
        }
    return Answer(shapes.merge_request(asked.world, owner, row, asked.base, full=True))


@route("GET", "projects/:id/merge_requests/:iid/pipelines", PAGING)
def merge_request_pipelines(asked: Asked) -> Answer:
    owner, row = the_merge_request(asked)
    runs = [run for run in owner.pipelines if run["ref"] == row["source_branch"]][::-1]
    answer = page(asked, runs, f"projects/{owner.id}/merge_requests/{row['iid']}/pipelines")
    answer.body = [shapes.pipeline_basic(owner, run, asked.base) for run in answer.body]
    return answer
