"""GitLab as a part: the connection and the events that all groups of operations share."""

from __future__ import annotations

from collections.abc import Callable

from postil.core.delivery import Delivery
from postil.gitlab.events import EventLog
from postil.gitlab.instance.cache import ResponseCache
from postil.gitlab.instance.client import Instance, Trust, trust_everyone
from postil.gitlab.instance.connection import Connection
from postil.gitlab.instance.identifiers import make_route
from postil.gitlab.policy.guard import Guard


class GitLab:
    """The context of this part's groups."""

    def __init__(
        self,
        url: str,
        token: Callable[[], str],
        *,
        read_only: bool = False,
        projects: tuple[str, ...] = (),
        allow_quick_actions: bool = False,
        trust: Trust = trust_everyone,
        instance: Instance | None = None,
        events: EventLog | None = None,
        cache: ResponseCache | None = None,
        guard: Guard | None = None,
    ) -> None:
        self.events = events
        instance = instance or Instance(url, read_only=read_only, trust=trust)
        self.connection = Connection(
            instance, token, projects=projects, allow_quick_actions=allow_quick_actions, cache=cache, guard=guard
        )

    def counts(self) -> dict[str, float]:
        """Return for the metrics what was kept, and what GitLab answered."""
        kept, answers = self.connection.cache.states, self.connection.instance.answers
        return {
            **{f'postil_cache_total{{state="{state}"}}': count for state, count in kept.items()},
            **{f'postil_gitlab_answers_total{{status="{status}"}}': count for status, count in answers.items()},
        }

    def forget_changed(self, delivery: Delivery) -> None:
        """Forget what was kept about the project that GitLab says has changed. Does not block."""
        names = (str(delivery.project_id or ""), delivery.project)
        self.connection.cache.purge_soon(*(make_route(name) for name in names if name))

    async def close(self) -> None:
        """Close the pool of connections."""
        await self.connection.instance.close()
