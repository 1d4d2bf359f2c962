"""`make chaos`: all campaigns, one line each. `--write` puts the table into docs/reliability.md."""

from __future__ import annotations

import argparse
import os
import random
import re
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from postil.storage.postgresql.postgres import PostgresState
from postil.storage.redis_store.redis import RedisState
from postil.storage.sqlite import SqliteState
from tests.chaos.clocks import jump_clocks
from tests.chaos.faults import inject_faults
from tests.chaos.full_disk import fill_disk
from tests.chaos.kills import TARGETS, kill_writers
from tests.chaos.power import SUBJECTS, cut_power
from tests.chaos.stalls import stall_server
from tests.chaos.tears import CACHES, tear_caches
from tests.needs import ROOT
from tests.storage.postgres_server import postgres_server
from tests.storage.redis_server import redis_server

BEGIN, END = "<!-- chaos -->", "<!-- /chaos -->"


class Line(NamedTuple):
    """One campaign."""

    what: str
    tried: str
    bad: int
    more: str


def main() -> int:
    """Run the campaigns. Returns 1 if any found something."""
    reader = argparse.ArgumentParser(prog="make chaos")
    for name, count in (
        ("kills", 1000),
        ("cuts", 200),
        ("stalls", 40),
        ("faults", 8),
        ("tears", 50),
        ("jumps", 50),
        ("disks", 3),
    ):
        reader.add_argument(f"--{name}", type=int, default=count)
    reader.add_argument("--seed", type=int, default=int(time.time()))
    reader.add_argument("--write", action="store_true", help="write the table into docs/reliability.md")
    given = reader.parse_args()
    _use_home_of_its_own()
    print(f"seed {given.seed}", flush=True)
    chance = random.Random(given.seed)
    lines: list[Line] = []

    def note(line: Line) -> None:
        lines.append(line)
        print(f"{line.what}: {line.tried}; bad: {line.bad}; {line.more}", flush=True)

    for name, (target, longest) in TARGETS.items():
        killed = kill_writers(target, given.kills if "git" not in name else given.kills // 5, chance, longest)
        bad = killed.lost + killed.doubled + killed.unreadable
        note(Line(f"kill -9, {name}", f"{killed.kills} kills", bad, f"{killed.acknowledged} acknowledged"))
    for name, subject in SUBJECTS.items():
        cut = cut_power(subject, given.cuts, 60, chance)
        note(
            Line(f"power cut, {name}", f"{cut.tried} cuts", cut.lost + cut.unreadable + cut.wrong, "60 writes recorded")
        )
        faulted = inject_faults(subject, given.faults)
        told = f"{faulted.acknowledged} acknowledged"
        note(Line(f"I/O errors, {name}", f"{faulted.tried} faults", faulted.lost + faulted.unreadable, told))
    for name, cached in CACHES.items():
        torn = tear_caches(cached, given.tears, chance)
        note(Line(f"torn pages, {name}", f"{torn.tears} tears", torn.wrong, f"{torn.noticed} noticed by the check"))
    note(_jump("state (SQLite)", SqliteState(f"{os.environ['HOME']}/jumps.db"), given.jumps, chance))
    with postgres_server() as server:
        note(_jump("PostgreSQL", PostgresState(server.address), given.jumps, chance))
    note(_fill_disks(given.disks, chance))
    note(_stall_postgres(given.stalls, chance))
    note(_stall_redis(given.stalls, chance))
    if given.write:
        _write(lines)
    return 1 if any(line.bad for line in lines) else 0


def _fill_disks(count: int, chance: random.Random) -> Line:
    tried = acknowledged = refused = bad = 0
    for _ in range(count):
        with tempfile.TemporaryDirectory() as folder:
            filled = fill_disk(Path(folder), chance.getrandbits(32))
        if filled is None:
            return Line("a full disk", "0 writes", 0, "skipped: no small disk can be mounted here")
        tried, acknowledged, refused = (
            tried + filled.tried,
            acknowledged + filled.acknowledged,
            refused + filled.refused,
        )
        bad += filled.lost + filled.unreadable + filled.unclear
    return Line("a full disk", f"{tried} writes", bad, f"{acknowledged} acknowledged, {refused} refused")


def _jump(name: str, state: SqliteState | PostgresState, jumps: int, chance: random.Random) -> Line:
    found = jump_clocks(state, jumps, chance)
    state.close()
    return Line(f"clock set 100 days ahead and back, {name}", f"{found.jumps} jumps", found.lost, f"{found.kept} kept")


def _stall_postgres(stalls: int, chance: random.Random) -> Line:
    with postgres_server() as server:
        state = PostgresState(server.address)
        line = _stalled("PostgreSQL", lambda: stall_server(state, server.pause, server.go_on, stalls, chance))
        state.close()
    return line


def _stall_redis(stalls: int, chance: random.Random) -> Line:
    with redis_server() as server:
        state = RedisState(server.address)
        line = _stalled("Redis", lambda: stall_server(state, server.pause, server.go_on, stalls, chance))
        state.close()
    return line


def _stalled(name: str, run: Callable[[], object]) -> Line:
    from tests.chaos.stalls import Stalled

    found = run()
    assert isinstance(found, Stalled)
    told = f"{found.acknowledged} acknowledged, {found.refused} refused, {found.unknown} said to be unknown"
    return Line(f"stalls, {name}", f"{found.stalls} stalls", found.lost + found.denied, told)


def _use_home_of_its_own() -> None:
    home = tempfile.mkdtemp(prefix="postil-chaos-home-")
    who = {"NAME": "chaos", "EMAIL": "chaos@example.org"}
    os.environ.update({f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER") for what, value in who.items()})
    os.environ.update({"HOME": home, "XDG_STATE_HOME": home, "XDG_CACHE_HOME": home, "XDG_CONFIG_HOME": home})


def _write(lines: list[Line]) -> None:
    page = ROOT / "docs" / "reliability.md"
    rows = [f"| {line.what} | {line.tried} | {line.bad} | {line.more} |" for line in lines]
    table = "\n".join(
        ["| tried | how often | lost, doubled, denied, unreadable or wrong | |", "|---|---|---:|---|", *rows]
    )
    text = page.read_text(encoding="utf-8")
    text = re.sub(f"{BEGIN}.*?{END}", f"{BEGIN}\n{table}\n{END}", text, flags=re.DOTALL)
    Path(page).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
