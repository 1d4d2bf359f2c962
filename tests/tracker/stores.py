"""Stores for tests: opened anew, filled, and what they list."""

from __future__ import annotations

import random
from pathlib import Path

from postil.tracker import events as ev
from postil.tracker.index.db_files import find_current
from postil.tracker.log.verify import fold_all
from postil.tracker.store import Store
from postil.workspace.repository import find_repository
from tests.tracker.programs import git


def fresh(repository: Path) -> Store:
    return Store(find_repository(str(repository)))


def hash_state(store: Store) -> str:
    """Returns a hash over the folded state of every entity: the same in every clone that has the same events."""
    return fold_all(store.index)[0]


def titles(store: Store) -> list[str]:
    store.refresh()
    return [row[0] for row in store.index.db.execute("SELECT title FROM ent ORDER BY title")]


def create(store: Store, title: str = "First", **more: object) -> str:
    id_ = ev.new_entity_id()
    with store.transaction() as tx:
        tx.write(ev.Created, id_, kind="issue", title=title, **more)
    return id_


def own_ref(repository: Path) -> str:
    (ref,) = git(repository, "for-each-ref", "--format=%(refname)", "refs/postil/log/").split()
    return ref


FETCH = "+refs/postil/log/*:refs/postil/remote/{}/*"


def cache_of(repository: Path) -> str:
    path = find_current(str(repository / ".git/postil"))
    assert path is not None
    return path


def fetch(into: Path, out_of: Path, name: str) -> None:
    git(into, "fetch", "--quiet", str(out_of), FETCH.format(name))


def make_many(where: Path, count: int, dice: random.Random, ids: list[str]) -> None:
    """Events about old and new issues, as one command."""
    store = fresh(where)
    with store.transaction() as tx:
        for _ in range(count):
            if not ids or dice.random() < 0.2:
                ids.append(ev.new_entity_id())
                tx.write(ev.Created, ids[-1], kind="issue", title=f"T{len(ids)}", labels=("a", "b"))
                continue
            id_ = dice.choice(ids)
            match dice.randrange(6):
                case 0:
                    tx.write(ev.Set, id_, f="status", value=dice.choice(("open", "closed")))
                case 1:
                    tx.write(ev.Labelled, id_, add=(dice.choice("cd"),), rm=(dice.choice("abc"),))
                case 2:
                    tx.write(ev.Set, id_, f="title", value=f"T{dice.randrange(99)}")
                case 3:
                    tx.write(ev.Linked, id_, add=(("related", dice.choice(ids)),))
                case 4:
                    tx.write(ev.Claimed, id_, who=dice.choice(("ann", "bob")), until="2027-01-01T00:00:00.000Z")
                case _:
                    tx.write(ev.Commented, id_, c=ev.new_event_id(), body="hello")
    store.index.close()
