"""What a card's move from one column to another writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from postil.tracker.board.lanes import IN_PROGRESS, By, Lane
from postil.tracker.failures import InvalidParams
from postil.tracker.vocabulary import STATUSES

if TYPE_CHECKING:
    from postil.tracker.issues import Issues


def move_card(issues: Issues, by: By, id_: str, source: Lane, target: Lane) -> None:
    """Move a card. Raises the failure of the write: a claim that another holds, a status that cannot be given."""
    if by == "status":
        _change_status(issues, id_, source.key, target.key)
        return
    with issues.transaction() as tx:
        entity = issues.find(id_)
        if by == "milestone":
            issues.update(tx, entity, milestone=target.key or "none")
        else:
            issues.label(tx, entity, [target.key] if target.key else [], [source.key] if source.key else [])


def _change_status(issues: Issues, id_: str, source: str, target: str) -> None:
    from postil.tracker.operations.planning import Planning  # other boards have no claims

    planning = Planning(issues)
    status = "open" if target == IN_PROGRESS else target
    if status not in STATUSES:
        raise InvalidParams(f"`{status[:64]}` is a status of a later version", advice="Update Postil to give it")
    if source == IN_PROGRESS and target != "closed":  # closing ends the claim by itself
        planning.claim(id_, release=True)
    with issues.transaction() as tx:
        issues.update(tx, issues.find(id_), status=status)
    if target == IN_PROGRESS:
        planning.claim(id_)
