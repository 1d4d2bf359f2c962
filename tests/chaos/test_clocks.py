"""A small part of the campaign of clock jumps."""

from __future__ import annotations

import random
from pathlib import Path

from postil.storage.sqlite import SqliteState
from tests.chaos.clocks import jump_clocks


def test_a_date_set_ahead_and_back_forgets_nothing(tmp_path: Path) -> None:
    state = SqliteState(str(tmp_path / "state.db"))
    assert jump_clocks(state, 12, random.Random(16)).lost == 0
    state.close()
