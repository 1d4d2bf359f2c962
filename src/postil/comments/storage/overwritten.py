"""Words and decisions that we wrote and that another program put back to what they were before.

An editor with an old copy in memory writes the older state of a comment that was edited or resolved meanwhile. It is
that state to the letter, and no newer by what the comment says of itself; else somebody changed it. What git brought
back is not told, by the rules of comments that are gone (`storage/erased.py`): here the moment of a change, which the
comment holds, stands for it in git's versions.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from msgspec import Struct

from postil.comments.clock import now
from postil.comments.git.taken_out import find_taken_by_git, read_staged
from postil.comments.sidecar.document import Sidecar
from postil.comments.sidecar.json_edit import JsonObject
from postil.comments.storage.erased import (
    MOST_COMMENTS,
    Bases,
    Belief,
    Overwritten,
    add_base,
    find_discarded,
    is_changed,
    is_sound,
)
from postil.comments.storage.store import Store
from postil.comments.storage.write_log import LogReader, Written
from postil.core import limits
from postil.core.failure import Failure
from postil.workspace.paths import RelativePath

TOLD = ("text", "tag", "status")
"""What is compared, and has to be other: who decided, and when, goes along."""
MOST_CHANGES = 50
"""Changes of one comment that are looked at, the last ones."""

Changes: TypeAlias = dict[str, list[int]]
"""By comment, the lines of the log with its changes, the last one last."""


class PutBack(Struct, frozen=True):
    """A comment as it is again, and what we had made of it."""

    path: str
    id: str
    now: JsonObject
    meant: JsonObject
    """What our changes made of some keys; null is a key that is not there."""
    moments: tuple[str, ...]
    """When we made them, as the comment said it, the last one first."""
    last: int
    """The line of the log with the last one."""

    def describe(self) -> Overwritten:
        """Returns what is told of it."""
        text, before = (str(each.get("text") or "")[: limits.TEXT] for each in (self.meant, self.now))
        words = (text, before) if "text" in self.meant and text != before else ("", "")
        status, was = (str(each.get("status") or "open") for each in (self.meant, self.now))
        decision = (status, was) if "status" in self.meant and status != was else ("", "")
        return Overwritten(self.id, self.path, str(self.now.get("author", "")), *words, *decision)


def find_overwritten(store: Store) -> dict[str, PutBack]:
    """Returns the comments that another program made again what they were before we changed them, by id."""
    bases: Bases = {}
    found: dict[str, PutBack] = {}
    with store.log.open() as log:
        for path, changes in _list_changes(store, log, bases).items():
            if is_changed(store, path) and not _is_staged(store, path):
                sidecar = store.read(RelativePath(path))
                found |= {each.id: each for each in _compare_file(sidecar, changes, log)}
    return _leave_out_git(store, found, bases)


def write_again(store: Store, each: PutBack) -> None:
    """Make of a comment again what we had made of it, if it still is what it was before."""

    def change(sidecar: Sidecar) -> None:
        if sidecar.comment(each.id) and _is_as(sidecar.raw_comment(each.id), each.now):
            values = {key: value for key, value in each.meant.items() if value is not None or key == "tag"}
            gone = tuple(key for key in each.meant if key not in values)
            sidecar.change(each.id, {**values, "updated": now()}, gone)

    store.change(RelativePath(each.path), change)


def _list_changes(store: Store, log: LogReader, bases: Bases) -> dict[str, Changes]:
    """Returns the comments that we changed, by the file that we wrote them into last."""
    believe = Belief(store)
    homes: dict[str, str] = {}
    places: Changes = {}
    for row in log.rows():
        add_base(bases, row)
        if not row.has_comment:
            if homes.get(row.id) == row.path:  # else it was moved, and written into the other file first
                homes.pop(row.id)
                places.pop(row.id, None)
        elif believe.path(row.path) and (row.id in homes or len(homes) < MOST_COMMENTS):
            homes[row.id] = row.path
            if row.has_was:
                places[row.id] = [*places.get(row.id, ())[1 - MOST_CHANGES :], row.place]
    by_path: dict[str, Changes] = {}
    for name, some in places.items():
        by_path.setdefault(homes[name], {})[name] = some
    return by_path


def _compare_file(sidecar: Sidecar, changes: Changes, log: LogReader) -> Iterable[PutBack]:
    for name in dict.fromkeys(each.id for each in sidecar.comments if each.id in changes):
        places = changes[name]
        read = (log.read(place) for place in reversed(places))
        found = _compare(sidecar.path, name, sidecar.raw_comment(name), read, places[-1])
        if found:
            yield found


def _compare(path: str, name: str, raw: JsonObject, changes: Iterable[Written | None], last: int) -> PutBack | None:
    """Returns what was put back of a comment, by its changes, the last one first: as many of them as are undone."""
    found: PutBack | None = None
    meant: JsonObject = {}
    was: JsonObject = {}
    moments: list[str] = []
    for each in changes:
        if each is None or each.id != name or not each.comment or not each.was or not is_sound(each):
            break
        moment = str(each.comment.get("updated") or "")
        if moment <= str(raw.get("updated") or ""):
            break  # it was changed since, or this change is still there
        meant = {key: each.comment.get(key) for key in each.was} | meant
        was |= each.was
        moments.append(moment)
        if _is_as(raw, was):
            is_other = any(meant[key] != was[key] for key in TOLD if key in was)
            found = PutBack(path, name, raw, meant, (*moments,), last) if is_other else None
    return found


def _is_as(raw: JsonObject, known: JsonObject) -> bool:
    return all(raw.get(key) == known.get(key) for key in TOLD if key in known)


def _is_staged(store: Store, path: str) -> bool:
    """Whether a sidecar is what git's index has: a checkout of one file, or an unfinished merge, put it there."""
    try:
        return store.read_bytes(RelativePath(path)) == read_staged(store.tree, path).whole
    except Failure:
        return False


def _leave_out_git(store: Store, found: dict[str, PutBack], bases: Bases) -> dict[str, PutBack]:
    """Returns those that git did not put back: no commit but the last has the change, and no checkout discarded it."""
    if not store.tree.git or not found:
        return found
    asked: dict[str, set[str]] = {}
    for each in found.values():
        asked.setdefault(each.path, set()).update(each.moments)
    taken = find_taken_by_git(store.tree, asked)
    for path in asked:
        lost = {each.moments[0]: (path, each.last) for each in found.values() if each.path == path}
        taken.setdefault(path, set()).update(find_discarded(store, lost, bases))
    return {name: each for name, each in found.items() if taken[each.path].isdisjoint(each.moments)}
