"""Webhook events that GitLab sent us: kept in the state database, oldest forgotten first; asked for and watched."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Annotated, cast

import msgspec
from msgspec import Meta, Raw, Struct

from postil.core import call
from postil.core.call import LOCAL
from postil.core.delivery import Delivery
from postil.core.failure import Failure, InvalidArguments
from postil.core.operation import reads
from postil.core.ports import State
from postil.core.resource import resource
from postil.gitlab.instance.connection import Connection
from postil.gitlab.instance.records import Record
from postil.gitlab.policy.event_reach import visible
from postil.gitlab.policy.guard import WITHHELD
from postil.gitlab.policy.untrusted import clean, frame

SPACE, SEEN, COUNTER = "gitlab/events", "gitlab/event-ids", "gitlab/events"
KEPT_SECONDS = 30 * 24 * 3600.0
SEEN_SECONDS = 24 * 3600.0
MOST = 5000
ADDRESS = "gitlab://webhooks/events"
KINDS = ("push", "issues", "merge_requests", "pipelines", "wiki")


class WebhookEvent(Struct, frozen=True, omit_defaults=True):
    """One event: what it is about, and GitLab's own payload, clean, when it was asked for."""

    id: str
    event: str
    received_at: str
    project_id: int | None
    project: str
    action: str = ""
    title: str = ""
    user: str = ""
    url: str = ""
    payload: Raw | None = None

    def line(self) -> str:
        """It in one line."""
        words = (self.received_at, self.event, self.action, self.project, self.title, self.user and f"by {self.user}")
        return " ".join(word for word in words if word)


class WebhookEvents(Struct, frozen=True):
    """Events, the newest last, and where to go on."""

    events: Sequence[WebhookEvent]
    next_after: str | None

    def text(self) -> str:
        """What a person or a model reads; for a model, inside a boundary."""
        if not self.events:
            return "No webhook events"
        written = "\n".join(one.line() for one in self.events)
        return written if call.current().caller.surface == "shell" else frame(written, "GitLab")


