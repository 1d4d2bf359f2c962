"""The two tools of the contract, `git_mile.list` and `git_mile.show`, and nothing else."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from postil.core.operation import reads
from postil.tracker.answers import Listed, Shown
from postil.tracker.desk import Desk
from postil.tracker.failures import InvalidRequest, ServerError
from postil.tracker.pages import DEFAULT_LIMIT

EntityKind = Literal["milestone", "issue"]


class ContractTools(Desk):
    """What the contract's clients rely on."""

    @reads(
        "git_mile.list",
        title="List git-mile entities",
        closed=True,
        fault=InvalidRequest,
        crash=ServerError,
        output_depth=0,
    )
    def list_entities(
        self,
        entity: EntityKind,
        filter: Annotated[str, Meta(description='status == "open" and labels contains "x"')] | None = None,
        sort: Annotated[list[str], Meta(description="field[:asc|desc]")] | None = None,
        limit: Annotated[int, Meta(ge=1)] = DEFAULT_LIMIT,
        cursor: str | None = None,
        includeClosed: bool = False,
    ) -> Listed:
        """List git-mile issues or milestones"""
        found = self.page_of(entity, filter, sort or (), limit, cursor, includeClosed)
        return Listed(items=self.items(found), nextCursor=found.next_cursor)

    @reads(
        "git_mile.show",
        title="Show git-mile entity details",
        closed=True,
        fault=InvalidRequest,
        crash=ServerError,
        output_depth=0,
    )
    def show_entity(self, entity: EntityKind, id: Annotated[str, Meta(description="UUID or its beginning")]) -> Shown:
        """Show git-mile issue or milestone details"""
        self.fresh()
        return self.shown(self.entity(id, entity))
