"""Whether a write would succeed is told without making one."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from postil.core.failure import Failure
from postil.core.ports import State
from postil.storage import writable
from postil.storage.failures import StateAway, StateFull
from postil.storage.memory import MemoryState
from postil.storage.sqlite import SqliteState
from postil.storage.writable import check_writable
from tests.storage.states import postgres, redis, state
from tests.storage.test_idempotency import Faulty

__all__ = ["postgres", "redis", "state"]  # fixtures


def test_a_state_that_works_is_writable_and_nothing_is_written(state: State, tmp_path: Path) -> None:
    check_writable(state, "x://")
    before = state.version()
    check_writable(state, "x://")
    assert state.version() == before
    with state.reading() as records:
        assert records.count("health") == 0


def test_one_that_is_away_full_or_closed_to_us_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    away = Faulty()
    away.away = StateAway("stopped")
    with pytest.raises(StateAway):
        check_writable(away, "x://")
    path = str(tmp_path / "folder" / "state.db")
    state = SqliteState(path)
    check_writable(state, path)
    monkeypatch.setattr(writable, "LEAST_FREE", 1 << 62)
    with pytest.raises(StateFull):
        check_writable(state, path)
    state.close()
    if os.geteuid():  # nothing is closed to root
        os.chmod(path, 0o400)
        with pytest.raises(Failure):
            check_writable(SqliteState(path), path)


def test_a_disk_is_full_below_the_least_that_must_be_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def say(free: int) -> None:
        def statvfs(folder: str) -> SimpleNamespace:
            asked.append(folder)
            return SimpleNamespace(f_bavail=free, f_frsize=1)

        monkeypatch.setattr(os, "statvfs", statvfs)

    say(4 * 1024 * 1024)
    check_writable(MemoryState(), "state.db")
    say(4 * 1024 * 1024 - 1)
    with pytest.raises(StateFull):
        check_writable(MemoryState(), "state.db")
    check_writable(MemoryState(), "redis://host")
    assert asked == [".", "."], "the disk of a server is not ours to ask"
