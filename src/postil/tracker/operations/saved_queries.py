"""Queries saved under a name, in a file beside the repository: `git mile save`, `git mile saved`, `issues://query/…`."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import msgspec

from postil.core import limits
from postil.core.answer import Answer
from postil.core.operation import reads, writes
from postil.tracker.failures import InvalidParams
from postil.tracker.operations.arguments import EntityKind
from postil.tracker.query.order import parse_order
from postil.tracker.query.parse import parse
from postil.tracker.query.tree import QueryFault, suggest
from postil.tracker.validation import translate_fault
from postil.workspace.disk import read_regular
from postil.workspace.files import FileLock, atomic_write, make_folder
from postil.workspace.paths import RelativePath

if TYPE_CHECKING:
    from postil.tracker.issues import Issues

_FILE = RelativePath("postil/queries.json")
_NAME = re.compile(r"[\w.-]{1,64}\Z")


class SavedQuery(msgspec.Struct, frozen=True):
    """A question with a name."""

    entity: str = "issue"
    filter: str = ""
    sort: tuple[str, ...] = ()
    include_closed: bool = False


_BUILT_IN = {"open": SavedQuery(), "milestones": SavedQuery("milestone")}


class SavedQueries(Answer, frozen=True, kw_only=True):
    """All saved queries of this clone."""

    queries: dict[str, SavedQuery]

    def for_model(self) -> str:
        """One line a query."""
        return "\n".join(f"{name}: {query.entity} {query.filter}".rstrip() for name, query in self.queries.items())


class QueryCommands:
    """`git mile save NAME FILTER`, `git mile saved`."""

    def __init__(self, issues: Issues) -> None:
        self._issues = issues

    @writes("issue_save", aliases=("issue.save",), toolset="extra", shell="issue save", positional=("name", "filter"))
    def save(
        self,
        name: str,
        filter: str = "",
        sort: tuple[str, ...] = (),
        entity: EntityKind = "issue",
        include_closed: bool = False,
    ) -> SavedQueries:
        """Save a query under a name: `list --saved NAME` asks it, and it is the resource issues://query/NAME"""
        if not _NAME.match(name):
            raise InvalidParams(f"`{name[:64]}` is not a name", advice="Use letters, digits, - and _")
        try:
            parse(filter)
            parse_order(sort)
        except QueryFault as fault:
            raise translate_fault(fault) from None
        folder = self._issues.store.repository.common_dir
        make_folder(folder, "postil", 0o700)
        with FileLock(os.path.join(folder, "postil", "queries.lock")):
            queries = {**_read_own(folder), name: SavedQuery(entity, filter, sort, include_closed)}
            atomic_write(folder, _FILE, msgspec.json.encode(queries) + b"\n")
        return self.list_saved()

    @reads("issue_saved", aliases=("issue.saved", "issue.list_saved"), toolset="extra", shell="issue saved")
    def list_saved(self) -> SavedQueries:
        """The saved queries"""
        return SavedQueries(queries=read_saved(self._issues.store.repository.common_dir))


def read_saved(common_dir: str) -> dict[str, SavedQuery]:
    """Returns the saved queries by name, with those that are always there."""
    return {**_BUILT_IN, **_read_own(common_dir)}


def find_saved(common_dir: str, name: str) -> SavedQuery:
    """Returns the query of this name. Raises InvalidParams if there is none."""
    known = read_saved(common_dir)
    if name not in known:
        raise InvalidParams(f"No query is saved as `{name[:64]}`", advice=suggest(name, list(known)))
    return known[name]


def _read_own(common_dir: str) -> dict[str, SavedQuery]:
    content = read_regular(os.path.join(common_dir, _FILE), limits.SMALL_FILE)
    try:
        return {} if content is None else msgspec.json.decode(content, type=dict[str, SavedQuery])
    except (ValueError, RecursionError):
        return {}
