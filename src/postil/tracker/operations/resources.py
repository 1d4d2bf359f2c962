"""Issues, milestones and saved queries as resources that can be watched, and the pictures of a milestone."""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Callable
from typing import Annotated

import msgspec
from msgspec import Meta

from postil.core.operation import reads, writes
from postil.core.registry import ResourceNotFound
from postil.core.resource import match, resource
from postil.tracker.events import decode_lines
from postil.tracker.failures import InvalidParams, TrackerFailure
from postil.tracker.issues import Issues
from postil.tracker.model import Entity
from postil.tracker.operations.answers import Listed, Shown
from postil.tracker.operations.assistant import Id
from postil.tracker.operations.contract import EntityKind
from postil.tracker.query.order import parse_order
from postil.tracker.query.parse import parse
from postil.tracker.query.tree import QueryFault
from postil.tracker.state.burndown import Day, count_days
from postil.tracker.validation import translate_fault
from postil.workspace.files import FileLock, atomic_write, make_folder
from postil.workspace.paths import RelativePath

_QUERIES = RelativePath("postil/queries.json")
_NAME = re.compile(r"[\w.-]{1,64}\Z")
ISSUE, MILESTONE, QUERY = "issue://{id}", "milestone://{id}", "issues://query/{name}"
PICTURE = "milestone://{id}/burndown.svg"


class SavedQuery(msgspec.Struct, frozen=True):
    """A question with a name."""

    entity: str = "issue"
    filter: str = ""
    sort: tuple[str, ...] = ()
    include_closed: bool = False


class SavedQueries(msgspec.Struct, frozen=True, kw_only=True):
    """All saved queries of this clone."""

    queries: dict[str, SavedQuery]

    def shell(self) -> str:
        """One line a query."""
        return "\n".join(f"{name}: {query.entity} {query.filter}".rstrip() for name, query in self.queries.items())


class Chart(msgspec.Struct, frozen=True, kw_only=True):
    """The days of a milestone."""

    id: str
    title: str
    due: str | None
    days: list[Day]

    def shell(self) -> str:
        """A burn-down for the terminal."""
        from postil.tracker.state.charts import draw_chart  # only who looks at a picture pays for drawing it

        return draw_chart(self.title, self.due, self.days)


_BUILT_IN = {"open": SavedQuery(), "milestones": SavedQuery("milestone")}


