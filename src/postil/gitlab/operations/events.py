"""Operations on the webhook events that were received: listed, read and watched as a resource."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Annotated

from msgspec import Meta

from postil.core import call
from postil.core.answer import Answer
from postil.core.call import LOCAL
from postil.core.failure import InvalidArguments
from postil.core.operation import reads
from postil.core.others.framing import frame
from postil.core.ports import Delivery
from postil.core.resource import resource
from postil.gitlab.events import WebhookEvent, describe_event
from postil.gitlab.instance.records import Record
from postil.gitlab.operations.arguments import check_time
from postil.gitlab.part import GitLab
from postil.gitlab.policy.event_reach import READ_BY, filter_visible

ADDRESS = "gitlab://webhooks/events"


class WebhookEvents(Answer, frozen=True):
    """Events, and where to go on: `next_before` to older ones; `next_after` to newer, where these were asked for."""

    events: Sequence[WebhookEvent]
    next_after: str | None
    next_before: str | None = None

    def for_model(self) -> str:
        return frame(self.for_person(), "GitLab") if self.events else self.for_person()

    def for_person(self) -> str:
        lines = [event.line() for event in self.events] or ["No webhook events"]
        lines += [f"(more: after={self.next_after})"] if self.next_after else []
        lines += [f"(older: before={self.next_before})"] if self.next_before else []
        return "\n".join(lines)


def _read_time(since: str | None) -> float:
    """Return the seconds since 1970 of a date, a time or an age (`7d`); without a zone it is UTC."""
    if since is None:
        return 0.0
    from datetime import UTC, datetime  # only who asks for a time pays for it

    from postil.core.others.age import parse_age

    try:
        read = parse_age(since, datetime.now(UTC)) or datetime.fromisoformat(check_time("since", since) or "")
    except ValueError:
        raise InvalidArguments("since must be a date or time, such as 2026-01-31T12:00:00Z", path="since") from None
    return (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp()


class EventOperations:
    """What can be asked about received events."""

    def __init__(self, context: GitLab) -> None:
        self._gitlab, self._log = context.connection, context.events

    @reads("list_webhook_events", title="List webhook events", toolset="admin", shell="gitlab events")
    async def list_webhook_events(
        self,
        project_id: Annotated[int, Meta(description="only of this project")] | None = None,
        event: Annotated[str, Meta(description="only of this kind")] | None = None,
        after: Annotated[str, Meta(description="newer than this cursor, oldest first")] = "",
        before: Annotated[str, Meta(description="older than this cursor")] = "",
        since: Annotated[str, Meta(description="date, time, or 7d")] | None = None,
        limit: Annotated[int, Meta(ge=1, le=100, description="at most 100")] = 20,
        payload: Annotated[bool, Meta(description="with all that GitLab sent")] = False,
    ) -> WebhookEvents:
        """List events that webhooks sent here, newest first"""
        if event is not None and event not in READ_BY:
            raise InvalidArguments(f"event must be one of {', '.join(READ_BY)}", path="event")
        for name, cursor in (("after", after), ("before", before)):
            if cursor and not (cursor.isascii() and cursor.isdigit() and len(cursor) <= 16):
                raise InvalidArguments(f"{name} must be the next_{name} of another answer", path=name)
        if after and before:
            raise InvalidArguments("after and before exclude each other", path="after")
        begin = _read_time(since)
        project = await self._check_project(project_id)

        def keeps(delivery: Delivery) -> bool:
            about = Record({"id": delivery.project_id, "path_with_namespace": delivery.project})
            wanted = event in (None, delivery.event) and project_id in (None, delivery.project_id)
            return wanted and delivery.received >= begin and self._gitlab.allows(about)

        found: list[tuple[str, Delivery]] = []
        if self._log is not None:
            read = self._log.read_after if after else self._log.read_before
            found = await asyncio.to_thread(read, after or before, limit, keeps)
        deliveries = [delivery for _, delivery in found]
        if project:
            deliveries = await filter_visible(self._gitlab, project, deliveries)
        locked = self._gitlab.guard.policy.lockdown
        events = [describe_event(delivery, payload=payload, locked=locked) for delivery in deliveries]
        cursor = found[-1][0] if len(found) == limit else None
        return WebhookEvents(events, cursor if after else None, None if after else cursor)

    async def _check_project(self, project_id: int | None) -> str:
        """Return the project whose events somebody else than the local user asks for; empty for the local user."""
        if call.current().caller.principal == LOCAL:
            return ""
        if project_id is None:
            raise InvalidArguments("project_id is needed: events are shown project by project", path="project_id")
        project = await self._gitlab.check_project(project_id)
        await self._gitlab.get_one(project)
        return project

    @resource(ADDRESS, name="GitLab events", mime_type="application/json", watch="watch_events", allow="check")
    async def read_events(self) -> WebhookEvents:
        """The events of GitLab's webhooks, as list_webhook_events gives them"""
        return await self.list_webhook_events(limit=100)

    @resource(
        ADDRESS + "/{project_id}",
        name="Events of a project",
        mime_type="application/json",
        watch="watch_events",
        allow="check",
    )
    async def read_project_events(self, project_id: str) -> WebhookEvents:
        """The events of one project's webhooks: what they show depends on what GitLab lets the caller read"""
        return await self.list_webhook_events(_read_number(project_id), limit=100)

    async def check(self, project_id: str = "") -> None:
        """Raises where the caller may not see these events."""
        await self._check_project(_read_number(project_id) if project_id else None)

    def watch_events(self, uri: str, changed: Callable[[], None]) -> Callable[[], None]:
        """Call `changed` after new events that the address is about. Returns a function that stops the watch."""
        number = uri.removeprefix(ADDRESS).removeprefix("/")
        project = _read_number(number) if number else None
        return self._log.watch(changed, project) if self._log is not None else lambda: None


def _read_number(project_id: str) -> int:
    if not project_id.isascii() or not project_id.isdigit() or len(project_id) > 15:
        raise InvalidArguments("the project is named by its number here", path="project_id")
    return int(project_id)
