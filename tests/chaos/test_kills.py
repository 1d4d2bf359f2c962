"""A writer that is killed at any moment has lost nothing that it acknowledged."""

from __future__ import annotations

import random

import pytest

from tests.chaos.kills import TARGETS, kill_writers


@pytest.mark.parametrize("name", TARGETS)
def test_killed_writers_lose_and_double_nothing(name: str) -> None:
    target, longest = TARGETS[name]
    found = kill_writers(target, 12, random.Random(7), longest)
    assert (found.kills, found.lost, found.doubled, found.unreadable) == (12, 0, 0, 0)
