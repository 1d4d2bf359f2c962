"""A wrong wall clock neither deletes what should be kept nor keeps what should go for ever."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from postil.storage import steady_clock
from postil.storage.sqlite import SqliteState
from postil.storage.steady_clock import Mark, read_now

DAY = 86400.0


class Machine:
    """A machine whose clocks the test sets."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.wall, self.since_boot, self.boot = 1_800_000_000.0, 100.0, 1
        monkeypatch.setattr(time, "time", lambda: self.wall)
        monkeypatch.setattr(steady_clock, "_since_boot", lambda: self.since_boot)
        monkeypatch.setattr(steady_clock, "_find_boot", lambda: self.boot)

    def pass_by(self, seconds: float) -> None:
        self.wall += seconds
        self.since_boot += seconds

    def restart(self) -> None:
        self.since_boot, self.boot = 1.0, self.boot + 1


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(monkeypatch)


def test_while_the_machine_runs_the_date_may_be_set_as_one_likes(machine: Machine) -> None:
    mark = read_now(None)
    machine.wall += 100 * DAY
    assert read_now(mark).time == mark.time, "no time has passed"
    machine.pass_by(60)
    assert read_now(mark).time == mark.time + 60
    machine.wall -= 1000 * DAY
    assert read_now(mark).time == mark.time + 60


def test_over_a_restart_it_goes_on_by_at_most_a_day_and_never_back(machine: Machine) -> None:
    mark = read_now(None)
    machine.restart()
    machine.wall += 3600
    assert read_now(mark).time == mark.time + 3600
    machine.wall += 100 * DAY
    assert read_now(mark).time == mark.time + DAY
    machine.wall = 0
    assert read_now(mark) == Mark(mark.time, 1.0, 2)


def test_how_long_the_machine_ran_counts_only_since_the_same_boot(machine: Machine) -> None:
    mark = read_now(None)
    machine.restart()
    machine.since_boot = mark.since_boot + 5000  # it runs longer than it did then
    machine.wall += 60
    assert read_now(mark).time == mark.time + 60
    machine.boot, machine.since_boot = mark.boot, mark.since_boot - 50  # a clock that no machine should have
    assert read_now(mark).time == mark.time + 60
    machine.since_boot = mark.since_boot
    assert read_now(mark).time == mark.time


@pytest.mark.parametrize("restarts", [False, True])
def test_a_clock_100_days_ahead_deletes_nothing_that_a_right_clock_would_keep(
    tmp_path: Path, machine: Machine, restarts: bool
) -> None:
    path = str(tmp_path / "state.db")
    state = SqliteState(path)
    with state.writing() as changes:
        changes.put("keys", "week", b"", time.time() + 7 * DAY)
        changes.put("keys", "hour", b"", time.time() + 3600)
    state.close()
    machine.wall += 100 * DAY
    if restarts:
        machine.restart()
    state = SqliteState(path)
    with state.writing() as changes:
        assert changes.get("keys", "week") == b""
        changes.put("keys", "another", b"", time.time() + 2 * DAY)  # clears away what has expired
    machine.wall -= 100 * DAY
    with state.reading() as records:
        assert {key for key, _ in records.range("keys")} >= {"week", "another"}
    machine.pass_by(10 * DAY)
    with state.writing() as changes:
        changes.put("keys", "last", b"", time.time() + 60)
    with state.reading() as records:
        assert [key for key, _ in records.range("keys")] == ["last"]
    state.close()


def test_the_clock_is_kept_to_the_millisecond(tmp_path: Path, machine: Machine) -> None:
    machine.since_boot, machine.wall = 2_000_000.5, 1_800_000_000.25
    path = tmp_path / "state.db"
    state = SqliteState(str(path))
    with state.writing() as changes:
        changes.put("keys", "week", b"", time.time() + 7 * DAY)
    state.close()
    with closing(sqlite3.connect(path)) as database:
        kept = dict(database.execute("SELECT name, value FROM counters"))
    assert (kept["clock"], kept["clock boot"], kept["boot"]) == (1_800_000_000_250, 2_000_000_500, 1)
    machine.pass_by(7 * DAY - 1)
    state = SqliteState(str(path))
    with state.reading() as records:
        assert records.get("keys", "week") == b"", "a second is left"
    machine.pass_by(1)
    with state.reading() as records:
        assert records.get("keys", "week") is None
    state.close()


def test_a_boot_is_the_same_for_all_processes_and_another_after_a_restart() -> None:
    boot = Path("/proc/sys/kernel/random/boot_id")
    mark = read_now(None)
    assert mark.boot == (int(boot.read_text().replace("-", "")[:15], 16) if boot.exists() else 0)
    assert mark.boot < 2**63, "it is kept as a number of the database"
