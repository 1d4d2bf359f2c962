"""The shell's commands that set up, exchange and look after the logs: init, push, pull, sync, verify, gc, deinit."""

from __future__ import annotations

import os
from typing import Annotated, Literal

from msgspec import Meta

from postil.core.operation import Spelling, destroys, reads, writes
from postil.tracker.failures import InvalidParams
from postil.tracker.issues import Issues
from postil.tracker.log.absorb import absorb, drop_absorbed
from postil.tracker.log.refs import FETCH, LOG, list_logs
from postil.tracker.log.remotes import check_remote, fetch, push, remove_tracker, set_up
from postil.tracker.log.verify import Verified, verify_logs
from postil.tracker.operations.write_answers import Done, Facts
from postil.tracker.state.identities import ADOPTED_FILE
from postil.tracker.text import flatten, format_count
from postil.workspace.git import NETWORK, run_git

_REFS = ("refs/postil", "refs/heads/postil", "logs/refs/postil", "logs/refs/heads/postil")

MOST_TOLD = 5


class SyncCommands:
    """`git mile init|push|pull|sync|verify|gc|deinit`."""

    def __init__(self, issues: Issues) -> None:
        self._issues = issues

    @writes("issue_init", aliases=("issue.init",), tool=False, shell="issue init", positional=("remote",))
    def init(
        self,
        remote: Annotated[tuple[str, ...], Meta(description="all remotes when none is named")] = (),
        no_config: Annotated[bool, Meta(description="print the config line instead of writing it")] = False,
        branches: Annotated[
            bool, Meta(description="keep the log on a branch, for hosts that refuse other refs")
        ] = False,
        no_branches: Annotated[bool, Meta(description="keep the log on a ref of its own again")] = False,
    ) -> Done:
        """Let plain `git fetch` bring the tracker's logs; every command works without it"""
        if branches and no_branches:
            raise InvalidParams("Both --branches and --no-branches were given", advice="Give one of them")
        root = self._issues.store.repository.root
        known = run_git(root, "remote").decode("utf-8", "replace").split()
        remotes = [check_remote(root, name) for name in remote] or known
        if no_config:
            lines = [f"git config --add remote.{name}.fetch '{FETCH.format(remote=name)}'" for name in remotes]
            return Done(done="\n".join(lines) or "This repository has no remote")
        where = True if branches else False if no_branches else None
        changed = set_up(self._issues.store, remotes, where)
        words = "Initialized repository at" if changed else "Repository already initialized at"
        then = (
            f"Plain `git fetch` brings the issues of others from {', '.join(remotes)}; `git mile sync` exchanges them"
            if remotes
            else "There is no remote to exchange issues with yet; run this again when there is one"
        )
        return Done(done=f"{words} {root}\n{then}", facts={"changed": changed, "remotes": remotes})

    @writes(
        "issue_sync",
        aliases=("issue.sync",),
        task="optional",
        shell="issue sync",
        positional=("remote",),
        open_world=True,
        spellings=(
            Spelling("issue pull", {"direction": "pull"}, "Fetch what others wrote: that is already the merge"),
            Spelling("issue push", {"direction": "push"}, "Send this clone's own log"),
        ),
    )
    def sync(
        self,
        remote: Annotated[str, Meta(description="a remote of this repository")] = "origin",
        direction: Literal["both", "pull", "push"] = "both",
    ) -> Done:
        """Pull, then push"""
        if direction != "both":
            return self._pull(remote) if direction == "pull" else self._push(remote)
        pulled, pushed = self._pull(remote), self._push(remote)
        return Done(done=f"{pulled.done}\n{pushed.done}", facts={**pulled.facts, **pushed.facts})

    def _pull(self, remote: str) -> Done:
        store = self._issues.refresh()
        index = store.index
        epoch, generation = index.epoch(), index.generation()
        held = self._list_claims()
        changed = fetch(store, remote)
        news = "nothing new"
        if changed:
            rows = index.query("SELECT count(DISTINCT n) FROM history WHERE gen > ?", (generation,))
            count = rows[0][0] if index.epoch() == epoch else 0
            news = f"{format_count(count, 'entity')} changed" if count else "news"
        lost = self._find_lost(held) if changed else []
        facts: Facts = {"changed": changed, "lost": lost} if lost else {"changed": changed}
        told = [f"Pulled from {remote}: {news}", *lost]
        if undecided := self._find_undecided(generation if index.epoch() == epoch else -1) if changed else []:
            facts["undecided"] = undecided
            shown = ", ".join(undecided[:MOST_TOLD]) + (", …" if len(undecided) > MOST_TOLD else "")
            told.append(
                f"Written here and there at the same time: {shown}; `git mile show` has both, `resolve` decides"
            )
        return Done(done="\n".join(told), facts=facts)

    def _find_undecided(self, generation: int) -> list[str]:
        """Returns the beginnings of ids with concurrent values, of those that changed since."""
        sql = "SELECT id FROM ent WHERE conflicts > 0 AND n IN (SELECT n FROM history WHERE gen > ?) LIMIT 200"
        return [id_[:8] for (id_,) in self._issues.store.index.query(sql, (generation,))]

    def _list_claims(self) -> dict[str, str]:
        """Returns who holds a claim on what, by the full id."""
        sql = "SELECT id, claim_who FROM ent WHERE claim_until > ?"
        return dict(self._issues.store.index.query(sql, (self._issues.now_text(),)))

    def _find_lost(self, held: dict[str, str]) -> list[str]:
        """Returns a sentence for each claim that turned out not to be the first."""
        told: list[str] = []
        for id_, who in self._list_claims().items():
            entity = self._issues.store.entity(id_) if id_ in held else None
            if entity and entity.claim and any(one.who == held[id_] for one in entity.lost_claims) and who != held[id_]:
                lost = f"{flatten(held[id_])} claimed it at the same time, and lost"
                told.append(f"{id_[:8]} “{flatten(entity.title)}” is {flatten(who)}'s: {lost}")
        return told

    def _push(self, remote: str) -> Done:
        store = self._issues.store
        there = {tip.oid for tip in list_logs(store.repository.root) if tip.remote == remote}
        sent = push(store, remote)
        if sent is None:
            return Done(done="Nothing was written here yet", facts={"pushed": False})
        facts: Facts = {"pushed": True, "ref": sent.ref}
        if {tip.oid for tip in list_logs(store.repository.root) if tip.ref == sent.ref} <= there:
            return Done(done=f"Pushed to {remote}: nothing new", facts=facts)
        note = ""
        if sent.renamed:
            note = (
                "; another clone used the same identity or somebody rewrote the log there, so this clone has a new one"
                " and sent its events again"
            )
        if sent.healed:
            facts["healed"] = sent.healed
            again = f"{format_count(sent.healed, 'event')} appended again"
            gone = f"{remote} is new or somebody deleted its logs" if not there else "somebody rewrote or deleted a log"
            note += f"; {gone}: {again}"
        return Done(done=f"Pushed {sent.ref} to {remote}{note}", facts=facts)

    @reads(
        "issue_verify",
        aliases=("issue.verify",),
        task="optional",
        toolset="extra",
        shell="issue verify",
        shell_only=("fix",),
        writes_with=("fix",),
    )
    def verify(self, fix: Annotated[bool, Meta(description="repair what can be repaired")] = False) -> Verified:
        """Read every log whole and name any damage"""
        return verify_logs(self._issues.store, fix)

    @destroys(
        "issue_gc",
        aliases=("issue.gc",),
        task="optional",
        toolset="extra",
        shell="issue gc",
        shell_only=("remote",),
        open_world=True,
    )
    def gc(
        self,
        absorb_days: Annotated[
            int, Meta(ge=0, le=36_500, description="take over logs without news for so many days")
        ] = 90,
        remote: Annotated[str, Meta(description="also push, and delete the absorbed logs there")] | None = None,
    ) -> Done:
        """Take the logs of writers who left into your own, so that refs stay few; nothing is lost"""
        store = self._issues.store
        taken = absorb(store, absorb_days)
        if remote is not None:
            push(store, remote)
            gone = [f":{LOG}{name}" for name in taken]
            if gone:
                run_git(store.repository.root, "push", "--quiet", "--no-verify", remote, *gone, mode=NETWORK)
        dropped = drop_absorbed(store)
        return Done(
            done=f"Took over {format_count(len(taken), 'log')}; removed {format_count(len(dropped), 'ref')}",
            facts={"absorbed": taken, "refs": dropped},
        )

    @destroys("issue_deinit", aliases=("issue.deinit",), tool=False, shell="issue deinit")
    def deinit(self, yes: Annotated[bool, Meta(description="really delete all issues in this clone")] = False) -> Done:
        """Remove every trace of the tracker from this clone: refs, config lines, cache"""
        if not yes:
            raise InvalidParams(
                "This deletes every issue and milestone of this clone", advice="Add --yes if you mean it"
            )
        store = self._issues.store
        removed = remove_tracker(store)
        folder = store.repository.postil_folder()
        for name in ("tracker.json", "tracker.lock", "cache.db.lock", "queries.json", "queries.lock", ADOPTED_FILE):
            if os.path.exists(os.path.join(folder, name)):
                os.unlink(os.path.join(folder, name))
        # Our own folder is shared with the other parts; git leaves the empty folders of refs behind.
        for trace in (folder, *(os.path.join(store.repository.common_dir, name) for name in _REFS)):
            _remove_empty(trace)
        refs = sum(name.startswith("refs/") for name in removed)
        return Done(
            done=f"Removed {format_count(refs, 'ref')}, {format_count(len(removed) - refs, 'config line')}"
            " and the cache",
            facts={"removed": removed},
        )


def _remove_empty(folder: str) -> None:
    """Remove a folder and those inside it as far as nothing is in them."""
    for where, _, _ in os.walk(folder, topdown=False):
        if not os.listdir(where):
            os.rmdir(where)
