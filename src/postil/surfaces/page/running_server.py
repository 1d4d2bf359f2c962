"""Which server serves the page of a workspace: a note in the user's state folder, for the next `postil open`.

The note holds the server's token, as the terminal that started it shows it; like the state itself it is the user's
alone. A note whose server does not answer is old and is thrown away.
"""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from postil.core import limits
from postil.core.failure import Failure
from postil.core.others.unreadable import UNREADABLE
from postil.settings.model import Settings
from postil.workspace.disk import read_whole
from postil.workspace.files import FileLock, atomic_write
from postil.workspace.paths import RelativePath
from postil.workspace.repository import Repository, locate

FOLDER = "pages"
PATIENCE = 1.0


class Running(Struct, frozen=True):
    """A server that was started."""

    process: int
    base: str
    token: str


def find_workspace(settings: Settings) -> Repository:
    """Returns the repository; outside of any the folder stands for one."""
    found = locate(settings.cwd)
    if found is not None:
        return found
    folder = os.path.realpath(settings.cwd)
    return Repository(folder, folder, folder, bare=True)


def lock_start(settings: Settings) -> FileLock:
    """Returns the lock under which a server is looked for and started, so that two commands start one."""
    return FileLock(os.path.join(_folder(settings), f"{find_workspace(settings).key}.lock"), timeout=60.0)


def read_note(settings: Settings) -> Running | None:
    """Returns the server that was noted last, whether it still lives or not."""
    try:
        return msgspec.json.decode(read_whole(_path(settings), limits.SETTINGS), type=Running)
    except (OSError, *UNREADABLE):
        return None


def write_note(settings: Settings, running: Running) -> None:
    """Note a server, unless another one is noted and lives. One that cannot be noted serves all the same."""
    noted = read_note(settings)
    if noted is not None and noted.process != running.process and _lives(noted):
        return
    folder = _folder(settings)
    with suppress(Failure, OSError):
        os.makedirs(folder, mode=0o700, exist_ok=True)
        name = os.path.basename(_path(settings))
        if not os.path.exists(_path(settings)):
            os.close(os.open(_path(settings), os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        atomic_write(folder, RelativePath(name), msgspec.json.encode(running))


def _lives(noted: Running) -> bool:
    try:
        address = urlsplit(noted.base)
        os.kill(noted.process, 0)
        socket.create_connection((address.hostname or "", address.port or 0), PATIENCE).close()
    except (OSError, ValueError, OverflowError):
        return False
    return True


def drop_note(settings: Settings, process: int) -> None:
    """Throw the note away, if it is about this process."""
    noted = read_note(settings)
    if noted is not None and noted.process == process:
        with suppress(OSError):
            os.unlink(_path(settings))


def log_path(settings: Settings) -> str:
    """Returns where a server in the background writes what it would say."""
    return os.path.join(_folder(settings), f"{find_workspace(settings).key}.log")


def _folder(settings: Settings) -> str:
    return os.path.join(settings.folders.state, FOLDER)


def _path(settings: Settings) -> str:
    return os.path.join(_folder(settings), f"{find_workspace(settings).key}.json")
