"""The remotes of a repository, as its configuration names them: that of the branch first, then `origin`."""

from __future__ import annotations

import os

from postil.workspace.git import try_git
from postil.workspace.repository import Repository

MOST = 100


def list_remotes(repository: Repository) -> tuple[str, ...]:
    """Return the addresses of the remotes, the most likely one first. Nothing is asked of them."""
    told = try_git(repository.root, "config", "--null", "--get-regexp", r"^(remote|branch)\..*\.(url|remote)$")
    pairs = [entry.partition("\n") for entry in os.fsdecode(told.out).split("\0") if entry][: 2 * MOST]
    known = {key: value for key, _, value in pairs}
    own = known.get(f"branch.{repository.branch()}.remote", "")
    urls = {key[len("remote.") : -len(".url")]: value for key, value in known.items() if key.startswith("remote.")}
    ordered = sorted(urls, key=lambda name: (name != own, name != "origin", name))
    return tuple(dict.fromkeys(urls[name] for name in ordered if urls[name]))
