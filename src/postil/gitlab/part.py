"""GitLab as a part: the connection and the events that all groups of operations share."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from postil.core.ports import Delivery
from postil.gitlab.events import EventLog
from postil.gitlab.instance.connection import Connection
from postil.gitlab.instance.identifiers import make_route
from postil.gitlab.standing import Standing, WorkTree
from postil.gitlab.where import Pointer


class GitLab:
    """The context of this part's groups."""

    def __init__(
        self,
        connection: Connection,
        events: EventLog | None = None,
        look_around: Callable[[], WorkTree] | None = None,
        webhook_hosts: Sequence[str] = (),
        *,
        callers_bring_tokens: bool = False,
    ) -> None:
        self.connection, self.events = connection, events
        self.callers_bring_tokens = callers_bring_tokens
        self.webhook_hosts = frozenset(host.lower() for host in webhook_hosts)
        self.pointer = Pointer(connection, Standing(connection, look_around))

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
