"""The operation that makes GitLab call us, or somebody else, when something happens."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta

from postil.gitlab.failures import invalid
from postil.gitlab.operations.answers import Webhook
from postil.gitlab.operations.arguments import Project
from postil.gitlab.operations.marks import destroys
from postil.gitlab.part import GitLab
from postil.gitlab.policy.webhook_address import check_webhook_address

Event: TypeAlias = Literal["push", "issues", "merge_requests", "pipelines", "wiki", "notes"]
FIELDS = {
    "push": "push_events",
    "issues": "issues_events",
    "merge_requests": "merge_requests_events",
    "pipelines": "pipeline_events",
    "wiki": "wiki_page_events",
    "notes": "note_events",
}


class WebhookOperations:
    """What can be told to GitLab about its hooks."""

    def __init__(self, context: GitLab) -> None:
        self._gitlab, self._pointer, self._hosts = context.connection, context.pointer, context.webhook_hosts

    @destroys("configure_webhook", toolset="admin", shell="gitlab webhook", positional=("project_id", "url"))
    async def configure_webhook(
        self,
        project_id: Project,
        url: Annotated[str, Meta(description="https address")],
        events: Annotated[list[Event], Meta(description="what it sends")],
        token: Annotated[str, Meta(description="secret that GitLab sends along")] | None = None,
    ) -> Webhook:
        """Make a project's webhook send these events, or change the one with this url"""
        if not events:
            raise invalid("events", f"must name at least one of {', '.join(FIELDS)}")
        project = await self._pointer.project(project_id)
        body: dict[str, object] = {field: name in events for name, field in FIELDS.items()}  # push is on by default
        body |= {"url": await check_webhook_address(url, self._hosts), "token": token}
        path = f"{project}/hooks"
        known = await self._find_hook(path, url)
        if known is None:
            raw = await self._gitlab.send("POST", path, body)
        else:
            raw = await self._gitlab.send("PUT", f"{path}/{known}", body)
        shown = [name for name, field in FIELDS.items() if raw.flag(field)]
        return Webhook(raw.number("id") or known, raw.text("url") or url, shown or list(events))

    async def _find_hook(self, path: str, url: str) -> int | None:
        async for raw in self._gitlab.get_every(path):
            if raw.text("url") == url:
                return raw.number("id")
        return None
