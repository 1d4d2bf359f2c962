"""Giving the logs of writers who left a home in one's own log, so that refs stay few. Nothing is lost by it."""

from __future__ import annotations

import datetime

from postil.tracker.events import LOG_ENTITY, Absorbed, decode
from postil.tracker.log.format import read_whole_log
from postil.tracker.log.refs import list_logs
from postil.tracker.log.replica import read_replica
from postil.tracker.store import Store
from postil.tracker.text import format_moment
from postil.workspace.git import DURABLE, run_git


def absorb(store: Store, older_than_days: int) -> list[str]:
    """Copy the logs of other writers without news into our own and mark them absorbed. Returns their names."""
    edge = format_moment(store.now() - datetime.timedelta(days=older_than_days))
    taken: dict[str, tuple[list[bytes], int]] = {}
    with store.transaction() as tx:
        mine = read_replica(store.repository)
        done = dict(store.index.query("SELECT replica, upto FROM absorbed"))
        others = {tip.replica: tip for tip in list_logs(store.repository.root) if not mine or tip.replica != mine.id}
        for replica, tip in sorted(others.items()):
            lines = read_whole_log(store.repository.root, tip.oid)
            events = [decode(line) for line in lines]
            last = max((event.ts for event in events if event), default="")
            upto = max((event.n for event in events if event and event.r == replica), default=0)
            if last < edge and done.get(replica, 0) < upto:
                taken[replica] = (lines, upto)
        for replica, (lines, upto) in taken.items():
            for line in lines:
                tx.copy(line)
            tx.write(Absorbed, LOG_ENTITY, log=replica, upto=upto)
    return sorted(taken)


def drop_absorbed(store: Store) -> list[str]:
    """Delete the refs of logs that live on in ours. Returns their names."""
    mine = read_replica(store.repository)
    done = dict(store.index.query("SELECT replica, upto FROM absorbed"))
    ends = dict(store.index.query("SELECT replica, n FROM writer"))
    dropped: list[str] = []
    for tip in list_logs(store.repository.root):
        covered = done.get(tip.replica, 0) >= ends.get(tip.replica, 1)
        if covered and (mine is None or tip.replica != mine.id):
            run_git(store.repository.root, "update-ref", "-d", "--end-of-options", tip.ref, tip.oid, mode=DURABLE)
            dropped.append(tip.ref)
    store.refresh()
    return dropped
