"""Received events: each caller sees what GitLab lets them read, and no more."""

from __future__ import annotations

from typing import Any, cast

import pytest

from postil.core import call
from postil.core.call import Call, Caller
from postil.core.failure import Failure
from postil.core.ports import Delivery
from postil.gitlab.events import EventLog
from postil.gitlab.failures import GitLabFailure
from postil.gitlab.instance.connection import Connection
from postil.gitlab.policy.event_reach import filter_visible, is_confidential
from tests.emulator.world import DEVELOPER, STRANGER
from tests.gitlab.conftest import Connect
from tests.gitlab.kept_events import GUEST_TOKEN, PROJECT, delivered

pytestmark = pytest.mark.anyio


async def seen(connect: Connect, log: EventLog, principal: str, token: str) -> list[str]:
    call.enter(Call(Caller(principal, surface="http", credential=token)))
    try:
        return [one.id for one in (await connect(events=log).events.list_webhook_events(PROJECT)).events]
    finally:
        call.enter(Call())


async def test_a_guest_sees_neither_confidential_issues_nor_pushes(connect: Connect, log: EventLog) -> None:
    assert await seen(connect, log, "gitlab:host:900", GUEST_TOKEN) == ["open"]


async def test_who_may_read_a_confidential_issue_sees_its_events(connect: Connect, log: EventLog) -> None:
    assert await seen(connect, log, "gitlab:host:456", DEVELOPER) == ["push", "marked", "secret", "open"]


async def test_a_stranger_sees_nothing_of_the_project(connect: Connect, log: EventLog) -> None:
    with pytest.raises(Failure):
        await seen(connect, log, "gitlab:host:1", STRANGER)


async def test_the_local_user_sees_all(connect: Connect, log: EventLog) -> None:
    assert len(await seen(connect, log, call.LOCAL, DEVELOPER)) == 6


class Asked:
    """A connection that may read only some routes."""

    def __init__(self, *readable: str, refusal: int = 404) -> None:
        self.readable, self.refusal = readable, refusal
        self.asked: list[tuple[str, object]] = []

    async def get(self, path: str, query: object = None) -> None:
        self.asked.append((path, query))
        if path not in self.readable:
            raise GitLabFailure(self.refusal, "no")


async def reach(gitlab: Asked, *found: Delivery) -> list[str]:
    return [one.id for one in await filter_visible(cast("Connection", gitlab), "projects/7", found)]


async def test_each_kind_is_asked_for_once_and_a_confidential_issue_by_itself() -> None:
    gitlab = Asked("projects/7/issues", "projects/7/repository/tree", "projects/7/issues/5")
    secret = {"object_attributes": {"iid": 5, "confidential": True}}
    found = [
        delivered("a", "issues"),
        delivered("b", "issues"),
        delivered("c", "push"),
        delivered("d", "pipelines"),
        delivered("e", "issues", **secret),
        delivered("f", "Deployment Hook"),
    ]
    assert await reach(gitlab, *found) == ["a", "b", "c", "e"]
    assert sorted(gitlab.asked, key=str) == [
        ("projects/7/issues", {"per_page": 1}),
        ("projects/7/issues/5", None),
        ("projects/7/pipelines", {"per_page": 1}),
        ("projects/7/repository/tree", {"per_page": 1}),
    ]


@pytest.mark.parametrize("refusal", [401, 403, 404])
async def test_what_gitlab_refuses_is_not_shown(refusal: int) -> None:
    assert await reach(Asked(refusal=refusal), delivered("a", "wiki"), delivered("b", "merge_requests")) == []


@pytest.mark.parametrize("refusal", [400, 402, 405, 500])
async def test_any_other_failure_is_told(refusal: int) -> None:
    with pytest.raises(GitLabFailure):
        await reach(Asked(refusal=refusal), delivered("a", "wiki"))


async def test_a_confidential_thing_without_a_number_is_nobodys() -> None:
    gitlab = Asked("projects/7/issues")
    assert await reach(gitlab, delivered("a", "issues", event_type="confidential_issue")) == []
    assert ("projects/7/issues/0", None) in gitlab.asked


@pytest.mark.parametrize(
    ("body", "secret"),
    [
        ({"object_attributes": {"confidential": True}}, True),
        ({"object_attributes": {"internal": True}}, True),
        ({"event_type": "confidential_issue"}, True),
        ({"event_type": "issue", "object_attributes": {"confidential": False}}, False),
        ({}, False),
    ],
)
def test_gitlab_says_in_three_ways_that_a_thing_is_confidential(body: dict[str, Any], secret: bool) -> None:
    assert is_confidential(delivered("a", "issues", **body)) is secret