class Resources(Issues):
    """What can be read and watched by address."""

    @resource(ISSUE, name="Issue", mime_type="application/json", watch="watch_logs")
    def issue_resource(self, id: str) -> Shown:
        """One issue with its comments, as git_mile.show answers it"""
        return self._resource(id, "issue")

    @resource(MILESTONE, name="Milestone", mime_type="application/json", watch="watch_logs")
    def milestone_resource(self, id: str) -> Shown:
        """One milestone with its progress"""
        return self._resource(id, "milestone")

    @resource(PICTURE, name="Burn-down", mime_type="image/svg+xml", watch="watch_logs")
    def picture_resource(self, id: str) -> str:
        """The burn-down of a milestone, drawn from its events"""
        from postil.tracker.state.charts import draw_chart_svg

        self.refresh()
        try:
            made = self.make_chart(self.entity(id, "milestone"))
        except TrackerFailure as failure:
            raise ResourceNotFound("Resource not found", uri=f"milestone://{id}/burndown.svg"[:200]) from failure
        return draw_chart_svg(made.title, made.due, made.days)

    @resource(QUERY, name="Saved query", mime_type="application/json", watch="watch_logs")
    def query_resource(self, name: str) -> Listed:
        """The first page of a saved query; `open` and `milestones` are always there"""
        saved = self.list_saved().get(name)
        if saved is None:
            raise ResourceNotFound("Resource not found", uri=f"issues://query/{name}"[:200])
        found = self.list_page(saved.entity, saved.filter, saved.sort, 50, None, saved.include_closed)
        return Listed(items=self.items(found), nextCursor=found.next_cursor)

    def watch_logs(self, uri: str, changed: Callable[[], None]) -> Callable[[], None]:
        """Call `changed` when what the address shows changes, by any process or fetch, until the answer is called."""
        from postil.workspace.watch import call_on_change  # a server without subscriptions never needs it

        current: list[Callable[[], None]] = []
        last = [self._digest(uri)]
        watched: list[list[str]] = [[]]

        def look(_: frozenset[str]) -> None:
            folders = self._folders()
            if folders != watched[0]:
                # The first write makes new folders; look again after watching them, or a change could slip between.
                old, watched[0] = current[:], folders
                current[:] = [call_on_change(folders, look)]
                for stop in old:
                    stop()
            digest = self._digest(uri)
            if digest != last[0]:
                last[0] = digest
                changed()

        look(frozenset())

        def stop_all() -> None:
            for stop in current:
                stop()

        return stop_all

    @writes("issue.save", tool=False, shell="issue save", positional=("name", "filter"))
    def save_query(
        self,
        name: str,
        filter: str = "",
        sort: tuple[str, ...] = (),
        entity: EntityKind = "issue",
        include_closed: bool = False,
    ) -> SavedQueries:
        """Save a query under a name; it is then the resource issues://query/NAME"""
        if not _NAME.match(name):
            raise InvalidParams(f"`{name[:64]}` is not a name", advice="Use letters, digits, - and _")
        try:
            parse(filter)
            parse_order(sort)
        except QueryFault as fault:
            raise translate_fault(fault) from None
        folder = self.store.repository.common_dir
        make_folder(folder, "postil", 0o700)
        with FileLock(os.path.join(folder, "postil", "queries.lock")):
            queries = {**self._own_queries(), name: SavedQuery(entity, filter, sort, include_closed)}
            atomic_write(folder, _QUERIES, msgspec.json.encode(queries) + b"\n")
        return SavedQueries(queries=self.list_saved())

    @reads("issue.list_saved", tool=False, shell="issue saved", output_depth=0)
    def saved_queries(self) -> SavedQueries:
        """The saved queries"""
        return SavedQueries(queries=self.list_saved())

    @reads("milestone.chart", tool=False, shell="milestone chart", positional=("id",), output_depth=0)
    def chart(
        self,
        id: Id,
        svg: Annotated[bool, Meta(description="print SVG")] = False,
        bar: Annotated[bool, Meta(description="only the progress bar")] = False,
        as_of: Annotated[str, Meta(description="as it was at the end of this day, YYYY-MM-DD")] | None = None,
    ) -> Chart | str:
        """Burn-down and progress of a milestone, as text or SVG, now or at any day"""
        self.refresh()
        made = self.make_chart(self.entity(id, "milestone"), as_of)
        if not svg and not bar:
            return made
        from postil.tracker.shell.tables import draw_progress
        from postil.tracker.state.charts import draw_chart_svg, draw_progress_svg

        last = made.days[-1] if made.days else Day("", 0, 0)
        if bar:
            return (
                draw_progress_svg(made.title, last.open, last.closed) if svg else draw_progress(last.open, last.closed)
            )
        return draw_chart_svg(made.title, made.due, made.days)

    def make_chart(self, milestone: Entity, as_of: str | None = None) -> Chart:
        """The days of a milestone, up to now or to a day."""
        until = self.store.now().date()
        if as_of is not None:
            try:
                until = datetime.date.fromisoformat(as_of)
            except ValueError:
                raise InvalidParams(f"`{as_of[:64]}` is not a day", advice="Write it as 2026-11-15") from None
        with self.store.index.lock:
            ever = self.store.index.db.execute(
                "SELECT id FROM aim JOIN log ON log.n = aim.n WHERE milestone = ?", (milestone.id,)
            ).fetchall()
        told = count_days(
            (decode_lines(lines) for _, lines in self.store.index.read_histories([id_ for (id_,) in ever])),
            milestone.id,
            until,
        )
        return Chart(id=milestone.id, title=milestone.title, due=milestone.due, days=told)

    def list_saved(self) -> dict[str, SavedQuery]:
        """The saved queries by name, with those that are always there."""
        return {**_BUILT_IN, **self._own_queries()}

    def _own_queries(self) -> dict[str, SavedQuery]:
        try:
            with open(os.path.join(self.store.repository.common_dir, _QUERIES), "rb") as file:
                return msgspec.json.decode(file.read(), type=dict[str, SavedQuery])
        except (OSError, msgspec.DecodeError):
            return {}

    def _resource(self, id_: str, kind: str) -> Shown:
        self.refresh()
        try:
            return self.shown(self.entity(id_, kind))
        except TrackerFailure as failure:
            raise ResourceNotFound("Resource not found", uri=f"{kind}://{id_}"[:200]) from failure

    def _digest(self, uri: str) -> bytes:
        """What the address shows, to compare; empty when it shows nothing."""
        try:
            for template, read in ((ISSUE, self.issue_resource), (MILESTONE, self.milestone_resource)):
                if found := match(template, uri):
                    return msgspec.json.encode(read(found["id"]))
            if found := match(PICTURE, uri):
                return self.picture_resource(found["id"]).encode()
            found = match(QUERY, uri)
            return msgspec.json.encode(self.query_resource(found["name"])) if found else b""
        except (ResourceNotFound, TrackerFailure):
            return b""

    def _folders(self) -> list[str]:
        top = self.store.repository.common_dir
        found = [top, os.path.join(top, "refs"), os.path.join(top, "postil")]
        for start in ("refs/postil", "refs/heads/postil", "refs/remotes"):
            for where, names, _ in os.walk(os.path.join(top, start)):
                found.append(where)
                names.sort()
        return [folder for folder in found if os.path.isdir(folder)]
