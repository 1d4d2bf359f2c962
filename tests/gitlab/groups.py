"""The part with all of its groups of operations made, as tests use it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from postil.gitlab.operations.compare import CompareOperations
from postil.gitlab.operations.events import EventOperations
from postil.gitlab.operations.history import HistoryOperations
from postil.gitlab.operations.how_to_connect import ConnectOperations
from postil.gitlab.operations.issues import IssueOperations
from postil.gitlab.operations.merge_requests import MergeRequestOperations
from postil.gitlab.operations.people import PeopleOperations
from postil.gitlab.operations.pipelines import PipelineOperations
from postil.gitlab.operations.projects import ProjectOperations
from postil.gitlab.operations.repository import RepositoryOperations
from postil.gitlab.operations.reviews import ReviewOperations
from postil.gitlab.operations.webhooks import WebhookOperations
from postil.gitlab.part import GitLab
from tests.gitlab.calls import ENTRIES


class Groups:
    """One living part."""

    def __init__(self, context: GitLab) -> None:
        self.context = context
        self.connect = ConnectOperations(context)
        self.projects = ProjectOperations(context)
        self.issues = IssueOperations(context)
        self.merge_requests = MergeRequestOperations(context)
        self.review = ReviewOperations(context)
        self.compare = CompareOperations(context)
        self.history = HistoryOperations(context)
        self.people = PeopleOperations(context)
        self.pipelines = PipelineOperations(context)
        self.repository = RepositoryOperations(context)
        self.webhooks = WebhookOperations(context)
        self.events = EventOperations(context)

    def living(self) -> list[tuple[str, object]]:
        """Every group with the part's name, as a registry takes them."""
        return [("gitlab", group) for name, group in vars(self).items() if name != "context"]

    def method(self, name: str) -> Callable[..., Any]:
        """The method behind an operation's name, as the catalogue says where it is."""
        return getattr(getattr(self, ENTRIES[name].group), ENTRIES[name].attribute)

    async def close(self) -> None:
        await self.context.close()
