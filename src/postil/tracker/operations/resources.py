"""Issues, milestones, burn-downs and saved queries as resources that can be read and watched by their address."""

from __future__ import annotations

import os
from collections.abc import Callable

import msgspec
from msgspec import Struct

from postil.core import limits
from postil.core.failure import Failure
from postil.core.registry import ResourceNotFound
from postil.core.resource import match, resource
from postil.tracker.failures import TrackerFailure
from postil.tracker.issues import Issues
from postil.tracker.operations.answers import Listed, Shown
from postil.tracker.operations.chart import make_chart
from postil.tracker.operations.saved_queries import read_saved

ALL = "issues://all"
ISSUE, MILESTONE, QUERY = "issue://{id}", "milestone://{id}", "issues://query/{name}"
BURNDOWN = "milestone://{id}/burndown.svg"


class Written(Struct, frozen=True):
    """What this clone has of the tracker."""

    count: int
    mark: str


class Resources:
    """What can be read and watched by address."""

    def __init__(self, issues: Issues) -> None:
        self._issues = issues

    @resource(ISSUE, name="Issue", mime_type="application/json", watch="watch_logs")
    def read_issue(self, id: str) -> Shown:
        """One issue with its comments, as git_mile_show answers it"""
        return self._read_entity(id, "issue")

    @resource(MILESTONE, name="Milestone", mime_type="application/json", watch="watch_logs")
    def read_milestone(self, id: str) -> Shown:
        """One milestone with its progress"""
        return self._read_entity(id, "milestone")

    @resource(BURNDOWN, name="Burn-down", mime_type="image/svg+xml", watch="watch_logs")
    def read_burndown(self, id: str) -> str:
        """The burn-down of a milestone, drawn from its events"""
        from postil.tracker.state.charts import draw_chart_svg

        self._issues.refresh()
        try:
            made = make_chart(self._issues, self._issues.find(id, "milestone"))
        except TrackerFailure as failure:
            raise ResourceNotFound("Resource not found", uri=f"milestone://{id}/burndown.svg"[:200]) from failure
        return draw_chart_svg(made.title, made.due, made.days)

    @resource(ALL, name="Issues", mime_type="application/json", watch="watch_logs")
    def read_all(self) -> Written:
        """How many issues and milestones this clone knows, and a mark of their logs: watched, it tells of any change"""
        from hashlib import sha256  # only who watches needs it

        index = self._issues.refresh().index
        ((count,),) = index.query("SELECT count(*) FROM ent", ())
        logs = index.query("SELECT name, oid FROM ref ORDER BY name", ())
        return Written(count, sha256(repr(logs).encode()).hexdigest())

    @resource(QUERY, name="Saved query", mime_type="application/json", watch="watch_logs")
    def read_query(self, name: str) -> Listed:
        """The first page of a saved query; `open` and `milestones` are always there"""
        saved = read_saved(self._issues.store.repository.common_dir).get(name)
        if saved is None:
            raise ResourceNotFound("Resource not found", uri=f"issues://query/{name}"[:200])
        page = self._issues.list_page(saved.entity, saved.filter, saved.sort, 50, None, saved.include_closed)
        return Listed(items=self._issues.make_items(page), nextCursor=page.next_cursor)

    def watch_logs(self, uri: str, changed: Callable[[], None]) -> Callable[[], None]:
        """Call `changed` when what the address shows changes, by any process or fetch.

        Returns a function that stops the watch.
        """
        from postil.workspace.watch import call_on_change  # a server without subscriptions never needs it

        current: list[Callable[[], None]] = []
        last = [self._digest(uri)]
        watched: list[list[str]] = [[]]

        def look(_: frozenset[str]) -> None:
            folders = self._list_folders()
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

    def _read_entity(self, id_: str, kind: str) -> Shown:
        self._issues.refresh()
        try:
            size = len(self._issues.store.lines(self._issues.find_id(id_, kind)))
            if size > limits.DOCUMENT:  # not made first
                raise Failure(
                    f"Its events have {size} bytes; a document of at most {limits.DOCUMENT} is sent",
                    advice="Read it with git_mile_show, which answers a part",
                )
            return self._issues.show(self._issues.find(id_, kind))
        except TrackerFailure as failure:
            raise ResourceNotFound("Resource not found", uri=f"{kind}://{id_}"[:200]) from failure

    def _digest(self, uri: str) -> bytes:
        """Returns what the address shows, to compare; nothing when it shows nothing."""
        readers = {ISSUE: self.read_issue, MILESTONE: self.read_milestone, BURNDOWN: self.read_burndown}
        try:
            if uri == ALL:
                return msgspec.json.encode(self.read_all())
            for template, read in {**readers, QUERY: self.read_query}.items():
                found = match(template, uri)
                if found:
                    return msgspec.json.encode(read(*found.values()))
            return b""
        except (ResourceNotFound, TrackerFailure):
            return b""

    def _list_folders(self) -> list[str]:
        top = self._issues.store.repository.common_dir
        found = [top, os.path.join(top, "refs"), os.path.join(top, "postil")]
        for start in ("refs/postil", "refs/heads/postil", "refs/remotes"):
            for where, names, _ in os.walk(os.path.join(top, start)):
                found.append(where)
                names.sort()
        return [folder for folder in found if os.path.isdir(folder)]
