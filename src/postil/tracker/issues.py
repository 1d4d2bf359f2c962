"""The context of the tracker's operations: the store, finding an entity by what people type, and the writes.

The operations are groups over it (`operations/`, `shell/`): thin methods that read their arguments and call these.
"""

from __future__ import annotations

import datetime
import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from postil.core import call
from postil.tracker.events import (
    Assigned,
    Commented,
    Created,
    Described,
    Labelled,
    Linked,
    Set,
    new_entity_id,
    new_event_id,
)
from postil.tracker.failures import AmbiguousId, DependencyCycle, InvalidParams, NoSuchEntity
from postil.tracker.index.pages import LARGEST_LIMIT, Page, count_issues, find_by_prefix, read_page
from postil.tracker.index.tables import Row, find_assignees, find_short_ids
from postil.tracker.model import Entity
from postil.tracker.operations.answers import Item, Shown, ShownLink, make_item, show_entity
from postil.tracker.query.tree import QueryFault
from postil.tracker.state.graph import Edge, find_path
from postil.tracker.store import Store, Transaction
from postil.tracker.text import format_moment
from postil.tracker.validation import (
    check_due,
    check_field,
    check_labels,
    check_names,
    check_one_of,
    check_text,
    check_title,
    translate_fault,
)
from postil.tracker.vocabulary import ACYCLIC_LINKS, KINDS, LINK_TYPES, STATUSES

if TYPE_CHECKING:
    from postil.workspace.repository import Repository


_ADVICE = {
    "newer": "Install a newer Postil to read it; what it holds is kept",
    "rewritten": "`git mile sync` gives what it lost to everyone again; ask who force-pushed it",
    "refused": "Ask whoever writes it; `git mile verify` says more",
}
"""What to do about what is wrong with a log."""
_NAMED = 10
"""So many logs with which something is wrong are named; `verify` names all."""


