"""A bounded part of the campaign of hostile bodies; `make hostile-gitlab` makes 50,000 calls."""

from __future__ import annotations

import asyncio
import os

from tests.gitlab.hostile_bodies import attack

CALLS = int(os.environ.get("POSTIL_HOSTILE_CALLS", "1500"))


def test_no_body_makes_an_operation_crash_or_tell_its_token() -> None:
    ended = asyncio.run(attack(CALLS, seed=7))
    assert sum(ended.values()) == CALLS
    assert min(ended["answered"], ended["failed"]) > CALLS // 10  # both ways were taken
