"""The two tools of the contract, `git_mile.list` and `git_mile.show`, and nothing else."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Annotated, Literal

from msgspec import Meta

from postil.core.failure import Cancelled, Failure
from postil.core.operation import reads
from postil.tracker.failures import InvalidRequest, ServerError, TrackerFailure
from postil.tracker.index.pages import DEFAULT_LIMIT
from postil.tracker.issues import Issues
from postil.tracker.operations.answers import Listed, Shown

EntityKind = Literal["milestone", "issue"]


class ContractTools(Issues):
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
        with _contract_codes():
            found = self.list_page(entity, filter, sort or (), limit, cursor, includeClosed)
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
        with _contract_codes():
            self.refresh()
            return self.shown(self.entity(id, entity))


@contextmanager
def _contract_codes() -> Generator[None]:
    """The contract knows three codes: what git, the disk or the workspace refuse is its ServerError."""
    try:
        yield
    except (TrackerFailure, Cancelled):
        raise
    except Failure as failure:
        error = ServerError(failure.message, advice=failure.advice, **failure.data)
        error.exit_status = failure.exit_status
        raise error from failure
