"""Nothing acknowledged is lost in a power cut, by our own model of a disk; and the model finds what syncs prevent."""

from __future__ import annotations

import random

import pytest

from tests.chaos.power import SUBJECTS, cut_power, run_without_sync


@pytest.mark.parametrize("name", SUBJECTS)
def test_nothing_acknowledged_is_lost_or_shown_wrong_after_a_power_cut(name: str) -> None:
    found = cut_power(SUBJECTS[name], 30, 16, random.Random(16))
    assert (found.lost, found.unreadable, found.wrong) == (0, 0, 0)


@pytest.mark.parametrize("name", SUBJECTS)
def test_without_syncs_the_same_cuts_lose_data(name: str) -> None:
    found = run_without_sync(SUBJECTS[name], 15, random.Random(16))
    assert found.lost + found.unreadable + found.wrong > 0
