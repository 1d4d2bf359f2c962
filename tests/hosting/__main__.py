"""`make hosts`: one workspace on three hosts that are killed and paused. Ends with 1 if anything was not so."""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from pathlib import Path

from tests.conftest import GIT_CONFIG
from tests.hosting.campaign import make_trouble
from tests.hosting.hosts import Hosts
from tests.storage.postgres_server import postgres_server


def main() -> int:
    """Run the campaign and print what came of it."""
    reader = argparse.ArgumentParser(prog="make hosts")
    reader.add_argument("--writes", type=int, default=1000)
    reader.add_argument("--troubles", type=int, default=60)
    reader.add_argument("--seed", type=int, default=int(time.time()))
    given = reader.parse_args()
    with tempfile.TemporaryDirectory(prefix="postil-hosts-") as base, postgres_server() as postgres:
        home = Path(base) / "home"
        home.mkdir()
        (home / "gitconfig").write_text(GIT_CONFIG)
        os.environ.update({"HOME": str(home), "GIT_CONFIG_GLOBAL": str(home / "gitconfig")})
        os.environ.update({f"XDG_{name}_HOME": str(home / name.lower()) for name in ("CONFIG", "STATE", "CACHE")})
        print(f"seed {given.seed}", flush=True)
        hosts = Hosts(Path(base), postgres)
        try:
            told = make_trouble(hosts, postgres, given.writes, given.troubles, random.Random(given.seed))
        finally:
            hosts.close()
    waits = sorted(told.waits)
    print(f"{told.kills} kills, {told.pauses} pauses; {len(told.acknowledged)} writes acknowledged")
    print(f"{len(told.denied)} refused, {len(told.unknown)} said to be unknown")
    print(f"taken over after {waits[len(waits) // 2]:.1f} s, at most {waits[-1]:.1f} s")
    print(f"lost: {told.lost}; doubled: {told.doubled}; falsely denied: {told.falsely_denied}")
    return 1 if told.lost or told.doubled or told.falsely_denied else 0


if __name__ == "__main__":
    sys.exit(main())
