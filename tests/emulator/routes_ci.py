"""Telling CI what to do, and what its tests said."""

from __future__ import annotations

from tests.emulator import shapes
from tests.emulator.params import Refusal, Row
from tests.emulator.routes_code import the_pipeline
from tests.emulator.routing import DEVELOPER_ROLE, Answer, Asked, route
from tests.emulator.world import Project

CANCELABLE = ("created", "pending", "running", "manual", "scheduled")


@route("POST", "projects/:id/pipelines/:pipeline_id/retry")
def retry_pipeline(asked: Asked) -> Answer:
    asked.project(DEVELOPER_ROLE)
    owner, row = the_pipeline(asked)
    for job in owner.jobs:
        if job["pipeline"] == row["id"] and job["status"] in ("failed", "canceled"):
            job["status"] = "pending"
    row["status"] = "running"
    return Answer(shapes.pipeline(asked.world, owner, row, asked.base), 201)


@route("POST", "projects/:id/pipelines/:pipeline_id/cancel")
def cancel_pipeline(asked: Asked) -> Answer:
    asked.project(DEVELOPER_ROLE)
    owner, row = the_pipeline(asked)
    if row["status"] in CANCELABLE:
        row["status"] = "canceled"
    return Answer(shapes.pipeline(asked.world, owner, row, asked.base))


def the_job(asked: Asked) -> tuple[Project, Row]:
    owner = asked.project(DEVELOPER_ROLE)
    found = next((row for row in owner.jobs if row["id"] == asked.number("job_id")), None)
    if found is None:
        raise Refusal(404, {"message": "404 Not found"})
    return owner, found


@route("GET", "projects/:id/jobs/:job_id")
def one_job(asked: Asked) -> Answer:
    owner, row = the_job(asked)
    return Answer(shapes.job(asked.world, owner, row, asked.base))


@route("POST", "projects/:id/jobs/:job_id/retry", {"job_variables_attributes": "list"})
def retry_job(asked: Asked) -> Answer:
    owner, row = the_job(asked)
    if row["status"] not in ("success", "failed", "canceled"):
        raise Refusal(403, {"message": "403 Forbidden  - Job is not retryable"})
    again = asked.world.add_job(owner, {"id": row["pipeline"]}, row["name"], row["stage"], "pending", "")
    return Answer(shapes.job(asked.world, owner, again, asked.base), 201)


@route("POST", "projects/:id/jobs/:job_id/cancel", {"force": "bool"})
def cancel_job(asked: Asked) -> Answer:
    owner, row = the_job(asked)
    if row["status"] in CANCELABLE:
        row["status"] = "canceled"
    return Answer(shapes.job(asked.world, owner, row, asked.base), 201)


@route("POST", "projects/:id/jobs/:job_id/play", {"job_variables_attributes": "list"})
def play_job(asked: Asked) -> Answer:
    owner, row = the_job(asked)
    if row["status"] not in ("manual", "scheduled"):
        raise Refusal(400, {"message": "400 Bad request - Unplayable Job"})
    row |= {"status": "pending", "variables": asked.params.get("job_variables_attributes", [])}
    return Answer(shapes.job(asked.world, owner, row, asked.base))


def count(cases: list[Row]) -> Row:
    by = {name: sum(case["status"] == name for case in cases) for name in ("success", "failed", "skipped", "error")}
    return by | {"count": len(cases)}


@route("GET", "projects/:id/pipelines/:pipeline_id/test_report_summary")
def report_summary(asked: Asked) -> Answer:
    owner, row = the_pipeline(asked)
    suites = owner.reports.get(row["id"], [])
    whole = count([case for suite in suites for case in suite["test_cases"]])
    total = {"time": sum(suite["time"] for suite in suites), **whole, "suite_error": None}
    shown = [
        {"name": suite["name"], "total_time": suite["time"], "build_ids": [1], "suite_error": None}
        | {f"{name}_count" if name != "count" else "total_count": n for name, n in count(suite["test_cases"]).items()}
        for suite in suites
    ]
    return Answer({"total": total, "test_suites": shown})


@route("GET", "projects/:id/pipelines/:pipeline_id/test_report")
def report(asked: Asked) -> Answer:
    owner, row = the_pipeline(asked)
    suites = owner.reports.get(row["id"], [])
    whole = count([case for suite in suites for case in suite["test_cases"]])
    shown = [
        {"name": suite["name"], "total_time": suite["time"], "suite_error": None, "test_cases": suite["test_cases"]}
        | {f"{name}_count" if name != "count" else "total_count": n for name, n in count(suite["test_cases"]).items()}
        for suite in suites
    ]
    total = {f"{name}_count" if name != "count" else "total_count": n for name, n in whole.items()}
    return Answer({"total_time": sum(suite["time"] for suite in suites), **total, "test_suites": shown})
