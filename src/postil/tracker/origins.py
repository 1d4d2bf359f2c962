"""The names that an issue has at other trackers: the id or address it was imported from, or was given since.

An imported entity has an id that follows from its origin. One that was opened elsewhere after it was made here keeps
its id, and its field `external_ref` holds the address; the index remembers both in the table `origin`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from postil.tracker.failures import AmbiguousId
from postil.tracker.imports.model import ForeignIssue, derive_entity_id, fit_title
from postil.tracker.text import name_address
from postil.tracker.vocabulary import ADDRESS_FIELD, AT, LONGEST_NAME

if TYPE_CHECKING:
    from postil.tracker.store import Store

_SHORTEST_HASH = 4
"""Letters of an id of git-bug, which shows seven; ids of the other sources are short and given whole."""
_NUMBERED = re.compile(r"\S+/\S+#\d{1,19}\Z", re.ASCII)
"""An issue of a project, with its host or without it."""
_FORGES = ("github", "gitlab")
_SOURCES = ("beads", "git-bug", "backlog", *_FORGES)


def find_by_origin(store: Store, given: str, kind: str | None) -> str:
    """Returns the entity that goes by this id or address at another tracker; empty when there is none."""
    given = name_address(given)
    names = [f"{source}:{name}" for source in _SOURCES for name in (given, given.lower())]
    ids = [derive_entity_id(name) for name in dict.fromkeys(names)]
    sql = f"SELECT id, kind FROM ent WHERE n IN (SELECT n FROM log WHERE id IN ({', '.join('?' * len(ids))}))"
    whole = next((id_ for id_, found in store.index.query(sql, ids) if kind in (None, found)), "")
    if whole:
        return whole
    if _NUMBERED.match(given):
        return _choose(given, _find_address(store, given, kind))
    if len(given) < _SHORTEST_HASH or not re.fullmatch(r"[0-9a-f]+", given.lower()):
        return ""
    sql = "SELECT id, kind FROM ent WHERE n IN (SELECT n FROM origin WHERE name >= ? AND name < ?) LIMIT 10"
    begun = f"git-bug:{given.lower()}"
    return _choose(given, {id_ for id_, found in store.index.query(sql, (begun, begun + "g")) if kind in (None, found)})


def find_addresses(store: Store, origins: Iterable[str]) -> dict[str, str]:
    """Returns the entities that are at these origins (`gitlab:host/ann/shop#4`) and did not come from there."""
    found: dict[str, str] = {}
    sql = "SELECT id FROM ent WHERE n IN (SELECT n FROM origin WHERE name = ?) ORDER BY id LIMIT 10"
    for origin in origins:
        source, _, place = origin.partition(":")
        if source in _FORGES:
            name = _name_place(place)
            here = next((id_ for (id_,) in store.index.query(sql, (name,)) if _is_at(store, id_, name)), "")
            if here:
                found[origin] = here
    return found


def find_titled(store: Store, foreign: Iterable[ForeignIssue]) -> dict[str, str]:
    """Returns by their origins the milestones of a forge that are here already: one, and only one, has the title."""
    found: dict[str, str] = {}
    sql = "SELECT id FROM ent WHERE kind = 'milestone' AND title = ? LIMIT 2"
    for one in foreign:
        if one.kind == "milestone" and one.origin.partition(":")[0] in _FORGES:
            rows = store.index.query(sql, (fit_title(one.title),))
            if len(rows) == 1:
                found[one.origin] = rows[0][0]
    return found


def _choose(given: str, found: set[str]) -> str:
    if len(found) > 1:
        raise AmbiguousId(given, sorted(found))
    return next(iter(found), "")


def _find_address(store: Store, given: str, kind: str | None) -> set[str]:
    """Returns what is at an address as `gitlab.com/ann/shop#4`; the host may be left out."""
    end = f"/{given}"
    sql = "SELECT id, kind, name FROM origin JOIN ent USING (n) WHERE name = ? OR substr(name, ?) = ? LIMIT 100"
    found: set[str] = set()
    for id_, other, name in store.index.query(sql, (_name_place(given), -len(end), end)):
        host = name.removesuffix(end).partition(":")[2]
        if kind in (None, other) and ("/" not in host or not name.endswith(end)) and _is_at(store, id_, name):
            found.add(id_)
    return found


def _is_at(store: Store, id_: str, name: str) -> bool:
    """Returns whether an entity still is where an event said. One that came from there always is."""
    if not name.startswith(AT):
        return True
    entity = store.entity(id_)
    return entity is not None and _name_place(entity.fields.get(ADDRESS_FIELD, "")) == name


def _name_place(address: str) -> str:
    return AT + name_address(address)[:LONGEST_NAME]
