"""A real PostgreSQL that the tests start themselves, on a socket of its own, never as root."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import psycopg

from tests.needs import ROOT, needs

NOBODY = 65534
EMPTY = ROOT / "build"
"""Where an empty cluster is kept: to copy one takes a third of the time of making one."""
# Durable, and small: many of these may run beside each other.
OPTIONS = {
    "listen_addresses": "",
    "shared_buffers": "8MB",
    "max_connections": "40",
    "jit": "off",
    "autovacuum": "off",
    "max_wal_size": "64MB",
}


class PostgresServer:
    """One server that can be stopped for a while, killed, restarted and emptied."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.address = f"postgresql:///postgres?host={folder}&user=postil"
        self._process: subprocess.Popen[bytes] | None = None
        self._initdb, self._postgres = _programs(folder)

    def create(self) -> None:
        """Make an empty cluster: a copy of the first one that was made with this program."""
        kept = EMPTY / f"postgres-{os.geteuid()}-{os.stat(needs('initdb')).st_mtime_ns}"
        if kept.is_dir():
            subprocess.run(["cp", "-a", kept, self.data], check=True)
            return
        command = [self._initdb, "-D", str(self.data), "-U", "postil", "-A", "trust", "-N", "-E", "UTF8", "--locale=C"]
        with open(self.folder / "log", "ab") as log:
            assert _spawn([*command, "--wal-segsize=1"], log).wait() == 0, (self.folder / "log").read_text()
        EMPTY.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=EMPTY) as new, suppress(OSError):  # another was first
            subprocess.run(["cp", "-a", self.data, f"{new}/data"], check=True)
            os.rename(f"{new}/data", kept)

    def start(self) -> None:
        """Start it, unless it runs; wait until it answers."""
        if self._process is not None:
            return
        with suppress(FileNotFoundError):
            (self.data / "postmaster.pid").unlink()
        options = [word for name, value in OPTIONS.items() for word in ("-c", f"{name}={value}")]
        command = [self._postgres, "-D", str(self.data), "-k", str(self.folder), *options]
        with open(self.folder / "log", "ab") as log:
            self._process = _spawn(command, log)
        end = time.monotonic() + 60
        while True:
            try:
                psycopg.connect(self.address, connect_timeout=5).close()
                return
            except psycopg.OperationalError:
                assert time.monotonic() < end, (self.folder / "log").read_text()
                time.sleep(0.02)

    def execute(self, statement: str) -> list[Any]:
        with psycopg.connect(self.address, autocommit=True) as connection:
            cursor = connection.execute(statement.encode())  # bytes: its texts are typed for literals alone
            return cursor.fetchall() if cursor.description else []

    def clear(self) -> None:
        """Remove all tables of ours."""
        names = self.execute("SELECT tablename FROM pg_tables WHERE tablename LIKE 'postil_%'")
        if names:
            self.execute(f"DROP TABLE {', '.join(name for (name,) in names)}")

    def stop(self) -> None:
        """End it, as an administrator does who does not wait for clients."""
        self._end(signal.SIGINT, self._members()[:1])

    def kill(self) -> None:
        """End all of its processes at once, as a crash does."""
        self._end(signal.SIGKILL, self._members())

    def pause(self) -> None:
        """All of its processes hang: connections are taken, and nothing is answered."""
        for process in self._members():
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGSTOP)

    def go_on(self) -> None:
        for process in self._members():
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGCONT)

    def _members(self) -> list[int]:
        """The server and its children, each of which has a session of its own; none where it does not run."""
        if self._process is None:
            return []
        leader, found = self._process.pid, [self._process.pid]
        for entry in Path("/proc").iterdir():
            with suppress(OSError, ValueError, IndexError):
                if entry.name.isdigit() and int((entry / "stat").read_text().rpartition(")")[2].split()[1]) == leader:
                    found.append(int(entry.name))
        return found

    def _end(self, by: signal.Signals, processes: list[int]) -> None:
        for process in processes:
            with suppress(ProcessLookupError):
                os.kill(process, by)
        if self._process is not None:
            self._process.wait(60)
            self._process = None


@contextmanager
def postgres_server() -> Generator[PostgresServer]:
    # A short folder: the path of a socket has at most 108 bytes.
    with tempfile.TemporaryDirectory(prefix="postil-") as folder:
        if os.geteuid() == 0:
            os.chown(folder, NOBODY, NOBODY)
        server = PostgresServer(Path(folder))
        server.create()
        server.start()
        try:
            yield server
        finally:
            server.go_on()
            server.kill()


def _spawn(command: list[str], output: IO[bytes]) -> subprocess.Popen[bytes]:
    """Start a program; PostgreSQL refuses to run as root, so there it runs as nobody."""
    is_root = os.geteuid() == 0
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        start_new_session=True,
        env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"},
        cwd="/",
        user=NOBODY if is_root else None,
        group=NOBODY if is_root else None,
        extra_groups=[] if is_root else None,
    )


def _programs(folder: Path) -> tuple[str, str]:
    """Both programs; from a copy where nobody cannot reach the checkout (such as under /root)."""
    initdb, postgres = needs("initdb"), needs("postgres")
    with open(os.devnull, "wb") as nothing:
        if _spawn(["test", "-x", initdb], nothing).wait() == 0:
            return initdb, postgres
    tools = Path(initdb).parents[1]
    copy = folder / "tools"
    for below in ("usr/lib", "usr/share"):
        shutil.copytree(tools / "root" / below, copy / "root" / below, symlinks=True, dirs_exist_ok=True)
    (copy / "bin").mkdir()
    for program in (initdb, postgres):
        starter = copy / "bin" / Path(program).name
        starter.write_text(Path(program).read_text().replace(str(tools), str(copy)))
        starter.chmod(0o755)
    return str(copy / "bin" / "initdb"), str(copy / "bin" / "postgres")
