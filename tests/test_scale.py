"""The simulation of many teams gives more machines to more teams, and keeps its own page true."""

from __future__ import annotations

from scripts.scale import Load, plan, show, simulate
from tests.needs import ROOT


def test_more_teams_need_no_fewer_machines_and_states() -> None:
    plans = [plan(Load(teams)) for teams in (10, 1000, 20_000)]
    assert [one.machines for one in plans] == sorted(one.machines for one in plans)
    assert [one.shards for one in plans] == sorted(one.shards for one in plans)
    assert plans[0].machines == 2  # one may die
    assert all(one.p99 <= 250 for one in plans)


def test_a_queue_that_is_too_full_is_seen() -> None:
    calm, full = simulate(Load(100), 2, 1, 1)[1], simulate(Load(3000), 2, 1, 1)[1]
    assert full > 10 * calm


def test_the_page_shows_what_the_simulation_says() -> None:
    assert show([plan(Load(teams)) for teams in (10, 1000, 100_000)]) in (ROOT / "docs" / "scale.md").read_text()
