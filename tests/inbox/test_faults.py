"""When the disk itself fails in the middle of a send: never an acknowledgement, never a damaged database."""

import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.inbox.people import BIN, Person


@pytest.mark.slow
@pytest.mark.parametrize(
    ("call", "error", "step"),
    [("fsync,fdatasync", "EIO", 1), ("pwrite64", "ENOSPC", 3), ("pwrite64", "EIO", 4), ("ftruncate", "EIO", 1)],
)
def test_every_failing_call_is_reported_and_nothing_is_damaged(
    person: Person, needs: Callable[[str], str], tmp_path: Path, call: str, error: str, step: int
) -> None:
    strace = needs("strace")
    person.send("before")
    failures = 0
    for number in range(1, 100, step):
        fault = f"inject={call}:error={error}:when={number}"
        words = [str(BIN / "postil"), "inbox", "send", "-f", "a.txt", "-c", f"remark {number}"]
        done = subprocess.run(
            [strace, "-f", "-qq", "-e", f"trace={call}", "-e", fault, "-o", str(tmp_path / "trace"), *words],
            cwd=person.root,
            env=person.environment,
            capture_output=True,
            text=True,
            timeout=60,
        )
        comments = [message["comment"] for message in person.messages()]
        assert comments[0] == "before"
        if done.returncode == 0:
            assert comments[-1] == f"remark {number}"  # acknowledged means stored
            if "INJECTED" not in (tmp_path / "trace").read_text():
                break
        else:
            failures += 1
            assert done.returncode == 7, done.stderr
            assert "#" not in done.stdout
            assert len(done.stderr.strip().splitlines()) >= 2
    else:
        pytest.fail("there was always one more call to fail")
    assert failures
    database = person.state / "postil" / "state.db"
    connection = sqlite3.connect(database)
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()
