"""The tools for assistants beyond the contract: create, update, comment, close, label, link, ready, claim.

Their schemas are kept short: together with the contract's two tools they stay within 6 kB.
"""

from __future__ import annotations

import datetime
from typing import Annotated, Literal

from msgspec import UNSET, Meta

from postil.core.operation import reads, writes
from postil.tracker.events import Claimed as ClaimEvent
from postil.tracker.events import Released
from postil.tracker.failures import ClaimLost, InvalidParams, ServerError
from postil.tracker.index.pages import LARGEST_LIMIT
from postil.tracker.index.tables import Row
from postil.tracker.issues import Issues
from postil.tracker.operations.answers import Changed, Claimed, CommentAdded, Ready, ReadyItem
from postil.tracker.operations.contract import EntityKind
from postil.tracker.state.graph import cut_cycles
from postil.tracker.text import format_moment, round_to_second
from postil.tracker.validation import check_comment, check_names

Id = Annotated[str, Meta(description="id or its beginning")]
LEASE_MINUTES = 240


class AssistantTools(Issues):
    """What assistants may do besides listing and showing."""

    @writes("git_mile.create", crash=ServerError, output_depth=0)
    def create_entity(
        self,
        title: str,
        entity: EntityKind = "issue",
        description: str = "",
        labels: tuple[str, ...] = (),
        milestone: Annotated[str, Meta(description="id or title")] | None = None,
        due: Annotated[str, Meta(description="YYYY-MM-DD")] | None = None,
        assignees: tuple[str, ...] = (),
        draft: bool = False,
    ) -> Changed:
        """Create an issue or milestone in git"""
        with self.transaction() as tx:
            id_ = self.create(
                tx,
                entity,
                title,
                description=description,
                labels=labels,
                milestone=milestone,
                due=due,
                assignees=assignees,
                status="draft" if draft else "open",
            )
        return self.changed(id_, ["created"])

    @writes("git_mile.update", crash=ServerError, output_depth=0)
    def update_entity(
        self,
        id: Id,
        title: str | None = None,
        description: str | None = None,
        status: Literal["draft", "open", "closed"] | None = None,
        milestone: Annotated[str, Meta(description="id, title or none")] | None = None,
        due: Annotated[str, Meta(description="YYYY-MM-DD or none")] | None = None,
        assign: tuple[str, ...] = (),
        unassign: tuple[str, ...] = (),
    ) -> Changed:
        """Change fields of an issue or milestone; writing a field settles its conflict"""
        with self.transaction() as tx:
            entity = self.entity(id)
            changed = self.update(
                tx,
                entity,
                title=title,
                description=description,
                status=status,
                milestone=milestone,
                due=due,
                assign=assign,
                unassign=unassign,
            )
        return self.changed(entity.id, changed)

    @writes("git_mile.comment", crash=ServerError, output_depth=0)
    def add_comment(self, id: Id, body: Annotated[str, Meta(description="Markdown")]) -> CommentAdded:
        """Comment on an issue or milestone"""
        with self.transaction() as tx:
            found = self.find(id)
            comment_id = self.comment(tx, found, check_comment(body))
        return CommentAdded(id=found, comment_id=comment_id, ts=round_to_second(tx.ts))

    @writes("git_mile.close", crash=ServerError, output_depth=0)
    def close_entity(self, id: Id, comment: str = "", reopen: bool = False) -> Changed:
        """Close (or reopen) an issue or milestone"""
        with self.transaction() as tx:
            entity = self.entity(id)
            changed = self.update(tx, entity, status="open" if reopen else "closed")
            if comment.strip():
                self.comment(tx, entity.id, comment)
                changed.append("comment")
        return self.changed(entity.id, changed)

    @writes("git_mile.label", crash=ServerError, output_depth=0)
    def label_entity(self, id: Id, add: tuple[str, ...] = (), remove: tuple[str, ...] = ()) -> Changed:
        """Attach and detach labels"""
        with self.transaction() as tx:
            entity = self.entity(id)
            added, removed = self.label(tx, entity, add, remove)
        return self.changed(entity.id, [*(f"+{label}" for label in added), *(f"-{label}" for label in removed)])

    @writes(
        "git_mile.link",
        crash=ServerError,
        output_depth=0,
        shell="issue link",
        positional=("id", "type", "target"),
    )
    def link_entities(
        self,
        id: Id,
        type: Literal["blocks", "parent", "related", "duplicate", "discovered-from"],
        target: Id,
        remove: bool = False,
    ) -> Changed:
        """Link two entities: id blocks target, id has parent target, …"""
        with self.transaction() as tx:
            entity = self.entity(id)
            done = self.link(tx, entity, type, target, remove)
        return self.changed(entity.id, [f"{'un' * remove}linked {type}"] if done else [])

    @reads("git_mile.ready", crash=ServerError, output_depth=0, shell="issue ready")
    def ready(
        self,
        limit: Annotated[int, Meta(ge=1)] = 20,
        filter: str | None = None,
    ) -> Ready:
        """Open issues that nothing blocks and nobody has claimed"""
        self.refresh()
        kept, circles = cut_cycles(self.list_edges("blocks", open_only=True))
        blocked = {then for _, then in kept}
        now = self.now_text()
        free: list[Row] = []
        cursor: str | None = None
        while len(free) < limit:
            found = self.list_page("issue", filter, ("created",), LARGEST_LIMIT, cursor, include_closed=False)
            free += [
                row
                for row in found.rows
                if row.id not in blocked and row.status == "open" and not (row.claim_until > now)
            ]
            cursor = found.next_cursor
            if cursor is None:
                break
        return Ready(
            items=[
                ReadyItem(
                    id=row.id,
                    title=row.title,
                    labels=row.label_names(),
                    milestone=row.milestone or UNSET,
                    due=row.due or UNSET,
                )
                for row in free[:limit]
            ],
            blocked=len(blocked),
            cycles=[[id_[:8] for id_ in circle] for circle in circles] or UNSET,
        )

    @writes(
        "git_mile.claim",
        crash=ServerError,
        output_depth=0,
        shell="issue claim",
        positional=("id",),
        spellings={"issue release": {"release": True}},
        says={"issue release": "Give a claimed issue back"},
    )
    def claim(
        self,
        id: Id,
        who: Annotated[str, Meta(description="default: the git user")] = "",
        minutes: Annotated[int, Meta(ge=1, le=44640)] = LEASE_MINUTES,
        release: bool = False,
    ) -> Claimed:
        """Claim an issue so that nobody else takes it, or release it"""
        with self.transaction() as tx:
            entity = self.entity(id, "issue")
            (name,) = check_names("claimer", (who,)) or (tx.author.name,)
            held = entity.claim if entity.claim and entity.claim.until > tx.ts else None
            if release:
                if held is not None and held.who == name:
                    tx.write(Released, entity.id, who=name)
                elif held is not None:
                    raise ClaimLost(entity.id, held.who, round_to_second(held.until))
                return Claimed(id=entity.id, title=entity.title, who="", until="")
            if entity.status == "closed":
                raise InvalidParams(f"{entity.id[:8]} is closed", advice="Reopen it, or take another issue")
            if held is not None and held.who != name:
                raise ClaimLost(entity.id, held.who, round_to_second(held.until))
            until = format_moment(self.store.now() + datetime.timedelta(minutes=minutes))
            tx.write(ClaimEvent, entity.id, who=name, until=until)
        return Claimed(id=entity.id, title=entity.title, who=name, until=round_to_second(until))

    def changed(self, id_: str, what: list[str]) -> Changed:
        """What a write did, with the state after it."""
        entity = self.store.entity(id_)
        assert entity is not None
        return Changed(id=id_, kind=entity.kind, title=entity.title, status=entity.status, changed=what)
