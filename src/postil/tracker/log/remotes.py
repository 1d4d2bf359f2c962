"""Exchanging logs with remotes, through the user's own git: fetch what others wrote, push one's own log, nothing else.

A fetch is already the merge. A push of one's own log is always a fast-forward, unless a copy of this clone writes
under the same identity; then this clone takes a new one and pushes that.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from contextlib import suppress

import msgspec

from postil.core.arguments.typed import type_words
from postil.core.failure import Unreachable
from postil.tracker.failures import InvalidParams
from postil.tracker.log.heal import heal_rewritten
from postil.tracker.log.refs import BRANCH_LOG, FETCH, PATTERNS, find_stale_locks, list_logs, name_own_ref
from postil.tracker.log.replica import Replica, ensure_replica, lock_writes, read_replica, write_replica
from postil.tracker.query.tree import suggest
from postil.tracker.store import Store
from postil.workspace.failures import READ_FIRST, GitFailed
from postil.workspace.git import DURABLE, NETWORK, change_config, run_git, try_git

_PATIENCE = 15.0
"""Seconds to wait for a lock on a ref to go, or to become so old that nobody can hold it."""


class Pushed(msgspec.Struct, frozen=True):
    """What a push sent."""

    remote: str
    ref: str
    renamed: bool = False
    """Whether this clone had to take a new identity."""
    healed: int = 0
    """How many events had to be appended again, because somebody rewrote a log."""


class RemoteRefused(Unreachable):
    """A remote that could not be reached, or did not accept what was sent."""

    def __init__(self, verb: str, remote: str, said: str) -> None:
        lines = [line for line in said.splitlines() if line.strip()]
        told = next((line for line in lines if "error" in line or "fatal" in line or "rejected" in line), "")
        # The first line is the transport's own, such as a host that ssh does not know.
        reasons = [line for line in dict.fromkeys([*lines[:1], told]) if line]
        refused = any(word in said for word in ("hook declined", "prohibited", "deny updating", "refusing to"))
        advice = f"Before you try the same with plain git, {READ_FIRST}"
        if refused:
            advice = "This host refuses custom refs: `git mile init --branches` keeps the log on a branch instead"
        elif re.search(r"transport '[^']*' not allowed", said):  # plain git may run what the address names
            advice = (
                "Its address may run a program of whoever made this clone: look at it (`git remote get-url "
                f"{type_words(remote)}`) before you let git use it, and set one that you know with `git remote set-url`"
            )
        super().__init__(f"git {verb} with {remote} failed: {'; '.join(reasons) or 'no reason given'}", advice=advice)


def check_remote(root: str, remote: str) -> str:
    """Returns the remote. Raises InvalidParams if the repository has none of this name."""
    known = run_git(root, "remote").decode("utf-8", "replace").split()
    if remote not in known or remote.startswith("-"):
        raise InvalidParams(
            f"There is no remote `{remote[:64]}`",
            advice=suggest(remote, known) if known else "Add one with `git remote add`",
        )
    return remote


def fetch(store: Store, remote: str) -> bool:
    """Bring in what others pushed. Returns whether anything was new.

    A log that is gone there is pruned here; its end is kept (`new_commits.py`), and the next push gives it back.
    """
    root = store.repository.root
    check_remote(root, remote)
    specs = (FETCH.format(remote=remote), f"+{BRANCH_LOG}*:refs/remotes/{remote}/postil/log/*")
    # Without --refmap git would also move the refs that the repository's own refspecs name.
    options = ("--quiet", "--prune", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--refmap=")
    said = _retry_while_locked(store, lambda: _run(root, "fetch", *options, remote, *specs))
    if said is not None:
        raise RemoteRefused("fetch", remote, said)
    return store.refresh()


def push(store: Store, remote: str) -> Pushed | None:
    """Send this clone's own log. Returns None when it has none."""
    root = store.repository.root
    check_remote(root, remote)
    healed = heal_rewritten(store)
    replica = read_replica(store.repository)
    if replica is None:
        return None
    ref = name_own_ref(replica.id, replica.branches)
    if not any(tip.ref == ref for tip in list_logs(root)):
        return None
    said = _push(store, remote, ref)
    if said is None:
        return Pushed(remote, ref, healed=healed)
    if "non-fast-forward" not in said and "fetch first" not in said:
        raise RemoteRefused("push", remote, said)
    # Another clone writes under our identity, or somebody rewrote the log there. See what it says, move out, and send
    # what is ours under the new name.
    fetch(store, remote)
    with lock_writes(store.repository):
        replica, ref, tip = store.find_own_log(list_logs(root))
    if tip is not None:
        said = _push(store, remote, ref)
        if said is not None:
            raise RemoteRefused("push", remote, said)
    return Pushed(remote, ref, renamed=True, healed=healed)


