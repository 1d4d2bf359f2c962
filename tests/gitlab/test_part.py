"""The context of the part: what it counts, and what it forgets when GitLab tells of a change."""

from __future__ import annotations

import asyncio

import pytest
from msgspec import Raw

from postil.core.ports import Delivery
from postil.gitlab.instance.connection import Connection, ReadOptions
from postil.gitlab.part import GitLab
from tests.gitlab.scripted import ScriptedInstance, answer

pytestmark = pytest.mark.anyio
KEPT = ReadOptions(cache=True)


def part() -> GitLab:
    return GitLab(Connection(ScriptedInstance(answer({"id": 7})), lambda: "t"))


async def test_answers_and_kept_ones_are_counted_for_the_metrics() -> None:
    gitlab = part()
    for _ in range(3):
        await gitlab.connection.get_one("projects/7", None, KEPT)
    assert gitlab.counts() == {
        'postil_cache_total{state="HIT"}': 2,
        'postil_cache_total{state="MISS"}': 1,
        'postil_cache_total{state="REVALIDATED"}': 0,
        'postil_gitlab_answers_total{status="200"}': 1,
    }


@pytest.mark.parametrize(
    ("number", "path", "states"),
    [(7, "group/app", [2, 2]), (None, "group/app", [2, 2]), (8, "other/app", [1, 1]), (None, "", [2, 2])],
)
async def test_a_change_makes_old_what_was_kept_about_that_project(
    number: int | None, path: str, states: list[int]
) -> None:
    gitlab = part()
    asked: list[int] = []
    for route in ("projects/7", "projects/group%2Fapp"):
        await gitlab.connection.get_one(route, None, KEPT)
        gitlab.forget_changed(Delivery("d", "push", number, path, 0.0, Raw(b"{}")))
        await asyncio.sleep(0)
        before = sum(gitlab.connection.instance.answers.values())
        await gitlab.connection.get_one(route, None, KEPT)
        asked.append(1 + sum(gitlab.connection.instance.answers.values()) - before)
    assert asked == states
    await gitlab.close()
