"""`make replicas`: the whole promise of many replicas, by the clock. Ends with 1 if anything that was told is not so.

Three replicas behind nginx or Caddy on PostgreSQL and Redis; one is killed every two seconds; PostgreSQL is restarted
twice and hangs for three seconds ten times, spread over the calls.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from tests.conftest import GIT_CONFIG
from tests.storage.postgres_server import PostgresServer, postgres_server
from tests.storage.redis_server import redis_server
from tests.surfaces import replicas as helpers
from tests.surfaces.programs import run
from tests.surfaces.proxy import RoundRobin
from tests.surfaces.real_proxies import Caddy, Nginx
from tests.surfaces.replicas import Replicas, call_meanwhile

PROXIES = {"nginx": Nginx, "caddy": Caddy, "round-robin": RoundRobin}
STALLS, RESTARTS = 10, 2


def main() -> int:
    """Run it and print what came of it."""
    reader = argparse.ArgumentParser(prog="make replicas")
    reader.add_argument("--calls", type=int, default=20_000)
    reader.add_argument("--proxy", choices=sorted(PROXIES), default="nginx")
    reader.add_argument("--kill-every", type=float, default=2.0)
    given = reader.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="postil-replicas-") as base,
        redis_server() as redis,
        postgres_server() as pg,
    ):
        folder = _prepare(Path(base))
        replicas = Replicas(
            folder, redis, PROXIES[given.proxy], POSTIL_CONFIG=f"{base}/postil.toml", POSTIL_STATE=pg.address
        )
        helpers.KILL_SECONDS = given.kill_every
        over, begun = threading.Event(), time.monotonic()
        made: list[int] = [0]
        disturber = threading.Thread(target=_disturb, args=[pg, given.calls, made, over])
        disturber.start()

        def count() -> None:
            made[0] += 1

        try:
            ledger, kills = call_meanwhile(replicas, given.calls, replicas.kill_one, count)
            verified = run("postil", "audit", "verify", cwd=folder, **replicas.environ)
        except AssertionError as wrong:
            print(f"not so: {str(wrong)[:2000]}")
            return 1
        finally:
            over.set()
            disturber.join(60)
            pg.go_on()
            replicas.close()
    print(f"{given.proxy}: {given.calls} calls in {time.monotonic() - begun:.0f} s, {kills} kills, {STALLS} stalls of")
    print(f"3 s, {RESTARTS} restarts: {len(ledger.acknowledged)} writes acknowledged, {len(ledger.denied)} refused,")
    print(f"{len(ledger.unknown)} said to be unknown; lost: 0; doubled: 0; falsely denied: 0")
    print(verified.stdout.strip().splitlines()[-1] if verified.stdout else verified.stderr)
    return verified.returncode


def _prepare(base: Path) -> Path:
    """A home of its own, settings without a limit, and a repository."""
    home, folder = base / "home", base / "repository"
    home.mkdir()
    (home / "gitconfig").write_text(GIT_CONFIG)
    os.environ.update({"HOME": str(home), "GIT_CONFIG_GLOBAL": str(home / "gitconfig")})
    os.environ.update({f"XDG_{name}_HOME": str(home / name.lower()) for name in ("CONFIG", "STATE", "CACHE")})
    (base / "postil.toml").write_text("[limits]\nper_minute = 0\n")
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    (folder / "a.py").write_text("one = 1\n")
    return folder


def _disturb(postgres: PostgresServer, calls: int, made: list[int], over: threading.Event) -> None:
    """Stop PostgreSQL for three seconds ten times, and restart it twice, spread over the calls."""
    turns = STALLS + RESTARTS
    for turn in range(1, turns + 1):
        while made[0] < calls * turn // (turns + 1):
            if over.wait(0.1):
                return
        if turn % (turns // RESTARTS) == 0:
            postgres.stop()
            postgres.start()
        else:
            postgres.pause()
            over.wait(3.0)
            postgres.go_on()


if __name__ == "__main__":
    sys.exit(main())
