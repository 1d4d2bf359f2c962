"""Where a work tree stands, as git's configuration says: which remote its branch is pushed to, and under which name."""

from __future__ import annotations

import os
import re

from postil.gitlab.standing import WorkTree
from postil.workspace.git import try_git
from postil.workspace.repository import Repository

MOST = 100
_LISTED = re.compile(r"([^\t]+)\t(.*) \((?:fetch|push)\)(?: \[[^\]]*\])?")
_HEADS = "refs/heads/"


def read_work_tree(repository: Repository) -> WorkTree:
    """Return the remotes, the one that git would push to first, and the branch. Nothing is asked of them."""
    branch = repository.branch()
    settings = _read_settings(repository, branch or "")
    follows = settings.get(f"branch.{branch}.remote", "")
    pushes = settings.get(f"branch.{branch}.pushremote") or settings.get("remote.pushdefault") or follows
    addresses = _list_addresses(repository)
    names = dict.fromkeys((pushes, follows, "origin", *sorted(addresses)))
    # In the place of a name git takes an address, too.
    remotes = [one for name in names for one in addresses.get(name, [name] if ":" in name else [])]
    merge = settings.get(f"branch.{branch}.merge", "")
    upstream = merge.removeprefix(_HEADS) if merge.startswith(_HEADS) and pushes == follows and follows != "." else None
    return WorkTree(tuple(dict.fromkeys(remotes)), branch, None if upstream == branch else upstream)


def _read_settings(repository: Repository, branch: str) -> dict[str, str]:
    named = re.sub(r"([^\w/-])", r"\\\1", branch)
    pattern = rf"^(remote\.pushdefault|branch\.{named}\.(remote|pushremote|merge))$"
    told = try_git(repository.root, "config", "--null", "--get-regexp", pattern)
    pairs = (entry.partition("\n") for entry in os.fsdecode(told.out).split("\0") if entry)
    return {key: value for key, _, value in pairs}


def _list_addresses(repository: Repository) -> dict[str, list[str]]:
    """Return the addresses of each remote as git would use them, with the user's `insteadOf`."""
    found: dict[str, list[str]] = {}
    for line in os.fsdecode(try_git(repository.root, "remote", "-v").out).split("\n")[: 2 * MOST]:
        if listed := _LISTED.fullmatch(line):
            found.setdefault(listed[1], []).append(listed[2])
    return found
