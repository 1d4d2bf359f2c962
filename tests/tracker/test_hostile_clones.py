"""Honest clones beside a hostile one: nothing acknowledged is lost or undone, and all end in one state.

A few rounds here; `make hostile` runs 600. The hostile writer has push rights: bad clocks, rewritten refs, unknown
kinds, giant events, the year 9999, forged names and numbers.
"""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pytest

from tests.tracker.groups import Tracker
from tests.tracker.hostile import EVIL, LATEST, event, write_log
from tests.tracker.programs import git
from tests.tracker.stores import hash_state

ROUNDS = int(os.environ.get("POSTIL_HOSTILE_ROUNDS", "14"))


class World:
    """A remote, honest clones, one hostile writer, and all that was acknowledged."""

    def __init__(self, top: Path, dice: random.Random) -> None:
        self.dice = dice
        self.remote = top / "shared.git"
        git(top, "init", "--quiet", "--bare", str(self.remote))
        self.clones: list[Path] = []
        for name in ("a", "b", "c", "d"):
            git(top, "clone", "--quiet", str(self.remote), name)
            self.clones.append(top / name)
        self.made: dict[str, str] = {}
        self.comments: dict[str, set[str]] = {}
        self.removed: dict[str, set[str]] = {}
        self.attached: dict[str, set[str]] = {}
        self.number = 0

    def honest(self) -> None:
        """One honest clone does something and hears that it is done."""
        where = self.dice.choice(self.clones)
        mine = Tracker(where)
        mine.issues.refresh()
        known = [item.id for item in mine.list(includeClosed=True, limit=1000).items if item.id in self.made]
        self.number += 1
        if not known or self.dice.random() < 0.25:
            title = f"T{self.number}"
            self.made[mine.tools.create(title).id] = title
            return
        id_ = self.dice.choice(known)
        match self.dice.randrange(4):
            case 0:
                comment = mine.tools.comment(id_, f"c{self.number}").comment_id
                self.comments.setdefault(id_, set()).add(str(comment))
            case 1:
                mine.tools.label(id_, add=(f"l{self.number}",))
                self.attached.setdefault(id_, set()).add(f"l{self.number}")
            case 2:
                present = [name for name in mine.show("issue", id_).labels if name not in self.removed.get(id_, ())]
                if present:
                    gone = self.dice.choice(present)
                    mine.tools.label(id_, remove=(gone,))
                    self.removed.setdefault(id_, set()).add(gone)
            case _:
                mine.tools.close(id_, reopen=self.dice.random() < 0.5)

    def exchange(self) -> None:
        """One honest clone pulls and pushes."""
        sync(self.dice.choice(self.clones))

    def hostile(self) -> None:
        """Somebody with push rights does harm in one of the ways there are."""
        self.number += 1
        id_ = self.dice.choice([*self.made, "11111111-0000-4000-8000-000000000001"])
        refs = git(self.remote, "for-each-ref", "--format=%(refname)", "refs/postil/log").split()
        victims = [ref for ref in refs if not ref.endswith(EVIL)]
        match self.dice.randrange(6):
            case 0:
                self._append(event(id_, self.number, "labels", add=[f"evil{self.number}"]))
            case 1:
                self._append(event(id_, self.number, "warp", 7, where="x" * 200_000, v=9))
            case 2:
                later = {"ts": "9999-12-31T23:59:59.999Z"}
                self._append(event(id_, self.number, "claim", 5, who="eve", until="9999-12-31T00:00:00Z", **later))
            case 3 if victims:
                victim = self.dice.choice(victims)
                old = git(self.remote, "rev-list", victim).split()
                git(self.remote, "update-ref", victim, self.dice.choice(old))
            case 4 if victims:
                name = self.dice.choice(victims).rpartition("/")[2]
                write_log(self.remote, event(id_, self.number, "comment", 3, c=f"x{self.number}"), replica=name)
            case _:
                name = self.dice.choice(victims).rpartition("/")[2] if victims else EVIL
                forged: dict[str, Any] = {"r": name, "dep": {name: LATEST, EVIL: LATEST}}
                self._append(event(id_, LATEST - self.number, "set", 4, f="due", value="9999-12-31", **forged))

    def _append(self, one: dict[str, Any]) -> None:
        ref = f"refs/postil/log/{EVIL}"
        end = git(self.remote, "for-each-ref", "--format=%(objectname)", ref).strip()
        write_log(self.remote, {**one, "id": f"evil{self.number:016}"}, parent=end)


def sync(where: Path) -> None:
    Tracker(where).sync.sync()


@pytest.mark.parametrize("seed", [1, 2])
def test_nothing_acknowledged_is_lost_or_undone_and_all_clones_are_equal(tmp_path: Path, seed: int):
    world = World(tmp_path, random.Random(seed))
    for _ in range(ROUNDS):
        world.honest()
        if world.dice.random() < 0.5:
            world.exchange()
        if world.dice.random() < 0.4:
            world.hostile()
    for _ in range(3):
        for where in world.clones:
            sync(where)
    hashes: set[str] = set()
    for where in world.clones:
        mine = Tracker(where)
        mine.issues.refresh()
        hashes.add(hash_state(mine.issues.store))
        for id_, title in world.made.items():
            entity = mine.issues.store.entity(id_)
            assert entity is not None, title
            assert entity.title == title
            assert world.comments.get(id_, set()) <= {comment.id for comment in entity.comments}
            assert not world.removed.get(id_, set()) & {*entity.labels}
            assert world.attached.get(id_, set()) - world.removed.get(id_, set()) <= {*entity.labels}
    assert len(hashes) == 1
