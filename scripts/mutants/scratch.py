"""The folder of a judge: removed when it ends, also by a signal; what a killed one left is removed by the next."""

import fcntl
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_ALIVE = "alive"
"""The file that a judge holds locked. Its forks hold it too: a folder is not taken from one that still runs."""


def end_by_signal() -> None:
    """Let SIGTERM end this process as Ctrl-C does: what was begun is left orderly."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


@contextmanager
def make_folder(prefix: str) -> Iterator[Path]:
    """Yields a new folder for temporary files, after those of judges that were killed are gone."""
    remove_left(prefix)
    with tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True) as folder:
        made = Path(folder, "new")
        with open(made, "wb") as alive:
            fcntl.flock(alive, fcntl.LOCK_EX)
            made.rename(made.with_name(_ALIVE))  # held from the first moment in which another can see it
            yield Path(folder)


def remove_left(prefix: str) -> None:
    """Remove the folders that no judge holds any more, and end the servers that still run in them."""
    for alive in Path(tempfile.gettempdir()).glob(f"{prefix}*/{_ALIVE}"):
        try:
            with open(alive, "rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:  # somebody is at work there, or has just ended
            continue
        end_servers(alive.parent)
        shutil.rmtree(alive.parent, ignore_errors=True)


def end_servers(folder: Path) -> None:
    """End what a test started in a session of its own, as PostgreSQL is: it names a folder below this one."""
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if f"{folder}/".encode() in each.read_bytes():
                os.kill(int(each.parent.name), signal.SIGKILL)
        except OSError:  # it has ended
            continue
