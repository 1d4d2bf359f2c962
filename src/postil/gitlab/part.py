"""GitLab as a part: all of its operations on one object, and the one that is offered where no token is configured."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from postil.core.check import Finding, check
from postil.core.delivery import Delivery
from postil.core.operation import reads
from postil.gitlab.events import EventLog, EventOperations
from postil.gitlab.instance import identifiers
from postil.gitlab.instance.cache import ResponseCache
from postil.gitlab.instance.client import Instance, Trust, everyone
from postil.gitlab.instance.connection import HOW_TO_CONNECT, Connection
from postil.gitlab.operations.issues import IssueOperations
from postil.gitlab.operations.merge_requests import MergeRequestOperations
from postil.gitlab.operations.pipelines import PipelineOperations
from postil.gitlab.operations.projects import ProjectOperations
from postil.gitlab.operations.repository import RepositoryOperations
from postil.gitlab.operations.webhooks import WebhookOperations
from postil.gitlab.policy.guard import Guard


class HowToConnect(Struct, frozen=True):
    """Whether there is a token, and what to do when there is none."""

    connected: bool
    url: str
    advice: str

    def text(self) -> str:
        """What a person or a model reads."""
        return f"GitLab at {self.url} is connected" if self.connected else f"GitLab is not connected. {self.advice}"


class GitLab(
    ProjectOperations,
    IssueOperations,
    MergeRequestOperations,
    PipelineOperations,
    RepositoryOperations,
    WebhookOperations,
    EventOperations,
):
    """Every operation of this part. Each base is one kind of thing; all share one connection."""

    def __init__(
        self,
        url: str,
        token: Callable[[], str],
        *,
        read_only: bool = False,
        projects: tuple[str, ...] = (),
        allow_quick_actions: bool = False,
        trust: Trust = everyone,
        instance: Instance | None = None,
        events: EventLog | None = None,
        cache: ResponseCache | None = None,
        guard: Guard | None = None,
    ) -> None:
        self.events = events
        instance = instance or Instance(url, read_only=read_only, trust=trust)
        self.gitlab = Connection(
            instance, token, projects=projects, allow_quick_actions=allow_quick_actions, cache=cache, guard=guard
        )

    @reads("connect_gitlab", shell="gitlab connect")
    async def connect_gitlab(self) -> HowToConnect:
        """Say how to connect GitLab: no token is configured"""
        connected = self.gitlab.is_connected
        return HowToConnect(connected, self.gitlab.instance.url, "" if connected else HOW_TO_CONNECT)

    @check("gitlab")
    def check_token(self) -> Finding:
        """Whether a token is configured and its address is well formed."""
        url = self.gitlab.instance.url
        if not url.startswith(("https://", "http://")):
            return Finding("error", f"GITLAB_URL is {url}", "Set it to an address such as https://gitlab.example.com")
        if not self.gitlab.is_connected:
            return Finding("ok", "no GitLab token is configured, so GitLab is off", HOW_TO_CONNECT)
        if url.startswith("http://"):
            return Finding("warning", f"{url} is not encrypted, and the token is sent to it", "Use https where you can")
        return Finding("ok", f"a token for {url} is configured")

    def counts(self) -> dict[str, float]:
        """For the metrics: what was kept, and what GitLab answered."""
        kept = {f'postil_cache_total{{state="{state}"}}': n for state, n in self.gitlab.cache.states.items()}
        answers = self.gitlab.instance.answers
        return {**kept, **{f'postil_gitlab_answers_total{{status="{status}"}}': n for status, n in answers.items()}}

    def heard(self, delivery: Delivery) -> None:
        """GitLab told us of a change: what was kept about that project is old."""
        names = (str(delivery.project_id or ""), delivery.project)
        self.gitlab.cache.purge_soon(*(identifiers.route(name) for name in names if name))

    async def close(self) -> None:
        """Close the pool of connections."""
        await self.gitlab.instance.close()
