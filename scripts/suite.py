"""Run the whole suite; what fails beside the others is run once more, alone.

A machine with two busy cores now and then lets a test wait longer than its bound. Such a test must pass by itself, is
named at the end, and more than `MOST_UNSTEADY` of them are a failure: a test that is wrong fails both times.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

MOST_UNSTEADY = 3
REMEMBERED = Path(".pytest_cache/v/cache/lastfailed")
FAILED = 1
"""The exit status of pytest that says: tests ran, and some failed."""


def run_suite(arguments: list[str]) -> int:
    """Run pytest with these arguments, then the failed tests again. Returns the exit status."""
    pytest = [sys.executable, "-m", "pytest"]
    REMEMBERED.unlink(missing_ok=True)  # a failure of yesterday must not be taken for one of this run
    status = subprocess.call([*pytest, *arguments])
    failed = find_failed() if status == FAILED else []
    if not 0 < len(failed) <= MOST_UNSTEADY:
        return status
    print(f"\nAgain, alone: {', '.join(failed)}", flush=True)
    status = subprocess.call([*pytest, "-n", "0", *failed])
    if status == 0:
        print(f"Unsteady, passed alone: {', '.join(failed)}", flush=True)
    return status


def find_failed() -> list[str]:
    """Returns the tests that failed in the last run, as pytest remembers them."""
    return sorted(json.loads(REMEMBERED.read_bytes())) if REMEMBERED.exists() else []


if __name__ == "__main__":
    sys.exit(run_suite(sys.argv[1:]))
