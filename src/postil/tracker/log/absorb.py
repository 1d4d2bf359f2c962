"""Giving the logs of writers who left a home in one's own log, so that refs stay few. Nothing is lost by it."""

from __future__ import annotations

import datetime

from postil.tracker.events import LOG_ENTITY, Absorbed, decode
from postil.tracker.log.format import find_uncopied, read_whole_log
from postil.tracker.log.refs import Tip, list_logs
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
        done = {tip.replica for tip in _find_absorbed(store)}
        others = {tip.replica: tip for tip in list_logs(store.repository.root) if not mine or tip.replica != mine.id}
        for replica, tip in sorted(others.items()):
            lines = read_whole_log(store.repository.root, tip.oid)
            events = [decode(line) for line in lines]
            last = max((event.ts for event in events if event), default="")
            upto = max((event.n for event in events if event and event.r == replica), default=0)
            if last < edge and replica not in done:
                taken[replica] = (lines, upto)
        for replica, (lines, upto) in taken.items():
            for line in lines:
                tx.copy(line)
            tx.write(Absorbed, LOG_ENTITY, log=replica, upto=upto)
    return sorted(taken)


def drop_absorbed(store: Store) -> list[str]:
    """Delete the refs of logs that live on in ours. Returns their names."""
    dropped: list[str] = []
    for tip in _find_absorbed(store):
        run_git(store.repository.root, "update-ref", "-d", "--end-of-options", tip.ref, tip.oid, mode=DURABLE)
        dropped.append(tip.ref)
    store.refresh()
    return dropped


def _find_absorbed(store: Store) -> list[Tip]:
    """Returns the others' logs that live on in those which are not marked. A mark alone is a word of anybody's."""
    root, mine = store.repository.root, read_replica(store.repository)
    names = {name for (name,) in store.index.query("SELECT replica FROM absorbed")} - {mine.id if mine else ""}
    found = list_logs(root)
    marked = [tip for tip in found if tip.replica in names]
    uncopied = find_uncopied(root, [tip.oid for tip in marked], [tip.oid for tip in found if tip not in marked])
    return [tip for tip in marked if tip.oid not in uncopied]
