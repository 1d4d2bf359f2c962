"""Changing all issues that a query finds, in one write; or saying which would change."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from postil.core.answer import Answer
from postil.core.operation import writes
from postil.tracker.failures import InvalidParams, ServerError
from postil.tracker.issues import Issues
from postil.tracker.operations.arguments import EntityKind, IssueType, Priority

_MOST = 1000
_NAMED = 20


class BulkChanged(Answer, frozen=True, kw_only=True):
    """What a bulk edit did, or would do."""

    matched: int
    changed: int
    dry_run: bool
    first: list[str]
    """Some of what changed: id and title."""

    def for_model(self) -> str:
        """How many, and some of them."""
        if not self.matched:
            return "Nothing matches"
        verb = "would change" if self.dry_run else "changed"
        lines = [f"{self.changed} of {self.matched} {verb}"]
        lines += [f"- {one}" for one in self.first]
        if self.changed > len(self.first):
            lines.append(f"… and {self.changed - len(self.first)} more")
        return "\n".join(lines)


class BulkEdit:
    """`git mile edit-all`."""

    def __init__(self, issues: Issues) -> None:
        self._issues = issues

    @writes(
        "git_mile_edit_all",
        toolset="extra",
        crash=ServerError,
        shell="issue edit-all",
        positional=("filter",),
        shell_only=("label", "unlabel", "all"),
        says="Change everything that a filter finds, in one write; try --dry-run first",
    )
    def edit_all(
        self,
        filter: Annotated[str, Meta(description="as of list; all that match are changed")],
        entity: EntityKind = "issue",
        status: Literal["draft", "open", "closed"] | None = None,
        milestone: str | None = None,
        due: str | None = None,
        priority: Priority | None = None,
        type: IssueType | None = None,
        add_labels: tuple[str, ...] = (),
        remove_labels: tuple[str, ...] = (),
        assign: tuple[str, ...] = (),
        unassign: tuple[str, ...] = (),
        dry_run: Annotated[bool, Meta(description="say what would change, and change nothing")] = False,
        includeClosed: bool = False,
        label: Annotated[tuple[str, ...], Meta(description="the same as add_labels")] = (),
        unlabel: Annotated[tuple[str, ...], Meta(description="the same as remove_labels")] = (),
        all: Annotated[bool, Meta(description="closed ones too")] = False,
    ) -> BulkChanged:
        """Change everything that a filter finds, in one write; try dry_run first"""
        add_labels, remove_labels = (*add_labels, *label), (*remove_labels, *unlabel)
        if not filter.strip():
            raise InvalidParams("The filter is empty", advice="Say which: `label:x`, or `kind:issue` for all of them")
        values = (status, milestone, due, priority, type)
        if values == (None,) * len(values) and not (add_labels or remove_labels or assign or unassign):
            raise InvalidParams("Nothing to change was given", advice="Give status, labels, milestone, …")
        with self._issues.transaction(dry_run=dry_run) as tx:
            page = self._issues.read_list(entity, filter, ("created",), _MOST, None, includeClosed or all)
            if page.next_cursor is not None:
                raise InvalidParams(f"More than {_MOST} match", advice="Narrow the filter, and repeat it")
            done: list[str] = []
            for found in self._issues.store.entities([row.id for row in page.rows]):
                before = len(tx.lines)
                self._issues.update(
                    tx,
                    found,
                    status=status,
                    milestone=milestone,
                    due=due,
                    assign=assign,
                    unassign=unassign,
                    fields={"priority": priority, "type": type},
                )
                self._issues.label(tx, found, add_labels, remove_labels)
                if len(tx.lines) > before:
                    done.append(f"{found.id[:8]} {found.title[:80]}")
        return BulkChanged(matched=len(page.rows), changed=len(done), dry_run=dry_run, first=done[:_NAMED])
