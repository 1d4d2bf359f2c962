"""The remotes of a repository, as its configuration names them: `origin` first."""

from __future__ import annotations

import os

from postil.workspace.git import try_git
from postil.workspace.repository import Repository

MOST = 100


def list_remotes(repository: Repository) -> tuple[str, ...]:
    """Return the addresses of the remotes, the most likely one first. Nothing is asked of them."""
    told = try_git(repository.root, "config", "--null", "--get-regexp", r"^remote\..*\.url$")
    pairs = [entry.partition("\n") for entry in os.fsdecode(told.out).split("\0") if entry][:MOST]
    urls = {key[len("remote.") : -len(".url")]: value for key, _, value in pairs}
    ordered = sorted(urls, key=lambda name: (name != "origin", name))
    return tuple(dict.fromkeys(urls[name] for name in ordered if urls[name]))
