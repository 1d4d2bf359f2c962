"""Objects that git loses."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.tracker.programs import git


def lose(where: Path, *oids: str) -> None:
    """Take objects out of a repository, whether they are loose or packed."""
    folder = where / ".git/objects/pack"
    packs = [pack.rename(where / f"{pack.name}.aside") for pack in folder.glob("*.pack")]
    for index in folder.glob("*.idx"):
        index.unlink()
    for pack in packs:
        with pack.open("rb") as packed:
            subprocess.run(["git", "unpack-objects", "-q"], stdin=packed, cwd=where, check=True, timeout=60)
        pack.unlink()
    for oid in oids:
        (where / ".git/objects" / oid[:2] / oid[2:]).unlink()


def log_commits(where: Path, ref: str = "refs/postil/log") -> list[str]:
    """The commits of the only log there is, the newest first."""
    (name,) = git(where, "for-each-ref", "--format=%(refname)", ref).split()
    return git(where, "rev-list", name).split()
