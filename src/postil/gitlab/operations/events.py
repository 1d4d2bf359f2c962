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
from postil.core.others.untrusted import frame
from postil.core.ports import Delivery
from postil.core.resource import resource
from postil.gitlab.events import WebhookEvent, describe_event
from postil.gitlab.instance.records import Record
from postil.gitlab.part import GitLab
from postil.gitlab.policy.event_reach import READ_BY, filter_visible

ADDRESS = "gitlab://webhooks/events"


class WebhookEvents(Answer, frozen=True):
    """Events, the newest last, and where to go on."""

    events: Sequence[WebhookEvent]
    next_after: str | None

    def for_model(self) -> str:
        return frame(self.for_person(), "GitLab") if self.events else self.for_person()

    def for_person(self) -> str:
        return "\n".join(event.line() for event in self.events) or "No webhook events"


class EventOperations:
    """What can be asked about received events."""

    def __init__(self, context: GitLab) -> None:
        self._gitlab, self._log = context.connection, context.events

    @reads("list_webhook_events", title="List webhook events", toolset="admin", shell="gitlab events")
    async def list_webhook_events(
        self,
        project_id: Annotated[int, Meta(description="only of this project")] | None = None,
        event: Annotated[str, Meta(description="only of this kind")] | None = None,
        after: Annotated[str, Meta(description="next_after of another answer")] = "",
        limit: Annotated[int, Meta(ge=1, le=100, description="at most 100")] = 20,
        payload: Annotated[bool, Meta(description="with all that GitLab sent")] = False,
    ) -> WebhookEvents:
        """List events that webhooks sent here, oldest first"""
        if event is not None and event not in READ_BY:
            raise InvalidArguments(f"event must be one of {', '.join(READ_BY)}", path="event")
        if after and not after.isdigit():
            raise InvalidArguments("after must be the next_after of another answer", path="after")
        project = await self._check_project(project_id)

        def keeps(delivery: Delivery) -> bool:
            about = Record({"id": delivery.project_id, "path_with_namespace": delivery.project})
            wanted = event in (None, delivery.event) and project_id in (None, delivery.project_id)
            return wanted and self._gitlab.allows(about)

        found = await asyncio.to_thread(self._log.read_after, after, limit, keeps) if self._log is not None else []
        deliveries = [delivery for _, delivery in found]
        if project:
            deliveries = await filter_visible(self._gitlab, project, deliveries)
        locked = self._gitlab.guard.policy.lockdown
        events = [describe_event(delivery, payload=payload, locked=locked) for delivery in deliveries]
        return WebhookEvents(events, found[-1][0] if len(found) == limit else None)

    async def _check_project(self, project_id: int | None) -> str:
        """Return the project whose events somebody else than the local user asks for; empty for the local user."""
        if call.current().caller.principal == LOCAL:
            return ""
        if project_id is None:
            raise InvalidArguments("project_id is needed: events are shown project by project", path="project_id")
        project = await self._gitlab.check_project(project_id)
        await self._gitlab.get_one(project)
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
        """Call `changed` after new events. Returns a function that stops the watch."""
        return self._log.watch(changed) if self._log is not None else lambda: None
