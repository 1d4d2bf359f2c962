"""Who this clone is among the writers: its replica id.

Kept beside the repository and made anew when the clone was copied.
"""

from __future__ import annotations

import os

import msgspec

from postil.workspace.disk import read_regular
from postil.workspace.files import FileLock, atomic_write, make_folder
from postil.workspace.paths import RelativePath
from postil.workspace.repository import Repository

_FILE = RelativePath("postil/tracker.json")
_ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"


class Replica(msgspec.Struct, frozen=True):
    """This clone as a writer."""

    id: str
    home: int
    """The inode of the git directory: another one means that the file was copied here with the clone."""
    branches: bool = False
    """Whether the log is a branch, for hosts that refuse other refs."""
    former: tuple[str, ...] = ()
    """The names under which this clone wrote before."""


def lock_writes(repository: Repository) -> FileLock:
    """Returns the lock that one writer at a time holds in this clone; the kernel frees it if its holder dies."""
    return FileLock(
        os.path.join(repository.postil_folder(), "tracker.lock"), timeout=30.0, folder=repository.common_dir
    )


def read_replica(repository: Repository) -> Replica | None:
    """Returns who this clone is; None before it ever wrote, or when it is a copy of the clone that did."""
    replica = _read_file(repository)
    return replica if replica is not None and replica.home == _identify_folder(repository) else None


def ensure_replica(repository: Repository) -> Replica:
    """Returns who this clone is, made on the first need. Call with the writing lock held."""
    return read_replica(repository) or make_replica(repository)


def make_replica(repository: Repository, branches: bool | None = None) -> Replica:
    """Returns a new identity for this clone, kept from now on."""
    before = _read_file(repository)
    home = _identify_folder(repository)
    if branches is None:
        branches = before is not None and before.branches
    former = (*before.former[-15:], before.id) if before is not None and before.home == home else ()
    name = "".join(_ALPHABET[byte & 31] for byte in os.urandom(13))
    return write_replica(repository, Replica(name, home, branches, former))


def write_replica(repository: Repository, replica: Replica) -> Replica:
    """Write the identity down."""
    make_folder(repository.common_dir, "postil", 0o700)
    atomic_write(repository.common_dir, _FILE, msgspec.json.encode(replica) + b"\n")
    return replica


def _read_file(repository: Repository) -> Replica | None:
    content = read_regular(os.path.join(repository.common_dir, _FILE), 4096)
    try:
        return None if content is None else msgspec.json.decode(content, type=Replica)
    except (ValueError, RecursionError):
        return None


def _identify_folder(repository: Repository) -> int:
    return os.stat(repository.common_dir).st_ino