class Issues:
    """One repository's tracker."""

    def __init__(
        self,
        repository: Callable[[], Repository],
        cache_home: str = "",
        editor: str = "",
        now: Callable[[], datetime.datetime] | None = None,
    ) -> None:
        self.editor = editor
        self._repository = repository
        self._cache_home = cache_home
        self._now = now
        self._store: Store | None = None
        self._told: set[str] = set()
        self._lock = threading.Lock()

    @property
    def store(self) -> Store:
        """The tracker's data, opened on first use."""
        if self._store is None:
            with self._lock:
                if self._store is None:
                    self._store = Store(self._repository(), self._cache_home or None, self._now)
        return self._store

    def refresh(self) -> Store:
        """Returns the store, up to date with the refs."""
        store = self.store
        store.refresh()
        if store.index.damage():
            for text in _name_some(store.index.damage("damage")):
                call.current().tell_damage(f"{text}. What it held is not shown; `git mile verify --fix` looks for it")
            for kind, advice in _ADVICE.items():
                for text in _name_some(store.index.damage(kind)):
                    if text not in self._told:  # a server says it once
                        self._told.add(text)
                        call.current().log("warning", f"{text}. {advice}")
        return store

    def transaction(
        self, author: str | None = None, email: str | None = None, message: str = "", dry_run: bool = False
    ) -> AbstractContextManager[Transaction]:
        """Begin a write by the author named, else by the identity this clone has adopted, else by git's user.

        A dry run writes nothing when it ends.
        """
        from postil.tracker.state.identities import read_adopted  # reading does not pay for it

        adopted = read_adopted(self.store.repository)
        if adopted is not None:
            author, email = author or adopted.name, email or adopted.mail
        return self.store.transaction(author, email, message, dry_run)

    def name_writer(self) -> tuple[str, ...]:
        """Returns the names that new events of this caller go by: as their author, in a claim, and the address."""
        from postil.tracker.log.append import find_author  # hardly a question asks for them
        from postil.tracker.state.identities import read_adopted

        adopted = read_adopted(self.store.repository)
        author = find_author(self.store.repository.root, *((adopted.name, adopted.mail) if adopted else ()))
        return (str(author), author.name, *(() if author.mail.endswith(".invalid") else (author.mail,)))

    def now_text(self) -> str:
        """Returns the present moment as events write it."""
        return format_moment(self.store.now())

    # Reading

    def find(self, given: str, kind: str | None = None) -> Entity:
        """Returns the entity that was meant (see `find_id`)."""
        entity = self.store.entity(self.find_id(given, kind))
        if entity is None:
            raise NoSuchEntity((kind or "entity").capitalize(), given)
        return entity

    def find_past(self, given: str, day: str) -> Entity:
        """Returns the entity that was meant, as it was at the end of a day."""
        from postil.tracker.index.as_of import check_day, fold_until  # only who looks back pays for it

        entity = fold_until(self.store.lines(self.find_id(given)), check_day(day))
        if entity is None:
            raise NoSuchEntity("Entity", given, f"It was not there yet on {day}")
        return entity

    def find_id(self, given: str, kind: str | None = None) -> str:
        """Returns the full id of what was typed: an id, its beginning, or a milestone's title. Needs a fresh index."""
        text = given.strip().lower().removeprefix("#")
        number = _NUMBER.fullmatch(given.strip())  # as GitHub and GitLab number theirs: an id begins so by chance
        is_id = number is None and re.fullmatch(r"[0-9a-f-]{1,36}", text) is not None
        found = find_by_prefix(self.store.index, text, kind) if is_id else []
        if len(found) == 1 or (found and found[0].id == text):
            return found[0].id
        if found:
            raise AmbiguousId(text, [row.id for row in found])
        # After the ids: nobody may divert another's id by giving a milestone a title that looks like it.
        titled = self._find_titled(given.strip()) if kind in (None, "milestone") else []
        if len(titled) == 1:
            return titled[0]
        if titled:
            raise InvalidParams(
                f"Several milestones are called `{given[:64]}`: {', '.join(titled)}", advice="Give the id of one"
            )
        from postil.tracker.origins import find_by_origin  # only an id that is none of ours pays for it

        elsewhere = find_by_origin(self.store, given.strip(), kind)
        if elsewhere:
            return elsewhere
        if not is_id:
            advice = "An id is a UUID or the beginning of one, as lists show it"
            if number is not None:
                advice += f"; what was imported answers to its address: github.com/ann/shop{number[0]}"
            raise InvalidParams(f"`{given[:64]}` is not an id", advice=advice)
        other = find_by_prefix(self.store.index, text, None, 1)
        advice = f"{other[0].id[:8]} is {_with_article(other[0].kind)}" if other else self._find_deleted(text)
        raise NoSuchEntity((kind or "entity").capitalize(), given, advice)

    def list_page(
        self,
        kind: str | None,
        filter_: str | None,
        sort: Sequence[str],
        limit: int,
        cursor: str | None,
        include_closed: bool,
        labels: Sequence[str] = (),
    ) -> Page:
        """Returns a page of a list. Raises InvalidParams, with the place of the fault, for what cannot be asked."""
        self.refresh()
        return self.read_list(kind, filter_, sort, limit, cursor, include_closed, labels)

    def read_list(
        self,
        kind: str | None,
        filter_: str | None,
        sort: Sequence[str],
        limit: int,
        cursor: str | None,
        include_closed: bool,
        labels: Sequence[str] = (),
    ) -> Page:
        """Returns a page from the index as it is: for writers, whose transaction has brought it up to date."""
        import sqlite3  # loaded by the index anyway

        store, most = self.store, min(limit, LARGEST_LIMIT)
        asked = (kind, filter_, sort, most, cursor, include_closed, store.now(), labels, self.name_writer)
        try:
            try:
                return read_page(store.index, *asked)
            except sqlite3.DatabaseError as fault:
                if "locked" in str(fault) or "busy" in str(fault):
                    raise
                store.index.forget()  # damage that only a question finds: the cache is built anew, the logs hold all
                store.refresh()
                return read_page(store.index, *asked)
        except QueryFault as fault:
            raise translate_fault(fault) from None

    def shorten(self, ids: Iterable[str]) -> dict[str, str]:
        """Returns the beginning of each id that names it."""
        index = self.store.index
        with index.lock:
            return find_short_ids(index.db, ids)

    def list_assignees(self, rows: Sequence[Row]) -> dict[int, str]:
        """Returns the people of each row that has any, by its number."""
        index = self.store.index
        with index.lock:
            return find_assignees(index.db, rows)

    def make_items(self, page: Page) -> list[Item]:
        """Returns a page's rows as the contract's items."""
        counted = count_issues(self.store.index, [row.id for row in page.rows if row.kind == "milestone"])
        return [make_item(row, counted.get(row.id)) for row in page.rows]

    def show(self, entity: Entity, comments: int | None = None, skipped: int = 0) -> Shown:
        """Returns an entity in full, or with so many comments: the newest, or those before some of them."""
        by_status = count_issues(self.store.index, [entity.id]) if entity.kind == "milestone" else {}
        end = max(0, len(entity.comments) - skipped)
        some = range(0 if comments is None else max(0, end - comments), end)
        return show_entity(entity, by_status.get(entity.id), self._show_links(entity), self.now_text(), some)

    def list_edges(self, type_: str, open_only: bool = False) -> list[Edge]:
        """Returns all links of a type as (first, then), in the order they were made."""
        sql = (
            "SELECT one.id, link.target FROM link JOIN ent one ON one.n = link.n"
            " JOIN log ON log.id = link.target JOIN ent two ON two.n = log.n WHERE link.type = ?"
            + (" AND one.status <> 'closed' AND two.status <> 'closed'" if open_only else "")
            + " ORDER BY link.l, link.r, link.s"
        )
        return self.store.index.query(sql, (type_,))

    def _show_links(self, entity: Entity) -> list[ShownLink]:
        """Returns the links of an entity, from both ends."""
        query = self.store.index.query
        ends = [(link.type, link.target) for link in entity.links]
        sql = "SELECT link.type, ent.id FROM link JOIN ent ON ent.n = link.n WHERE target = ? ORDER BY ent.id"
        ends += [(_REVERSE.get(type_, f"{type_} of"), id_) for type_, id_ in query(sql, (entity.id,))]
        sql = "SELECT title, status FROM ent WHERE n = (SELECT n FROM log WHERE id = ?)"
        # A link to something deleted, or not fetched yet, reads as none.
        return [ShownLink(type_, id_, *found) for type_, id_ in ends for found in query(sql, (id_,))]

    # Writing

    def create(
        self,
        tx: Transaction,
        kind: str,
        title: str,
        *,
        description: str = "",
        labels: Sequence[str] = (),
        milestone: str | None = None,
        due: str | None = None,
        assignees: Sequence[str] = (),
        status: str = "open",
        fields: Mapping[str, str | None] | None = None,
        id_: str = "",
    ) -> str:
        """Write a new entity. Returns its id."""
        check_one_of("kind", kind, KINDS)
        check_one_of("status", status, STATUSES)
        id_ = id_ or new_entity_id()
        tx.write(
            Created,
            id_,
            kind=kind,
            title=check_title(title),
            status=status,
            description=check_text("description", description).rstrip(),
            labels=check_labels(labels),
            milestone=self._find_milestone(milestone, kind),
            due=check_due(due),
            assignees=check_names("assignee", assignees),
        )
        for field, value in (fields or {}).items():
            if value is not None:
                self.set_field(tx, id_, field, check_field(field, value))
        return id_

    def update(
        self,
        tx: Transaction,
        entity: Entity,
        *,
        title: str | None = None,
        description: str | None = None,
        status: str | None = None,
        milestone: str | None = None,
        due: str | None = None,
        assign: Sequence[str] = (),
        unassign: Sequence[str] = (),
        fields: Mapping[str, str | None] | None = None,
    ) -> list[str]:
        """Write what differs from the present state. Returns the names of what was written."""
        values: dict[str, str | None] = {}
        if title is not None:
            values["title"] = check_title(title)
        if description is not None:
            values["description"] = check_text("description", description).rstrip()
        if status is not None:
            values["status"] = check_one_of("status", status, STATUSES)
        if milestone is not None:
            values["milestone"] = self._find_milestone(milestone, entity.kind)
        if due is not None:
            values["due"] = check_due(due)
        # A field with a lost concurrent value is written again even if its value stays: that settles the conflict.
        undecided = {conflict.field for conflict in entity.conflicts}
        changed: list[str] = []
        for field, value in values.items():
            if value != getattr(entity, field) or field in undecided:
                self.set_field(tx, entity.id, field, value)
                changed.append(f"status {value}" if field == "status" else field)
        for field, given in (fields or {}).items():
            value = check_field(field, given) if given is not None else entity.fields.get(field)
            if value != entity.fields.get(field) or (given is not None and field in undecided):
                self.set_field(tx, entity.id, field, value)
                changed.append(f"{field} {value or 'none'}")
        add = tuple(name for name in check_names("assignee", assign) if name not in entity.assignees)
        rm = tuple(name for name in check_names("assignee", unassign) if name in entity.assignees)
        if add or rm:
            tx.write(Assigned, entity.id, add=add, rm=rm)
            changed.append("assignees")
        return changed

    def set_field(self, tx: Transaction, id_: str, field: str, value: str | None) -> None:
        """Write one field of an entity."""
        if field == "description":
            tx.write(Described, id_, text=value or "")
        else:
            tx.write(Set, id_, f=field, value=value)

    def comment(self, tx: Transaction, id_: str, body: str, comment_id: str = "") -> str:
        """Write a comment. Returns its id."""
        comment_id = comment_id or new_event_id()
        tx.write(Commented, id_, c=comment_id, body=check_text("comment", body).rstrip())
        return comment_id

    def label(
        self, tx: Transaction, entity: Entity, add: Sequence[str], remove: Sequence[str]
    ) -> tuple[list[str], list[str]]:
        """Attach and detach labels. Returns what was really added and removed."""
        adds = [label for label in check_labels(add) if label not in entity.labels]
        removes = [label for label in check_labels(remove) if label in entity.labels and label not in adds]
        if adds or removes:
            tx.write(Labelled, entity.id, add=tuple(adds), rm=tuple(removes))
        return adds, removes

    def link(self, tx: Transaction, entity: Entity, type_: str, target: str, remove: bool) -> bool:
        """Add or remove a link. Returns whether anything changed. Raises DependencyCycle with the path."""
        check_one_of("link type", type_, LINK_TYPES)
        other = self.find_id(target)
        if other == entity.id:
            raise InvalidParams("An entity cannot be linked to itself", advice="Give another target")
        exists = any((link.type, link.target) == (type_, other) for link in entity.links)
        if exists != remove:
            return False
        if not remove and type_ in ACYCLIC_LINKS:
            back = find_path(self.list_edges(type_), other, entity.id)
            if back is not None:
                raise DependencyCycle([id_[:8] for id_ in [entity.id, *back]])
        edge = ((type_, other),)
        tx.write(Linked, entity.id, add=() if remove else edge, rm=edge if remove else ())
        return True

    def _find_milestone(self, given: str | None, kind: str) -> str | None:
        if given is None or given.lower() in ("", "none"):
            return None
        if kind == "milestone":
            raise InvalidParams("A milestone cannot belong to a milestone", advice="Leave `milestone` out")
        titled = self._find_titled(given)  # before the ids here: `1` is rather the title 1 than an id that begins so
        return titled[0] if len(titled) == 1 else self.find_id(given, "milestone")

    def _find_deleted(self, prefix: str) -> str:
        """Returns what to do where an id is that of something deleted, else nothing."""
        sql = "SELECT id FROM log WHERE id >= ? AND id < ? LIMIT 2"
        rows = self.store.index.query(sql, (prefix, prefix + "g")) if len(prefix) >= _SHORTEST_HASH else []
        return f"It was deleted: `git mile delete {rows[0][0][:8]} --undo` brings it back" if len(rows) == 1 else ""

    def _find_titled(self, title: str) -> list[str]:
        """Returns the milestones of this title, a few at most."""
        sql = "SELECT id FROM ent WHERE kind = 'milestone' AND title = ? ORDER BY id LIMIT 10"
        return [id_ for (id_,) in self.store.index.query(sql, (title,))]


_SHORTEST_HASH = 4
"""Letters of an id from which on it may be meant to be one."""
_NUMBER = re.compile(r"#\d{1,6}", re.ASCII)
_REVERSE = {
    "blocks": "blocked-by",
    "parent": "child",
    "related": "related",
    "duplicate": "duplicated-by",
    "discovered-from": "discovered",
}


def _name_some(texts: list[str]) -> list[str]:
    left = len(texts) - _NAMED
    return [*texts[:_NAMED], f"So it is with {left} more logs"] if left > 0 else texts


def _with_article(kind: str) -> str:
    return f"an {kind}" if kind[:1] in ("a", "e", "i", "o", "u") else f"a {kind}"
