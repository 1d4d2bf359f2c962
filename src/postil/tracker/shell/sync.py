"""The shell's commands that set up, exchange and look after the logs: init, push, pull, sync, verify, gc, deinit."""

from __future__ import annotations

import os
from typing import Annotated

from msgspec import Meta

from postil.core.check import Finding, check
from postil.core.operation import destroys, reads, writes
from postil.tracker.failures import InvalidParams
from postil.tracker.issues import Issues
from postil.tracker.log.absorb import absorb, drop_absorbed
from postil.tracker.log.refs import FETCH, LOG, list_logs
from postil.tracker.log.remotes import check_remote, fetch, init, push, remove_tracker
from postil.tracker.log.verify import Verified, verify
from postil.tracker.shell.answers import Said
from postil.tracker.state.identities import ADOPTED_FILE
from postil.tracker.text import format_count
from postil.workspace.git import NETWORK, run_git

Remote = Annotated[str, Meta(description="a remote of this repository")]


_REFS = ("refs/postil", "refs/heads/postil", "logs/refs/postil", "logs/refs/heads/postil")


class SyncCommands(Issues):
    """`git mile init|push|pull|sync|verify|gc|deinit`."""

    @writes("issue.init", tool=False, shell="issue init", positional=("remote",))
    def sync_init(
        self,
        remote: Annotated[tuple[str, ...], Meta(description="all remotes when none is named")] = (),
        no_config: Annotated[bool, Meta(description="print the config line instead of writing it")] = False,
        branches: Annotated[
            bool, Meta(description="keep the log on a branch, for hosts that refuse other refs")
        ] = False,
        no_branches: Annotated[bool, Meta(description="keep the log on a ref of its own again")] = False,
    ) -> Said:
        """Let plain `git fetch` bring the tracker's logs; every command works without it"""
        if branches and no_branches:
            raise InvalidParams("Both --branches and --no-branches were given", advice="Give one of them")
        root = self.store.repository.root
        known = run_git(root, "remote").decode("utf-8", "replace").split()
        remotes = [check_remote(root, name) for name in remote] or known
        if no_config:
            lines = [f"git config --add remote.{name}.fetch '{FETCH.format(remote=name)}'" for name in remotes]
            return Said(done="\n".join(lines) or "This repository has no remote")
        where = True if branches else False if no_branches else None
        changed = init(self.store, remotes, where)
        words = "Initialized repository at" if changed else "Repository already initialized at"
        then = (
            f"Plain `git fetch` brings the issues of others from {', '.join(remotes)}; `git mile sync` exchanges them"
            if remotes
            else "There is no remote to exchange issues with yet; run this again when there is one"
        )
        return Said(done=f"{words} {root}\n{then}", facts={"changed": changed, "remotes": remotes})

    @writes("issue.pull", tool=False, shell="issue pull", positional=("remote",), open_world=True)
    def sync_pull(self, remote: Remote = "origin") -> Said:
        """Fetch what others wrote: that is already the merge"""
        index = self.refresh().index
        epoch, generation = index.epoch(), index.generation()
        got = fetch(self.store, remote)
        news = "nothing new"
        if got.changed:
            with index.lock:
                sql = "SELECT count(DISTINCT n) FROM history WHERE gen > ?"
                count = index.db.execute(sql, (generation,)).fetchone()[0] if index.epoch() == epoch else 0
            news = f"{format_count(count, 'entity')} changed" if count else "news"
        return Said(done=f"Pulled from {remote}: {news}", facts={"changed": got.changed})

    @writes("issue.push", tool=False, shell="issue push", positional=("remote",), open_world=True)
    def sync_push(self, remote: Remote = "origin") -> Said:
        """Send this clone's own log"""
        there = {tip.oid for tip in list_logs(self.store.repository.root) if tip.remote == remote}
        sent = push(self.store, remote)
        if sent is None:
            return Said(done="Nothing was written here yet", facts={"pushed": False})
        if {tip.oid for tip in list_logs(self.store.repository.root) if tip.ref == sent.ref} <= there:
            return Said(done=f"Pushed to {remote}: nothing new", facts={"pushed": True, "ref": sent.ref})
        note = "; another clone used the same identity, so this one has a new one" if sent.renamed else ""
        return Said(done=f"Pushed {sent.ref} to {remote}{note}", facts={"pushed": True, "ref": sent.ref})

    @writes("issue.sync", tool=False, shell="issue sync", positional=("remote",), open_world=True)
    def sync_both(self, remote: Remote = "origin") -> Said:
        """Pull, then push"""
        pulled, pushed = self.sync_pull(remote), self.sync_push(remote)
        return Said(done=f"{pulled.done}\n{pushed.done}", facts={**pulled.facts, **pushed.facts})

    @reads("issue.verify", tool=False, shell="issue verify", output_depth=0)
    def sync_verify(self, fix: Annotated[bool, Meta(description="repair what can be repaired")] = False) -> Verified:
        """Read every log whole and name any damage"""
        return verify(self.store, fix)

    @destroys("issue.gc", tool=False, shell="issue gc", open_world=True)
    def sync_gc(
        self,
        absorb_days: Annotated[int, Meta(ge=0, description="take over logs without news for so many days")] = 90,
        remote: Annotated[str, Meta(description="also push, and delete the absorbed logs there")] | None = None,
    ) -> Said:
        """Take the logs of writers who left into your own, so that refs stay few; nothing is lost"""
        taken = absorb(self.store, absorb_days)
        if remote is not None:
            push(self.store, remote)
            gone = [f":{LOG}{name}" for name in taken]
            if gone:
                run_git(self.store.repository.root, "push", "--quiet", "--no-verify", remote, *gone, mode=NETWORK)
        dropped = drop_absorbed(self.store)
        return Said(
            done=f"Took over {format_count(len(taken), 'log')}; removed {format_count(len(dropped), 'ref')}",
            facts={"absorbed": taken, "refs": dropped},
        )

    @destroys("issue.deinit", tool=False, shell="issue deinit")
    def sync_deinit(
        self, yes: Annotated[bool, Meta(description="really delete all issues in this clone")] = False
    ) -> Said:
        """Remove every trace of the tracker from this clone: refs, config lines, cache"""
        if not yes:
            raise InvalidParams(
                "This deletes every issue and milestone of this clone", advice="Add --yes if you mean it"
            )
        removed = remove_tracker(self.store)
        folder = self.store.repository.postil_folder()
        for name in ("tracker.json", "tracker.lock", "cache.db.lock", "queries.json", "queries.lock", ADOPTED_FILE):
            if os.path.exists(os.path.join(folder, name)):
                os.unlink(os.path.join(folder, name))
        # Our own folder is shared with the other parts; git leaves the empty folders of refs behind.
        for trace in (folder, *(os.path.join(self.store.repository.common_dir, name) for name in _REFS)):
            _remove_empty(trace)
        refs = sum(name.startswith("refs/") for name in removed)
        return Said(
            done=f"Removed {format_count(refs, 'ref')}, {format_count(len(removed) - refs, 'config line')}"
            " and the cache",
            facts={"removed": removed},
        )

    @check("tracker")
    def check_logs(self) -> Finding:
        """Whether the tracker's logs can be read."""
        self.refresh()
        damage = self.store.index.damage()
        if damage:
            return Finding("error", damage[0], "Run `git mile verify --fix`")
        return Finding("ok", "the tracker's logs can be read")


def _remove_empty(folder: str) -> None:
    """Remove a folder and those inside it as far as nothing is in them."""
    for where, _, _ in os.walk(folder, topdown=False):
        if not os.listdir(where):
            os.rmdir(where)