class EventLog:
    """The Deliveries port over the state database."""

    def __init__(self, state: State, on_kept: Callable[[Delivery], None] | None = None) -> None:
        self._state = state
        self._on_kept = on_kept

    def keep(self, delivery: Delivery) -> bool:
        """Keep it durably; False when it was kept before."""
        with self._state.writing() as changes:
            if changes.get(SEEN, delivery.id) is not None:
                return False
            number = changes.next(COUNTER)
            changes.put(SEEN, delivery.id, b"1", time.time() + SEEN_SECONDS)
            changes.put(SPACE, _key(number), msgspec.json.encode(delivery), time.time() + KEPT_SECONDS)
            if number > MOST:
                changes.delete(SPACE, _key(number - MOST))
        return True

    def mark(self) -> str:
        """A place behind every event kept so far, and before every one to come."""
        with self._state.writing() as changes:
            return _key(changes.next(COUNTER))

    def heard(self, delivery: Delivery) -> None:
        """Tell whoever wants to know of new events."""
        if self._on_kept is not None:
            self._on_kept(delivery)

    def after(self, key: str, limit: int, keeps: Callable[[Delivery], bool]) -> list[tuple[str, Delivery]]:
        """Events behind this one, the oldest first."""
        found: list[tuple[str, Delivery]] = []
        with self._state.reading() as records:
            while len(found) < limit:
                page = records.range(SPACE, key, 200)
                for name, value in page:
                    delivery = msgspec.json.decode(value, type=Delivery)
                    if keeps(delivery) and len(found) < limit:
                        found.append((name, delivery))
                if len(page) < 200:
                    break
                key = page[-1][0]
        return found

    def watch(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Call `changed` after new events, until the answer is called."""
        last = self._last("")

        def look() -> None:
            nonlocal last
            now = self._last(last)
            if now != last:  # most writes of the state are about other things
                last = now
                changed()

        return self._state.on_change(look)

    def _last(self, after: str) -> str:
        try:
            with self._state.reading() as records:
                while page := records.range(SPACE, after, 1000):
                    after = page[-1][0]
        except Failure:  # away or busy: the next change looks again
            pass
        return after


class EventOperations:
    """What can be asked about received events."""

    gitlab: Connection
    events: EventLog | None

    @reads("list_webhook_events", shell="gitlab events")
    async def list_webhook_events(
        self,
        project_id: int | None = None,
        event: str | None = None,
        after: str = "",
        limit: Annotated[int, Meta(ge=1, le=100)] = 20,
        payload: bool = False,
    ) -> WebhookEvents:
        """List events that webhooks sent here, oldest first"""
        if event is not None and event not in KINDS:
            raise InvalidArguments(f"event must be one of {', '.join(KINDS)}", path="event")
        if after and not after.isdigit():
            raise InvalidArguments("after must be the next_after of another answer", path="after")
        project = await self._reach(project_id)

        def keeps(delivery: Delivery) -> bool:
            about = Record({"id": delivery.project_id, "path_with_namespace": delivery.project})
            wanted = event in (None, delivery.event) and project_id in (None, delivery.project_id)
            return wanted and self.gitlab.allows(about)

        log = self.events
        found = await asyncio.to_thread(log.after, after, limit, keeps) if log is not None else []
        may_see = [delivery for _, delivery in found]
        if project:
            may_see = await visible(self.gitlab, project, found)
        locked = self.gitlab.guard.policy.lockdown
        events = [shown(delivery, payload=payload, locked=locked) for delivery in may_see]
        return WebhookEvents(events, found[-1][0] if len(found) == limit else None)

    async def _reach(self, project_id: int | None) -> str:
        """The project whose events are asked for by somebody else than the local user; empty for that one."""
        if call.current().caller.principal == LOCAL:
            return ""
        if project_id is None:
            raise InvalidArguments("project_id is needed: events are shown project by project", path="project_id")
        project = await self.gitlab.project(project_id)
        await self.gitlab.one(project)
        return project

    @resource(ADDRESS, name="GitLab events", mime_type="application/json", watch="watch_events")
    async def read_events(self) -> WebhookEvents:
        """The events of GitLab's webhooks, as list_webhook_events gives them"""
        return await self.list_webhook_events(limit=100)

    @resource(ADDRESS + "/{project_id}", name="Events of a project", mime_type="application/json", watch="watch_events")
    async def read_project_events(self, project_id: str) -> WebhookEvents:
        """The events of one project's webhooks: what they show depends on what GitLab lets the caller read"""
        if not project_id.isascii() or not project_id.isdigit() or len(project_id) > 15:
            raise InvalidArguments("the project is named by its number here", path="project_id")
        return await self.list_webhook_events(int(project_id), limit=100)

    def watch_events(self, uri: str, changed: Callable[[], None]) -> Callable[[], None]:
        """Hear of new events."""
        return self.events.watch(changed) if self.events is not None else lambda: None


def _key(number: int) -> str:
    return f"{number:016d}"


def shown(delivery: Delivery, *, payload: bool = False, locked: bool = False) -> WebhookEvent:
    """What an event is about; `locked` leaves out what anybody may have written in a public project."""
    body: object = msgspec.json.decode(delivery.body)
    said = Record(body)
    about = said.record("object_attributes") or Record({})
    commit = (about.text("title") or about.text("ref") or said.text("ref") or "").removeprefix("refs/heads/")
    user = said.record("user") or Record({})
    if locked and delivery.event not in ("push", "pipelines", "wiki") and _is_public(said):
        commit, payload = WITHHELD, False
    return WebhookEvent(
        clean(delivery.id),
        delivery.event,
        time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(delivery.received)),
        delivery.project_id,
        clean(delivery.project),
        action=clean(about.text("action") or about.text("status") or ""),
        title=clean(commit)[:300],
        user=clean(user.text("username") or said.text("user_username") or ""),
        url=clean(about.text("url") or ""),
        payload=Raw(msgspec.json.encode(_cleaned(body))) if payload else None,
    )


def _is_public(said: Record) -> bool:
    project = said.record("project") or Record({})
    return project.number("visibility_level") not in (0, 10)  # where it is not said, anybody may be


def _cleaned(value: object) -> object:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_cleaned(item) for item in cast("list[object]", value)]
    if isinstance(value, dict):
        return {clean(key): _cleaned(item) for key, item in cast("dict[str, object]", value).items()}
    return value