def set_up(store: Store, remotes: list[str], branches: bool | None) -> bool:
    """Add the fetch refspec to the remotes and choose where the log lives. Returns whether anything changed."""
    root = store.repository.root
    changed = False
    for remote in remotes:
        key, spec, present = _read_refspec(root, remote)
        if not present:
            _change(store, "--add", key, spec)
            changed = True
    if branches is not None:
        with lock_writes(store.repository):
            replica = ensure_replica(store.repository)
            if replica.branches != branches:
                _move_log(store, replica, branches)
                changed = True
    return changed


def remove_tracker(store: Store) -> list[str]:
    """Take every trace of the tracker out of this clone. Returns what was removed."""
    root = store.repository.root
    removed: list[str] = []
    store.index.forget()
    for line in run_git(root, "for-each-ref", "--format=%(refname)", "refs/postil/", *PATTERNS).decode().splitlines():
        if line not in removed:
            run_git(root, "update-ref", "-d", "--end-of-options", line, mode=DURABLE)
            removed.append(line)
    for remote in run_git(root, "remote").decode("utf-8", "replace").split():
        key, spec, present = _read_refspec(root, remote)
        if present:
            _change(store, "--fixed-value", "--unset-all", key, spec)
            removed.append(key)
    return removed


def _change(store: Store, *arguments: str) -> None:
    done = change_config(store.repository, *arguments)
    if done.status != 0:
        raise GitFailed("config", done.status, done.err.decode("utf-8", "replace"))


def _read_refspec(root: str, remote: str) -> tuple[str, str, bool]:
    """Returns the config key and the refspec that fetch logs from a remote, and whether they are set."""
    key, spec = f"remote.{remote}.fetch", FETCH.format(remote=remote)
    return key, spec, spec in try_git(root, "config", "--get-all", key).out.decode("utf-8", "replace").splitlines()


def _push(store: Store, remote: str, ref: str) -> str | None:
    """Returns what git complained of, or None."""
    root = store.repository.root
    return _retry_while_locked(store, lambda: _run(root, "push", "--quiet", "--no-verify", remote, f"{ref}:{ref}"))


def _run(root: str, *arguments: str) -> str | None:
    done = try_git(root, *arguments, mode=NETWORK, timeout=600)
    return None if done.status == 0 else done.err.decode("utf-8", "replace") or "no reason given"


def _retry_while_locked(store: Store, attempt: Callable[[], str | None]) -> str | None:
    """Try until no lock of a killed git is in the way. Returns what git complains of then, or None."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        said = attempt()
        if said is None or ".lock'" not in said or "exists" not in said or time.monotonic() > deadline:
            return said
        for lock in find_stale_locks(store.repository.common_dir):
            with suppress(OSError):
                os.unlink(lock)
        time.sleep(0.2)


def _move_log(store: Store, replica: Replica, branches: bool) -> None:
    root = store.repository.root
    old, new = name_own_ref(replica.id, replica.branches), name_own_ref(replica.id, branches)
    at = {tip.ref: tip.oid for tip in list_logs(root)}.get(old)
    if at is not None:
        run_git(root, "update-ref", "--end-of-options", new, at, mode=DURABLE)
    write_replica(store.repository, Replica(replica.id, replica.home, branches, replica.former))
    if at is not None:
        run_git(root, "update-ref", "-d", "--end-of-options", old, at, mode=DURABLE)
